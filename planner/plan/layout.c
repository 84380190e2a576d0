/*
 * The layout of a plan as a whole: slots, names, items, offsets.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/dynamic/rooms.h"
#include "planner/plan/build.h"

#include <stdlib.h>
#include <string.h>

/* The most that slots take at one position. */
static TesseraStatus
load_bound (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  uint64_t *change = calloc ((size_t) plan->n_positions + 2, sizeof *change);
  uint64_t load = 0;

  if (!change)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      change[slot->born] += slot->block_bytes;
      change[slot->died] -= slot->block_bytes;
      if (slot->wraps)
        {
          change[build->run.step_begin] += slot->block_bytes;
          change[slot->died_next < slot->born ? slot->died_next : slot->born] -=
              slot->block_bytes;
        }
    }
  for (uint32_t i = 0; i < plan->n_positions; i++)
    {
      load += change[i];
      if (load > plan->bound_bytes)
        plan->bound_bytes = load;
    }
  free (change);
  return TESSERA_OK;
}

void
tessera_build_forget (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;

  for (size_t i = 0; i < plan->n_strings; i++)
    free (plan->strings[i]);
  free (plan->strings);
  free (plan->slots);
  free (plan->placeless);
  free (plan->sections);
  free (plan->hand_overs);
  free (plan->crossings);
  free (plan->rooms);
  free (plan->regions);
  plan->strings = NULL;
  plan->slots = NULL;
  plan->placeless = NULL;
  plan->sections = NULL;
  plan->hand_overs = NULL;
  plan->crossings = NULL;
  plan->rooms = NULL;
  plan->regions = NULL;
  plan->n_strings = plan->n_slots = plan->n_sections = plan->n_hand_overs = 0;
  plan->n_crossings = plan->n_rooms = plan->n_regions = plan->n_placeless = 0;
  plan->bound_bytes = plan->height_bytes = 0;
  free (build->items);
  free (build->item_of_slot);
  build->items = NULL;
  build->item_of_slot = NULL;
  build->cap_slots = build->n_items = 0;
  tessera_holds_clear (&build->holds);
}

TesseraStatus
tessera_build_layout (TesseraPlanBuild *build)
{
  const TesseraComplaint complaint = tessera_build_complaint (build);
  TesseraStatus status;

  tessera_build_forget (build);
  status = tessera_build_slots (build);
  if (status == TESSERA_OK)
    status = tessera_build_names (build);
  if (status == TESSERA_OK)
    status =
        tessera_holds_init (&build->wishes, &build->run, build->plan, build->first_spare,
                            build->n_spares, &complaint, &build->holds);
  if (status == TESSERA_OK)
    status = tessera_build_items (build);
  if (status == TESSERA_OK)
    status = load_bound (build);
  if (status == TESSERA_OK)
    status = build->plan->across_streams || build->plan->n_streams == 1
                 ? tessera_build_across (build)
                 : tessera_build_offsets (build);
  if (status == TESSERA_OK && !build->plan->across_streams)
    status = tessera_build_rooms (build);
  return status;
}
