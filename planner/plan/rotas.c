/*
 * Rotas: places that blocks of one size take in turn.
 *
 * Where blocks outlive the birth of their successors (an optimizer that makes new state
 * before it lets go of the old), a slot of its own and a spare for each would do, and
 * would reserve everything twice. But seldom are all old and all new ones alive together.
 * Slots of equal stream, pool and size that are taken over the whole step are one rota:
 * any of its blocks may lie in any of its places, so it needs as many as blocks are ever
 * alive. A free one is then there for every request, whoever lies where, and however many
 * steps went by.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <stdlib.h>

typedef struct
{
  uint64_t block_bytes;
  uint32_t stream_pool;
  uint32_t slot;
} Member;

static int
compare_rotas (const Member *x, const Member *y)
{
  if (x->block_bytes != y->block_bytes)
    return x->block_bytes < y->block_bytes ? -1 : 1;
  return (x->stream_pool > y->stream_pool) - (x->stream_pool < y->stream_pool);
}

static int
compare_members (const void *a, const void *b)
{
  const Member *x = a, *y = b;
  int order = compare_rotas (x, y);

  return order ? order : (x->slot > y->slot) - (x->slot < y->slot);
}

static bool
outlives_a_birth (const TesseraSlot *slot)
{
  return slot->died_next > slot->born;
}

static bool
has_turns (const TesseraPlan *plan, const Member *members, size_t n_members)
{
  for (size_t i = 0; i < n_members; i++)
    if (outlives_a_birth (&plan->slots[members[i].slot]))
      return true;
  return false;
}

static size_t
list_members (const TesseraPlanBuild *build, Member *members)
{
  const TesseraPlan *plan = build->plan;
  size_t n = 0;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      if (slot->wraps && slot->died_next >= slot->born)
        members[n++] =
            (Member){ .block_bytes = slot->block_bytes,
                      .stream_pool = (uint32_t) slot->stream << 16 | slot->pool,
                      .slot = i };
    }
  qsort (members, n, sizeof *members, compare_members);
  return n;
}

static int
compare_positions (const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* The most blocks of the rota that are alive together. When the step begins, those of the
 * step before all are; @members are in order of birth. @ends: room for as many. */
static size_t
most_alive (const TesseraPlan *plan,
            const Member *members,
            size_t n_members,
            uint32_t *ends)
{
  size_t n_alive = n_members, most = n_members, n_ended = 0;

  for (size_t i = 0; i < n_members; i++)
    ends[i] = plan->slots[members[i].slot].died_next;
  qsort (ends, n_members, sizeof *ends, compare_positions);
  for (size_t i = 0; i < n_members; i++)
    {
      uint32_t born = plan->slots[members[i].slot].born;

      for (; n_ended < n_members && ends[n_ended] <= born; n_ended++)
        n_alive--;
      n_alive++;
      most = n_alive > most ? n_alive : most;
    }
  return most;
}

/* Who is left in which place after the last step nobody knows: all are taken until the
 * last of them is free. */
static void
end_together (TesseraPlan *plan, const Member *members, size_t n_members)
{
  uint32_t died = 0;

  for (size_t i = 0; i < n_members; i++)
    if (plan->slots[members[i].slot].died > died)
      died = plan->slots[members[i].slot].died;
  for (size_t i = 0; i < n_members; i++)
    plan->slots[members[i].slot].died = died;
}

static TesseraStatus
build_rota (TesseraPlanBuild *build,
            const Member *members,
            size_t n_members,
            uint32_t *ends)
{
  TesseraPlan *plan = build->plan;
  size_t n_spares = most_alive (plan, members, n_members, ends) - n_members;
  TesseraStatus status = TESSERA_OK;

  end_together (plan, members, n_members);
  /* At most one for each that outlives a birth. */
  for (size_t i = 0; n_spares > 0 && status == TESSERA_OK; i++)
    if (outlives_a_birth (&plan->slots[members[i].slot]))
      {
        status = tessera_build_spare (build, members[i].slot);
        n_spares--;
      }
  return status;
}

TesseraStatus
tessera_build_rotas (TesseraPlanBuild *build)
{
  size_t n_slots = build->plan->n_slots;
  Member *members = malloc ((n_slots + 1) * sizeof *members);
  uint32_t *ends = malloc ((n_slots + 1) * sizeof *ends);
  TesseraStatus status = members && ends ? TESSERA_OK : TESSERA_NO_MEMORY;
  size_t n_members = status == TESSERA_OK ? list_members (build, members) : 0, end;

  for (size_t i = 0; status == TESSERA_OK && i < n_members; i = end)
    {
      end = i + 1;
      while (end < n_members && compare_rotas (&members[i], &members[end]) == 0)
        end++;
      if (has_turns (build->plan, members + i, end - i))
        status = build_rota (build, members + i, end - i, ends);
    }
  free (members);
  free (ends);
  return status;
}
