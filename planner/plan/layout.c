/*
 * The layout of a plan as a whole: slots, names, items, offsets.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
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
tessera_build_release (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;

  plan->strings = NULL;
  plan->slots = NULL;
  plan->placeless = NULL;
  plan->sections = NULL;
  plan->crossings = NULL;
  plan->rooms = NULL;
  plan->regions = NULL;
  plan->n_strings = plan->n_slots = plan->n_sections = 0;
  plan->n_crossings = plan->n_rooms = plan->n_regions = plan->n_placeless = 0;
  plan->bound_bytes = plan->height_bytes = 0;
  memset (build->n_spares, 0, sizeof build->n_spares);
  build->items = NULL;
  build->item_of_slot = NULL;
  build->cap_slots = build->cap_placeless = build->n_items = 0;
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
  free (plan->placeless);
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
  const TesseraPlanOptions *options = build->options;
  const TesseraComplaint complaint = { options->edits, build->error,
                                       options->out_conflict };
  const uint32_t *left_out = build->constraints.left_out;
  uint8_t *reaches = calloc (options->n_edits + 1, 1); /* 1: dynamic ones, 2: others */
  uint32_t refused = TESSERA_NONE;

  if (!reaches)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < build->blocks->n_blocks; i++)
    if (left_out[i])
      reaches[left_out[i] - 1] |= build->run.is_dynamic[i] ? 1 : 2;
  for (uint32_t i = 0; i < options->n_edits && refused == TESSERA_NONE; i++)
    if (reaches[i] == 1)
      refused = i;
  free (reaches);
  return refused == TESSERA_NONE
             ? TESSERA_OK
             : tessera_complain (&complaint, refused, refused, TESSERA_ALL_DYNAMIC);
}

void
tessera_build_mark_left_out (TesseraPlanBuild *build, uint32_t block, uint32_t why)
{
  uint32_t partner = tessera_run_partner (&build->run, block);

  build->left_out[block] = why;
  if (partner != TESSERA_NONE)
    build->left_out[partner] = why;
}

TesseraStatus
tessera_build_leave_out (TesseraPlanBuild *build)
{
  size_t n_blocks = build->blocks->n_blocks;

  free (build->left_out);
  build->left_out = calloc (n_blocks + 1, sizeof *build->left_out);
  if (!build->left_out)
    return TESSERA_NO_MEMORY;
  if (build->constraints.left_out && build->run.is_dynamic)
    {
      TesseraStatus status = refuse_dynamic (build);

      if (status != TESSERA_OK)
        return status;
    }
  for (uint32_t i = 0; i < n_blocks; i++)
    {
      uint32_t why = build->constraints.left_out ? build->constraints.left_out[i] : 0;
      uint32_t block;

      if (tessera_run_keeps (&build->run, i))
        why = TESSERA_LEFT_OUT_KEPT;
      block = why != 0 ? tessera_run_stands_for (&build->run, i) : TESSERA_NONE;
      if (block != TESSERA_NONE && !build->left_out[block])
        tessera_build_mark_left_out (build, block, why);
    }
  return TESSERA_OK;
}

/* What edits hold, of slots: each stands for the blocks of all steps. */
static TesseraStatus
find_holds (TesseraPlanBuild *build)
{
  const TesseraComplaint complaint = tessera_build_complaint (build);
  size_t n_blocks = build->blocks->n_blocks;
  uint32_t *slot_of, *slots; /* slot_of: those that stand for themselves */
  TesseraStatus status = TESSERA_NO_MEMORY;

  if (build->constraints.n_constraints == 0)
    return TESSERA_OK;
  slot_of = malloc ((n_blocks + 1) * sizeof *slot_of);
  slots = malloc ((n_blocks + 1) * sizeof *slots);
  if (slot_of && slots)
    {
      const TesseraHoldsMap map = { .slot_of_block = slots,
                                    .is_dynamic = build->run.is_dynamic,
                                    .is_kept = build->run.is_kept };

      memset (slot_of, 0xff, (n_blocks + 1) * sizeof *slot_of);
      for (uint32_t i = 0; i < build->plan->n_slots; i++)
        if (!tessera_build_is_spare (build, i))
          slot_of[build->plan->slots[i].block] = i;
      for (uint32_t i = 0; i < n_blocks; i++)
        {
          uint32_t block = tessera_run_stands_for (&build->run, i);

          slots[i] = block == TESSERA_NONE ? TESSERA_NONE : slot_of[block];
        }
      status = tessera_holds_init (&build->constraints, build->plan, &map, &complaint,
                                   &build->holds);
    }
  free (slot_of);
  free (slots);
  return status;
}

TesseraStatus
tessera_build_prepare (TesseraPlanBuild *build)
{
  TesseraStatus status;

  tessera_build_forget (build);
  status = tessera_build_slots (build);
  if (status == TESSERA_OK)
    status = tessera_build_names (build);
  if (status == TESSERA_OK)
    status = find_holds (build);
  if (status == TESSERA_OK)
    status = tessera_build_items (build);
  if (status == TESSERA_OK)
    status = load_bound (build);
  return status;
}

TesseraStatus
tessera_build_layout (TesseraPlanBuild *build)
{
  TesseraStatus status = tessera_build_prepare (build);

  if (status == TESSERA_OK)
    status = tessera_build_offsets (build);
  if (status == TESSERA_OK)
    tessera_build_rooms (build);
  return status;
}
