/*
 * Offsets for the slots of a plan: strategies, and what edits hold.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/plan/unheld.h"
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
static TesseraStatus
find_former (const TesseraPlanBuild *build, uint64_t **out_former)
{
  const TesseraPlan *before = build->options->former, *plan = build->plan;
  size_t n_blocks = build->blocks->n_blocks;
  uint64_t *of_block = malloc ((n_blocks + 1) * sizeof *of_block);
  uint64_t *former = malloc ((build->n_items + 1) * sizeof *former);

  *out_former = former;
  if (!of_block || !former)
    {
      free (of_block);
      return TESSERA_NO_MEMORY;
    }
  memset (of_block, 0xff, n_blocks * sizeof *of_block);
  memset (former, 0xff, build->n_items * sizeof *former);
  for (size_t i = 0; i < before->n_slots; i++)
    if (before->slots[i].block < n_blocks)
      of_block[before->slots[i].block] = before->slots[i].offset_bytes;
  for (size_t i = 0; i < plan->n_slots; i++)
    former[build->item_of_slot[i]] =
        build->last ? build->last[plan->slots[i].block] : of_block[plan->slots[i].block];
  free (of_block);
  return TESSERA_OK;
}

/* Rotas of single steps cost places, so load. Where pairs have no less of it, packing
 * them would take long and win nothing. */
static TesseraStatus
check_load (TesseraPlanBuild *build)
{
  TesseraStatus status;

  if (build->load_bytes != 0)
    return TESSERA_OK;
  status = tessera_pack_bound (build->items, build->n_items, &build->load_bytes);
  return status == TESSERA_OK && build->singles_bytes != 0 &&
                 !tessera_build_is_worth (build->singles_bytes, build->load_bytes)
             ? TESSERA_REFUSED
             : status;
}

static TesseraStatus
pack_freely (TesseraPlanBuild *build, uint64_t *offsets, TesseraPacking *out_packing)
{
  TesseraPackOptions options = tessera_build_pack_options (build);
  uint64_t *former = NULL;
  TesseraStatus status = TESSERA_OK;

  if (build->options->is_preview && build->options->former != NULL)
    status = find_former (build, &former);
  options.former = former;
  if (status == TESSERA_OK)
    status = tessera_pack (build->items, build->n_items, &options, offsets, out_packing);
  if (status == TESSERA_OK && !build->options->is_preview)
    status = tessera_unheld_improve (build->items, build->n_items, &options, offsets,
                                     out_packing);
  free (former);
  if (status == TESSERA_OK && build->load_bytes == 0)
    build->load_bytes = out_packing->bound_bytes;
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
  TesseraStallocItem *grouped = malloc ((n_items + 1) * sizeof *grouped);
  TesseraStatus status;

  if (!grouped)
    return TESSERA_NO_MEMORY;
  find_groups (build, item_of_slot, n_items, grouped);
  status = tessera_stalloc_pack (items, grouped, n_items, &options, offsets, out_packing);
  free (grouped);
  return status;
}

/* Packs as the strategy says, and says which edits conflict. Of pairs whose load is not
 * enough below that of single steps: TESSERA_REFUSED. */
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
  if (build->singles_bytes != 0)
    status = check_load (build);
  if (status != TESSERA_OK)
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

char *
tessera_build_describe (const TesseraPlanBuild *build, const char *packing)
{
  const char *name =
      build->options->strategy == TESSERA_STRATEGY_STALLOC ? "stalloc" : "free";
  size_t n_bytes = strlen (name) + strlen (packing) + sizeof ": ";
  char *text = malloc (n_bytes);

  if (text)
    snprintf (text, n_bytes, "%s: %s", name, packing);
  return text;
}

TesseraStatus
tessera_build_offsets (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  uint64_t *offsets = malloc ((build->n_items + 1) * sizeof *offsets);
  TesseraPacking packing;
  TesseraStatus status = offsets ? pack (build, offsets, &packing) : TESSERA_NO_MEMORY;

  if (status != TESSERA_OK)
    goto out;
  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i].offset_bytes = offsets[build->item_of_slot[i]];
  plan->height_bytes = packing.height_bytes;
  plan->proven_bound_bytes = packing.proven_bound_bytes;
  free (plan->strategy);
  plan->strategy = tessera_build_describe (build, packing.strategy);
  if (!plan->strategy)
    status = TESSERA_NO_MEMORY;
out:
  free (offsets);
  return status;
}

/*
 * What the items of a plan come to without what edits hold them to. See unheld.h.
 */

/* The two packings more take 5 to 17 processor seconds where no rule reaches the bound,
 * of 100,000 items as of a million (tests/planner/generate.h, four pins); more was not
 * measured. */
#define MAX_ITEMS 1048576

static bool
is_held (const TesseraItem *item)
{
  return item->is_pinned || item->in != 0 || item->apart != 0 || item->body != 0;
}

static bool
is_worth_it (const TesseraItem *items, size_t n_items, const TesseraPacking *packing)
{
  if (packing->is_cut_short || packing->height_bytes == packing->proven_bound_bytes ||
      n_items > MAX_ITEMS)
    return false;
  for (size_t i = 0; i < n_items; i++)
    if (is_held (&items[i]))
      return true;
  return false;
}

/* Where the items lie if nobody is held. Of its heights nobody hears: they are of what the
 * edits rule out. */
static TesseraStatus
pack_unheld (const TesseraItem *items,
             size_t n_items,
             const TesseraPackOptions *options,
             uint64_t *offsets)
{
  TesseraItem *unheld = malloc (n_items * sizeof *unheld);
  TesseraPackOptions silent = *options;
  TesseraPacking packing;
  TesseraStatus status;

  if (!unheld)
    return TESSERA_NO_MEMORY;
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
  status = tessera_pack (unheld, n_items, &silent, offsets, &packing);
  free (unheld);
  return status;
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
  uint64_t *former, *others;
  TesseraStatus status;

  if (!is_worth_it (items, n_items, packing))
    return TESSERA_OK;
  former = malloc (2 * n_items * sizeof *former);
  if (!former)
    return TESSERA_NO_MEMORY;
  others = former + n_items;
  status = pack_unheld (items, n_items, options, former);
  repair.former = former;
  if (status == TESSERA_OK)
    status = tessera_pack (items, n_items, &repair, others, &repaired);
  if (status == TESSERA_OK && repaired.height_bytes < packing->height_bytes)
    {
      memcpy (offsets, others, n_items * sizeof *offsets);
      packing->height_bytes = repaired.height_bytes;
      packing->strategy = "as without edits, repaired";
      packing->is_optimal = packing->height_bytes == packing->proven_bound_bytes;
    }
  if (status == TESSERA_OK)
    packing->is_cut_short = repaired.is_cut_short;
  free (former);
  return status;
}
