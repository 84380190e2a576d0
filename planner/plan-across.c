/*
 * Places where a range may pass from stream to stream.
 *
 * Ranges are closed to other owners for a while after a block's end (plan-closing.h), but
 * not to its own: an item has a plain and a long lifetime, and two items conflict when
 * the plain ones meet, or, of different owners, the long ones. The packer knows no such
 * pairs. Here is a plain first fit in several orders; the lowest wins, keeping streams
 * apart included. Cost: O(items^2) of a comparison, so beyond MAX_ITEMS streams are kept
 * apart.
 *
 * A block of the start that is closed into the first repeating step shares its range with
 * one of that step that is closed as far into the next: both would else be reserved
 * there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan-closing.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ITEMS 60000

typedef struct
{
  TesseraItem plain, longer;
  uint64_t owner;
  uint64_t offset;
  double rank; /* higher: placed sooner */
  uint32_t item;
} Candidate;

typedef struct
{
  TesseraPlanBuild *build;
  TesseraClosing *closing;
  uint32_t *lead;        /* [n_items] the slot whose end is the item's */
  uint32_t *from;        /* [n_items] begin of what reaches into the repeating step */
  Candidate *candidates; /* [n_items] in the order of placing */
  uint32_t *placed;      /* candidates by offset */
  uint64_t *best;        /* [n_items] offsets of the lowest so far */
  uint64_t height;
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

static TesseraStatus
prepare (Across *across)
{
  TesseraPlanBuild *build = across->build;
  size_t n_items = build->n_items;

  across->lead = malloc ((n_items + 1) * sizeof *across->lead);
  across->from = malloc ((n_items + 1) * sizeof *across->from);
  across->candidates = malloc ((n_items + 1) * sizeof *across->candidates);
  across->placed = malloc ((n_items + 1) * sizeof *across->placed);
  across->best = malloc ((n_items + 1) * sizeof *across->best);
  if (!across->lead || !across->from || !across->candidates || !across->placed ||
      !across->best)
    return TESSERA_NO_MEMORY;
  find_leads (across);
  if (join_closed (across) != TESSERA_OK)
    return TESSERA_NO_MEMORY;
  find_leads (across);
  for (uint32_t i = 0; i < build->n_items; i++)
    {
      Candidate *candidate = &across->candidates[i];
      bool is_joined = across->from[i] != build->run.step_begin;

      *candidate = (Candidate){ .plain = build->items[i], .item = i };
      candidate->owner = tessera_slot_owner (&build->plan->slots[across->lead[i]]);
      candidate->longer = candidate->plain;
      tessera_closing_extend (across->closing, across->lead[i], across->from[i],
                              &candidate->longer);
      if (is_joined)
        candidate->plain = candidate->longer;
    }
  return TESSERA_OK;
}

static bool
spans_meet (uint32_t begin_a, uint32_t end_a, uint32_t begin_b, uint32_t end_b)
{
  return begin_a < end_b && begin_b < end_a && begin_a < end_a && begin_b < end_b;
}

static bool
lives_meet (const TesseraItem *a, const TesseraItem *b)
{
  return spans_meet (a->begin, a->end, b->begin, b->end) ||
         spans_meet (a->begin2, a->end2, b->begin, b->end) ||
         spans_meet (a->begin, a->end, b->begin2, b->end2) ||
         spans_meet (a->begin2, a->end2, b->begin2, b->end2);
}

/* Private pools share with nobody. */
static bool
conflict (const Candidate *a, const Candidate *b)
{
  if (a->owner == b->owner)
    return lives_meet (&a->plain, &b->plain);
  return a->owner >> 32 != b->owner >> 32 || lives_meet (&a->longer, &b->longer);
}

static int
by_rank (const void *a, const void *b)
{
  const Candidate *x = a, *y = b;

  if (x->rank != y->rank)
    return x->rank > y->rank ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

static double
life_of (const TesseraItem *item)
{
  return (double) (item->end - item->begin) + (item->end2 - item->begin2);
}

/* Large ones first, to a different degree; by area (size * life) and by life alone were
 * 3 to 8 % higher on the FSDP jobs than the best of these. */
static double
rank_of (const Candidate *candidate, int order)
{
  double size = (double) candidate->plain.size_bytes;

  switch (order)
    {
    case 0:
      return size;
    case 1:
      return size * size * size * size * life_of (&candidate->longer);
    case 2:
      return size * size * life_of (&candidate->longer);
    default:
      return size * size * life_of (&candidate->plain);
    }
}

/* Each at the lowest offset where nothing placed before is in its way. */
static TesseraStatus
first_fit (Across *across, int order, uint64_t *out_height)
{
  Candidate *candidates = across->candidates;
  size_t n = across->build->n_items;

  *out_height = 0;
  for (size_t i = 0; i < n; i++)
    candidates[i].rank = rank_of (&candidates[i], order);
  qsort (candidates, n, sizeof *candidates, by_rank);
  for (size_t i = 0; i < n; i++)
    {
      Candidate *candidate = &candidates[i];
      uint64_t floor = 0, size_bytes = candidate->plain.size_bytes;
      size_t low = 0, high = i;

      for (size_t k = 0; k < i; k++)
        {
          const Candidate *other = &candidates[across->placed[k]];

          if (other->offset + other->plain.size_bytes <= floor ||
              !conflict (candidate, other))
            continue;
          if (other->offset >= floor + size_bytes)
            break;
          floor = other->offset + other->plain.size_bytes;
        }
      candidate->offset = floor;
      while (low < high)
        {
          size_t middle = low + (high - low) / 2;

          if (candidates[across->placed[middle]].offset <= floor)
            low = middle + 1;
          else
            high = middle;
        }
      memmove (across->placed + low + 1, across->placed + low,
               (i - low) * sizeof *across->placed);
      across->placed[low] = (uint32_t) i;
      if (floor + size_bytes > *out_height)
        *out_height = floor + size_bytes;
      if (i % 1024 == 0 &&
          !tessera_progress (across->build->options->progress, (double) i / (double) n))
        return TESSERA_CANCELLED;
    }
  return TESSERA_OK;
}

static TesseraStatus
try_orders (Across *across)
{
  static const char *const names[] = {
    "across streams: first fit by size",
    "across streams: first fit by size^4 * life",
    "across streams: first fit by size^2 * life",
    "across streams: first fit by size^2 * life, closed time left out",
  };

  for (int order = 0; order < (int) (sizeof names / sizeof *names); order++)
    {
      uint64_t height;
      TesseraStatus status = first_fit (across, order, &height);

      if (status != TESSERA_OK)
        return status;
      if (across->strategy && height >= across->height)
        continue;
      across->strategy = names[order];
      across->height = height;
      for (size_t i = 0; i < across->build->n_items; i++)
        across->best[across->candidates[i].item] = across->candidates[i].offset;
    }
  return TESSERA_OK;
}

/* Takes the offsets found, unless keeping the streams apart was no worse. */
static TesseraStatus
choose (Across *across)
{
  TesseraPlan *plan = across->build->plan;
  char *strategy;

  if (!across->strategy || across->height >= plan->height_bytes)
    return TESSERA_OK;
  strategy = strdup (across->strategy);
  if (!strategy)
    return TESSERA_NO_MEMORY;
  free (plan->strategy);
  plan->strategy = strategy;
  plan->height_bytes = across->height;
  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i].offset_bytes = across->best[across->build->item_of_slot[i]];
  return TESSERA_OK;
}

TesseraStatus
tessera_build_across (TesseraPlanBuild *build)
{
  Across across = { .build = build };
  TesseraStatus status = tessera_build_offsets (build); /* streams apart */

  if (status != TESSERA_OK || !tessera_build_splits_sizes (build) ||
      build->n_items > MAX_ITEMS)
    return status;
  status = tessera_closing_new (build, &across.closing);
  if (status == TESSERA_OK)
    status = prepare (&across);
  if (status == TESSERA_OK)
    status = try_orders (&across);
  if (status == TESSERA_OK)
    status = choose (&across);
  if (status == TESSERA_OK)
    status = tessera_build_hand_overs (build);
  tessera_closing_free (across.closing);
  free (across.lead);
  free (across.from);
  free (across.candidates);
  free (across.placed);
  free (across.best);
  return status;
}
