/*
 * A plan under a cap: see cap.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/cap.h"

#include "planner/plan/strip.h"

#include <stdlib.h>
#include <string.h>

/* A round takes off what the layout was too high by. From the fifth on it takes off at
 * least a 256th of what is left, each time twice as much, up to an eighth. */
#define PATIENT_ROUNDS 4
#define LEAST_SHIFT 8
#define MOST_SHIFT 3
#define MOST_ROUNDS 64

/* A strip needs no packing, and has few requests: of three pipelines of 100,000 blocks
 * 3,610 instead of 21,887, for 1.05 times the bytes x lifetime. */
#define MOST_TIMES_LOST 1.25

/* A heap of items, the lightest on top. */
typedef struct
{
  uint32_t *items;
  size_t n;
  const TesseraCapItem *of;
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
  const TesseraCapLife *x = a, *y = b;

  if (x->zone != y->zone)
    return x->zone < y->zone ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

static int
by_end (const void *a, const void *b)
{
  const TesseraCapLife *x = a, *y = b;

  if (x->zone != y->zone)
    return x->zone < y->zone ? -1 : 1;
  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

typedef struct
{
  TesseraCapItem *items;
  TesseraCapLife *begins, *ends; /* [n_lives] each, by zone */
  size_t n_lives;
  Heap heap;
  uint8_t *is_alive; /* by item */
} Cap;

/* Walks over the lives [first, last) of one zone; where the load exceeds @most_bytes
 * items go, while any can. Returns: the highest load that is left. */
static uint64_t
sweep (Cap *cap, size_t first, size_t last, uint64_t most_bytes)
{
  const TesseraCapItem *items = cap->items;
  uint64_t load = 0, peak = 0;
  size_t ended = first;

  cap->heap.n = 0;
  for (size_t i = first; i < last; i++)
    {
      const TesseraCapLife *life = &cap->begins[i];

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

static TesseraStatus
cap_init (Cap *cap,
          TesseraCapItem *items,
          size_t n_items,
          TesseraCapLife *lives,
          size_t n_lives)
{
  *cap = (Cap){ .items = items,
                .begins = lives,
                .n_lives = n_lives,
                .ends = malloc ((n_lives + 1) * sizeof *cap->ends),
                .heap = { malloc ((n_lives + 1) * sizeof *cap->heap.items), 0, items },
                .is_alive = calloc (n_items + 1, 1) };
  if (!cap->ends || !cap->heap.items || !cap->is_alive)
    return TESSERA_NO_MEMORY;
  if (n_lives == 0)
    return TESSERA_OK;
  for (size_t i = 0; i < n_lives; i++)
    items[lives[i].item].weight += (double) items[lives[i].item].size_bytes *
                                   (double) (lives[i].end - lives[i].begin);
  memcpy (cap->ends, cap->begins, n_lives * sizeof *cap->ends);
  qsort (cap->begins, n_lives, sizeof *cap->begins, by_begin);
  qsort (cap->ends, n_lives, sizeof *cap->ends, by_end);
  return TESSERA_OK;
}

TesseraStatus
tessera_cap_choose (TesseraCapItem *items,
                    size_t n_items,
                    TesseraCapLife *lives,
                    size_t n_lives,
                    uint64_t most_bytes)
{
  Cap cap;
  TesseraStatus status = cap_init (&cap, items, n_items, lives, n_lives);
  uint64_t *peaks = calloc (n_lives + 1, sizeof *peaks);

  if (!peaks)
    status = TESSERA_NO_MEMORY;
  if (status == TESSERA_OK)
    {
      uint64_t all_peaks = sweep_zones (&cap, 0, 0, peaks);

      if (all_peaks > 0)
        sweep_zones (&cap, most_bytes, all_peaks, peaks);
    }
  free (peaks);
  free (cap.ends);
  free (cap.heap.items);
  free (cap.is_alive);
  return status;
}

static void
list_lives (const TesseraPlanBuild *build,
            TesseraCapItem *items,
            TesseraCapLife *lives,
            size_t *out_n_lives)
{
  size_t n = 0;

  for (uint32_t i = 0; i < build->n_items; i++)
    {
      const TesseraItem *item = &build->items[i];

      items[i] = (TesseraCapItem){ .size_bytes = item->size_bytes };
      lives[n++] = (TesseraCapLife){ item->zone, item->begin, item->end, i };
      if (item->begin2 < item->end2)
        lives[n++] = (TesseraCapLife){ item->zone, item->begin2, item->end2, i };
    }
  *out_n_lives = n;
  for (size_t i = 0; i < build->plan->n_slots; i++)
    if (tessera_build_is_spare (build, i) ||
        (build->holds.is_held && build->holds.is_held[i]))
      items[build->item_of_slot[i]].stays = true;
}

/* Of one kind of step. */
static TesseraStatus
leave_out (TesseraPlanBuild *build,
           void *user,
           uint64_t most_bytes,
           TesseraCapLoss *out_loss)
{
  TesseraCapItem *items = malloc ((build->n_items + 1) * sizeof *items);
  TesseraCapLife *lives = malloc ((2 * build->n_items + 1) * sizeof *lives);
  size_t n_lives;
  TesseraStatus status = items && lives ? TESSERA_OK : TESSERA_NO_MEMORY;

  (void) user;
  if (status == TESSERA_OK)
    {
      list_lives (build, items, lives, &n_lives);
      status = tessera_cap_choose (items, build->n_items, lives, n_lives, most_bytes);
    }
  for (size_t i = 0; status == TESSERA_OK && i < build->plan->n_slots; i++)
    if (items[build->item_of_slot[i]].is_gone)
      {
        tessera_build_mark_left_out (build, build->plan->slots[i].block,
                                     build->constraints.cap_edit + 1);
        out_loss->n_requests++;
      }
  for (size_t i = 0; status == TESSERA_OK && i < build->n_items; i++)
    out_loss->weight += items[i].is_gone ? items[i].weight : 0;
  free (items);
  free (lives);
  return status;
}

static TesseraStatus
lay_out (TesseraPlanBuild *build, void *user)
{
  (void) user;
  return tessera_build_layout (build);
}

const TesseraCapWays tessera_cap_of_one_kind = { leave_out, lay_out, true };

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
            build->constraints.cap_bytes)
          return tessera_complain (&complaint, hold->edit, build->constraints.cap_edit,
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
      build->holds.n_holds > 0 ? build->holds.holds[0].edit : build->constraints.cap_edit,
      build->constraints.cap_edit, "what other edits hold takes more than the pool may");
}

static uint64_t
least_step (uint64_t most_bytes, int round)
{
  int shift = LEAST_SHIFT - (round - PATIENT_ROUNDS);

  if (round < PATIENT_ROUNDS)
    return 0;
  return most_bytes >> (shift > MOST_SHIFT ? shift : MOST_SHIFT);
}

/* So much may the load be in a round, from what the layout before came to. */
static uint64_t
most_of_round (const TesseraPlanBuild *build, uint64_t most_bytes, int round)
{
  uint64_t over_bytes = build->plan->height_bytes - build->constraints.cap_bytes;
  uint64_t least_bytes = least_step (most_bytes, round);

  if (round == 0)
    return build->constraints.cap_bytes;
  over_bytes = over_bytes > least_bytes ? over_bytes : least_bytes;
  return over_bytes < most_bytes ? most_bytes - over_bytes : 0;
}

/* Takes the strip where it loses little more than what was chosen by load.
 * @strip: (nullable) */
static TesseraStatus
take_strip (TesseraPlanBuild *build,
            const TesseraStrip *strip,
            const TesseraCapLoss *loss,
            bool *out_is_taken)
{
  *out_is_taken = false;
  if (!strip || tessera_strip_weight (strip) > MOST_TIMES_LOST * loss->weight)
    return TESSERA_OK;
  return tessera_strip_take (build, strip, out_is_taken);
}

static TesseraStatus
lose_some (TesseraPlanBuild *build,
           const TesseraCapWays *ways,
           void *user,
           uint64_t most_bytes,
           bool is_last)
{
  TesseraStrip *strip = NULL;
  TesseraCapLoss loss = { 0 };
  bool is_taken = false;
  TesseraStatus status = TESSERA_OK;

  if (ways->has_strips)
    status = tessera_strip_find (build, build->constraints.cap_bytes, &strip);
  if (status == TESSERA_OK)
    status = ways->leave_out (build, user, most_bytes, &loss);
  if (status == TESSERA_OK)
    status = take_strip (build, strip, &loss, &is_taken);
  tessera_strip_free (strip);
  if (status != TESSERA_OK || is_taken)
    return status;
  if (loss.n_requests == 0 && (most_bytes == 0 || is_last))
    return give_up (build);
  return ways->lay_out (build, user);
}

/* What is left of a layout is nearer to the next one than the plan before the cap. */
static void
note_last (TesseraPlanBuild *build)
{
  const TesseraPlan *plan = build->plan;

  if (!build->last)
    return;
  memset (build->last, 0xff, build->blocks->n_blocks * sizeof *build->last);
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].block < build->blocks->n_blocks)
      build->last[plan->slots[i].block] = plan->slots[i].offset_bytes;
}

TesseraStatus
tessera_build_under_cap (TesseraPlanBuild *build, const TesseraCapWays *ways, void *user)
{
  uint64_t most_bytes = 0;
  TesseraStatus status = check_pins (build);

  if (status == TESSERA_OK && build->options->is_preview)
    {
      build->last = malloc ((build->blocks->n_blocks + 1) * sizeof *build->last);
      status = build->last ? TESSERA_OK : TESSERA_NO_MEMORY;
    }
  for (int round = 0;
       status == TESSERA_OK && build->plan->height_bytes > build->constraints.cap_bytes;
       round++)
    {
      most_bytes = most_of_round (build, most_bytes, round);
      note_last (build);
      status = lose_some (build, ways, user, most_bytes, round == MOST_ROUNDS);
    }
  free (build->last);
  build->last = NULL;
  return status;
}
