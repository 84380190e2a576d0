/*
 * Where lengths of life fall apart. See cuts.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/sweep/cuts.h"

/* Lengths are counted to three bits behind the leading one. */
#define BITS 3
#define N_LENGTHS ((64 - BITS + 1) << BITS)

#define SHORT_PART 8
#define SHARE_PART 64

static uint32_t
length_class (uint64_t events)
{
  if (events < 1u << BITS)
    return (uint32_t) events;
  uint32_t exponent = 63 - (uint32_t) __builtin_clzll (events);
  return ((exponent - BITS + 1) << BITS) +
         (uint32_t) (events >> (exponent - BITS) & ((1u << BITS) - 1));
}

/* The longest life of a class. */
static uint64_t
longest_of (uint32_t class)
{
  if (class < 1u << BITS)
    return class;
  uint32_t shift = (class >> BITS) - 1;
  uint64_t leading = (1u << BITS) + (class & ((1u << BITS) - 1));
  return ((leading + 1) << shift) - 1;
}

TesseraLifeCuts
tessera_life_cuts (const TesseraPackProblem *problem)
{
  double areas[N_LENGTHS] = { 0 }, all = 0, below = 0;
  TesseraLifeCuts cuts = { 0, 0 };
  uint32_t begin = 0, widest = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      double area = (double) item->size_bytes * (double) item->life_events;
      areas[length_class (item->life_events)] += area;
      all += area;
    }
  for (uint32_t c = 0; c < N_LENGTHS && below <= all / SHORT_PART; c++)
    {
      if (areas[c] <= 0)
        continue;
      if (below > 0 && c - begin > widest)
        {
          widest = c - begin;
          cuts.break_events = longest_of (begin);
        }
      begin = c;
      below += areas[c];
      if (below <= all / SHARE_PART)
        cuts.share_events = longest_of (c);
    }
  return cuts;
}
