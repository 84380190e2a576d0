/*
 * Curves folded to pixel columns, through a pyramid of lows and highs.
 *
 * Level 1 holds low and high of each FAN values, level 2 of each FAN entries of level 1,
 * and so on: 2 / (FAN - 1) of the curve's own memory, and a query of any range looks at
 * no more than 2 * FAN entries per level.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/curves.h"

#include <stdlib.h>

#define FAN 16u
#define MAX_LEVELS 8 /* FAN ^ 8 = 2 ^ 32 */

typedef struct
{
  uint64_t low, high;
} Span;

struct TesseraFold
{
  const uint64_t *values;
  uint32_t n_values;
  Span *levels[MAX_LEVELS]; /* levels[k] covers FAN ^ (k + 1) values per entry */
  int n_levels;
};

static void
widen (Span *span, uint64_t low, uint64_t high)
{
  if (low < span->low)
    span->low = low;
  if (high > span->high)
    span->high = high;
}

static void
fill_level (TesseraFold *fold, int level, uint32_t n_below)
{
  for (uint32_t i = 0; i < n_below; i++)
    {
      Span *span = &fold->levels[level][i / FAN];
      uint64_t low = level == 0 ? fold->values[i] : fold->levels[level - 1][i].low;
      uint64_t high = level == 0 ? low : fold->levels[level - 1][i].high;
      if (i % FAN == 0)
        *span = (Span){ low, high };
      else
        widen (span, low, high);
    }
}

TesseraStatus
tessera_fold_new (const uint64_t *values, uint32_t n_values, TesseraFold **out_fold)
{
  *out_fold = NULL;
  TesseraFold *fold = calloc (1, sizeof *fold);
  if (fold == NULL)
    return TESSERA_NO_MEMORY;
  fold->values = values;
  fold->n_values = n_values;
  for (uint32_t n = n_values; n > FAN && fold->n_levels < MAX_LEVELS;)
    {
      uint32_t n_above = n / FAN + (n % FAN != 0);
      int level = fold->n_levels;
      fold->levels[level] = malloc (n_above * sizeof (Span));
      if (fold->levels[level] == NULL)
        {
          tessera_fold_free (fold);
          return TESSERA_NO_MEMORY;
        }
      fold->n_levels++;
      fill_level (fold, level, n);
      n = n_above;
    }
  *out_fold = fold;
  return TESSERA_OK;
}

void
tessera_fold_free (TesseraFold *fold)
{
  if (fold == NULL)
    return;
  for (int i = 0; i < fold->n_levels; i++)
    free (fold->levels[i]);
  free (fold);
}

/* Takes one entry of a level (-1: the values themselves) into @span. */
static void
take (const TesseraFold *fold, int level, uint32_t i, Span *span)
{
  if (level < 0)
    widen (span, fold->values[i], fold->values[i]);
  else
    widen (span, fold->levels[level][i].low, fold->levels[level][i].high);
}

/* Low and high of values [begin, end), which is not empty: ragged ends on this level, the
 * whole entries between them on the next. */
static Span
range (const TesseraFold *fold, uint32_t begin, uint32_t end)
{
  Span span = { UINT64_MAX, 0 };
  for (int level = -1;; level++)
    {
      bool is_top = level == fold->n_levels - 1;
      while (begin < end && (is_top || begin % FAN != 0))
        take (fold, level, begin++, &span);
      while (begin < end && end % FAN != 0)
        take (fold, level, --end, &span);
      if (begin >= end)
        return span;
      begin /= FAN;
      end /= FAN;
    }
}

void
tessera_fold_columns (const TesseraFold *fold,
                      const TesseraAxis *axis,
                      double t0,
                      double t1,
                      uint32_t n_columns,
                      uint64_t *low,
                      uint64_t *high)
{
  double step = n_columns > 0 ? (t1 - t0) / n_columns : 0.0;
  uint32_t n = axis->n_events < fold->n_values ? axis->n_events : fold->n_values;
  uint32_t next = tessera_axis_event_at (axis, t0);
  for (uint32_t c = 0; c < n_columns; c++)
    {
      double from = t0 + c * step, to = t0 + (c + 1) * step;
      /* Where a column ends another begins: to look for an event is what takes time. */
      uint32_t begin = next, end = tessera_axis_event_at (axis, to);
      next = end;
      low[c] = high[c] = 0;
      if (n == 0 || to <= 0.0 || from >= 1.0)
        continue;
      if (end >= n ||
          axis->at[end] < to) /* that event's value is in force here as well */
        end++;
      if (end > n)
        end = n;
      if (begin >= end)
        begin = end - 1;
      Span span = range (fold, begin, end);
      low[c] = span.low;
      high[c] = span.high;
    }
}
