/*
 * Memory over time, and the map of what is shown.
 *
 * The curves are folded to low and high per device pixel column, so that no peak can
 * vanish, and kept as one render node until data, size or colours change.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/curves.h"

#include "viewer/model/document.h"
#include "viewer/canvas/box-image.h"
#include "viewer/kit/draw.h"
#include "viewer/kit/kit.h"

#include <math.h>

struct _TesseraCurvesView
{
  TesseraDrawing drawing;
  GskRenderNode *node; /* the curves; NULL: to be made */
  int node_width, node_height, node_scale;
  TesseraSheet *node_sheet; /* whose they are; NULL: nobody's */
  gboolean node_is_dark;
  uint64_t node_bound;
  TesseraView drag_view;
  double drag_t; /* where the drag began */
  gboolean dragging_window;
};

G_DEFINE_TYPE (TesseraCurvesView, tessera_curves_view, TESSERA_TYPE_DRAWING)

static double
top_bytes (TesseraCurvesView *self)
{
  const TesseraLayout *layout = self->drawing.document->sheets[TESSERA_SIDE_LEFT]->layout;
  uint64_t bound = tessera_document_bound (self->drawing.document);

  /* Its curves are the trace's own: see make_node(). */
  if (self->drawing.document->left_planned != NULL)
    (void) tessera_data_get_layout (self->drawing.document->data,
                                    self->drawing.document->data->own_kind, NULL, NULL,
                                    &layout);

  return (double) MAX (MAX (layout->peak_reserved_bytes, bound), 1) * 1.08;
}

/* One curve: filled up to its low, paler between low and high. */
static void
draw_curve (TesseraCurvesView *self,
            TesseraBoxImage *image,
            const TesseraFold *fold,
            uint32_t rgb,
            int width,
            int height)
{
  const TesseraSheet *sheet = self->drawing.document->sheets[TESSERA_SIDE_LEFT];
  g_autofree uint64_t *low = g_new0 (uint64_t, width);
  g_autofree uint64_t *high = g_new0 (uint64_t, width);
  double per_byte = height / top_bytes (self);

  tessera_fold_columns (fold, sheet->axis, 0, 1, (uint32_t) width, low, high);
  for (int x = 0; x < width; x++)
    {
      double values[] = { (double) high[x] * per_byte, (double) low[x] * per_byte };

      for (int pass = 0; pass < 2; pass++)
        tessera_box_image_fill (
            image, &(TesseraBox){ x, height - values[pass], 1, values[pass] }, rgb,
            pass == 0 ? 0.55 : 1);
    }
}

static void
forget_node (TesseraCurvesView *self)
{
  g_clear_pointer (&self->node, gsk_render_node_unref);
  g_clear_pointer (&self->node_sheet, tessera_sheet_unref);
}

static void
make_node (TesseraCurvesView *self, int width, int height, int scale)
{
  const TesseraPalette *palette = tessera_palette (self->drawing.document->dark);
  const TesseraSheet *sheet = self->drawing.document->sheets[TESSERA_SIDE_LEFT];
  /* A plan's side tells nothing of what was reserved: the trace's own curves stay. */
  const TesseraFolds *folds = tessera_data_get_folds (
      self->drawing.document->data, sheet->planned != NULL
                                        ? self->drawing.document->data->own_kind
                                        : sheet->layout->kind);
  GtkSnapshot *snapshot = gtk_snapshot_new ();
  TesseraBoxImage *image;

  forget_node (self);
  /* A column of the image is one of the curve. */
  image = tessera_box_image_new (width * scale, height * scale, 1);
  draw_curve (self, image, folds->reserved, palette->curve_reserved, width * scale,
              height * scale);
  draw_curve (self, image, folds->allocated, palette->curve_allocated, width * scale,
              height * scale);
  draw_curve (self, image, folds->live, palette->curve_live, width * scale,
              height * scale);
  gtk_snapshot_scale (snapshot, 1.0f / (float) scale, 1.0f / (float) scale);
  tessera_box_image_draw (image, snapshot);
  self->node = gtk_snapshot_free_to_node (snapshot);
  self->node_width = width;
  self->node_height = height;
  self->node_scale = scale;
  self->node_is_dark = self->drawing.document->dark;
  self->node_bound = tessera_document_bound (self->drawing.document);
  self->node_sheet =
      tessera_sheet_ref (self->drawing.document->sheets[TESSERA_SIDE_LEFT]);
}

static void
draw_window (TesseraCurvesView *self, GtkSnapshot *snapshot, int width, int height)
{
  const TesseraPalette *palette = tessera_palette (self->drawing.document->dark);
  const TesseraView *v = &self->drawing.document->view;
  double x0 = floor (v->t0 * width), x1 = ceil (v->t1 * width);
  double moment =
      round (tessera_sheet_t_of (self->drawing.document->sheets[TESSERA_SIDE_LEFT],
                                 self->drawing.document->moment) *
             width);

  tessera_draw_dashes (snapshot, MIN (moment, width - 1), 0, 1, height, 3, palette->dim);
  /* A window of a thousandth must still be seen and grasped. */
  if (x1 - x0 < 6)
    {
      x0 = CLAMP ((x0 + x1) / 2 - 3, 0, width - 6);
      x1 = x0 + 6;
    }
  tessera_draw_box (snapshot, 0, 0, x0, height, palette->background, 0.6);
  tessera_draw_box (snapshot, x1, 0, width - x1, height, palette->background, 0.6);
  tessera_draw_outline (snapshot, x0, 0, x1 - x0, height, 2, palette->accent);
}

