/*
 * Reusable space: the part of a pool that nothing planned touches during a time range;
 * groups.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/groups.h"

#include <stdlib.h>

typedef struct
{
  uint64_t low, high;
} Span;

static int
by_low (const void *a, const void *b)
{
  const Span *x = a, *y = b;

  if (x->low != y->low)
    return x->low < y->low ? -1 : 1;
  return x->high < y->high ? -1 : x->high > y->high;
}

TesseraStatus
tessera_reusable_space (const TesseraDecision *decisions,
                        size_t n_decisions,
                        uint64_t height_bytes,
                        uint64_t begin,
                        uint64_t end,
                        uint64_t **out_pairs,
                        size_t *out_n_pairs)
{
  Span *taken = malloc ((n_decisions + 1) * sizeof *taken);
  uint64_t *pairs = malloc (2 * (n_decisions + 1) * sizeof *pairs);
  uint64_t floor = 0;
  size_t n_taken = 0, n_pairs = 0;

  *out_pairs = NULL;
  *out_n_pairs = 0;
  if (!taken || !pairs)
    {
      free (taken);
      free (pairs);
      return TESSERA_NO_MEMORY;
    }
  for (size_t i = 0; i < n_decisions; i++)
    if (decisions[i].begin < end && begin < decisions[i].end)
      taken[n_taken++] = (Span){ decisions[i].offset_bytes,
                                 decisions[i].offset_bytes + decisions[i].size_bytes };
  qsort (taken, n_taken, sizeof *taken, by_low);
  for (size_t i = 0; i <= n_taken; i++)
    {
      uint64_t low =
          i < n_taken && taken[i].low < height_bytes ? taken[i].low : height_bytes;

      if (low > floor)
        {
          pairs[2 * n_pairs] = floor;
          pairs[2 * n_pairs + 1] = low;
          n_pairs++;
        }
      if (i < n_taken && taken[i].high > floor)
        floor = taken[i].high;
    }
  free (taken);
  *out_pairs = pairs;
  *out_n_pairs = n_pairs;
  return TESSERA_OK;
}
