/*
 * What lies on top of a layout's picture and above it, in the window and on a sheet alike:
 * lines, failures, holes, names in blocks; steps and phases.
 *
 * Coordinates are units of the user, from the top left. Who draws brings a pen.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <cairo.h>

#include "answers/whose.h"
#include "picture/palette.h"
#include "picture/scene.h"
#include "simulator/verdict.h"

typedef struct
{
  double x, y, width, height;
} TesseraArea;

typedef struct
{
  const char *text;
  double scale; /* of the usual size */
  bool is_bold;
  bool cuts_middle;  /* what does not fit loses its middle, not its end: for names that
                       begin alike */
  double most_width; /* cut there; 0: nowhere */
} TesseraWords;

typedef struct TesseraPen TesseraPen;

struct TesseraPen
{
  const TesseraPalette *palette;
  void (*fill) (
      TesseraPen *pen, TesseraArea area, double radius, uint32_t rgb, double alpha);
  void (*measure) (TesseraPen *pen,
                   const TesseraWords *words,
                   double *out_width,
                   double *out_height);
  /* @x, @y: their top left. */
  void (*write) (
      TesseraPen *pen, const TesseraWords *words, double x, double y, uint32_t rgb);
};

/* Colours are 0xRRGGBB, @alpha 0..1. */
void tessera_set_rgb (cairo_t *cr, uint32_t rgb, double alpha);
/* Diagonal lines over the area. */
void tessera_hatch_area (cairo_t *cr, TesseraArea area, uint32_t rgb);
/* Inside the area, @line thick. */
void tessera_pen_outline (TesseraPen *pen, TesseraArea area, double line, uint32_t rgb);
/* Dashes of @dash with equal gaps, along x or y, whichever is longer. */
void tessera_pen_dashes (TesseraPen *pen, TesseraArea area, double dash, uint32_t rgb);

/* A step of 1, 2 or 5 times a power of ten (or of two, for bytes) of which about
 * @most fit into @span. */
double tessera_nice_step (double span, int most);
double tessera_nice_step_bytes (double span, int most);

/* --- room for words on a picture --------------------------------------------------- */

/* None covers another, or a line that must be seen. First come, first served: what is
 * asked for first stands where it wants to, what comes later makes way up or down, by as
 * little as it takes, and what finds no room is left out. */
#define TESSERA_MOST_LABELS 128

typedef struct
{
  double width, height; /* of the picture */
  TesseraArea taken[TESSERA_MOST_LABELS];
  unsigned n_taken;
} TesseraLabels;

/* No label will stand on @box. */
void tessera_labels_avoid (TesseraLabels *self, TesseraArea box);
/* Room for @box, which is moved into the picture and then up or down by at most @most.
 * Returns: whether there is; @box is then where, and taken. */
bool tessera_labels_place (TesseraLabels *self, TesseraArea *box, double most);

/* --- marks ------------------------------------------------------------------------- */

/* Of one layout, on a picture of @view. All is borrowed. */
typedef struct
{
  TesseraPen *pen;
  const TesseraWhose *whose;
  const TesseraBlocks *blocks;
  const TesseraLayout *layout;
  const TesseraLayout *recorded; /* whose failures are shown, this one or the other */
  const TesseraScene *scene;
  const TesseraAxis *axis;
  bool is_plan;
  const TesseraInk *ink; /* (nullable): no names */
  TesseraView view;
  TesseraLabels labels; /* begins with the size of the picture, empty */
  /* What is marked; (nullable), 0: nothing. */
  const TesseraParts *verdict; /* its largest hole is told with the failure it is of */
  const TesseraParts *moment;  /* whose largest hole is seen */
  uint64_t bound_bytes, room_bytes;
  bool room_is_device;
} TesseraMarks;

double tessera_marks_x_of (const TesseraMarks *self, uint32_t event_index);
double tessera_marks_y_of (const TesseraMarks *self, double bytes);
/* Where a rectangle of the world lies, a unit at least, cut to little more than can be seen: a
 * box of a million pixels is slow, and one of a billion more than a renderer can count.
 * Returns: whether any of it is in sight. */
bool tessera_view_box_of (const TesseraView *view,
                          double width,
                          double height,
                          const TesseraView *rect,
                          TesseraArea *out_box);
/* Likewise of a block; false also where it has no place here. */
bool
tessera_marks_block_box (const TesseraMarks *self, uint32_t block, TesseraArea *out_box);

void tessera_marks_draw (TesseraMarks *self);
/* What they are, in words; then what blocks are called and how large they are, inside those
 * that have the room. */
void tessera_marks_say (TesseraMarks *self);
void tessera_marks_name_blocks (TesseraMarks *self);
/* Words on a ground of their own, @most_way from (@x, @y) at the most. Returns: whether there
 * was any room. */
bool tessera_marks_write (TesseraMarks *self,
                          const char *text,
                          double x,
                          double y,
                          double most_way,
                          uint32_t rgb);

/* --- lanes: steps, and two levels of phases ---------------------------------------- */

/* 0: there are none. @structure: (nullable) */
double tessera_lanes_height (const TesseraStructure *structure);
/* From y 0 on; @view: of which only the time counts. */
void tessera_lanes_draw (TesseraPen *pen,
                         const TesseraTrace *trace,
                         const TesseraStructure *structure,
                         const TesseraAxis *axis,
                         const TesseraView *view,
                         double width,
                         bool dark);
/* The innermost step or phase of an event at a height, with its name, g_free(); NULL: none. */
char *tessera_lanes_find (const TesseraTrace *trace,
                          const TesseraStructure *structure,
                          double y,
                          uint32_t event_index,
                          uint32_t *out_begin,
                          uint32_t *out_end);

/* --- memory over time -------------------------------------------------------------- */

/* Reserved, allocated and live over all of the axis, from 0 at the bottom of @area to
 * @top_bytes: low and high of each of @n_columns, so that no peak can vanish. */
void tessera_curves_draw (cairo_t *cr,
                          TesseraArea area,
                          const TesseraCurves *curves,
                          const TesseraAxis *axis,
                          double top_bytes,
                          uint32_t n_columns,
                          const TesseraPalette *palette);
