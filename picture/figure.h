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
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  const TesseraGroup *groups; /* (nullable) that the blocks' group fields mean */
  size_t n_groups;
  const TesseraWhose *whose;         /* what blocks are called and coloured by */
  const char *filling;               /* (nullable) of tessera_describe_filling() */
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
