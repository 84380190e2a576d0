/*
 * Curves folded to pixel columns: low and high per column, so that no peak can vanish.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "picture/axis.h"

#include <cairo.h>

/* low[c], high[c] of column c of @n_columns over all of @axis, of a curve's @values in force after
 * each of its events; 0 where it has none. Linear in events. */
void tessera_fold_columns (const uint64_t *values,
                           const TesseraAxis *axis,
                           uint32_t n_columns,
                           uint64_t *low,
                           uint64_t *high);

/* Where curves are drawn: all of the axis, and heights from 0 to the top. */
typedef struct
{
  cairo_t *cr;
  double x, y, width, height; /* user units */
  double top_bytes;
  uint32_t n_columns; /* of the device */
} TesseraGraph;

double tessera_graph_y_of (const TesseraGraph *graph, double bytes);
/* Fills what lies below the highs and the lows of a curve: one over the other, what every event
 * of a column has is stronger where @high_alpha is below 1. */
void tessera_graph_fill (const TesseraGraph *graph,
                         const uint64_t *values,
                         const TesseraAxis *axis,
                         uint32_t rgb,
                         double high_alpha,
                         double low_alpha);
/* A line along the highs, with the source of the graph's cairo_t. */
void tessera_graph_line (const TesseraGraph *graph,
                         const uint64_t *values,
                         const TesseraAxis *axis);
