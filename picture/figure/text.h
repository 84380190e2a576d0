/*
 * Words on a sheet: measured, cut to fit, wrapped. Cairo's own text calls are enough
 * here: short Latin labels, no editing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <cairo.h>
#include <stdbool.h>
#include <stdint.h>

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
/* How many lines tessera_text_wrap() would draw. */
int tessera_text_lines (cairo_t *cr,
                        const TesseraTextStyle *style,
                        double max_width,
                        int max_lines,
                        const char *text);
/* Draws at most @max_lines lines, @line_height apart, broken at spaces; what is left over
 * ends in an ellipsis. Returns the number of lines. */
int tessera_text_wrap (cairo_t *cr,
                       const TesseraTextStyle *style,
                       double x,
                       double y,
                       double max_width,
                       double line_height,
                       int max_lines,
                       const char *text);
