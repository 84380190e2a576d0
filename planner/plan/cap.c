/*
 * A plan under a cap: fewer slots, until the pool is no higher.
 *
 * Blocks lose their slots until the load is nowhere above what is left for it: at the
 * first moment at which it is, of those alive the one with the least bytes x lifetime.
 * What the packing takes above the load is taken off in the next round, so a few rounds
 * do. What edits hold (pins, apart, together) keeps its slots.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <stdlib.h>
#include <string.h>

/* From the fifth on a round takes off at least an eighth of what is left. */
#define PATIENT_ROUNDS 4
#define MOST_ROUNDS 64

typedef struct
{
  double weight; /* bytes x lifetime of all its slots */
  bool stays;    /* held by an edit, or a spare's */
  bool is_gone;
} Item;

/* One of the two lives of an item. */
typedef struct
{
  uint32_t zone, begin, end, item;
} Life;

/* A heap of items, the lightest on top. */
typedef struct
{
  uint32_t *items;
  size_t n;
  const Item *of;
} Heap;

static bool
is_lighter (const Heap *heap, uint32_t a, uint32_t b)
{
  double x = heap->of[a].weight, y = heap->of[b].weight;

  return x != y ? x < y : a < b;
}

static void
push (Heap *heap, uint32_t item)
{
  size_t at = heap->n++;

  for (; at > 0 && is_lighter (heap, item, heap->items[(at - 1) / 2]); at = (at - 1) / 2)
    heap->items[at] = heap->items[(at - 1) / 2];
  heap->items[at] = item;
}

static uint32_t
pop (Heap *heap)
{
  uint32_t top = heap->items[0], last = heap->items[--heap->n];
  size_t at = 0;

  for (;;)
    {
      size_t child = 2 * at + 1;

      if (child >= heap->n)
        break;
      if (child + 1 < heap->n &&
          is_lighter (heap, heap->items[child + 1], heap->items[child]))
        child++;
      if (!is_lighter (heap, heap->items[child], last))
        break;
      heap->items[at] = heap->items[child];
      at = child;
    }
  heap->items[at] = last;
  return top;
}

