/*
 * Colours, lines and numbers of a sheet.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/figure/private.h"

#include <stdio.h>

#include "db/size-text.h"

static const TesseraTheme light = { .sheet = 0xfcfcfc,
                                    .canvas = 0xffffff,
                                    .line = 0xdfe0e3,
                                    .text = 0x1b1d21,
                                    .dim = 0x696d75,
                                    .reserved = 0xf1f1f3,
                                    .hatch = 0xcccdd2,
                                    .edge = 0xb4b7bd,
                                    .missed = 0x101216,
                                    .red = 0xc01c28,
                                    .green = 0x1b8f54,
                                    .live = 0x5b8fd9,
                                    .allocated = 0x2f5fa5 };
static const TesseraTheme dark = { .sheet = 0x232428,
                                   .canvas = 0x191a1d,
                                   .line = 0x3b3d42,
                                   .text = 0xf1f2f4,
                                   .dim = 0x9da1a8,
                                   .reserved = 0x26272b,
                                   .hatch = 0x4a4d53,
                                   .edge = 0x5c6068,
                                   .missed = 0xffffff,
                                   .red = 0xff7168,
                                   .green = 0x4bcf87,
                                   .live = 0x5583c4,
                                   .allocated = 0x9cc0f5 };

const TesseraTheme *
tessera_theme (bool is_dark)
{
  return is_dark ? &dark : &light;
}

void
tessera_set_rgb (cairo_t *cr, uint32_t rgb, double alpha)
{
  cairo_set_source_rgba (cr, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
                         (rgb & 255) / 255.0, alpha);
}

void
tessera_fill_area (cairo_t *cr, TesseraArea area, uint32_t rgb, double alpha)
{
  tessera_set_rgb (cr, rgb, alpha);
  cairo_rectangle (cr, area.x, area.y, area.width, area.height);
  cairo_fill (cr);
}

void
tessera_frame_area (cairo_t *cr, TesseraArea area, uint32_t rgb, double alpha)
{
  if (area.width < 1.0 || area.height < 1.0)
    {
      tessera_fill_area (cr, area, rgb, alpha);
      return;
    }
  tessera_set_rgb (cr, rgb, alpha);
  cairo_set_line_width (cr, 1.0);
  cairo_rectangle (cr, area.x + 0.5, area.y + 0.5, area.width - 1.0, area.height - 1.0);
  cairo_stroke (cr);
}

/* The largest unit of which there are at least two. */
static const TesseraSizeUnit *
unit_for (double bytes)
{
  return tessera_size_unit (bytes, 2.0);
}

void
tessera_number (const TesseraSheet *sheet, uint64_t bytes, char *text, size_t n_text)
{
  double unit = unit_for (sheet->top_bytes)->bytes;
  snprintf (text, n_text, "%.*f", unit > 1.0 ? 2 : 0, (double) bytes / unit);
}

const char *
tessera_unit_name (const TesseraSheet *sheet)
{
  return unit_for (sheet->top_bytes)->name;
}

double
tessera_tick_bytes (double top_bytes, const char **out_unit, double *out_unit_bytes)
{
  static const double steps[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500 };
  const size_t n_steps = sizeof steps / sizeof steps[0];
  const TesseraSizeUnit *unit = unit_for (top_bytes);
  size_t i = 0;
  while (i + 1 < n_steps && top_bytes / (steps[i] * unit->bytes) > 6.0)
    i++;
  *out_unit = unit->name;
  *out_unit_bytes = unit->bytes;
  return steps[i] * unit->bytes;
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
