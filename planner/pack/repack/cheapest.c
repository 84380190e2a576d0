/*
 * Where a block lies at the least cost. See cheapest.h.
 *
 * What is met changes only where the block comes to lie on top of a range or right below
 * one: those are all the offsets that have to be asked about, and 0 and the limit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/repack/cheapest.h"

#include <stdlib.h>

typedef struct
{
  const TesseraEdge *lows, *highs; /* ascending */
  size_t n;
  uint64_t size_bytes;
  uint64_t best_bytes, best_cost;
} Search;

/* A walk upwards: what begins below the top of the block, what ends by its offset. */
typedef struct
{
  size_t n_begun, n_ended;
  uint64_t begun_cost, ended_cost;
} Walk;

static int
compare_edges (const void *a, const void *b)
{
  const TesseraEdge *x = a, *y = b;
  return x->at_bytes < y->at_bytes ? -1 : x->at_bytes > y->at_bytes;
}

/* Offsets are asked about in ascending order. */
static void
ask (Search *search, Walk *walk, uint64_t offset)
{
  uint64_t top = offset + search->size_bytes;
  while (walk->n_begun < search->n && search->lows[walk->n_begun].at_bytes < top)
    walk->begun_cost += search->lows[walk->n_begun++].cost;
  while (walk->n_ended < search->n && search->highs[walk->n_ended].at_bytes <= offset)
    walk->ended_cost += search->highs[walk->n_ended++].cost;
  uint64_t cost = walk->begun_cost - walk->ended_cost;
  if (cost > search->best_cost ||
      (cost == search->best_cost && offset >= search->best_bytes))
    return;
  search->best_bytes = offset;
  search->best_cost = cost;
}

uint64_t
tessera_cheapest_offset (TesseraEdge *lows,
                         TesseraEdge *highs,
                         size_t n,
                         uint64_t size_bytes,
                         uint64_t limit_bytes,
                         uint64_t *out_cost)
{
  Search search = { .lows = lows,
                    .highs = highs,
                    .n = n,
                    .size_bytes = size_bytes,
                    .best_bytes = UINT64_MAX,
                    .best_cost = UINT64_MAX };
  Walk on_top = { 0 }, below = { 0 };
  qsort (lows, n, sizeof *lows, compare_edges);
  qsort (highs, n, sizeof *highs, compare_edges);
  ask (&search, &on_top, 0);
  for (size_t i = 0; i < n && highs[i].at_bytes <= limit_bytes; i++)
    ask (&search, &on_top, highs[i].at_bytes);
  for (size_t i = 0; i < n; i++)
    if (lows[i].at_bytes >= size_bytes && lows[i].at_bytes - size_bytes <= limit_bytes)
      ask (&search, &below, lows[i].at_bytes - size_bytes);
  ask (&search, &below, limit_bytes);
  *out_cost = search.best_cost;
  return search.best_bytes;
}
