/*
 * Where a block lies at the least cost. See cheapest.h.
 *
 * What is met changes only where the block comes to lie on top of a range or right below
 * one: those are all the offsets that have to be asked about, and 0 and the limit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/repack/cheapest.h"

#include <stdbool.h>
#include <string.h>

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

/* Runs of so many are sorted by insertion. */
#define RUN 16

static void
sort_run (TesseraEdge *edges, size_t n)
{
  for (size_t i = 1; i < n; i++)
    {
      TesseraEdge edge = edges[i];
      size_t at = i;
      for (; at > 0 && edges[at - 1].at_bytes > edge.at_bytes; at--)
        edges[at] = edges[at - 1];
      edges[at] = edge;
    }
}

/* Two sorted runs, of @n_first and the rest of @n, become one. */
static void
merge (const TesseraEdge *edges, size_t n_first, size_t n, TesseraEdge *merged)
{
  size_t first = 0, second = n_first;
  for (size_t i = 0; i < n; i++)
    {
      bool is_second = first == n_first ||
                       (second < n && edges[second].at_bytes < edges[first].at_bytes);
      merged[i] = edges[is_second ? second : first];
      first += !is_second;
      second += is_second;
    }
}

/* Most of the time of ejection chains goes into this: qsort() takes four times as long.
 */
static void
sort_edges (TesseraEdge *edges, size_t n, TesseraEdge *scratch)
{
  TesseraEdge *from = edges, *to = scratch, *was;
  for (size_t i = 0; i < n; i += RUN)
    sort_run (&edges[i], n - i < RUN ? n - i : RUN);
  for (size_t run = RUN; run < n; run *= 2)
    {
      for (size_t i = 0; i < n; i += 2 * run)
        merge (&from[i], n - i < run ? n - i : run, n - i < 2 * run ? n - i : 2 * run,
               &to[i]);
      was = from;
      from = to;
      to = was;
    }
  if (from != edges)
    memcpy (edges, from, n * sizeof *edges);
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
                         TesseraEdge *scratch,
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
  sort_edges (lows, n, scratch);
  sort_edges (highs, n, scratch);
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
