/*
 * Curves folded to pixel columns: low and high per column, so that no peak can vanish.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "picture/axis.h"

#include <cairo.h>

/* An index over one curve of values in force after each event. The values are borrowed
 * and must outlive it. */
typedef struct TesseraFold TesseraFold;

TesseraFold *tessera_fold_new (const uint64_t *values, uint32_t n_values);
void tessera_fold_free (TesseraFold *fold);
/* low[c], high[c] of column c of @n_columns over axis positions [t0, t1); 0 in columns
 * outside of the axis. */
void tessera_fold_columns (const TesseraFold *fold,
                           const TesseraAxis *axis,
                           double t0,
                           double t1,
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
/* Fills what lies below the highs, or the lows, of a curve with the source of the graph's
 * cairo_t: one over the other, what every event of a column has is stronger. */
void tessera_graph_fill (const TesseraGraph *graph,
                         const TesseraFold *fold,
                         const TesseraAxis *axis,
                         bool is_high);
/* A line along the highs. */
void tessera_graph_line (const TesseraGraph *graph,
                         const TesseraFold *fold,
                         const TesseraAxis *axis);
