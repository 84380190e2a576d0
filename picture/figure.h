/*
 * The whole picture on one sheet, without a display: both layouts, lanes, curves, legend,
 * headline. For `tessera render`, the report and the README.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <cairo.h>

#include "answers/whose.h"
#include "picture/scene.h"
#include "simulator/verdict.h"

typedef struct
{
  const TesseraBlocks *blocks; /* with the groups and classes that are shown */
  const TesseraGroup *groups;  /* (nullable) that the blocks' group fields mean */
  size_t n_groups;
  const TesseraWhose *whose; /* what blocks are called and coloured by, in which trace */
  const char *filling;       /* (nullable) of tessera_describe_filling() */
  const TesseraLayout *left, *right; /* right may be NULL */
  const char *left_title, *right_title;
  const char *left_subtitle, *right_subtitle;
  const TesseraPlan *plan; /* (nullable) groups for the legend */
  const TesseraVerdict *verdict;
  const TesseraNeeds *needs;
  TesseraAxisKind axis;
  TesseraColourKey colour;
  bool dark;
  bool stacked; /* one above the other */
} TesseraFigure;

/* Draws into @cr at @width x @height user units. */
TESSERA_MUST_USE TesseraStatus tessera_figure_draw (const TesseraFigure *figure,
                                                    cairo_t *cr,
                                                    double width,
                                                    double height,
                                                    double scale,
                                                    TesseraError *error);

/* "1,234,567", cut where @text is too small. Returns: @text. */
char *tessera_format_count (uint64_t count, char *text, size_t n_text);

/* ---- frontier.c: what fits, as curves: the largest value over whatever else was swept, a panel
 * for each GPU ---- */

#define TESSERA_FRONTIER_POLICIES 3u /* native, expandable segments, plan */

/* All is borrowed. */
typedef struct
{
  const char *title;
  const char *const *at;   /* [n_at] "length=512" */
  const char *const *gpus; /* [n_gpus] */
  size_t n_at, n_gpus;
  const uint64_t *largest; /* [n_at][n_gpus][TESSERA_FRONTIER_POLICIES]; 0: none fits */
  uint64_t last;           /* the end of the range: more may fit there */
} TesseraFrontier;

/* Draws into @cr, whose background is light, at @width x @height user units. */
void tessera_frontier_draw (const TesseraFrontier *frontier,
                            cairo_t *cr,
                            double width,
                            double height);
