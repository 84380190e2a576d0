/*
 * Free ranges. See gaps.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/gaps.h"

#include <string.h>

static TesseraGap *
gaps_of (const GArray *gaps)
{
  return (TesseraGap *) gaps->data;
}

GArray *
tessera_gaps_new (void)
{
  const TesseraGap everything = { 0, UINT64_MAX };
  GArray *gaps = g_array_new (FALSE, FALSE, sizeof (TesseraGap));
  g_array_append_val (gaps, everything);
  return gaps;
}

/* The number of the first gap that ends above @address: there is one. */
static guint
first_above (const GArray *gaps, uint64_t address)
{
  guint low = 0, high = gaps->len;
  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      if (gaps_of (gaps)[middle].end <= address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

void
tessera_gaps_take (GArray *gaps, uint64_t begin, uint64_t end)
{
  const guint first = first_above (gaps, begin);
  const TesseraGap *all = gaps_of (gaps);
  TesseraGap rest[2];
  guint last = first, n_rest = 0;
  while (last < gaps->len && all[last].begin < end)
    last++;
  if (first == last)
    return;
  if (all[first].begin < begin)
    rest[n_rest++] = (TesseraGap){ all[first].begin, begin };
  if (end < all[last - 1].end)
    rest[n_rest++] = (TesseraGap){ end, all[last - 1].end };
  if (last - first > n_rest)
    g_array_remove_range (gaps, first + n_rest, last - first - n_rest);
  else if (last - first < n_rest)
    g_array_insert_val (gaps, first, rest[0]);
  memcpy (&gaps_of (gaps)[first], rest, n_rest * sizeof *rest);
}

void
tessera_gaps_give (GArray *gaps, uint64_t begin, uint64_t end)
{
  const TesseraGap gap = { begin, end };
  const guint at = first_above (gaps, begin);
  TesseraGap *above = &gaps_of (gaps)[at];
  const bool joins_low = at > 0 && above[-1].end == begin,
             joins_high = above->begin == end;
  if (joins_low && joins_high)
    {
      above->begin = above[-1].begin;
      g_array_remove_index (gaps, at - 1);
    }
  else if (joins_low)
    above[-1].end = end;
  else if (joins_high)
    above->begin = begin;
  else
    g_array_insert_val (gaps, at, gap);
}

uint64_t
tessera_gaps_find (const GArray *gaps, uint64_t size_bytes, bool is_best)
{
  const TesseraGap *all = gaps_of (gaps);
  uint64_t best_bytes = UINT64_MAX, at = 0;
  for (guint i = 0; i < gaps->len; i++)
    {
      const uint64_t bytes = all[i].end - all[i].begin;
      if (bytes < size_bytes || bytes >= best_bytes)
        continue;
      best_bytes = bytes;
      at = all[i].begin;
      if (!is_best || bytes == size_bytes)
        break;
    }
  return at;
}

uint64_t
tessera_gaps_around (const GArray *gaps, uint64_t begin, uint64_t end)
{
  const TesseraGap *gap = &gaps_of (gaps)[first_above (gaps, begin)];
  return gap->begin <= begin && end <= gap->end ? gap->begin : UINT64_MAX;
}

uint64_t
tessera_gaps_nth (const GArray *gaps, uint64_t n)
{
  const TesseraGap *gap = gaps_of (gaps);
  for (; gap->end - gap->begin <= n; gap++)
    n -= gap->end - gap->begin;
  return gap->begin + n;
}
