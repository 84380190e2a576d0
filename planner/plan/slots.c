/*
 * The slots of a plan, before they have places: see db/plan.h for what each field says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <stdlib.h>
#include <string.h>

void
tessera_build_add_slot (TesseraPlanBuild *build, const TesseraSlot *slot)
{
  TesseraPlan *plan = build->plan;

  TESSERA_GROW (plan->slots, build->cap_slots, plan->n_slots + 1);
  plan->slots[plan->n_slots++] = *slot;
}

static void
add_sections (TesseraPlanBuild *build)
{
  const TesseraRun *run = &build->run;
  const TesseraSection all[] = {
    { 0, run->step_begin, 0, 0, TESSERA_SECTION_ONCE, 0, TESSERA_ALTERNATE_NOT },
    { run->step_begin, run->step_end, 0, 0, TESSERA_SECTION_REPEATS,
      run->last_step - run->first_step + 1, TESSERA_ALTERNATE_NOT },
    { run->step_end, run->n_positions, 0, 0, TESSERA_SECTION_ONCE, 0,
      TESSERA_ALTERNATE_NOT },
  };

  build->plan->sections = g_new0 (TesseraSection, 3);
  for (size_t i = 0; i < 3; i++)
    if (all[i].begin < all[i].end)
      build->plan->sections[build->plan->n_sections++] = all[i];
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

TesseraSlot
tessera_build_make_slot (const TesseraPlanBuild *build,
                         uint32_t block,
                         uint32_t section,
                         uint32_t born,
                         uint32_t died)
{
  const TesseraBlock *of = &build->blocks->blocks[block];

  return (TesseraSlot){ .size_bytes = of->size_bytes,
                        .block_bytes = of->block_bytes,
                        .born = born,
                        .died = died > born ? died : born + 1,
                        .section = section,
                        .phase = TESSERA_NONE,
                        .ordinal = TESSERA_NONE,
                        .group = of->group,
                        .block = block,
                        .stream = of->stream,
                        .pool = of->pool,
                        .lifetime_class = of->lifetime_class };
}

static void
add_spare (TesseraPlanBuild *build, uint32_t like)
{
  uint32_t last = build->run.step_end - 1;
  TesseraSlot spare = build->plan->slots[like];

  spare.born = last;
  spare.wraps = true;
  spare.died_next = last > build->run.step_begin ? last : last + 1;
  tessera_build_add_slot (build, &spare);
}

void
tessera_build_unplanned (TesseraPlanBuild *build,
                         uint32_t block,
                         uint32_t section,
                         uint32_t born)
{
  TesseraPlan *plan = build->plan;
  const TesseraBlock *of = &build->blocks->blocks[block];

  TESSERA_GROW (plan->unplanned, build->cap_unplanned, plan->n_unplanned + 1);
  plan->unplanned[plan->n_unplanned++] =
      (TesseraUnplanned){ .size_bytes = of->size_bytes,
                          .block_bytes = of->block_bytes,
                          .section = section,
                          .before = (uint32_t) plan->n_slots,
                          .born = born,
                          .phase = TESSERA_NONE,
                          .ordinal = TESSERA_NONE,
                          .block = block,
                          .stream = of->stream,
                          .pool = of->pool };
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

static void
add_request (TesseraPlanBuild *build, uint32_t block, const TesseraLifetime *lifetime)
{
  uint32_t section = section_at (build->plan, lifetime->born);
  TesseraSlot slot =
      tessera_build_make_slot (build, block, section, lifetime->born, lifetime->died);

  slot.died_next = lifetime->died_next;
  slot.wraps = lifetime->wraps;
  if (build->left_out[block])
    tessera_build_unplanned (build, block, section, slot.born);
  else
    tessera_build_add_slot (build, &slot);
}

/*
 * Rotations: places that blocks of one size take in turn.
 *
 * Where blocks outlive the birth of their successors (an optimizer that makes new state
 * before it lets go of the old), a slot of its own and a spare for each would do, and
 * would reserve everything twice. But seldom are all old and all new ones alive together.
 * Slots of equal stream, pool and size that are taken over the whole step are one
 * rotation: any of its blocks may lie in any of its places, so it needs as many as blocks
 * are ever alive. A free one is then there for every request, whoever lies where, and
 * however many steps went by.
 */

typedef struct
{
  uint64_t block_bytes;
  uint32_t stream_pool;
  uint32_t slot;
} Member;

static int
compare_rotations (const Member *x, const Member *y)
{
  if (x->block_bytes != y->block_bytes)
    return x->block_bytes < y->block_bytes ? -1 : 1;
  return (x->stream_pool > y->stream_pool) - (x->stream_pool < y->stream_pool);
}

static int
compare_members (const void *a, const void *b)
{
  const Member *x = a, *y = b;
  int order = compare_rotations (x, y);

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

/* The most blocks of the rotation that are alive together. When the step begins, those of
 * the step before all are; @members are in order of birth. @ends: room for as many. */
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

static void
build_rotation (TesseraPlanBuild *build,
                const Member *members,
                size_t n_members,
                uint32_t *ends)
{
  TesseraPlan *plan = build->plan;
  size_t n_spares = most_alive (plan, members, n_members, ends) - n_members;

  end_together (plan, members, n_members);
  /* At most one for each that outlives a birth. */
  for (size_t i = 0; n_spares > 0; i++)
    if (outlives_a_birth (&plan->slots[members[i].slot]))
      {
        add_spare (build, members[i].slot);
        n_spares--;
      }
}

/* Those of the repeating step come at its very end, after all slots so far: as few as
 * serve all rotations (db/plan.h). */
static void
add_spares (TesseraPlanBuild *build)
{
  size_t n_slots = build->plan->n_slots, n_members, end;
  g_autofree Member *members = g_new (Member, n_slots + 1);
  g_autofree uint32_t *ends = g_new (uint32_t, n_slots + 1);

  n_members = list_members (build, members);
  for (size_t i = 0; i < n_members; i = end)
    {
      for (end = i + 1;
           end < n_members && compare_rotations (&members[i], &members[end]) == 0;)
        end++;
      if (has_turns (build->plan, members + i, end - i))
        build_rotation (build, members + i, end - i, ends);
    }
  build->n_spares[section_at (build->plan, build->run.step_begin)] =
      build->plan->n_slots - n_slots;
}

void
tessera_build_slots (TesseraPlanBuild *build)
{
  const TesseraRun *run = &build->run;
  bool are_spares_due = run->repeats;

  add_sections (build);
  for (uint32_t i = 0; i < build->blocks->n_blocks; i++)
    {
      TesseraLifetime lifetime;

      if (!tessera_run_lifetime (run, i, &lifetime))
        continue;
      if (are_spares_due && lifetime.born >= run->step_end)
        {
          add_spares (build);
          are_spares_due = false;
        }
      add_request (build, i, &lifetime);
    }
  if (are_spares_due)
    add_spares (build);
  count_slots (build->plan);
}
