/*
 * Words on a sheet, and its colours, lines and numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/size-text.h"
#include "db/status.h"
#include "picture/figure/private.h"

#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- words --------------------------------------------------------------------- */

#define MAX_TEXT_BYTES 640
#define PEN_SIZE 12.0 /* usual */
#define ELLIPSIS "\xe2\x80\xa6"

void
tessera_text_prepare (cairo_t *cr)
{
  cairo_font_options_t *options = cairo_font_options_create ();
  cairo_font_options_set_hint_style (options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics (options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias (options, CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options (cr, options);
  cairo_font_options_destroy (options);
}

static void
select_font (cairo_t *cr, const TesseraTextStyle *style)
{
  cairo_select_font_face (cr, "Sans", CAIRO_FONT_SLANT_NORMAL,
                          style->is_bold ? CAIRO_FONT_WEIGHT_BOLD
                                         : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size (cr, style->size);
}

static double
measure (cairo_t *cr, const char *text)
{
  cairo_text_extents_t extents;
  cairo_text_extents (cr, text, &extents);
  return extents.x_advance;
}

double
tessera_text_width (cairo_t *cr, const TesseraTextStyle *style, const char *text)
{
  select_font (cr, style);
  return measure (cr, text);
}

/* Cuts @text in place until it fits: the ellipsis stands for its end, or its middle. */
static void
cut (cairo_t *cr, const TesseraTextStyle *style, char *text, double max_width)
{
  glong n = g_utf8_strlen (text, -1);
  if (measure (cr, text) <= max_width)
    return;
  for (glong n_kept = n - 1; n_kept > 0; n_kept--)
    {
      glong n_tail = style->cuts_middle ? n_kept / 2 : 0;
      g_autofree char *head = g_utf8_substring (text, 0, n_kept - n_tail);
      g_autofree char *tried = g_strconcat (
          g_strchomp (head), ELLIPSIS, g_utf8_offset_to_pointer (text, n - n_tail), NULL);
      if (measure (cr, tried) > max_width)
        continue;
      strcpy (text, tried);
      return;
    }
  text[0] = '\0';
}

double
tessera_text_draw (cairo_t *cr,
                   const TesseraTextStyle *style,
                   double x,
                   double y,
                   double max_width,
                   const char *text)
{
  char shown[MAX_TEXT_BYTES + 4];
  select_font (cr, style);
  tessera_show_text (text, shown, sizeof shown);
  cut (cr, style, shown, max_width);
  if (shown[0] == '\0')
    return 0.0;
  double width = measure (cr, shown);
  if (style->align == TESSERA_TEXT_CENTRE)
    x -= width / 2.0;
  else if (style->align == TESSERA_TEXT_RIGHT)
    x -= width;
  tessera_set_rgb (cr, style->rgb, 1.0);
  cairo_move_to (cr, x, y);
  cairo_show_text (cr, shown);
  cairo_new_path (cr);
  return width;
}

int
tessera_text_wrap (cairo_t *cr,
                   const TesseraTextStyle *style,
                   double x,
                   double y,
                   double max_width,
                   double line_height,
                   int max_lines,
                   const char *text)
{
  char all[MAX_TEXT_BYTES + 4], *space;
  int n = 0;
  tessera_show_text (text, all, sizeof all);
  for (const char *rest = all; n < max_lines && *rest != '\0'; n++)
    {
      g_autofree char *line = g_strdup (rest);
      select_font (cr, style);
      while (n + 1 < max_lines && measure (cr, line) > max_width &&
             (space = strrchr (line, ' ')) != NULL)
        *space = '\0';
      rest += strlen (line);
      rest += strspn (rest, " ");
      if (line_height > 0.0)
        tessera_text_draw (cr, style, x, y + n * line_height, max_width, line);
    }
  return n;
}

/* ---- a pen, lines and numbers --------------------------------------------------- */

void
tessera_fill_area (cairo_t *cr, TesseraArea area, uint32_t rgb, double alpha)
{
  tessera_set_rgb (cr, rgb, alpha);
  cairo_rectangle (cr, area.x, area.y, area.width, area.height);
  cairo_fill (cr);
}

static TesseraTextStyle
style_of (const TesseraWords *words)
{
  return (TesseraTextStyle){ .size = PEN_SIZE * words->scale,
                             .is_bold = words->is_bold,
                             .cuts_middle = words->cuts_middle };
}

static void
pen_fill (TesseraPen *pen, TesseraArea area, double radius, uint32_t rgb, double alpha)
{
  cairo_t *cr = ((TesseraSheetPen *) pen)->cr;
  radius = fmin (radius, fmin (area.width, area.height) / 2.0);
  if (radius <= 0.0)
    {
      tessera_fill_area (cr, area, rgb, alpha);
      return;
    }
  tessera_set_rgb (cr, rgb, alpha);
  cairo_new_sub_path (cr);
  for (int i = 0; i < 4; i++) /* corners, from the top left */
    cairo_arc (cr, area.x + (i % 3 > 0 ? area.width - radius : radius),
               area.y + (i > 1 ? area.height - radius : radius), radius,
               (i + 2) * G_PI / 2.0, (i + 3) * G_PI / 2.0);
  cairo_fill (cr);
}

static void
pen_measure (TesseraPen *pen, const TesseraWords *words, double *width, double *height)
{
  cairo_t *cr = ((TesseraSheetPen *) pen)->cr;
  const TesseraTextStyle style = style_of (words);
  *width = tessera_text_width (cr, &style, words->text);
  *height = ceil (style.size * 1.2);
}

static void
pen_write (TesseraPen *pen, const TesseraWords *words, double x, double y, uint32_t rgb)
{
  TesseraTextStyle style = style_of (words);
  style.rgb = rgb;
  tessera_text_draw (((TesseraSheetPen *) pen)->cr, &style, x, y + style.size * 0.95,
                     words->most_width > 0.0 ? words->most_width : INFINITY, words->text);
}

TesseraSheetPen
tessera_sheet_pen (cairo_t *cr, const TesseraPalette *palette)
{
  return (TesseraSheetPen){ { palette, pen_fill, pen_measure, pen_write }, cr };
}

/* At least two of the unit. */
#define LEAST_OF_UNIT 2.0

void
tessera_number (const TesseraSheet *sheet, uint64_t bytes, char *text, size_t n_text)
{
  double unit = tessera_size_unit (sheet->top_bytes, LEAST_OF_UNIT)->bytes;
  snprintf (text, n_text, "%.*f", unit > 1.0 ? 2 : 0, (double) bytes / unit);
}

const char *
tessera_unit_name (const TesseraSheet *sheet)
{
  return tessera_size_unit (sheet->top_bytes, LEAST_OF_UNIT)->name;
}

#define LEAST_TICK 24.0 /* user units between two */

void
tessera_draw_scale (const TesseraSheet *sheet,
                    TesseraArea area,
                    double top_bytes,
                    bool with_numbers)
{
  static const double steps[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500 };
  const TesseraTextStyle style = { 10.0, false, sheet->palette->dim, TESSERA_TEXT_RIGHT };
  const TesseraSizeUnit *unit = tessera_size_unit (top_bytes, LEAST_OF_UNIT);
  size_t i = 0;
  while (i + 1 < sizeof steps / sizeof steps[0] &&
         top_bytes / (steps[i] * unit->bytes) > 6.0)
    i++;
  double step = steps[i];
  while (area.height * step * unit->bytes / top_bytes < LEAST_TICK)
    step *= 2.0;
  for (double at = 0.0; at * unit->bytes < top_bytes; at += step)
    {
      double y = floor (area.y + area.height * (1.0 - at * unit->bytes / top_bytes));
      char text[32];
      if (at > 0.0)
        tessera_fill_area (sheet->cr, (TesseraArea){ area.x, y, area.width, 1.0 },
                           sheet->palette->text, 0.09);
      snprintf (text, sizeof text, "%.0f %s", at, at > 0.0 ? unit->name : "");
      if (with_numbers)
        tessera_text_draw (sheet->cr, &style, area.x - 6.0, y + (at > 0.0 ? 3.5 : 0.0),
                           TESSERA_SCALE_WIDTH - 6.0, text);
    }
}

char *
tessera_format_count (uint64_t count, char *text, size_t n_text)
{
  char digits[24];
  size_t n =
      (size_t) snprintf (digits, sizeof digits, "%llu", (unsigned long long) count);
  size_t to = 0;
  for (size_t i = 0; i < n && to + 2 < n_text; i++)
    {
      if (i > 0 && (n - i) % 3 == 0)
        text[to++] = ',';
      text[to++] = digits[i];
    }
  text[to] = '\0';
  return text;
}
