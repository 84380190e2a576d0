/*
 * Packing anew around the peak. See repack.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/repack/repack.h"

#include "planner/pack/repack/around.h"
#include "planner/pack/repack/cheapest.h"
#include "planner/pack/repack/waiting.h"

#include <stdlib.h>
#include <string.h>

/* Waits for a place. */
#define NOWHERE UINT64_MAX

/* An item that meets more lives stays where it is. */
#define MAX_AROUND 65536

/* The first target is so far of the way down to the bound. */
#define FIRST_PART 4
/* Targets nearer to the height than this part of the bound are not worth it. */
#define SMALLEST_PART (1u << 19)
/* Without fewer waiting than ever before, a target gets this part of the looks. */
#define PATIENCE_PART 8
/* Copying and going over all items costs so much less than looking at one. */
#define ITEMS_A_LOOK 16

/* Who has had to go so often weighs no more if it goes again. */
#define MOST_GONE 4095

#define PROGRESS_EVERY 16

typedef struct
{
  const TesseraPackProblem *problem;
  const TesseraRepackOptions *options;
  TesseraAround around;
  TesseraWaiting waiting;
  uint64_t *offsets; /* of the target in work */
  uint16_t *n_gone;  /* [n_items] how often it has had to go */
  uint32_t *lives;   /* [2 * MAX_AROUND] around the item in hand */
  TesseraEdge *lows, *highs;
  uint64_t looks; /* spent */
  bool is_cancelled;
} Repack;

static TesseraStatus
repack_init (Repack *repack, const TesseraTimes *times)
{
  size_t n_items = times->problem->n_items;
  repack->offsets = malloc (n_items * sizeof *repack->offsets);
  repack->n_gone = malloc (n_items * sizeof *repack->n_gone);
  repack->lives = malloc (2 * MAX_AROUND * sizeof *repack->lives);
  repack->lows = malloc (2 * MAX_AROUND * sizeof *repack->lows);
  repack->highs = malloc (2 * MAX_AROUND * sizeof *repack->highs);
  if (repack->offsets == NULL || repack->n_gone == NULL || repack->lives == NULL ||
      repack->lows == NULL || repack->highs == NULL)
    return TESSERA_NO_MEMORY;
  TesseraStatus status = tessera_waiting_init (&repack->waiting, times->problem);
  return status == TESSERA_OK ? tessera_around_init (&repack->around, times) : status;
}

static void
repack_clear (Repack *repack)
{
  free (repack->offsets);
  free (repack->n_gone);
  free (repack->lives);
  free (repack->lows);
  free (repack->highs);
  tessera_waiting_clear (&repack->waiting);
  tessera_around_clear (&repack->around);
}

/* Lives that meet the item in one of its own. Returns: SIZE_MAX where there are too many.
 */
static size_t
list_around (Repack *repack, const TesseraPackItem *item)
{
  size_t n = tessera_around_list (&repack->around, item->lives.begin, item->lives.end,
                                  MAX_AROUND, repack->lives, &repack->looks);
  if (n == SIZE_MAX || item->lives.begin2 >= item->lives.end2)
    return n;
  size_t n_second =
      tessera_around_list (&repack->around, item->lives.begin2, item->lives.end2,
                           MAX_AROUND, &repack->lives[n], &repack->looks);
  return n_second == SIZE_MAX ? SIZE_MAX : n + n_second;
}

/* With several owners lives here are those that others see, and wide ones the item's own
 * (owners.h): whoever of the same owner is never alive together with it is not in its
 * way.
 */
static bool
is_in_way (const Repack *repack, uint32_t item, uint32_t other)
{
  const TesseraPackItem *a = &repack->problem->items[item];
  const TesseraPackItem *b = &repack->problem->items[other];
  return repack->offsets[other] != NOWHERE &&
         (repack->problem->n_owners == 1 || a->owner != b->owner ||
          tessera_pack_lives_meet (&a->wide, &b->wide));
}

/* The item goes where those in its way weigh least; these go. Returns: false where it
 * meets too many. */
