/*
 * Places where a range may pass from stream to stream.
 *
 * Ranges are closed to other owners for a while after a block's end (closing.h), but
 * not to its own: an item has a plain and a long lifetime, and two items conflict when
 * the plain ones meet, or, of different owners, the long ones. To the packer the long
 * ones are the wide lives of an item. Where keeping streams apart is no worse, they stay
 * apart.
 *
 * A block of the start that is closed into the first repeating step shares its range with
 * one of that step that is closed as far into the next: both would else be reserved
 * there.
 *
 * A plan of one stream that keeps small and large apart (build.h) is made in the same
 * way, with these two as owners: what closes soon passes on all the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/closing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OWNERS 256 /* the packer's */

/* A plan that passes ranges between small and large has no place where strays of a run
 * that differs, most of them small, are in nobody's way: for less than this share of the
 * pool it is not worth a large block that misses. And the engine for owners walks over
 * neighbours. */
#define WORTH_SHARE 256
#define MAX_ITEMS_OF_SIZES 262144

typedef struct
{
  TesseraItem plain, longer;
  uint64_t owner;
  uint32_t number; /* of the owner: small */
} Candidate;

typedef struct
{
  TesseraPlanBuild *build;
  TesseraClosing *closing;
  uint32_t *lead;        /* [n_items] the slot whose end is the item's */
  uint32_t *from;        /* [n_items] begin of what reaches into the repeating step */
  Candidate *candidates; /* [n_items] */
  uint64_t *best;        /* [n_items] offsets */
  uint64_t height;
  uint64_t proven_bound_bytes; /* 0: nothing was packed across streams */
  uint64_t held_bound_bytes;   /* whatever passes between streams; 0: none */
  const char *strategy;
} Across;

/* Of slots that share an item the later one has the end of both. */
static void
find_leads (Across *across)
{
  const TesseraPlanBuild *build = across->build;

  for (size_t i = 0; i < build->n_items; i++)
    {
      across->lead[i] = TESSERA_NONE;
      across->from[i] = build->run.step_begin;
    }
  for (uint32_t i = 0; i < build->plan->n_slots; i++)
    {
      uint32_t item = build->item_of_slot[i];

      if (across->lead[item] != TESSERA_NONE)
        across->from[item] = build->plan->slots[across->lead[item]].born;
      across->lead[item] = i;
    }
}

/* Blocks of the start that are closed into the repeating step without loss to their owner
 * share their range with such that are closed into the next step. */
static TesseraStatus
join_closed (Across *across)
{
  TesseraPlanBuild *build = across->build;
  const TesseraRun *run = &build->run;
  size_t n_slots = build->plan->n_slots, n_starts = 0, n_wraps = 0;
  TesseraTail *starts = malloc ((2 * n_slots + 1) * sizeof *starts), *wraps;

  if (!starts)
    return TESSERA_NO_MEMORY;
  wraps = starts + n_slots;
  for (uint32_t i = 0; run->repeats && i < n_slots; i++)
    {
      const TesseraSlot *slot = &build->plan->slots[i];
      uint32_t item = build->item_of_slot[i];
      TesseraTail tail = { tessera_slot_owner (slot), slot->block_bytes,
                           tessera_closing_tail (across->closing, i), i, TESSERA_NONE };

      if (!tail.tail || across->lead[item] != i ||
          (build->holds.is_held && build->holds.is_held[i]) ||
          across->from[item] != run->step_begin ||
          !tessera_closing_is_free (across->closing, i))
        continue;
      if (slot->born >= run->step_begin)
        wraps[n_wraps++] = tail;
      else if (slot->died <= run->step_begin)
        starts[n_starts++] = tail;
    }
  tessera_match_tails (starts, n_starts, wraps, n_wraps);
  for (size_t i = 0; i < n_starts; i++)
    if (starts[i].partner != TESSERA_NONE)
      build->item_of_slot[starts[i].slot] = build->item_of_slot[starts[i].partner];
  free (starts);
  return tessera_build_close_ranks (build);
}

