/*
 * Items that wait for a place. See waiting.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/repack/waiting.h"

#include <stdlib.h>

#define WEIGHT_BITS 20

/* The largest number whose square is no more. In whole numbers: the same everywhere. */
static uint64_t
root (uint64_t square)
{
  uint64_t result = 0;
  for (uint64_t bit = UINT64_C (1) << 31; bit != 0; bit >>= 1)
    if ((result + bit) * (result + bit) <= square)
      result += bit;
  return result;
}

static uint32_t
bits_of (uint64_t number)
{
  return number == 0 ? 0 : 64 - (uint32_t) __builtin_clzll (number);
}

/* Roots of areas of 64 bits, then as many bits of them as a weight has. */
static void
weigh (TesseraWaitingItems *waiting, const TesseraPackProblem *problem)
{
  uint64_t largest_bytes = 0, longest_events = 0, heaviest = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      largest_bytes = item->size_bytes > largest_bytes ? item->size_bytes : largest_bytes;
      longest_events =
          item->life_events > longest_events ? item->life_events : longest_events;
    }
  uint32_t n_bits = bits_of (largest_bytes) + bits_of (longest_events);
  uint32_t shift = n_bits > 62 ? n_bits - 62 : 0;
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      uint64_t weight = root (((item->size_bytes >> shift) + 1) * item->life_events);
      waiting->weights[i] = (uint32_t) weight;
      heaviest = weight > heaviest ? weight : heaviest;
    }
  shift = bits_of (heaviest) > WEIGHT_BITS ? bits_of (heaviest) - WEIGHT_BITS : 0;
  for (size_t i = 0; i < problem->n_items; i++)
    waiting->weights[i] = (waiting->weights[i] >> shift) + 1;
}

TesseraStatus
tessera_waiting_init (TesseraWaitingItems *waiting, const TesseraPackProblem *problem)
{
  *waiting = (TesseraWaitingItems){
    .weights = malloc ((problem->n_items + 1) * sizeof *waiting->weights),
    .heap = malloc ((problem->n_items + 1) * sizeof *waiting->heap),
  };
  if (waiting->weights == NULL || waiting->heap == NULL)
    {
      tessera_waiting_clear (waiting);
      return TESSERA_NO_MEMORY;
    }
  weigh (waiting, problem);
  return TESSERA_OK;
}

void
tessera_waiting_clear (TesseraWaitingItems *waiting)
{
  free (waiting->weights);
  free (waiting->heap);
  *waiting = (TesseraWaitingItems){ 0 };
}

void
tessera_waiting_empty (TesseraWaitingItems *waiting)
{
  waiting->n_waiting = 0;
}

static bool
comes_first (const TesseraWaitingItems *waiting, uint32_t a, uint32_t b)
{
  uint32_t x = waiting->weights[a], y = waiting->weights[b];
  return x != y ? x > y : a < b;
}

void
tessera_waiting_push (TesseraWaitingItems *waiting, uint32_t item)
{
  uint32_t *heap = waiting->heap;
  size_t at = waiting->n_waiting++;
  for (; at > 0 && comes_first (waiting, item, heap[(at - 1) / 2]); at = (at - 1) / 2)
    heap[at] = heap[(at - 1) / 2];
  heap[at] = item;
}

uint32_t
tessera_waiting_pop (TesseraWaitingItems *waiting)
{
  uint32_t *heap = waiting->heap, first = heap[0];
  uint32_t last = heap[--waiting->n_waiting];
  size_t at = 0, n = waiting->n_waiting;
  for (size_t child = 1; child < n; child = at * 2 + 1)
    {
      if (child + 1 < n && comes_first (waiting, heap[child + 1], heap[child]))
        child++;
      if (!comes_first (waiting, heap[child], last))
        break;
      heap[at] = heap[child];
      at = child;
    }
  heap[at] = last;
  return first;
}
