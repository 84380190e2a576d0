/*
 * The inside of a sheet: what its parts share while it is drawn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "picture/figure.h"
#include "picture/figure/text.h"

/* Colours of a sheet. Red and green are verdicts and nothing else. */
typedef struct
{
  uint32_t sheet, canvas, line, text, dim;
  uint32_t reserved, hatch, edge, missed;
  uint32_t red, green, live, allocated;
} TesseraTheme;

const TesseraTheme *tessera_theme (bool dark);

typedef struct
{
  double x, y, width, height;
} TesseraArea;

typedef struct
{
  const TesseraFigure *figure;
  const TesseraTheme *theme;
  cairo_t *cr;
  double scale;
  TesseraAxis *axis;
  TesseraColouring *colouring;
  TesseraColouring *modules;  /* who holds what at the peak; NULL: colouring says so */
  TesseraScene *left, *right; /* right may be NULL */
  double top_bytes;           /* height that both canvases show */
  uint64_t room_bytes;        /* what the process could have had; 0: not known */
  bool room_is_device;        /* room_bytes is the device, not read off a failure */
  bool shows_room;            /* it is not far above everything else */
  uint64_t bound_bytes;       /* 0: not known */
} TesseraSheet;

/* Each draws its part into @area; text never leaves it. */
double tessera_head_height (const TesseraSheet *sheet, double width);
void tessera_draw_head (const TesseraSheet *sheet, TesseraArea area);
void tessera_draw_legend (const TesseraSheet *sheet, TesseraArea area);
void tessera_draw_panel (const TesseraSheet *sheet,
                         const TesseraLayout *layout,
                         const TesseraScene *scene,
                         TesseraArea area,
                         bool with_scale);
void tessera_draw_lanes (const TesseraSheet *sheet, TesseraArea area);
void tessera_draw_curves (const TesseraSheet *sheet, TesseraArea area);

/* The height that lanes need: 0 for a trace without steps and phases. */
double tessera_lanes_height (const TesseraStructure *structure);

void tessera_set_rgb (cairo_t *cr, uint32_t rgb, double alpha);
void tessera_fill_area (cairo_t *cr, TesseraArea area, uint32_t rgb, double alpha);
/* A crisp line one unit wide along the area's inside. */
void tessera_frame_area (cairo_t *cr, TesseraArea area, uint32_t rgb, double alpha);
/* "1,234,567". */
char *tessera_format_count (uint64_t count, char *text, size_t n_text);
/* Bytes as "12.34", in the unit of all of a sheet's tables; see tessera_unit_name(). */
void
tessera_number (const TesseraSheet *sheet, uint64_t bytes, char *text, size_t n_text);
const char *tessera_unit_name (const TesseraSheet *sheet);
/* Marks of a scale up to @top_bytes: their distance in bytes and the unit they are in. */
double
tessera_tick_bytes (double top_bytes, const char **out_unit, double *out_unit_bytes);
