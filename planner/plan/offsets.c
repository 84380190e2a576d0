/*
 * Offsets for the slots of a plan: strategies, and what edits hold.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <stdlib.h>
#include <string.h>

#include "planner/stalloc/stalloc.h"

TesseraComplaint
tessera_build_complaint (const TesseraPlanBuild *build)
{
  return (TesseraComplaint){ build->options->edits, build->error,
                             build->options->out_conflict };
}

TesseraPackOptions
tessera_build_pack_options (const TesseraPlanBuild *build)
{
  const TesseraPlanOptions *options = build->options;
  TesseraPackOptions pack = { .work_budget = options->work_budget,
                              .progress = &build->stop.progress,
                              .keeps_best =
                                  options->keeps_best || options->time_limit_s > 0,
                              .listener = options->listener,
                              .is_preview = options->is_preview };
  return pack;
}

TesseraStatus
tessera_build_settle_cut (TesseraPlanBuild *build, const TesseraPacking *packing)
{
  if (!packing->is_cut_short)
    return TESSERA_OK;
  if (build->stop.cut == TESSERA_CUT_BY_PERSON && !build->options->keeps_best)
    return TESSERA_CANCELLED;
  build->plan->cut_short = (uint8_t) build->stop.cut;
  return TESSERA_OK;
}

/* Where the items lay in the plan before, by their blocks: for the caller to free. */
static uint64_t *
find_former (const TesseraPlanBuild *build)
{
  const TesseraPlan *before = build->options->former, *plan = build->plan;
  size_t n_blocks = build->blocks->n_blocks;
  g_autofree uint64_t *of_block = g_new (uint64_t, n_blocks + 1);
  uint64_t *former = g_new (uint64_t, build->n_items + 1);

  memset (of_block, 0xff, n_blocks * sizeof *of_block);
  memset (former, 0xff, build->n_items * sizeof *former);
  for (size_t i = 0; i < before->n_slots; i++)
    if (before->slots[i].block < n_blocks)
      of_block[before->slots[i].block] = before->slots[i].offset_bytes;
  for (size_t i = 0; i < plan->n_slots; i++)
    former[build->item_of_slot[i]] =
        build->last ? build->last[plan->slots[i].block] : of_block[plan->slots[i].block];
  return former;
}

static TesseraStatus
pack_freely (TesseraPlanBuild *build, uint64_t *offsets, TesseraPacking *out_packing)
{
  TesseraPackOptions options = tessera_build_pack_options (build);
  g_autofree uint64_t *former = NULL;

  if (build->options->is_preview && build->options->former != NULL)
    former = find_former (build);
  options.former = former;
  return tessera_pack (build->items, build->n_items, &options, offsets, out_packing);
}

static uint32_t
main_phase (const TesseraPlanBuild *build, uint32_t phase)
{
  return phase < build->structure->n_phases ? build->structure->phases[phase].main
                                            : TESSERA_NONE;
}

/* What groups each item, by its first slot. */
static void
find_groups (const TesseraPlanBuild *build,
             const uint32_t *item_of_slot,
             size_t n_items,
             TesseraStallocItem *grouped)
{
  const TesseraPlan *plan = build->plan;

  for (size_t i = 0; i < n_items; i++)
    grouped[i] = (TesseraStallocItem){ .group = TESSERA_NONE,
                                       .from_phase = TESSERA_NONE,
                                       .to_phase = TESSERA_NONE };
  for (size_t i = plan->n_slots; i-- > 0;)
    {
      const TesseraSlot *slot = &plan->slots[i];
      const TesseraBlock *block = &build->blocks->blocks[slot->block];

      if (item_of_slot[i] == TESSERA_NONE)
        continue;
      grouped[item_of_slot[i]] = (TesseraStallocItem){
        .group = slot->group,
        .from_phase = main_phase (build, block->born_phase),
        .to_phase = main_phase (build, block->died_phase),
        .kind = slot->group == TESSERA_NONE ? 0 : plan->groups[slot->group].kind,
      };
    }
}

TesseraStatus
tessera_build_pack_groups (const TesseraPlanBuild *build,
                           const TesseraItem *items,
                           const uint32_t *item_of_slot,
                           size_t n_items,
                           uint64_t *offsets,
                           TesseraPacking *out_packing)
{
  const TesseraPackOptions options = tessera_build_pack_options (build);
  g_autofree TesseraStallocItem *grouped = g_new (TesseraStallocItem, n_items + 1);

  find_groups (build, item_of_slot, n_items, grouped);
  return tessera_stalloc_pack (items, grouped, n_items, &options, offsets, out_packing);
}

/* Packs as the strategy says, and says which edits conflict. */
static TesseraStatus
pack (TesseraPlanBuild *build, uint64_t *offsets, TesseraPacking *out_packing)
{
  const TesseraComplaint complaint = tessera_build_complaint (build);
  TesseraStatus status =
      tessera_holds_apply (&build->holds, build->item_of_slot, build->plan, &complaint,
                           build->items, build->n_items);

  *out_packing = (TesseraPacking){ .strategy = "nothing to place" };
  if (status != TESSERA_OK || build->n_items == 0)
    return status;
  if (build->options->strategy == TESSERA_STRATEGY_FREE)
    status = pack_freely (build, offsets, out_packing);
  else
    {
      status = tessera_build_pack_groups (build, build->items, build->item_of_slot,
                                          build->n_items, offsets, out_packing);
      out_packing->proven_bound_bytes = build->plan->bound_bytes;
    }
  if (status == TESSERA_REFUSED)
    status = tessera_holds_explain (&build->holds, build->item_of_slot, build->items,
                                    &complaint, out_packing->conflict);
  return status == TESSERA_OK ? tessera_build_settle_cut (build, out_packing) : status;
}

void
tessera_build_describe (TesseraPlanBuild *build, const char *packing)
{
  bool is_stalloc = build->options->strategy == TESSERA_STRATEGY_STALLOC;

  free (build->plan->strategy);
  build->plan->strategy =
      g_strdup_printf ("%s: %s", is_stalloc ? "stalloc" : "free", packing);
}

TesseraStatus
tessera_build_offsets (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  g_autofree uint64_t *offsets = g_new (uint64_t, build->n_items + 1);
  TesseraPacking packing;
  TesseraStatus status = pack (build, offsets, &packing);

  if (status != TESSERA_OK)
    return status;
  if (plan->crosses_streams)
    tessera_build_part_streams (build, build->items, build->item_of_slot, build->n_items,
                                offsets);
  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i].offset_bytes = offsets[build->item_of_slot[i]];
  plan->height_bytes = packing.height_bytes;
  for (size_t i = 0; plan->crosses_streams && i < plan->n_slots; i++)
    plan->height_bytes = MAX (plan->height_bytes,
                              plan->slots[i].offset_bytes + plan->slots[i].block_bytes);
  plan->proven_bound_bytes = packing.proven_bound_bytes;
  tessera_build_describe (build, packing.strategy);
  return TESSERA_OK;
}