static void
tessera_curves_view_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TesseraCurvesView *self = TESSERA_CURVES_VIEW (widget);
  const TesseraPalette *palette = tessera_palette (self->drawing.document->dark);
  int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  int scale = gtk_widget_get_scale_factor (widget);
  double bound;

  gtk_snapshot_push_clip (snapshot,
                          &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  tessera_draw_box (snapshot, 0, 0, width, height, palette->background, 1);
  if (self->drawing.document->sheets[TESSERA_SIDE_LEFT] != NULL && width > 0)
    {
      if (self->node == NULL || self->node_width != width ||
          self->node_height != height || self->node_scale != scale)
        make_node (self, width, height, scale);
      gtk_snapshot_append_node (snapshot, self->node);
      bound = height - (double) tessera_document_bound (self->drawing.document) /
                           top_bytes (self) * height;
      tessera_draw_dashes (snapshot, 0, round (bound), width, 1, 6, palette->good);
      draw_window (self, snapshot, width, height);
    }
  tessera_draw_outline (snapshot, 0, 0, width, height, 1, palette->frame);
  if (gtk_widget_has_visible_focus (widget))
    tessera_draw_outline (snapshot, 0, 0, width, height, 2, palette->accent);
  gtk_snapshot_pop (snapshot);
}

static void
tessera_curves_view_measure (GtkWidget *widget,
                             GtkOrientation orientation,
                             int for_size,
                             int *minimum,
                             int *natural,
                             int *minimum_baseline,
                             int *natural_baseline)
{
  *minimum = orientation == GTK_ORIENTATION_HORIZONTAL ? 160 : 56;
  *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 480 : 84;
}

static void
center_on (TesseraCurvesView *self, double t)
{
  const TesseraView *v = &self->drawing.document->view;
  double half = (v->t1 - v->t0) / 2;

  tessera_document_show_time (self->drawing.document, t - half, t + half);
}

static void
choose_moment (TesseraCurvesView *self, double t)
{
  const TesseraSheet *sheet = self->drawing.document->sheets[TESSERA_SIDE_LEFT];

  tessera_document_set_moment (self->drawing.document,
                               tessera_axis_event_at (sheet->axis, t));
}

static void
on_drag_begin (GtkGestureDrag *gesture, double x, double y, TesseraCurvesView *self)
{
  const TesseraView *v = &self->drawing.document->view;
  double t = x / MAX (gtk_widget_get_width (GTK_WIDGET (self)), 1);

  gtk_widget_grab_focus (GTK_WIDGET (self));
  if (self->drawing.document->sheets[TESSERA_SIDE_LEFT] == NULL)
    return;
  self->drag_t = t;
  self->dragging_window = v->t1 - v->t0 < 1;
  if (self->dragging_window && (t < v->t0 || t > v->t1))
    center_on (self, t);
  self->drag_view = self->drawing.document->view;
  choose_moment (self, t);
}

/* With a window on a part the window moves; with everything shown a stretch is drawn
 * out. */
static void
on_drag_update (GtkGestureDrag *gesture, double dx, double dy, TesseraCurvesView *self)
{
  double dt = dx / MAX (gtk_widget_get_width (GTK_WIDGET (self)), 1);
  double other = CLAMP (self->drag_t + dt, 0, 1);

  if (self->drawing.document->sheets[TESSERA_SIDE_LEFT] == NULL)
    return;
  if (self->dragging_window)
    tessera_document_show_time (self->drawing.document, self->drag_view.t0 + dt,
                                self->drag_view.t1 + dt);
  else if (fabs (dx) > 4)
    tessera_document_show_time (self->drawing.document, MIN (self->drag_t, other),
                                MAX (self->drag_t, other));
}

static gboolean
on_scroll (GtkEventControllerScroll *controller,
           double dx,
           double dy,
           TesseraCurvesView *self)
{
  const TesseraView *v = &self->drawing.document->view;

  tessera_document_zoom (self->drawing.document, pow (1.25, -dy), 1, (v->t0 + v->t1) / 2,
                         (v->y0 + v->y1) / 2);
  return TRUE;
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraCurvesView *self = user;

  if (self->node_sheet != document->sheets[TESSERA_SIDE_LEFT] ||
      self->node_is_dark != document->dark ||
      (document->data != NULL && self->node_bound != tessera_document_bound (document)))
    forget_node (self);
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_VIEW |
              TESSERA_CHANGED_MOMENT | TESSERA_CHANGED_COLOUR | TESSERA_CHANGED_VERDICT))
    gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
tessera_curves_view_dispose (GObject *object)
{
  TesseraCurvesView *self = TESSERA_CURVES_VIEW (object);

  forget_node (self);
  G_OBJECT_CLASS (tessera_curves_view_parent_class)->dispose (object);
}

static void
tessera_curves_view_class_init (TesseraCurvesViewClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->dispose = tessera_curves_view_dispose;
  widget_class->snapshot = tessera_curves_view_snapshot;
  widget_class->measure = tessera_curves_view_measure;
  gtk_widget_class_set_css_name (widget_class, "curves");
}

static void
tessera_curves_view_init (TesseraCurvesView *self)
{
  GtkGesture *drag = gtk_gesture_drag_new ();
  GtkEventController *scroll =
      gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);

  g_signal_connect (drag, "drag-begin", G_CALLBACK (on_drag_begin), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (on_drag_update), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drag));
  g_signal_connect (scroll, "scroll", G_CALLBACK (on_scroll), self);
  gtk_widget_add_controller (GTK_WIDGET (self), scroll);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_name (GTK_WIDGET (self), "curves");
  tessera_set_accessible_label (GTK_WIDGET (self),
                                "Memory over time, and the window on it");
}

GtkWidget *
tessera_curves_view_new (TesseraDocument *document)
{
  return tessera_drawing_new (TESSERA_TYPE_CURVES, document, on_changed);
}
