/*
 * What a study looks like: the figure as PNG or SVG, and the page of `tessera report`.
 * Nothing here ends the command: the viewer makes reports, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "answers/whose.h"
#include "cli/study.h"
#include "picture/figure.h"

typedef struct
{
  int width, height; /* in user units */
  double scale;      /* device pixels per unit */
  gboolean is_svg;
  TesseraFigure
      figure; /* of cli_draw_sheet(): how it looks, whose by the study's layout, and
                           (nullable) blocks and groups that colours go by; all else is NULL */
} CliSheet;

typedef TesseraStatus (*CliDraw) (cairo_t *cr,
                                  const CliSheet *sheet,
                                  gconstpointer user,
                                  TesseraError *error);

/* The bytes of a PNG or SVG that @draw draws; the caller unrefs. Of @sheet size and kind count. */
TESSERA_MUST_USE TesseraStatus cli_draw_picture (const CliSheet *sheet,
                                                 CliDraw draw,
                                                 gconstpointer user,
                                                 TesseraError *error,
                                                 GBytes **out_bytes);
/* The same of the study. */
TESSERA_MUST_USE TesseraStatus cli_draw_sheet (const CliStudy *study,
                                               const TesseraVerdict *verdict,
                                               const CliSheet *sheet,
                                               TesseraError *error,
                                               GBytes **out_bytes);
/* One self-contained HTML page: verdict, pictures, tables. @whose: of the study's layout. The caller frees the text with
 * g_string_free(). */
TESSERA_MUST_USE TesseraStatus cli_report_html (const CliStudy *study,
                                                const TesseraWhose *whose,
                                                GString **out_html,
                                                TesseraError *error);
