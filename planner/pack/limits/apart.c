/*
 * The bound that sets give: see apart.h.
 *
 * The items of a set that is apart from itself lie one beside the other, so they take the
 * sum of their sizes. What is alive from the first of their births to the last of their
 * deaths is alive with each of them, and takes its own on top.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/limits/apart.h"

/* Returns: whether no two of the set share an address, and the item is of it. */
static bool
is_of (const TesseraPackProblem *problem, size_t item, uint64_t set)
{
  const TesseraPackLimit *limit = &problem->limits[item];
  return (limit->in & limit->apart & set) != 0;
}

static uint64_t
bound_of_set (const TesseraPackProblem *problem, uint64_t set)
{
  uint64_t bytes = 0;
  uint32_t begin = UINT32_MAX, end = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      const TesseraPackLives *lives = &item->lives;
      if (!is_of (problem, i, set))
        continue;
      bytes += item->size_bytes;
      begin = lives->begin < begin ? lives->begin : begin;
      begin = lives->begin2 < begin ? lives->begin2 : begin;
      end = lives->end > end ? lives->end : end;
      end = lives->end2 > end ? lives->end2 : end;
    }
  for (size_t i = 0; i < problem->n_items; i++)
    if (begin < end && !is_of (problem, i, set) &&
        problem->items[i].lives.begin <= begin && problem->items[i].lives.end >= end)
      bytes += problem->items[i].size_bytes;
  return bytes;
}

uint64_t
tessera_pack_apart_bound (const TesseraPackProblem *problem)
{
  uint64_t sets = 0, most = 0;
  for (size_t i = 0; problem->has_sets && i < problem->n_items; i++)
    sets |= problem->limits[i].in & problem->limits[i].apart;
  for (; sets != 0; sets &= sets - 1)
    {
      uint64_t bytes = bound_of_set (problem, sets & -sets);
      most = bytes > most ? bytes : most;
    }
  return most;
}