static void
list_candidates (Across *across)
{
  TesseraPlanBuild *build = across->build;

  find_leads (across);
  for (uint32_t i = 0; i < build->n_items; i++)
    {
      Candidate *candidate = &across->candidates[i];
      bool is_joined = across->from[i] != build->run.step_begin;

      *candidate = (Candidate){ .plain = build->items[i] };
      candidate->owner = tessera_slot_owner (&build->plan->slots[across->lead[i]]);
      candidate->longer = candidate->plain;
      tessera_closing_extend (across->closing, across->lead[i], across->from[i],
                              &candidate->longer);
      if (is_joined)
        candidate->plain = candidate->longer;
    }
}

/* Small numbers for owners, in the order of their first item. Returns: false where there
 * are more than the packer takes. */
static bool
number_owners (Across *across)
{
  uint64_t owners[MAX_OWNERS];
  uint32_t n_owners = 0, last = 0;

  for (size_t i = 0; i < across->build->n_items; i++)
    {
      uint64_t owner = across->candidates[i].owner;

      if (!n_owners || owners[last] != owner)
        for (last = 0; last < n_owners && owners[last] != owner;)
          last++;
      if (last == MAX_OWNERS)
        return false;
      if (last == n_owners)
        owners[n_owners++] = owner;
      across->candidates[i].number = last;
    }
  return true;
}

/* What is packed. Private pools share with nobody: they are zones. */
static TesseraItem *
make_items (const Across *across)
{
  size_t n = across->build->n_items;
  TesseraItem *items = calloc (n + 1, sizeof *items);

  for (size_t i = 0; items && i < n; i++)
    {
      const Candidate *candidate = &across->candidates[i];

      items[i] = candidate->plain;
      items[i].zone = (uint32_t) (candidate->owner >> 32);
      items[i].owner = candidate->number;
      items[i].wide_begin = candidate->longer.begin;
      items[i].wide_end = candidate->longer.end;
      items[i].wide_begin2 = candidate->longer.begin2;
      items[i].wide_end2 = candidate->longer.end2;
    }
  return items;
}

/* What no layout is below, whether blocks are joined or not. */
static TesseraStatus
prove (Across *across)
{
  TesseraItem *items = make_items (across);
  TesseraStatus status = TESSERA_NO_MEMORY;

  if (items)
    status = tessera_pack_closed_bound (items, across->build->n_items,
                                        &across->proven_bound_bytes);
  free (items);
  return status;
}

/* @out_is_for: false where there are more owners than the packer takes. */
static TesseraStatus
prepare (Across *across, bool *out_is_for)
{
  size_t n_items = across->build->n_items;
  TesseraStatus status;

  across->lead = malloc ((n_items + 1) * sizeof *across->lead);
  across->from = malloc ((n_items + 1) * sizeof *across->from);
  across->candidates = malloc ((n_items + 1) * sizeof *across->candidates);
  across->best = malloc ((n_items + 1) * sizeof *across->best);
  if (!across->lead || !across->from || !across->candidates || !across->best)
    return TESSERA_NO_MEMORY;
  list_candidates (across);
  *out_is_for = number_owners (across);
  if (!*out_is_for)
    return TESSERA_OK;
  status = prove (across);
  if (status == TESSERA_OK)
    status = join_closed (across);
  if (status != TESSERA_OK)
    return status;
  list_candidates (across);
  *out_is_for = number_owners (across);
  return TESSERA_OK;
}

static TesseraStatus
pack (Across *across)
{
  TesseraItem *items = make_items (across);
  TesseraPacking packing;
  TesseraStatus status;

  if (!items)
    return TESSERA_NO_MEMORY;
  status = tessera_build_pack (across->build, items, across->build->n_items, across->best,
                               &packing);
  free (items);
  across->height = packing.height_bytes;
  across->strategy = packing.strategy;
  return status;
}

