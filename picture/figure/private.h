/*
 * The inside of a sheet: what its parts share while it is drawn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "picture/figure.h"
#include "picture/marks.h"

#include <cairo.h>

/* ---- words: measured, cut to fit, wrapped; cairo's own text calls are enough for short
 * Latin labels without editing ---- */

typedef enum
{
  TESSERA_TEXT_LEFT,
  TESSERA_TEXT_CENTRE,
  TESSERA_TEXT_RIGHT
} TesseraTextAlign;

typedef struct
{
  double size;
  bool is_bold;
  uint32_t rgb;
  TesseraTextAlign align;
  bool cuts_middle; /* what does not fit loses its middle, not its end: for names that
                       begin alike */
} TesseraTextStyle;

/* No hinting: a text is as wide at every scale. Once per cairo_t. */
void tessera_text_prepare (cairo_t *cr);
double tessera_text_width (cairo_t *cr, const TesseraTextStyle *style, const char *text);
/* Draws @text with its baseline at @y, cut with an ellipsis to @max_width; nothing where
 * not even one letter fits. Returns the width drawn. */
double tessera_text_draw (cairo_t *cr,
                          const TesseraTextStyle *style,
                          double x,
                          double y,
                          double max_width,
                          const char *text);
/* Draws at most @max_lines lines, @line_height apart, broken at spaces; what is left over
 * ends in an ellipsis. Returns the number of lines; @line_height 0: only counts them. */
int tessera_text_wrap (cairo_t *cr,
                       const TesseraTextStyle *style,
                       double x,
                       double y,
                       double max_width,
                       double line_height,
                       int max_lines,
                       const char *text);

/* ---- a sheet ---- */

typedef struct
{
  const TesseraFigure *figure;
  const TesseraPalette *palette;
  cairo_t *cr;
  TesseraPen *pen; /* on it */
  double scale;
  TesseraAxis *axis;
  TesseraColouring *colouring;
  TesseraScene *left, *right; /* right may be NULL */
  double top_bytes;           /* height that both canvases show */
  uint64_t room_bytes;        /* what the process could have had; 0: not known */
  bool room_is_device;        /* room_bytes is the device, not read off a failure */
  bool shows_room;            /* it is not far above everything else */
  uint64_t bound_bytes;       /* 0: not known */
} TesseraSheet;

/* Each draws its part into @area; text never leaves it. */
void tessera_draw_legend (const TesseraSheet *sheet, TesseraArea area);
void tessera_draw_panel (const TesseraSheet *sheet,
                         const TesseraLayout *layout,
                         const TesseraScene *scene,
                         TesseraArea area,
                         bool with_scale);
void tessera_draw_curves (const TesseraSheet *sheet, TesseraArea area);

/* A pen (marks.h) on a cairo_t. */
typedef struct
{
  TesseraPen base;
  cairo_t *cr;
} TesseraSheetPen;

TesseraSheetPen tessera_sheet_pen (cairo_t *cr, const TesseraPalette *palette);

void tessera_fill_area (cairo_t *cr, TesseraArea area, uint32_t rgb, double alpha);
/* Bytes as "12.34", in the unit of all of a sheet's tables; see tessera_unit_name(). */
void
tessera_number (const TesseraSheet *sheet, uint64_t bytes, char *text, size_t n_text);
const char *tessera_unit_name (const TesseraSheet *sheet);
#define TESSERA_SCALE_WIDTH 58.0 /* numbers left of a canvas and of curves */
/* Lines over @area at round numbers of bytes, from 0 at its bottom to @top_bytes; their numbers
 * stand left of it. */
void tessera_draw_scale (const TesseraSheet *sheet,
                         TesseraArea area,
                         double top_bytes,
                         bool with_numbers);
