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

#include <glib.h>

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

TesseraFold *
tessera_fold_new (const uint64_t *values, uint32_t n_values)
{
  TesseraFold *fold = g_new0 (TesseraFold, 1);
  fold->values = values;
  fold->n_values = n_values;
  for (uint32_t n = n_values; n > FAN && fold->n_levels < MAX_LEVELS;)
    {
      uint32_t n_above = n / FAN + (n % FAN != 0);
      int level = fold->n_levels;
      fold->levels[level] = g_new (Span, n_above);
      fold->n_levels++;
      fill_level (fold, level, n);
      n = n_above;
    }
  return fold;
}

void
tessera_fold_free (TesseraFold *fold)
{
  if (fold == NULL)
    return;
  for (int i = 0; i < fold->n_levels; i++)
    g_free (fold->levels[i]);
  g_free (fold);
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

/* ---- drawing ---------------------------------------------------------------------- */

double
tessera_graph_y_of (const TesseraGraph *graph, double bytes)
{
  return graph->y + graph->height * (1.0 - bytes / graph->top_bytes);
}

/* A path along the highs or lows, left to right, as steps. */
static void
trace_columns (const TesseraGraph *graph,
               const TesseraFold *fold,
               const TesseraAxis *axis,
               bool is_high)
{
  double step = graph->width / graph->n_columns;
  g_autofree uint64_t *low = g_new (uint64_t, graph->n_columns + 1);
  g_autofree uint64_t *high = g_new (uint64_t, graph->n_columns + 1);
  const uint64_t *values = is_high ? high : low;
  tessera_fold_columns (fold, axis, 0.0, 1.0, graph->n_columns, low, high);
  for (uint32_t c = 0; c < graph->n_columns; c++)
    {
      double y = tessera_graph_y_of (graph, (double) values[c]), x = graph->x + c * step;
      if (c > 0 && values[c] == values[c - 1] && c + 1 < graph->n_columns &&
          values[c] == values[c + 1])
        continue;
      cairo_line_to (graph->cr, x, y);
      cairo_line_to (graph->cr, x + step, y);
    }
}

void
tessera_graph_fill (const TesseraGraph *graph,
                    const TesseraFold *fold,
                    const TesseraAxis *axis,
                    bool is_high)
{
  double bottom = graph->y + graph->height;
  trace_columns (graph, fold, axis, is_high);
  cairo_line_to (graph->cr, graph->x + graph->width, bottom);
  cairo_line_to (graph->cr, graph->x, bottom);
  cairo_close_path (graph->cr);
  cairo_fill (graph->cr);
}

void
tessera_graph_line (const TesseraGraph *graph,
                    const TesseraFold *fold,
                    const TesseraAxis *axis)
{
  trace_columns (graph, fold, axis, true);
  cairo_set_line_width (graph->cr, 1.0);
  cairo_set_line_join (graph->cr, CAIRO_LINE_JOIN_BEVEL);
  cairo_stroke (graph->cr);
}