/* Takes the offsets found, unless keeping the streams apart was no worse: then distances
 * of what is kept together are those of before. */
static TesseraStatus
choose (Across *across)
{
  TesseraPlan *plan = across->build->plan;
  const char *prefix = plan->across_streams ? "across streams: "
                       : across->build->options->strategy == TESSERA_STRATEGY_AUTO
                           ? "auto: free: "
                           : "free: ";
  uint64_t least_win = plan->across_streams ? 0 : plan->height_bytes / WORTH_SHARE;
  size_t n_bytes;
  char *strategy;

  if (!across->strategy || across->height + least_win >= plan->height_bytes)
    {
      const TesseraComplaint complaint = tessera_build_complaint (across->build);

      return tessera_holds_apply (&across->build->holds, across->build->item_of_slot,
                                  plan, &complaint, across->build->items,
                                  across->build->n_items);
    }
  n_bytes = strlen (prefix) + strlen (across->strategy) + 1;
  strategy = malloc (n_bytes);
  if (!strategy)
    return TESSERA_NO_MEMORY;
  snprintf (strategy, n_bytes, "%s%s", prefix, across->strategy);
  free (plan->strategy);
  plan->strategy = strategy;
  plan->height_bytes = across->height;
  if (plan->ungrouped_bytes > across->height)
    plan->ungrouped_bytes = across->height;
  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i].offset_bytes = across->best[across->build->item_of_slot[i]];
  return TESSERA_OK;
}

/* What holds for owners apart says nothing of layouts across them, but for what edits
 * keep apart or pin. */
static void
settle_proof (const Across *across)
{
  TesseraPlan *plan = across->build->plan;

  plan->proven_bound_bytes = across->proven_bound_bytes > across->held_bound_bytes
                                 ? across->proven_bound_bytes
                                 : across->held_bound_bytes;
  if (plan->proven_bound_bytes < plan->bound_bytes ||
      plan->proven_bound_bytes > plan->height_bytes)
    plan->proven_bound_bytes = plan->bound_bytes;
}

/* Whether letting ranges pass could lower what keeping all owners apart has come to. */
static bool
is_worth_it (const TesseraPlanBuild *build)
{
  const TesseraPlan *plan = build->plan;

  /* Groups as rectangles know nothing of closed ranges. */
  if (build->options->strategy == TESSERA_STRATEGY_PAPER ||
      build->options->strategy == TESSERA_STRATEGY_PAPER_PLAIN)
    return false;
  return plan->across_streams ||
         (build->n_items <= MAX_ITEMS_OF_SIZES &&
          plan->height_bytes - plan->bound_bytes > plan->height_bytes / WORTH_SHARE);
}

TesseraStatus
tessera_build_across (TesseraPlanBuild *build)
{
  Across across = { .build = build };
  TesseraStatus status = tessera_build_offsets (build); /* owners apart */

  if (status != TESSERA_OK || !tessera_build_splits_sizes (build) || build->n_items == 0)
    return status;
  if (build->holds.n_holds > 0)
    status =
        tessera_pack_held_bound (build->items, build->n_items, &across.held_bound_bytes);
  if (status == TESSERA_OK && (is_worth_it (build) || build->plan->across_streams))
    status = tessera_closing_new (build, &across.closing);
  if (status == TESSERA_OK && is_worth_it (build))
    {
      bool is_for_owners = false;

      status = prepare (&across, &is_for_owners);
      if (status == TESSERA_OK && is_for_owners)
        status = pack (&across);
      if (status == TESSERA_OK)
        status = choose (&across);
    }
  settle_proof (&across);
  if (status == TESSERA_OK && build->plan->across_streams)
    status = tessera_build_hand_overs (build, across.closing);
  tessera_closing_free (across.closing);
  free (across.lead);
  free (across.from);
  free (across.candidates);
  free (across.best);
  return status;
}
