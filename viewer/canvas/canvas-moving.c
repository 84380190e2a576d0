/*
 * Blocks on their way over a canvas: from the former plan to this, and where one is being
 * put by hand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/canvas-moving.h"

#include <math.h>

#include "viewer/canvas/box-image.h"
#include "viewer/kit/draw.h"
#include "viewer/model/document.h"

/* Long enough for the eye to follow, too short to wait for. */
#define MOVES_US 320000
/* Of pixels: from here on blocks are told apart by an edge. */
#define EDGED 7
/* A free place this near is meant. */
#define REACH_PIXELS 14
/* As the picture below dims what is not selected. */
#define DIMMED 0.3
/* Outlines of one proposal; more cannot be told apart. */
#define MOST_OUTLINES 1500

/* Where a rectangle of the world lies, cut to what can be seen. FALSE: nowhere. */
static gboolean
box_of (TesseraCanvas *self, const TesseraView *rect, TesseraBox *out_box)
{
  double right = gtk_widget_get_width (GTK_WIDGET (self)) + 4;
  double bottom = gtk_widget_get_height (GTK_WIDGET (self)) + 4;
  double x0 = CLAMP (tessera_canvas_x_of (self, rect->t0), -4, right);
  double x1 = CLAMP (tessera_canvas_x_of (self, rect->t1), -4, right);
  double y0 = CLAMP (tessera_canvas_y_of (self, rect->y1), -4, bottom);
  double y1 = CLAMP (tessera_canvas_y_of (self, rect->y0), -4, bottom);

  *out_box = (TesseraBox){ x0, y0, MAX (x1 - x0, 1), MAX (y1 - y0, 1) };
  return x1 > 0 && x0 < right - 4 && y1 > 0 && y0 < bottom - 4;
}

/* --- from plan to plan ----------------------------------------------------------------
 */

/* 0..1: slow, fast, slow. */
static double
progress_of (const TesseraCanvas *self)
{
  double p =
      CLAMP ((double) (self->moves_now_us - self->moves_begin_us) / MOVES_US, 0, 1);

  return p * p * (3 - 2 * p);
}

static gboolean
on_tick (GtkWidget *widget, GdkFrameClock *clock, gpointer unused)
{
  TesseraCanvas *self = TESSERA_CANVAS (widget);

  self->moves_now_us = gdk_frame_clock_get_frame_time (clock);
  if (self->moves_begin_us == 0)
    self->moves_begin_us = self->moves_now_us;
  gtk_widget_queue_draw (widget);
  if (self->moves_now_us - self->moves_begin_us < MOVES_US)
    return G_SOURCE_CONTINUE;
  self->moves_tick = 0;
  g_clear_pointer (&self->moves, tessera_moves_unref);
  return G_SOURCE_REMOVE;
}

void
tessera_canvas_stop_moves (TesseraCanvas *self)
{
  if (self->moves_tick != 0)
    gtk_widget_remove_tick_callback (GTK_WIDGET (self), self->moves_tick);
  self->moves_tick = 0;
  g_clear_pointer (&self->moves, tessera_moves_unref);
}

void
tessera_canvas_start_moves (TesseraCanvas *self)
{
  TesseraMoves *moves = self->document->moves;
  gboolean animate = TRUE;

  tessera_canvas_stop_moves (self);
  g_object_get (gtk_widget_get_settings (GTK_WIDGET (self)), "gtk-enable-animations",
                &animate, NULL);
  if (!animate || moves == NULL || moves->n_moves == 0 ||
      !gtk_widget_get_mapped (GTK_WIDGET (self)))
    return;
  self->moves = tessera_moves_ref (moves);
  self->moves_begin_us = self->moves_now_us = 0;
  self->moves_tick =
      gtk_widget_add_tick_callback (GTK_WIDGET (self), on_tick, NULL, NULL);
}

static void
draw_move (TesseraCanvas *self,
           TesseraBoxImage *image,
           const TesseraMove *move,
           const TesseraPalette *palette)
{
  const TesseraPaint *paint = self->document->paint;
  double dy = (move->from_y0 - move->to.y0) * (1 - progress_of (self));
  TesseraView rect = { move->to.t0, move->to.t1, move->to.y0 + dy, move->to.y1 + dy };
  TesseraBox box;

  if ((paint->shown != NULL && !paint->shown[move->block]) || !box_of (self, &rect, &box))
    return;
  tessera_box_image_fill (
      image, &box, paint->ink.block_rgb[move->block],
      paint->lit == NULL || tessera_selection_has (paint->lit, move->block) ? 1 : DIMMED);
  if (box.height > EDGED && box.width > EDGED)
    tessera_box_image_outline (image, &box, palette->background);
}

void
tessera_canvas_draw_moves (TesseraCanvas *self, GtkSnapshot *snapshot)
{
  GtkWidget *widget = GTK_WIDGET (self);
  const TesseraPalette *palette = tessera_palette (self->document->dark);
  TesseraBoxImage *image;
  TesseraBox box;

  if (self->moves == NULL || self->document->paint == NULL)
    return;
  image = tessera_box_image_new (gtk_widget_get_width (widget),
                                 gtk_widget_get_height (widget),
                                 gtk_widget_get_scale_factor (widget));
  /* The picture below shows where they are to be: nobody is there yet. */
  for (size_t i = 0; i < self->moves->n_moves; i++)
    if (box_of (self, &self->moves->moves[i].to, &box))
      tessera_box_image_fill (image, &box, palette->reserved, 1);
  for (size_t i = 0; i < self->moves->n_moves; i++)
    draw_move (self, image, &self->moves->moves[i], palette);
  tessera_box_image_draw (image, snapshot);
}

