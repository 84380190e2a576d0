/*
 * Blocks on their way over a canvas: from the former plan to this, and where one is being
 * put by hand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/private.h"

#include <math.h>

/* Long enough for the eye to follow, too short to wait for. */
#define MOVES_MS 320
/* Of pixels: from here on an edge keeps blocks apart for the eye. */
#define EDGED 7
/* A free place this near is meant. */
#define REACH_PIXELS 14
/* As the picture below dims what is not selected. */
#define DIMMED 0.3
/* Outlines of one proposal; more are one area for the eye. */
#define MOST_OUTLINES 1500

/* --- from plan to plan ----------------------------------------------------------------
 */

static void
on_progress (double progress, gpointer user)
{
  TesseraCanvas *self = user;

  self->moves_progress = progress;
  gtk_widget_queue_draw (self->panel.box);
}

void
tessera_canvas_stop_moves (TesseraCanvas *self)
{
  if (self->animation != NULL)
    adw_animation_pause (self->animation);
  g_clear_object (&self->animation);
  g_clear_pointer (&self->moves, g_array_unref);
}

void
tessera_canvas_start_moves (TesseraCanvas *self)
{
  GArray *moves = self->panel.document->moves;
  g_autoptr (AdwAnimation) animation = NULL;

  tessera_canvas_stop_moves (self);
  if (moves == NULL || moves->len == 0)
    return;
  animation = adw_timed_animation_new (
      self->panel.box, 0, 1, MOVES_MS,
      adw_callback_animation_target_new (on_progress, self, NULL));
  adw_timed_animation_set_easing (ADW_TIMED_ANIMATION (animation), ADW_EASE_IN_OUT_SINE);
  g_signal_connect_swapped (animation, "done", G_CALLBACK (tessera_canvas_stop_moves),
                            self);
  self->moves = g_array_ref (moves);
  self->animation = g_object_ref (animation);
  /* Done at once where the canvas is not seen or the person wants no motion. */
  adw_animation_play (animation);
}

/* Boxes go to the nearest pixels. */
static void
add_box (cairo_t *cr, TesseraArea box)
{
  cairo_rectangle (cr, round (box.x), round (box.y), MAX (round (box.width), 1),
                   MAX (round (box.height), 1));
}

static void
draw_move (TesseraCanvas *self, cairo_t *cr, const TesseraMove *move)
{
  const TesseraPaint *paint = self->panel.document->paint;
  double dy = (move->from_y0 - move->to.y0) * (1 - self->moves_progress);
  TesseraView rect = { move->to.t0, move->to.t1, move->to.y0 + dy, move->to.y1 + dy };
  gboolean is_lit = paint->lit == NULL || tessera_selection_has (paint->lit, move->block);
  TesseraArea box;

  if ((paint->shown != NULL && !paint->shown[move->block]) ||
      !tessera_canvas_box_of (self, &rect, &box))
    return;
  tessera_set_rgb (cr, paint->ink.block_rgb[move->block], is_lit ? 1 : DIMMED);
  add_box (cr, box);
  cairo_fill (cr);
  if (box.height <= EDGED || box.width <= EDGED)
    return;
  tessera_set_rgb (cr, tessera_palette (self->panel.document->dark)->background, 1);
  cairo_rectangle (cr, round (box.x) + 0.5, round (box.y) + 0.5, round (box.width) - 1,
                   round (box.height) - 1);
  cairo_stroke (cr);
}

