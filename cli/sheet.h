/*
 * The figure of a study, written as PNG or SVG.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/regrouped.h"
#include "picture/figure.h"

typedef struct
{
  int width, height; /* in user units */
  double scale;      /* device pixels per unit */
  gboolean dark;
  gboolean stacked;
  TesseraAxisKind axis;
  TesseraColourKey colour;
  const CliRegrouped *regrouped; /* (nullable): what colours go by */
} CliSheet;

/* Fills a figure from what the study has; strings live in @titles. */
typedef struct
{
  char left[96], left_sub[160], right[96], right_sub[200];
} CliTitles;

void cli_sheet_figure (const CliStudy *study,
                       const TesseraVerdict *verdict,
                       const CliSheet *sheet,
                       CliTitles *titles,
                       TesseraFigure *out_figure);
/* The PNG's bytes; caller unrefs. */
TESSERA_MUST_USE TesseraStatus cli_sheet_png (const TesseraFigure *figure,
                                              const CliSheet *sheet,
                                              GBytes **out_png,
                                              TesseraError *error);
TESSERA_MUST_USE TesseraStatus cli_sheet_svg (const TesseraFigure *figure,
                                              const CliSheet *sheet,
                                              GBytes **out_svg,
                                              TesseraError *error);