/* --- by hand --------------------------------------------------------------------------
 */

gboolean
tessera_canvas_begin_pin (TesseraCanvas *self, double x, double y)
{
  const TesseraSheet *sheet = tessera_canvas_sheet (self);

  if (self->side != TESSERA_SIDE_RIGHT || sheet == NULL ||
      !tessera_document_is_selected (
          self->document,
          tessera_scene_block_at (sheet->scene, tessera_canvas_t_at (self, x),
                                  tessera_canvas_bytes_at (self, y))))
    return FALSE;
  self->pinning = TRUE;
  self->pin_dy = 0;
  tessera_document_propose (self->document);
  return TRUE;
}

static double
bytes_a_pixel (TesseraCanvas *self)
{
  const TesseraView *v = &self->document->view;

  return (v->y1 - v->y0) / MAX (gtk_widget_get_height (GTK_WIDGET (self)), 1);
}

void
tessera_canvas_update_pin (TesseraCanvas *self, double dy)
{
  const TesseraLandings *landings = self->document->proposal.landings;
  double scale = bytes_a_pixel (self);

  /* Its places may still be looked for: then it goes where the hand is once they are
   * there. */
  self->pin_dy = dy;
  if (landings != NULL)
    tessera_document_propose_at (self->document,
                                 (int64_t) ((double) landings->base_bytes - dy * scale),
                                 (uint64_t) (REACH_PIXELS * scale));
}

void
tessera_canvas_end_pin (TesseraCanvas *self, gboolean is_drop)
{
  const TesseraProposal *proposal = &self->document->proposal;

  self->pinning = FALSE;
  if (is_drop && proposal->landings != NULL &&
      proposal->offset_bytes != proposal->landings->base_bytes)
    tessera_document_accept_proposal (self->document);
  else
    tessera_document_drop_proposal (self->document);
}

static void
draw_pushed (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  const TesseraScene *scene = tessera_canvas_sheet (self)->scene;
  const GArray *pushed = self->document->proposal.pushed;

  for (guint i = 0; i < MIN (pushed->len, MOST_OUTLINES); i++)
    {
      TesseraView rect;
      TesseraBox box;

      if (tessera_scene_block_rect (scene, g_array_index (pushed, uint32_t, i), &rect) &&
          box_of (self, &rect, &box))
        {
          tessera_draw_box (snapshot, box.x, box.y, box.width, box.height, palette->bad,
                            0.18);
          tessera_draw_outline (snapshot, box.x, box.y, box.width, box.height, 1.5,
                                palette->bad);
        }
    }
}

static void
draw_label (TesseraCanvas *self,
            GtkSnapshot *snapshot,
            const TesseraPalette *palette,
            TesseraBox box)
{
  int width = gtk_widget_get_width (GTK_WIDGET (self)), w, h;
  g_autofree char *text = tessera_document_describe_proposal (self->document);
  g_autoptr (PangoLayout) layout = tessera_text_new (GTK_WIDGET (self), text, 1, TRUE);
  double y;

  pango_layout_get_pixel_size (layout, &w, &h);
  y = box.y - h - 6;
  tessera_draw_label (snapshot, layout, CLAMP (box.x, 6, MAX (width - w - 8, 6)),
                      y > 4 ? y : box.y + box.height + 6, palette->select_text,
                      palette->background);
}

void
tessera_canvas_draw_proposal (TesseraCanvas *self, GtkSnapshot *snapshot)
{
  const TesseraPalette *palette = tessera_palette (self->document->dark);
  const TesseraProposal *proposal = &self->document->proposal;
  const TesseraLandings *landings = proposal->landings;
  const TesseraPaint *paint = self->document->paint;
  TesseraBox whole = { 0, INFINITY, 0, 0 };
  double dy;

  if (landings == NULL || self->side != TESSERA_SIDE_RIGHT || paint == NULL)
    return;
  draw_pushed (self, snapshot, palette);
  dy = (double) proposal->offset_bytes - (double) landings->base_bytes;
  for (size_t i = 0; i < MIN (landings->n_blocks, MOST_OUTLINES); i++)
    {
      uint32_t block = landings->blocks[i];
      TesseraView rect;
      TesseraBox box;

      if (!tessera_scene_block_rect (tessera_canvas_sheet (self)->scene, block, &rect))
        continue;
      rect.y0 += dy;
      rect.y1 += dy;
      if (!box_of (self, &rect, &box))
        continue;
      /* Of thin ones the outlines would be all there is. */
      tessera_draw_box (snapshot, box.x, box.y, box.width, box.height,
                        box.height > EDGED ? paint->ink.block_rgb[block]
                                           : palette->select,
                        box.height > EDGED ? 0.85 : 0.5);
      if (box.height > EDGED)
        tessera_draw_outline (snapshot, box.x, box.y, box.width, box.height, 2,
                              palette->select);
      if (box.y < whole.y)
        whole = box;
    }
  if (isfinite (whole.y))
    draw_label (self, snapshot, palette, whole);
}
