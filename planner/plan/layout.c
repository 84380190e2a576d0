/*
 * The layout of a plan as a whole, for the kinds of step that it has: slots, names, holds,
 * offsets, rooms.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <stdlib.h>
#include <string.h>

/* Takes slots and all that comes of them back. */
static void
forget (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;

  for (size_t i = 0; i < plan->n_strings; i++)
    free (plan->strings[i]);
  free (plan->strings);
  free (plan->slots);
  free (plan->unplanned);
  free (plan->sections);
  free (plan->crossings);
  free (plan->rooms);
  free (plan->regions);
  plan->strings = NULL;
  plan->slots = NULL;
  plan->unplanned = NULL;
  plan->sections = NULL;
  plan->crossings = NULL;
  plan->rooms = NULL;
  plan->regions = NULL;
  plan->n_strings = plan->n_slots = plan->n_sections = 0;
  plan->n_crossings = plan->n_rooms = plan->n_regions = plan->n_unplanned = 0;
  plan->bound_bytes = plan->height_bytes = 0;
  memset (build->n_spares, 0, sizeof build->n_spares);
  build->cap_slots = build->cap_unplanned = 0;
  tessera_carries_clear (&build->carries);
  tessera_holds_clear (&build->holds);
}

static void
add_load (uint64_t *changes, uint32_t begin, uint32_t end, uint64_t bytes)
{
  if (begin >= end)
    return;
  changes[begin] += bytes;
  changes[end] -= bytes;
}

static void
add_load_of_carry (uint64_t *changes,
                   const TesseraCarries *carries,
                   const TesseraCarry *carry)
{
  const TesseraUnits *units = carries->units;

  for (uint32_t k = 0; k < units->n_kinds; k++)
    {
      const TesseraStepKind *kind = &units->kinds[k];

      add_load (changes, kind->begin, carry->ends[k], carry->block_bytes);
      if (carry->requests[k] != TESSERA_NONE && !carry->is_turn)
        add_load (changes, carries->requests[carry->requests[k]].born, kind->end,
                  carry->block_bytes);
    }
  add_load (changes, units->first_end, carry->after, carry->block_bytes);
}

/* The most that is held in one moment of any order of steps. */
static void
find_bound (TesseraPlanBuild *build)
{
  const TesseraCarries *carries = &build->carries;
  TesseraPlan *plan = build->plan;
  g_autofree uint64_t *changes = g_new0 (uint64_t, (size_t) plan->n_positions + 2);
  uint64_t load = 0;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    if (!plan->slots[i].wraps)
      add_load (changes, plan->slots[i].born, plan->slots[i].died,
                plan->slots[i].block_bytes);
  for (uint32_t i = 0; i < carries->n_carries; i++)
    add_load_of_carry (changes, carries, &carries->carries[i]);
  plan->bound_bytes = 0;
  for (uint32_t i = 0; i < plan->n_positions; i++)
    {
      load += changes[i];
      plan->bound_bytes = MAX (load, plan->bound_bytes);
    }
  plan->proven_bound_bytes = plan->bound_bytes;
}

TesseraStatus
tessera_build_layout (TesseraPlanBuild *build)
{
  TesseraStatus status;

  forget (build);
  build->plan->n_positions = build->units->n_positions;
  tessera_carries_init (&build->carries, build->units, build->left_out, build->holders);
  tessera_build_add_slots (build);
  find_bound (build);
  tessera_build_names (build);
  status = tessera_build_find_holds (build);
  if (status == TESSERA_OK)
    status = tessera_build_pack (build);
  if (status == TESSERA_OK)
    tessera_build_rooms (build);
  return status;
}
