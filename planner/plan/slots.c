/*
 * The slots of a plan, before they have places: see db/plan.h for what each field says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "planner/structure/private.h"

static TesseraStatus
add_slot (TesseraPlanBuild *build, const TesseraSlot *slot)
{
  TesseraPlan *plan = build->plan;

  if (!TESSERA_RESERVE (plan->slots, build->cap_slots, plan->n_slots + 1))
    return TESSERA_NO_MEMORY;
  plan->slots[plan->n_slots++] = *slot;
  return TESSERA_OK;
}

static TesseraStatus
add_sections (TesseraPlanBuild *build)
{
  const TesseraRun *run = &build->run;
  const TesseraSection all[] = {
    { 0, run->step_begin, 0, 0, TESSERA_SECTION_ONCE, 0, 0 },
    { run->step_begin, run->step_end, 0, 0, TESSERA_SECTION_REPEATS,
      run->last_step - run->first_step + 1, run->is_paired },
    { run->step_end, run->n_positions, 0, 0, TESSERA_SECTION_ONCE, 0, 0 },
  };

  build->plan->sections = calloc (3, sizeof *build->plan->sections);
  if (!build->plan->sections)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < 3; i++)
    if (all[i].begin < all[i].end)
      build->plan->sections[build->plan->n_sections++] = all[i];
  return TESSERA_OK;
}

/* The section that the position lies in. */
static uint32_t
section_at (const TesseraPlan *plan, uint32_t position)
{
  uint32_t section = 0;

  while (section + 1 < plan->n_sections && position >= plan->sections[section].end)
    section++;
  return section;
}

static TesseraSlot
make_slot (const TesseraPlanBuild *build, uint32_t index, const TesseraLifetime *lifetime)
{
  const TesseraBlock *block = &build->blocks->blocks[index];

  return (TesseraSlot){ .size_bytes = block->size_bytes,
                        .block_bytes = block->block_bytes,
                        .born = lifetime->born,
                        .died = lifetime->died,
                        .died_next = lifetime->died_next,
                        .section = section_at (build->plan, lifetime->born),
                        .phase = TESSERA_NONE,
                        .ordinal = TESSERA_NONE,
                        .group = block->group,
                        .block = index,
                        .stream = block->stream,
                        .pool = block->pool,
                        .lifetime_class = block->lifetime_class,
                        .wraps = lifetime->wraps };
}

TesseraStatus
tessera_build_spare (TesseraPlanBuild *build, uint32_t like)
{
  uint32_t last = build->run.step_end - 1;
  TesseraSlot spare = build->plan->slots[like];

  spare.born = last;
  spare.wraps = true;
  spare.died_next = last > build->run.step_begin ? last : last + 1;
  return add_slot (build, &spare);
}

TesseraStatus
tessera_build_placeless (TesseraPlanBuild *build,
                         uint32_t block,
                         uint32_t section,
                         uint32_t born)
{
  TesseraPlan *plan = build->plan;
  const TesseraBlock *of = &build->blocks->blocks[block];

  if (!TESSERA_RESERVE (plan->placeless, build->cap_placeless, plan->n_placeless + 1))
    return TESSERA_NO_MEMORY;
  plan->placeless[plan->n_placeless++] =
      (TesseraPlaceless){ .size_bytes = of->size_bytes,
                          .block_bytes = of->block_bytes,
                          .section = section,
                          .before = (uint32_t) plan->n_slots,
                          .born = born,
                          .phase = TESSERA_NONE,
                          .ordinal = TESSERA_NONE,
                          .block = block,
                          .stream = of->stream,
                          .pool = of->pool };
  return TESSERA_OK;
}

/* Those of the repeating step come at its very end, after all slots so far. */
static TesseraStatus
add_spares (TesseraPlanBuild *build)
{
  uint32_t section = section_at (build->plan, build->run.step_begin);
  size_t first = build->plan->n_slots;
  TesseraStatus status = tessera_build_rotas (build);

  build->n_spares[section] = build->plan->n_slots - first;
  return status;
}

static void
count_slots (TesseraPlan *plan)
{
  size_t next = 0;

  for (size_t i = 0; i < plan->n_sections; i++)
    {
      TesseraSection *section = &plan->sections[i];

      section->first_slot = (uint32_t) next;
      while (next < plan->n_slots && plan->slots[next].section == i)
        next++;
      section->n_slots = (uint32_t) (next - section->first_slot);
    }
}

static TesseraStatus
add_request (TesseraPlanBuild *build, uint32_t block, const TesseraLifetime *lifetime)
{
  const TesseraSlot slot = make_slot (build, block, lifetime);

  return build->left_out[block]
             ? tessera_build_placeless (build, block, slot.section, slot.born)
             : add_slot (build, &slot);
}

TesseraStatus
tessera_build_slots (TesseraPlanBuild *build)
{
  const TesseraRun *run = &build->run;
  TesseraStatus status = add_sections (build);
  bool are_spares_due = run->repeats;

  for (uint32_t i = 0; status == TESSERA_OK && i < build->blocks->n_blocks; i++)
    {
      TesseraLifetime lifetime;

      if (!tessera_run_lifetime (run, i, &lifetime))
        continue;
      if (are_spares_due && lifetime.born >= run->step_end)
        {
          status = add_spares (build);
          are_spares_due = false;
        }
      if (status != TESSERA_OK)
        break;
      status = add_request (build, i, &lifetime);
    }
  if (status == TESSERA_OK && are_spares_due)
    status = add_spares (build);
  if (status == TESSERA_OK)
    count_slots (build->plan);
  return status;
}

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
 */

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