static int
by_begin (const void *a, const void *b)
{
  const Life *x = a, *y = b;

  if (x->zone != y->zone)
    return x->zone < y->zone ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

static int
by_end (const void *a, const void *b)
{
  const Life *x = a, *y = b;

  if (x->zone != y->zone)
    return x->zone < y->zone ? -1 : 1;
  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

typedef struct
{
  TesseraPlanBuild *build;
  Item *items;
  Life *begins, *ends; /* [n_lives] each, by zone */
  size_t n_lives;
  Heap heap;
  uint8_t *is_alive; /* by item */
} Cap;

static bool
is_spare (const TesseraPlanBuild *build, size_t slot)
{
  return slot >= build->first_spare && slot < build->first_spare + build->n_spares;
}

static void
weigh (Cap *cap)
{
  const TesseraPlanBuild *build = cap->build;

  for (uint32_t i = 0; i < build->n_items; i++)
    {
      const TesseraItem *item = &build->items[i];
      uint32_t zone = build->plan->across_streams ? 0 : item->zone;

      cap->items[i] = (Item){ .weight = (double) item->size_bytes *
                                        ((double) (item->end - item->begin) +
                                         (double) (item->end2 - item->begin2)) };
      cap->begins[cap->n_lives++] = (Life){ zone, item->begin, item->end, i };
      if (item->begin2 < item->end2)
        cap->begins[cap->n_lives++] = (Life){ zone, item->begin2, item->end2, i };
    }
  for (size_t i = 0; i < build->plan->n_slots; i++)
    if (is_spare (build, i) || (build->holds.is_held && build->holds.is_held[i]))
      cap->items[build->item_of_slot[i]].stays = true;
  if (!cap->n_lives)
    return;
  memcpy (cap->ends, cap->begins, cap->n_lives * sizeof *cap->ends);
  qsort (cap->begins, cap->n_lives, sizeof *cap->begins, by_begin);
  qsort (cap->ends, cap->n_lives, sizeof *cap->ends, by_end);
}

/* Walks over the lives [first, last) of one zone; where the load exceeds @most_bytes
 * items go, while any can. Returns: the highest load that is left. */
static uint64_t
sweep (Cap *cap, size_t first, size_t last, uint64_t most_bytes)
{
  const TesseraItem *items = cap->build->items;
  uint64_t load = 0, peak = 0;
  size_t ended = first;

  cap->heap.n = 0;
  for (size_t i = first; i < last; i++)
    {
      const Life *life = &cap->begins[i];

      for (; cap->ends[ended].end <= life->begin; ended++)
        if (!cap->items[cap->ends[ended].item].is_gone)
          {
            load -= items[cap->ends[ended].item].size_bytes;
            cap->is_alive[cap->ends[ended].item] = 0;
          }
      if (cap->items[life->item].is_gone)
        continue;
      load += items[life->item].size_bytes;
      cap->is_alive[life->item] = 1;
      if (!cap->items[life->item].stays)
        push (&cap->heap, life->item);
      while (load > most_bytes && cap->heap.n > 0)
        {
          uint32_t lightest = pop (&cap->heap);

          if (!cap->is_alive[lightest] || cap->items[lightest].is_gone)
            continue;
          cap->items[lightest].is_gone = true;
          cap->is_alive[lightest] = 0;
          load -= items[lightest].size_bytes;
        }
      peak = load > peak ? load : peak;
    }
  for (size_t i = first; i < last; i++)
    cap->is_alive[cap->begins[i].item] = 0;
  return peak;
}

/* Calls sweep() on each zone, with its share of @most_bytes by @peaks (NULL: no limit,
 * and the sum of peaks is wanted). */
static uint64_t
sweep_zones (Cap *cap, uint64_t most_bytes, uint64_t all_peaks, uint64_t *peaks)
{
  uint64_t sum = 0;
  size_t zone = 0;

  for (size_t i = 0, end; i < cap->n_lives; i = end, zone++)
    {
      uint64_t share = UINT64_MAX;

      for (end = i + 1;
           end < cap->n_lives && cap->begins[end].zone == cap->begins[i].zone;)
        end++;
      if (all_peaks)
        share = (uint64_t) ((double) most_bytes *
                            ((double) peaks[zone] / (double) all_peaks));
      sum += all_peaks ? sweep (cap, i, end, share)
                       : (peaks[zone] = sweep (cap, i, end, share));
    }
  return sum;
}

static void
cap_clear (Cap *cap)
{
  free (cap->items);
  free (cap->begins);
  free (cap->ends);
  free (cap->heap.items);
  free (cap->is_alive);
}

static TesseraStatus
cap_init (Cap *cap, TesseraPlanBuild *build)
{
  size_t n = build->n_items + 1;

  *cap = (Cap){ .build = build };
  cap->items = calloc (n, sizeof *cap->items);
  cap->begins = malloc (2 * n * sizeof *cap->begins);
  cap->ends = malloc (2 * n * sizeof *cap->ends);
  cap->heap.items = malloc (2 * n * sizeof *cap->heap.items);
  cap->heap.of = cap->items;
  cap->is_alive = calloc (n, 1);
  if (!cap->items || !cap->begins || !cap->ends || !cap->heap.items || !cap->is_alive)
    return TESSERA_NO_MEMORY;
  weigh (cap);
  return TESSERA_OK;
}

/* Marks blocks so that the load of what stays is at most @most_bytes, as far as it goes.
 * *out_n_gone: slots. */
static TesseraStatus
leave_out (TesseraPlanBuild *build, uint64_t most_bytes, size_t *out_n_gone)
{
  Cap cap;
  TesseraStatus status = cap_init (&cap, build);
  uint64_t *peaks = calloc (2 * build->n_items + 2, sizeof *peaks);

  *out_n_gone = 0;
  if (!peaks)
    status = TESSERA_NO_MEMORY;
  if (status == TESSERA_OK)
    {
      uint64_t all_peaks = sweep_zones (&cap, 0, 0, peaks);

      if (all_peaks > 0)
        sweep_zones (&cap, most_bytes, all_peaks, peaks);
    }
  for (size_t i = 0; status == TESSERA_OK && i < build->plan->n_slots; i++)
    if (cap.items[build->item_of_slot[i]].is_gone)
      {
        build->left_out[build->plan->slots[i].block] = build->wishes.cap_edit + 1;
        build->n_left_out++;
        (*out_n_gone)++;
      }
  free (peaks);
  cap_clear (&cap);
  return status;
}

/* A pin beyond the cap can't be had, whatever else goes. */
static TesseraStatus
check_pins (const TesseraPlanBuild *build)
{
  const TesseraComplaint complaint = tessera_build_complaint (build);

  for (size_t h = 0; h < build->holds.n_holds; h++)
    {
      const TesseraHold *hold = &build->holds.holds[h];

      for (size_t i = 0; hold->kind == TESSERA_EDIT_PIN && i < hold->n_slots; i++)
        if (hold->offsets[i] + build->plan->slots[hold->slots[i]].block_bytes >
            build->wishes.cap_bytes)
          return tessera_complain (&complaint, hold->edit, build->wishes.cap_edit,
                                   "what is pinned lies above the cap");
    }
  return TESSERA_OK;
}

/* What stays has no room: of edits that hold something the first is named. */
static TesseraStatus
give_up (const TesseraPlanBuild *build)
{
  const TesseraComplaint complaint = tessera_build_complaint (build);

  return tessera_complain (
      &complaint,
      build->holds.n_holds > 0 ? build->holds.holds[0].edit : build->wishes.cap_edit,
      build->wishes.cap_edit, "what other edits hold takes more than the pool may");
}

TesseraStatus
tessera_build_under_cap (TesseraPlanBuild *build)
{
  uint64_t cap_bytes = build->wishes.cap_bytes, most_bytes = cap_bytes;
  TesseraStatus status = check_pins (build);

  for (int round = 0; status == TESSERA_OK && build->plan->height_bytes > cap_bytes;
       round++)
    {
      uint64_t over_bytes = build->plan->height_bytes - cap_bytes;
      size_t n_gone;

      if (round > 0)
        {
          if (round >= PATIENT_ROUNDS && over_bytes < most_bytes / 8)
            over_bytes = most_bytes / 8;
          most_bytes = over_bytes < most_bytes ? most_bytes - over_bytes : 0;
        }
      status = leave_out (build, most_bytes, &n_gone);
      if (status == TESSERA_OK && n_gone == 0 &&
          (most_bytes == 0 || round == MOST_ROUNDS))
        status = give_up (build);
      if (status == TESSERA_OK)
        status = tessera_build_layout (build);
    }
  return status;
}