static bool
put (Repack *repack, uint32_t item, uint64_t target_bytes)
{
  const TesseraPackItem *items = repack->problem->items;
  uint64_t size_bytes = items[item].size_bytes, cost;
  size_t n = list_around (repack, &items[item]), n_edges = 0;
  if (n == SIZE_MAX)
    return false;
  for (size_t i = 0; i < n; i++)
    {
      uint32_t other = repack->lives[i] / 2;
      uint64_t offset = repack->offsets[other];
      if (!is_in_way (repack, item, other))
        continue;
      uint64_t weight =
          (uint64_t) repack->waiting.weights[other] * (1u + repack->n_gone[other]);
      repack->lows[n_edges] = (TesseraEdge){ offset, weight };
      repack->highs[n_edges++] =
          (TesseraEdge){ offset + items[other].size_bytes, weight };
    }
  repack->looks += n_edges;
  uint64_t begin = tessera_cheapest_offset (repack->lows, repack->highs, n_edges,
                                            size_bytes, target_bytes - size_bytes, &cost);
  for (size_t i = 0; i < n && cost > 0; i++)
    {
      uint32_t other = repack->lives[i] / 2;
      uint64_t offset = repack->offsets[other];
      if (!is_in_way (repack, item, other) || offset >= begin + size_bytes ||
          offset + items[other].size_bytes <= begin)
        continue;
      repack->offsets[other] = NOWHERE;
      if (repack->n_gone[other] < MOST_GONE)
        repack->n_gone[other]++;
      tessera_waiting_push (&repack->waiting, other);
    }
  repack->offsets[item] = begin;
  return true;
}

/* Takes out what sticks out. */
static void
take_out (Repack *repack, uint64_t target_bytes)
{
  const TesseraPackProblem *problem = repack->problem;
  tessera_waiting_empty (&repack->waiting);
  memset (repack->n_gone, 0, problem->n_items * sizeof *repack->n_gone);
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (repack->offsets[i] + problem->items[i].size_bytes > target_bytes)
      {
        repack->offsets[i] = NOWHERE;
        tessera_waiting_push (&repack->waiting, i);
      }
  repack->looks += problem->n_items / ITEMS_A_LOOK;
}

/* Returns: true when all lie below the target. */
static bool
reach (Repack *repack, uint64_t target_bytes)
{
  const TesseraRepackOptions *options = repack->options;
  uint64_t patience = options->looks / PATIENCE_PART;
  take_out (repack, target_bytes);
  size_t fewest = repack->waiting.n_waiting;
  uint64_t last_looks = repack->looks;
  for (uint32_t step = 0; repack->waiting.n_waiting > 0; step++)
    {
      if (step % PROGRESS_EVERY == 0 &&
          !tessera_progress (options->progress, options->fraction))
        repack->is_cancelled = true;
      if (repack->is_cancelled || repack->looks >= options->looks ||
          repack->looks - last_looks > patience ||
          !put (repack, tessera_waiting_pop (&repack->waiting), target_bytes))
        return false;
      if (repack->waiting.n_waiting >= fewest)
        continue;
      fewest = repack->waiting.n_waiting;
      last_looks = repack->looks;
    }
  return true;
}

static uint64_t
height_of (const TesseraPackProblem *problem, const uint64_t *offsets)
{
  uint64_t height_bytes = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    if (offsets[i] + problem->items[i].size_bytes > height_bytes)
      height_bytes = offsets[i] + problem->items[i].size_bytes;
  return height_bytes;
}

/* Target after target. */
static void
lower (Repack *repack, uint64_t *offsets, uint64_t *height_bytes)
{
  const TesseraPackProblem *problem = repack->problem;
  uint64_t bound_bytes = problem->bound_bytes;
  size_t n_bytes = problem->n_items * sizeof *offsets;
  uint64_t step_bytes = (*height_bytes - bound_bytes) / FIRST_PART + 1;
  while (*height_bytes > bound_bytes && step_bytes > bound_bytes / SMALLEST_PART &&
         repack->looks < repack->options->looks && !repack->is_cancelled)
    {
      uint64_t left_bytes = *height_bytes - bound_bytes;
      memcpy (repack->offsets, offsets, n_bytes);
      if (reach (repack,
                 *height_bytes - (step_bytes < left_bytes ? step_bytes : left_bytes)))
        {
          memcpy (offsets, repack->offsets, n_bytes);
          *height_bytes = height_of (problem, offsets);
        }
      else
        step_bytes /= 2;
    }
}

TesseraStatus
tessera_repack (const TesseraTimes *times,
                const TesseraRepackOptions *options,
                uint64_t *offsets,
                uint64_t *height_bytes)
{
  Repack repack = { .problem = times->problem, .options = options };
  if (options->looks == 0 || *height_bytes <= times->problem->bound_bytes)
    return TESSERA_OK;
  TesseraStatus status = repack_init (&repack, times);
  if (status == TESSERA_OK)
    lower (&repack, offsets, height_bytes);
  if (repack.is_cancelled)
    status = TESSERA_CANCELLED;
  repack_clear (&repack);
  return status;
}
