/*
 * The layout of a plan as a whole: slots, names, items, offsets.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <stdlib.h>
#include <string.h>

/* The most that slots take at one position. */
static void
load_bound (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  g_autofree uint64_t *change = g_new0 (uint64_t, (size_t) plan->n_positions + 2);
  uint64_t load = 0;

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
      plan->bound_bytes = MAX (load, plan->bound_bytes);
    }
}

void
tessera_build_release (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;

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
  build->items = NULL;
  build->item_of_slot = NULL;
  build->cap_slots = build->cap_unplanned = build->n_items = 0;
  build->holds = (TesseraHolds){ 0 };
}

void
tessera_build_forget (TesseraPlanBuild *build)
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
  free (build->items);
  free (build->item_of_slot);
  tessera_holds_clear (&build->holds);
  tessera_build_release (build);
}

/* An edit all of whose blocks are dynamic leaves nothing out: no plan pretends that it
 * did. Where several edits are about a block, the first is asked. */
static TesseraStatus
refuse_dynamic (TesseraPlanBuild *build)
{
  const TesseraComplaint complaint = tessera_build_complaint (build);
  const uint32_t *left_out = build->constraints.left_out;
  size_t n_edits = build->options->n_edits;
  g_autofree uint8_t *reaches = g_new0 (uint8_t, n_edits + 1); /* 1: dynamic, 2: others */

  for (size_t i = 0; i < build->blocks->n_blocks; i++)
    if (left_out[i])
      reaches[left_out[i] - 1] |= build->run.is_dynamic[i] ? 1 : 2;
  for (uint32_t i = 0; i < n_edits; i++)
    if (reaches[i] == 1)
      return tessera_complain (&complaint, i, i, TESSERA_ALL_DYNAMIC);
  return TESSERA_OK;
}

TesseraStatus
tessera_build_leave_out (TesseraPlanBuild *build)
{
  const uint32_t *left_out = build->constraints.left_out;
  size_t n_blocks = build->blocks->n_blocks;
  TesseraStatus status = TESSERA_OK;

  free (build->left_out);
  build->left_out = g_new0 (uint32_t, n_blocks + 1);
  if (left_out && build->run.is_dynamic)
    status = refuse_dynamic (build);
  for (uint32_t i = 0; status == TESSERA_OK && i < n_blocks; i++)
    {
      uint32_t why = left_out ? left_out[i] : 0, block;

      if (tessera_run_keeps (&build->run, i))
        why = TESSERA_LEFT_OUT_KEPT;
      block = why != 0 ? tessera_run_stands_for (&build->run, i) : TESSERA_NONE;
      if (block != TESSERA_NONE && !build->left_out[block])
        build->left_out[block] = why;
    }
  return status;
}

TesseraStatus
tessera_build_find_holds (TesseraPlanBuild *build,
                          const uint32_t *stands_for,
                          TesseraHoldsMap map)
{
  const TesseraComplaint complaint = tessera_build_complaint (build);
  const TesseraPlan *plan = build->plan;
  size_t n_blocks = build->blocks->n_blocks;
  g_autofree uint32_t *own = tessera_new_nones (n_blocks); /* of what stands for itself */
  g_autofree uint32_t *slots = tessera_new_nones (n_blocks);

  for (uint32_t i = 0; i < plan->n_slots; i++)
    if (!tessera_build_is_spare (build, i))
      own[plan->slots[i].block] = i;
  for (uint32_t i = 0; i < n_blocks; i++)
    if (stands_for[i] != TESSERA_NONE)
      slots[i] = own[stands_for[i]];
  map.slot_of_block = slots;
  return tessera_holds_init (&build->constraints, plan, &map, &complaint, &build->holds);
}

/* What edits hold, of slots: each stands for the blocks of all steps. */
static TesseraStatus
find_holds (TesseraPlanBuild *build)
{
  const TesseraHoldsMap map = { .is_dynamic = build->run.is_dynamic,
                                .is_kept = build->run.is_kept };
  size_t n_blocks = build->blocks->n_blocks;
  g_autofree uint32_t *stands_for = NULL;

  if (build->constraints.n_constraints == 0)
    return TESSERA_OK;
  stands_for = tessera_new_nones (n_blocks);
  for (uint32_t i = 0; i < n_blocks; i++)
    stands_for[i] = tessera_run_stands_for (&build->run, i);
  return tessera_build_find_holds (build, stands_for, map);
}

/* Slots, names, holds, items and bound. */
static TesseraStatus
prepare (TesseraPlanBuild *build)
{
  TesseraStatus status;

  tessera_build_forget (build);
  tessera_build_slots (build);
  tessera_build_names (build);
  status = find_holds (build);
  if (status == TESSERA_OK)
    status = tessera_build_items (build);
  if (status == TESSERA_OK)
    load_bound (build);
  return status;
}

TesseraStatus
tessera_build_layout (TesseraPlanBuild *build)
{
  TesseraStatus status = prepare (build);

  if (status == TESSERA_OK)
    status = tessera_build_offsets (build);
  if (status == TESSERA_OK)
    tessera_build_rooms (build);
  return status;
}