/* A renderer takes 2 us for each box that it hears of: all of them are one node. */
void
tessera_canvas_draw_moves (TesseraCanvas *self, TesseraWidgetPen *pen)
{
  int width = gtk_widget_get_width (self->panel.box);
  int height = gtk_widget_get_height (self->panel.box);
  cairo_t *cr;
  TesseraArea box;

  if (self->moves == NULL || self->panel.document->paint == NULL)
    return;
  cr = gtk_snapshot_append_cairo (
      pen->snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  cairo_set_antialias (cr, CAIRO_ANTIALIAS_NONE);
  cairo_set_line_width (cr, 1);
  /* The picture below shows where they are to be: nobody is there yet. */
  tessera_set_rgb (cr, pen->base.palette->reserved, 1);
  for (guint i = 0; i < self->moves->len; i++)
    if (tessera_canvas_box_of (self, &g_array_index (self->moves, TesseraMove, i).to,
                               &box))
      add_box (cr, box);
  cairo_fill (cr);
  for (guint i = 0; i < self->moves->len; i++)
    draw_move (self, cr, &g_array_index (self->moves, TesseraMove, i));
  cairo_destroy (cr);
}

/* --- by hand --------------------------------------------------------------------------
 */

void
tessera_canvas_begin_pin (TesseraCanvas *self, double x, double y)
{
  const TesseraSheet *sheet = tessera_canvas_sheet (self);

  if (self->side != TESSERA_SIDE_RIGHT || sheet == NULL ||
      !tessera_selection_has (self->panel.document->selection,
                              tessera_canvas_block_at (self, x, y)))
    return;
  self->pinning = TRUE;
  self->pin_dy = 0;
  tessera_document_propose (self->panel.document);
}

static double
bytes_a_pixel (TesseraCanvas *self)
{
  const TesseraView *v = &self->panel.document->view;

  return (v->y1 - v->y0) / MAX (gtk_widget_get_height (self->panel.box), 1);
}

void
tessera_canvas_update_pin (TesseraCanvas *self, double dy)
{
  const TesseraLandings *landings = self->panel.document->proposal.landings;
  double scale = bytes_a_pixel (self);

  /* Its places may still be looked for: then it goes where the hand is once they are
   * there. */
  self->pin_dy = dy;
  if (landings != NULL)
    tessera_document_propose_at (self->panel.document,
                                 (int64_t) ((double) landings->base_bytes - dy * scale),
                                 (uint64_t) (REACH_PIXELS * scale));
}

void
tessera_canvas_end_pin (TesseraCanvas *self, gboolean is_drop)
{
  const TesseraProposal *proposal = &self->panel.document->proposal;

  self->pinning = FALSE;
  if (is_drop && proposal->landings != NULL &&
      proposal->offset_bytes != proposal->landings->base_bytes)
    tessera_document_accept_proposal (self->panel.document);
  else
    tessera_document_drop_proposal (self->panel.document);
}

static void
draw_pushed (TesseraCanvas *self, TesseraPen *pen)
{
  const TesseraScene *scene = tessera_canvas_sheet (self)->scene;
  const TesseraSelection *pushed = self->panel.document->proposal.pushed;

  for (size_t i = 0; pushed != NULL && i < MIN (pushed->n_blocks, MOST_OUTLINES); i++)
    {
      TesseraView rect;
      TesseraArea box;

      if (!tessera_scene_block_rect (scene, pushed->blocks[i], &rect) ||
          !tessera_canvas_box_of (self, &rect, &box))
        continue;
      pen->fill (pen, box, 0, pen->palette->bad, 0.18);
      tessera_pen_outline (pen, box, 1.5, pen->palette->bad);
    }
}

/* Above the highest of what is moved, or below. */
static void
draw_label (TesseraCanvas *self, TesseraPen *pen, TesseraArea box)
{
  int canvas_width = gtk_widget_get_width (self->panel.box);
  g_autofree char *text = tessera_document_describe_proposal (self->panel.document);
  const TesseraWords words = { text, 1, .is_bold = true };
  double width, height;

  pen->measure (pen, &words, &width, &height);
  tessera_canvas_write (pen, &words, CLAMP (box.x, 6, MAX (canvas_width - width - 8, 6)),
                        box.y - height - 6 > 4 ? box.y - height - 6
                                               : box.y + box.height + 6,
                        pen->palette->select_text);
}

void
tessera_canvas_draw_proposal (TesseraCanvas *self, TesseraPen *pen)
{
  const TesseraProposal *proposal = &self->panel.document->proposal;
  const TesseraLandings *landings = proposal->landings;
  const TesseraPaint *paint = self->panel.document->paint;
  TesseraArea highest = { .y = INFINITY };
  double dy;

  if (landings == NULL || self->side != TESSERA_SIDE_RIGHT || paint == NULL)
    return;
  draw_pushed (self, pen);
  dy = (double) proposal->offset_bytes - (double) landings->base_bytes;
  for (size_t i = 0; i < MIN (landings->n_blocks, MOST_OUTLINES); i++)
    {
      uint32_t block = landings->blocks[i];
      TesseraView rect;
      TesseraArea box;

      if (!tessera_scene_block_rect (tessera_canvas_sheet (self)->scene, block, &rect))
        continue;
      rect.y0 += dy;
      rect.y1 += dy;
      if (!tessera_canvas_box_of (self, &rect, &box))
        continue;
      /* Of thin ones the outlines would be all there is. */
      if (box.height > EDGED)
        {
          pen->fill (pen, box, 0, paint->ink.block_rgb[block], 0.85);
          tessera_pen_outline (pen, box, 2, pen->palette->select);
        }
      else
        pen->fill (pen, box, 0, pen->palette->select, 0.5);
      if (box.y < highest.y)
        highest = box;
    }
  if (isfinite (highest.y))
    draw_label (self, pen, highest);
}
