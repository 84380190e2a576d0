/*
 * Offsets for the slots of a plan: strategies, and what edits hold.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"
#include "planner/plan/unheld.h"
#include "planner/stalloc/stalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a preview: all orders of the first round, no walks over all neighbours of very many
 * items, and of what improves so much as keeps 10,000 blocks below a twentieth of a
 * second (benchmark preview). */
#define PREVIEW_BUDGET (UINT64_C (1) << 13)
#define PREVIEW_BUDGET_OF_FEW (UINT64_C (5) << 13)
#define PREVIEW_FEW 4096
#define PREVIEW_FIT_AT_MOST 8192
/* Nearer to the bound than this part of the height nobody sees a difference: half of what
 * a preview may be above the full plan. Under a cap that is left out again. */
#define PREVIEW_ROUGH_PART 2048
#define PREVIEW_ROUGH_PART_UNDER_CAP 16384
/* Where no order of all reached the bound, a preview of more items tries the first ones:
 * of three pipelines of 100,000 blocks under a cap all of them take 5 to 6 processor
 * seconds, for the same heights. */
#define MOST_ITEMS_OF_ORDERS 32768
#define PREVIEW_ORDERS 4
/* More than this part of the height may have been in the way of others, whatever the load
 * says. */
#define MOST_GONE_PART 256

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
                              .listener = options->listener };

  if (options->is_preview)
    {
      pack.work_budget =
          build->n_items <= PREVIEW_FEW ? PREVIEW_BUDGET_OF_FEW : PREVIEW_BUDGET;
      pack.fit_at_most = PREVIEW_FIT_AT_MOST;
      pack.is_brief = true;
      pack.rough_part = build->wishes.cap_bytes == UINT64_MAX
                            ? PREVIEW_ROUGH_PART
                            : PREVIEW_ROUGH_PART_UNDER_CAP;
    }
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

/* The plan before, where it is to be looked at. */
static const TesseraPlan *
hint_of (const TesseraPlanBuild *build)
{
  return build->options->is_preview ? build->options->former : build->options->resumed;
}

/* Zones have peaks of their own, of which the load of all says nothing. */
static bool
has_one_zone (const TesseraPlanBuild *build)
{
  for (size_t i = 1; i < build->n_items; i++)
    if (build->items[i].zone != build->items[0].zone)
      return false;
  return true;
}

/* Whether a plan without those that are gone can be little lower. */
static bool
is_little (const TesseraPlanBuild *build, uint64_t gone_bytes)
{
  const TesseraPlan *before = hint_of (build);
  uint64_t little_bytes = before->height_bytes / PREVIEW_ROUGH_PART;

  return gone_bytes <= little_bytes ||
         (gone_bytes <= before->height_bytes / MOST_GONE_PART && has_one_zone (build) &&
          before->bound_bytes <= build->plan->bound_bytes + little_bytes);
}

/* Where the items lay in the plan before, by their blocks: for the caller to free.
 * *@out_is_whole: nobody is new, and those that are gone made no difference. */
static TesseraStatus
find_former (const TesseraPlanBuild *build, uint64_t **out_former, bool *out_is_whole)
{
  const TesseraPlan *before = hint_of (build), *plan = build->plan;
  size_t n_blocks = build->blocks->n_blocks;
  uint64_t *of_block = malloc ((n_blocks + 1) * sizeof *of_block);
  uint64_t *former = malloc ((build->n_items + 1) * sizeof *former);
  uint64_t gone_bytes = 0;

  *out_former = former;
  *out_is_whole = true;
  if (!of_block || !former)
    {
      free (of_block);
      return TESSERA_NO_MEMORY;
    }
  memset (of_block, 0xff, n_blocks * sizeof *of_block);
  memset (former, 0xff, build->n_items * sizeof *former);
  for (size_t i = 0; i < before->n_slots; i++)
    {
      gone_bytes += before->slots[i].block_bytes;
      if (before->slots[i].block < n_blocks)
        of_block[before->slots[i].block] = before->slots[i].offset_bytes;
    }
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      uint64_t at_bytes = build->last ? build->last[plan->slots[i].block]
                                      : of_block[plan->slots[i].block];

      former[build->item_of_slot[i]] = at_bytes;
      *out_is_whole &= at_bytes != UINT64_MAX;
      gone_bytes -= plan->slots[i].block_bytes;
    }
  *out_is_whole &= !build->last && is_little (build, gone_bytes);
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

/* Whether all orders would be tried in vain. */
static bool
is_long (const TesseraPlanBuild *build)
{
  const TesseraPlan *before = hint_of (build);

  return build->options->is_preview && before != NULL &&
         build->n_items > MOST_ITEMS_OF_ORDERS &&
         before->height_bytes - before->height_bytes / PREVIEW_ROUGH_PART >
             before->bound_bytes;
}

/* Tells the options what the plan before knows of the items. *@out_former: for the caller
 * to free */
static TesseraStatus
look_before (const TesseraPlanBuild *build,
             TesseraPackOptions *options,
             uint64_t **out_former)
{
  bool is_whole;
  TesseraStatus status = find_former (build, out_former, &is_whole);

  options->former = *out_former;
  options->is_settled =
      build->options->is_preview && build->options->former_is_full && is_whole;
  return status;
}

static TesseraStatus
pack_freely (TesseraPlanBuild *build, uint64_t *offsets, TesseraPacking *out_packing)
{
  TesseraPackOptions options = tessera_build_pack_options (build);
  uint64_t *former = NULL;
  TesseraStatus status = TESSERA_OK;

  if (hint_of (build) != NULL)
    status = look_before (build, &options, &former);
  options.n_orders = is_long (build) ? PREVIEW_ORDERS : 0;
  if (status == TESSERA_OK)
    status = tessera_pack (build->items, build->n_items, &options, offsets, out_packing);
  if (status == TESSERA_OK && !build->options->is_preview && former == NULL)
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
