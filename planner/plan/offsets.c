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
  TesseraPackOptions pack = { .n_threads = options->n_threads,
                              .work_budget = options->work_budget,
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
  TesseraStatus status;

  if (build->options->is_preview && build->options->former != NULL)
    former = find_former (build);
  options.former = former;
  status = tessera_pack (build->items, build->n_items, &options, offsets, out_packing);
  if (status == TESSERA_OK && !build->options->is_preview)
    status = tessera_unheld_improve (build->items, build->n_items, &options, offsets,
                                     out_packing);
  return status;
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
    tessera_build_part_streams (build, offsets);
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

/*
 * What the items of a plan come to without what edits hold them to, and what that is
 * worth with it.
 *
 * Few rules go around what is held as well as they do without: four pins leave the lowest
 * offset with windows that it has to lift. So where a layout with edits ends above what
 * is proven, the items are packed once more as if nothing held them, and that layout is
 * repaired (planner/pack/repack/repair.h), as a preview repairs the plan before. It is a
 * pure function of items and options, as all of a plan.
 */

/* The two packings more take 5 to 17 processor seconds where no rule reaches the bound,
 * of 100,000 items as of a million (tests/planner/generate.h, four pins); more was not
 * measured. */
#define MAX_ITEMS 1048576

static bool
is_worth_it (const TesseraItem *items, size_t n_items, const TesseraPacking *packing)
{
  if (packing->is_cut_short || packing->height_bytes == packing->proven_bound_bytes ||
      n_items > MAX_ITEMS)
    return false;
  for (size_t i = 0; i < n_items; i++)
    if (tessera_item_is_held (&items[i]))
      return true;
  return false;
}

/* Where the items lie if nobody is held. Of its heights nobody hears: they are of what
 * the edits rule out. */
static TesseraStatus
pack_unheld (const TesseraItem *items,
             size_t n_items,
             const TesseraPackOptions *options,
             uint64_t *offsets)
{
  g_autofree TesseraItem *unheld = g_new (TesseraItem, n_items);
  TesseraPackOptions silent = *options;
  TesseraPacking packing;

  silent.listener = NULL;
  memcpy (unheld, items, n_items * sizeof *unheld);
  for (size_t i = 0; i < n_items; i++)
    {
      unheld[i].is_pinned = 0;
      unheld[i].pinned_bytes = 0;
      unheld[i].in = unheld[i].apart = 0;
      unheld[i].body = 0;
      unheld[i].body_offset_bytes = 0;
    }
  return tessera_pack (unheld, n_items, &silent, offsets, &packing);
}

TesseraStatus
tessera_unheld_improve (const TesseraItem *items,
                        size_t n_items,
                        const TesseraPackOptions *options,
                        uint64_t *offsets,
                        TesseraPacking *packing)
{
  TesseraPackOptions repair = *options;
  TesseraPacking repaired = { .is_cut_short = false };
  g_autofree uint64_t *former = NULL, *others = NULL;
  TesseraStatus status;

  if (!is_worth_it (items, n_items, packing))
    return TESSERA_OK;
  repair.former = former = g_new (uint64_t, n_items);
  others = g_new (uint64_t, n_items);
  status = pack_unheld (items, n_items, options, former);
  if (status == TESSERA_OK)
    status = tessera_pack (items, n_items, &repair, others, &repaired);
  if (status != TESSERA_OK)
    return status;
  if (repaired.height_bytes < packing->height_bytes)
    {
      memcpy (offsets, others, n_items * sizeof *offsets);
      packing->height_bytes = repaired.height_bytes;
      packing->strategy = "as without edits, repaired";
      packing->is_optimal = packing->height_bytes == packing->proven_bound_bytes;
    }
  packing->is_cut_short = repaired.is_cut_short;
  return TESSERA_OK;
}
