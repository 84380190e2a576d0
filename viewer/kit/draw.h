/*
 * Small pieces that every drawing uses: filled and outlined boxes, lines, text.
 *
 * Coordinates are logical pixels. Colours are 0xRRGGBB, @alpha 0..1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/kit/kit.h"

void tessera_set_source (cairo_t *cr, uint32_t rgb, double alpha);
/* A box in place. */
#define TESSERA_BOX(x, y, width, height)                                                 \
  (&GRAPHENE_RECT_INIT ((float) (x), (float) (y), (float) (width), (float) (height)))

void tessera_draw_box (GtkSnapshot *snapshot,
                       const graphene_rect_t *box,
                       uint32_t rgb,
                       double alpha);
/* Inside the box, @line pixels thick. */
void tessera_draw_outline (GtkSnapshot *snapshot,
                           const graphene_rect_t *box,
                           double line,
                           uint32_t rgb);
void tessera_draw_pill (GtkSnapshot *snapshot,
                        const graphene_rect_t *box,
                        double radius,
                        uint32_t rgb,
                        double alpha);
/* Dashes of @dash pixels with equal gaps, along x or y, whichever is longer. */
void tessera_draw_dashes (GtkSnapshot *snapshot,
                          const graphene_rect_t *box,
                          double dash,
                          uint32_t rgb);

/* Text of a widget's font at @points (0: the widget's own size). */
PangoLayout *tessera_text_new (GtkWidget *widget,
                               const char *text,
                               double relative_size,
                               gboolean bold);
void tessera_draw_text (
    GtkSnapshot *snapshot, PangoLayout *layout, double x, double y, uint32_t rgb);
/* The same on a ground of its own, so that it can be read on anything. */
void tessera_draw_label (GtkSnapshot *snapshot,
                         PangoLayout *layout,
                         double x,
                         double y,
                         uint32_t rgb,
                         uint32_t ground_rgb);

/* A step of 1, 2 or 5 times a power of ten (or of two, for bytes) of which about
 * @most fit into @span. */
double tessera_nice_step (double span, int most);
double tessera_nice_step_bytes (double span, int most);

/* What a widget draws, and its size in logical pixels. */
typedef struct
{
  void (*draw) (gpointer drawing, GtkSnapshot *snapshot, int width, int height);
  int least_width, least_height;
  int width, height; /* where there is room */
} TesseraDrawingKind;

/* A panel whose box is a widget that draws itself, cut to its place, and shows where the
 * focus is. */
gpointer tessera_drawing_new (size_t n_bytes,
                              TesseraDocument *document,
                              const char *name,
                              const TesseraDrawingKind *kind,
                              GDestroyNotify clear);
