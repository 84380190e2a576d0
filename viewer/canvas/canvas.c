/*
 * Time x address: one layout, drawn, under the hand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/canvas.h"

#include "viewer/canvas/canvas-moving.h"
#include "viewer/model/document.h"
#include "viewer/kit/draw.h"

G_DEFINE_TYPE (TesseraCanvas, tessera_canvas, GTK_TYPE_WIDGET)

double
tessera_canvas_x_of (const TesseraCanvas *self, double t)
{
  const TesseraView *v = &self->document->view;

  return (t - v->t0) / (v->t1 - v->t0) * gtk_widget_get_width (GTK_WIDGET (self));
}

double
tessera_canvas_y_of (const TesseraCanvas *self, double bytes)
{
  const TesseraView *v = &self->document->view;

  return (v->y1 - bytes) / (v->y1 - v->y0) * gtk_widget_get_height (GTK_WIDGET (self));
}

double
tessera_canvas_t_at (const TesseraCanvas *self, double x)
{
  const TesseraView *v = &self->document->view;

  return v->t0 + x / MAX (gtk_widget_get_width (GTK_WIDGET (self)), 1) * (v->t1 - v->t0);
}

double
tessera_canvas_bytes_at (const TesseraCanvas *self, double y)
{
  const TesseraView *v = &self->document->view;

  return v->y1 - y / MAX (gtk_widget_get_height (GTK_WIDGET (self)), 1) * (v->y1 - v->y0);
}

const TesseraSheet *
tessera_canvas_sheet (const TesseraCanvas *self)
{
  return self->document->sheets[self->side];
}

static void
say_value (TesseraCanvas *self)
{
  TesseraDocument *document = self->document;
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  g_autofree char *proposed = tessera_document_describe_proposal (document);
  g_autofree char *text = NULL;

  if (sheet == NULL)
    text = g_strdup ("nothing to show yet");
  else if (proposed != NULL && self->side == TESSERA_SIDE_RIGHT)
    text = g_strdup_printf ("on the move: %s", proposed);
  else if (document->selected == TESSERA_NONE)
    text = g_strdup ("no block selected");
  else
    {
      const TesseraBlock *block = &document->data->blocks->blocks[document->selected];
      g_autofree char *size = tessera_describe_bytes (block->size_bytes);
      g_autofree char *life = tessera_describe_life (document->data, document->selected);
      g_autofree char *place = tessera_describe_place (sheet, document->selected);

      size_t n = tessera_document_n_selected (document);
      g_autofree char *several =
          n > 1 ? g_strdup_printf ("%zu blocks selected, the outlined one: ", n) : NULL;

      text = g_strdup_printf ("%sblock of %s, %s, %s", several != NULL ? several : "",
                              size, life, place);
    }
  gtk_accessible_update_property (GTK_ACCESSIBLE (self),
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, -1);
}

static void
say_label (TesseraCanvas *self)
{
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  gboolean is_plan =
      sheet != NULL ? sheet->planned != NULL : self->side == TESSERA_SIDE_RIGHT;

  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  is_plan ? "Planned layout, time by address"
                                          : "PyTorch's layout, time by address",
                                  -1);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraCanvas *self = user;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS))
    say_label (self);

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS))
    tessera_tiles_set_sheet (self->tiles, document->sheets[self->side]);
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_COLOUR | TESSERA_CHANGED_SELECTION))
    tessera_tiles_set_paint (self->tiles, document->paint);
  if (self->side == TESSERA_SIDE_RIGHT && (what & TESSERA_CHANGED_SHEETS) &&
      (what & TESSERA_CHANGED_TRACE) == 0)
    tessera_canvas_start_moves (self);
  if (self->pinning && (what & TESSERA_CHANGED_PROPOSAL))
    tessera_canvas_update_pin (self, self->pin_dy);
  if (what &
      (TESSERA_CHANGED_SELECTION | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_PROPOSAL))
    say_value (self);
  if (what & ~(guint) TESSERA_CHANGED_WORK)
    gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
on_tile (gpointer user)
{
  gtk_widget_queue_draw (user);
}

gboolean
tessera_canvas_is_complete (TesseraCanvas *self)
{
  return self->moves == NULL && tessera_tiles_is_complete (self->tiles);
}

static void
tessera_canvas_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TesseraCanvas *self = TESSERA_CANVAS (widget);
  const TesseraPalette *palette = tessera_palette (self->document->dark);
  int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);

  gtk_snapshot_push_clip (snapshot,
                          &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  tessera_draw_box (snapshot, 0, 0, width, height, palette->background, 1);
  tessera_tiles_snapshot (self->tiles, snapshot, &self->document->view, width, height,
                          gtk_widget_get_scale_factor (widget),
                          self->pointer_x >= 0 ? self->pointer_x : width / 2.0,
                          self->pointer_y >= 0 ? self->pointer_y : height / 2.0);
  tessera_canvas_draw_moves (self, snapshot);
  if (tessera_canvas_sheet (self) != NULL)
    {
      tessera_canvas_draw_marks (self, snapshot);
      tessera_canvas_draw_proposal (self, snapshot);
    }
  tessera_draw_outline (snapshot, 0, 0, width, height, 1, palette->frame);
  if (gtk_widget_has_visible_focus (widget))
    tessera_draw_outline (snapshot, 0, 0, width, height, 2, palette->accent);
  if (tessera_canvas_sheet (self) != NULL)
    tessera_canvas_draw_card (self, snapshot);
  gtk_snapshot_pop (snapshot);
}

static void
tessera_canvas_measure (GtkWidget *widget,
                        GtkOrientation orientation,
                        int for_size,
                        int *minimum,
                        int *natural,
                        int *minimum_baseline,
                        int *natural_baseline)
{
  *minimum = orientation == GTK_ORIENTATION_HORIZONTAL ? 160 : 56;
  *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 480 : 400;
}

void
tessera_canvas_ask (TesseraCanvas *self)
{
  int width = gtk_widget_get_width (GTK_WIDGET (self));
  int height = gtk_widget_get_height (GTK_WIDGET (self));
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  TesseraView rect = self->document->view;
  double x, y;

  if (sheet == NULL)
    return;
  if (self->document->selected != TESSERA_NONE)
    (void) tessera_scene_block_rect (sheet->scene, self->document->selected, &rect);
  x = tessera_canvas_x_of (self, (rect.t0 + rect.t1) / 2);
  y = tessera_canvas_y_of (self, (rect.y0 + rect.y1) / 2);
  tessera_canvas_pop_menu_up (self, CLAMP (x, 0, width), CLAMP (y, 0, height));
}

static void
tessera_canvas_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  TesseraCanvas *self = TESSERA_CANVAS (widget);

  if (self->menu != NULL)
    gtk_popover_present (GTK_POPOVER (self->menu));
}

static void
tessera_canvas_dispose (GObject *object)
{
  TesseraCanvas *self = TESSERA_CANVAS (object);

  tessera_canvas_stop_moves (self);
  if (self->document != NULL)
    g_clear_signal_handler (&self->changed_handler, self->document);
  g_clear_pointer (&self->menu, gtk_widget_unparent);
  g_clear_pointer (&self->tiles, tessera_tiles_free);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (tessera_canvas_parent_class)->dispose (object);
}

static void
tessera_canvas_class_init (TesseraCanvasClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->dispose = tessera_canvas_dispose;
  widget_class->snapshot = tessera_canvas_snapshot;
  widget_class->measure = tessera_canvas_measure;
  widget_class->size_allocate = tessera_canvas_size_allocate;
  gtk_widget_class_set_css_name (widget_class, "canvas");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
tessera_canvas_init (TesseraCanvas *self)
{
  self->tiles = tessera_tiles_new (on_tile, self);
  self->pointer_x = self->pointer_y = -1;
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_hexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  tessera_canvas_add_controllers (self);
}

GtkWidget *
tessera_canvas_new (TesseraDocument *document, TesseraSide side)
{
  TesseraCanvas *self = g_object_new (TESSERA_TYPE_CANVAS, NULL);

  self->document = g_object_ref (document);
  self->side = side;
  self->changed_handler =
      g_signal_connect (document, "changed", G_CALLBACK (on_changed), self);
  gtk_widget_set_name (GTK_WIDGET (self),
                       side == TESSERA_SIDE_LEFT ? "canvas-left" : "canvas-right");
  on_changed (document, TESSERA_CHANGED_ALL, self);
  return GTK_WIDGET (self);
}
