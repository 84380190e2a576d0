/*
 * What is drawn beside the canvases: steps and phases above them, the time axis below
 * them, and memory over time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/private.h"

#include "cli/command.h"
#include "picture/axis.h"
#include "picture/palette.h"

#include <math.h>

static double
x_of (const TesseraPanel *drawing, double t)
{
  const TesseraView *v = &drawing->document->view;

  return (t - v->t0) / (v->t1 - v->t0) * gtk_widget_get_width (drawing->box);
}

double
tessera_view_t_at (const TesseraPanel *drawing, double x)
{
  const TesseraView *v = &drawing->document->view;

  return v->t0 + x / MAX (gtk_widget_get_width (drawing->box), 1) * (v->t1 - v->t0);
}

/* --- lanes: steps, and two levels of phases --------------------------------------- */

static const TesseraAxis *
axis_of (TesseraPanel *self)
{
  const TesseraSheet *sheet = self->document->sheets[TESSERA_SIDE_LEFT];

  return sheet != NULL ? sheet->axis : NULL;
}

static void
draw_lanes (gpointer user, TesseraWidgetPen *pen, int width, int height)
{
  TesseraPanel *self = user;
  const TesseraDocument *document = self->document;

  if (axis_of (self) != NULL)
    tessera_lanes_draw (&pen->base, document->data->trace, document->data->structure,
                        axis_of (self), &document->view, width, document->dark);
}

/* The innermost step or phase at a point, with its name (g_free()); NULL: none. */
static char *
find_stretch (TesseraPanel *self, double x, double y, uint32_t *begin, uint32_t *end)
{
  const TesseraAxis *axis = axis_of (self);
  const TesseraData *data = self->document->data;

  if (axis == NULL)
    return NULL;
  return tessera_lanes_find (data->trace, data->structure, y,
                             tessera_axis_event_at (axis, tessera_view_t_at (self, x)),
                             begin, end);
}

static void
on_lane_pressed (GtkGestureClick *gesture, int n, double x, double y, TesseraPanel *self)
{
  const TesseraAxis *axis = axis_of (self);
  uint32_t begin, end;
  g_autofree char *name = find_stretch (self, x, y, &begin, &end);

  gtk_widget_grab_focus (self->box);
  if (name != NULL)
    tessera_document_show_time (self->document, axis->at[begin],
                                axis->at[MIN (end, axis->n_events)]);
}

static gboolean
on_lane_tooltip (GtkWidget *widget,
                 int x,
                 int y,
                 gboolean keyboard,
                 GtkTooltip *tooltip,
                 TesseraPanel *self)
{
  uint32_t begin, end;
  g_autofree char *name = keyboard ? NULL : find_stretch (self, x, y, &begin, &end);
  g_autofree char *text = NULL;

  if (name == NULL)
    return FALSE;
  text = g_strdup_printf ("%s\nevents %s to %s", name, TESSERA_COUNT (begin),
                          TESSERA_COUNT (end));
  gtk_tooltip_set_text (tooltip, text);
  return TRUE;
}

/* A trace without steps and phases leaves its room to the canvas. */
static void
make_room (TesseraPanel *self)
{
  const TesseraData *data = self->document->data;
  int height = (int) tessera_lanes_height (data != NULL ? data->structure : NULL);

  gtk_widget_set_visible (self->box, height > 0);
  gtk_widget_set_size_request (self->box, 80, height);
}

static void
lanes_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraPanel *self = user;

  if (what & TESSERA_CHANGED_TRACE)
    make_room (self);
  if (what & (TESSERA_CHANGED_VIEW | TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS |
              TESSERA_CHANGED_COLOUR))
    gtk_widget_queue_draw (self->box);
}

GtkWidget *
tessera_lanes_new (TesseraDocument *document)
{
  static const TesseraDrawingKind kind = { .draw = draw_lanes };
  TesseraPanel *self = tessera_drawing_new (sizeof *self, document, "lanes", &kind, NULL);
  GtkGesture *click = gtk_gesture_click_new ();

  g_signal_connect (click, "pressed", G_CALLBACK (on_lane_pressed), self);
  gtk_widget_add_controller (self->box, GTK_EVENT_CONTROLLER (click));
  gtk_widget_set_has_tooltip (self->box, TRUE);
  g_signal_connect (self->box, "query-tooltip", G_CALLBACK (on_lane_tooltip), self);
  tessera_set_accessible_label (self->box, "Steps and phases over time");
  return tessera_panel_watch (self, lanes_changed);
}

/* --- the ruler -------------------------------------------------------------------- */

/* Events are marked at round numbers, wherever the axis puts them: where it is wide, an
 * event is. On the axis of time the marks are round times. */

#define RULER_HEIGHT 17
#define TICK 10
/* Between the left edges of two labels. */
#define LEAST_GAP 72

typedef struct
{
  TesseraPanel panel;
  double free_from; /* left of this a label would touch the one before */
} Ruler;

/* Returns: FALSE past the right edge. */
static gboolean
draw_mark (Ruler *self, TesseraPen *pen, double t, const char *text)
{
  const TesseraWords words = { text, 0.82 };
  double x = round (x_of (&self->panel, t)), w, h;
  int width = gtk_widget_get_width (self->panel.box);

  if (x < 0)
    return TRUE;
  if (x > width || x < self->free_from)
    return x <= width;
  pen->measure (pen, &words, &w, &h);
  if (x + 3 + w > width)
    return FALSE;
  pen->fill (pen, (TesseraArea){ x, 0, 1, TICK }, 0, pen->palette->dim, 0.5);
  pen->write (pen, &words, x + 4, 1, pen->palette->dim);
  self->free_from = x + MAX (LEAST_GAP, w + 14);
  return TRUE;
}

static void
draw_events (Ruler *self, TesseraPen *pen, const TesseraAxis *axis)
{
  const TesseraView *v = &self->panel.document->view;
  uint32_t first = tessera_axis_event_at (axis, v->t0);
  uint32_t last = tessera_axis_event_at (axis, v->t1);
  /* More candidates than labels: the axis may bunch them. */
  double step = MAX (tessera_nice_step ((double) (last - first) + 1, 24), 1);
  int n = 0;

  for (double at = ceil (first / step) * step; at <= last && n < 200; at += step, n++)
    {
      /* The first that is written says what the others count. */
      g_autofree char *text = g_strconcat (self->free_from < 0 ? "event " : "",
                                           TESSERA_COUNT ((uint64_t) at), NULL);

      if (!draw_mark (self, pen, axis->at[(uint32_t) at], text))
        return;
    }
}

static void
draw_times (Ruler *self, TesseraPen *pen, const TesseraTrace *trace, int width)
{
  const TesseraView *v = &self->panel.document->view;
  double begin = (double) trace->events[0].at_ns;
  double whole = (double) trace->events[trace->n_events - 1].at_ns - begin;
  double step = tessera_nice_step (whole * (v->t1 - v->t0), MAX (width / 110, 2));

  if (whole <= 0)
    return;
  for (double at = ceil (v->t0 * whole / step) * step; at <= v->t1 * whole; at += step)
    {
      g_autofree char *text = tessera_describe_duration ((int64_t) at);

      if (!draw_mark (self, pen, at / whole, text))
        return;
    }
}

static void
draw_ruler (gpointer user, TesseraWidgetPen *pen, int width, int height)
{
  Ruler *self = user;
  const TesseraSheet *sheet = self->panel.document->sheets[TESSERA_SIDE_LEFT];

  self->free_from = -1;
  if (sheet == NULL || sheet->axis->n_events == 0)
    return;
  if (sheet->axis->kind == TESSERA_AXIS_TIME && sheet->data->trace->has_time)
    draw_times (self, &pen->base, sheet->data->trace, width);
  else
    draw_events (self, &pen->base, sheet->axis);
}

static void
ruler_changed (TesseraDocument *document, guint what, gpointer user)
{
  if (what & (TESSERA_CHANGED_VIEW | TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS |
              TESSERA_CHANGED_COLOUR))
    gtk_widget_queue_draw (((Ruler *) user)->panel.box);
}

GtkWidget *
tessera_ruler_new (TesseraDocument *document)
{
  static const TesseraDrawingKind kind = { draw_ruler, 80, RULER_HEIGHT, 80,
                                           RULER_HEIGHT };
  Ruler *self = tessera_drawing_new (sizeof *self, document, "ruler", &kind, NULL);

  gtk_widget_set_tooltip_text (self->panel.box, "Event numbers, or time");
  tessera_set_accessible_label (self->panel.box, "Time axis");
  return tessera_panel_watch (self, ruler_changed);
}

/* --- memory over time, and the map of what is shown ------------------------------- */

typedef struct
{
  TesseraPanel panel;
  GskRenderNode *node; /* the curves; NULL: to be made */
  int node_width, node_height, node_scale;
  TesseraView drag_view;
  double drag_t; /* where the drag began */
  gboolean dragging_window;
} Curves;

static const TesseraSheet *
sheet_of (Curves *self)
{
  return self->panel.document->sheets[TESSERA_SIDE_LEFT];
}

/* A plan's side says nothing of what was reserved: the trace's own curves stay. */
static const TesseraLayout *
layout_of (Curves *self)
{
  return sheet_of (self)->planned != NULL
             ? tessera_data_own_layout (self->panel.document->data)
             : sheet_of (self)->layout;
}

static double
top_bytes (Curves *self)
{
  uint64_t bound = tessera_document_bound (self->panel.document);

  return (double) MAX (MAX (layout_of (self)->peak_reserved_bytes, bound), 1) * 1.08;
}

static void
forget_node (gpointer curves)
{
  g_clear_pointer (&((Curves *) curves)->node, gsk_render_node_unref);
}

/* Folded to low and high per device pixel column, so that no peak can vanish, and kept as
 * one image until data, size or colours change. */
static cairo_surface_t *
draw_image (Curves *self, int width, int height)
{
  cairo_surface_t *image =
      cairo_image_surface_create (CAIRO_FORMAT_ARGB32, width, height);
  cairo_t *cr = cairo_create (image);

  tessera_curves_draw (cr, (TesseraArea){ 0, 0, width, height },
                       &layout_of (self)->curves, sheet_of (self)->axis, top_bytes (self),
                       (uint32_t) width, tessera_palette (self->panel.document->dark));
  cairo_destroy (cr);
  return image;
}

static void
make_node (Curves *self, int width, int height, int scale)
{
  cairo_surface_t *image = draw_image (self, width * scale, height * scale);

  forget_node (self);
  cairo_surface_set_device_scale (image, scale, scale);
  self->node = tessera_image_node (image, width, height);
  self->node_width = width;
  self->node_height = height;
  self->node_scale = scale;
}

static void
draw_window (Curves *self, TesseraPen *pen, int width, int height)
{
  const TesseraView *v = &self->panel.document->view;
  double x0 = floor (v->t0 * width), x1 = ceil (v->t1 * width);
  double moment =
      round (tessera_sheet_t_of (sheet_of (self), self->panel.document->moment) * width);

  tessera_pen_dashes (pen, (TesseraArea){ MIN (moment, width - 1), 0, 1, height }, 3,
                      pen->palette->dim);
  /* A window of a thousandth must still be seen and grasped. */
  if (x1 - x0 < 6)
    {
      x0 = CLAMP ((x0 + x1) / 2 - 3, 0, width - 6);
      x1 = x0 + 6;
    }
  pen->fill (pen, (TesseraArea){ 0, 0, x0, height }, 0, pen->palette->background, 0.6);
  pen->fill (pen, (TesseraArea){ x1, 0, width - x1, height }, 0, pen->palette->background,
             0.6);
  tessera_pen_outline (pen, (TesseraArea){ x0, 0, x1 - x0, height }, 2,
                       pen->palette->accent);
}

static void
draw_curves (gpointer user, TesseraWidgetPen *own, int width, int height)
{
  Curves *self = user;
  TesseraPen *pen = &own->base;
  const TesseraArea all = { 0, 0, width, height };
  int scale = gtk_widget_get_scale_factor (self->panel.box);

  pen->fill (pen, all, 0, pen->palette->background, 1);
  if (sheet_of (self) != NULL && width > 0)
    {
      double bound = height - (double) tessera_document_bound (self->panel.document) /
                                  top_bytes (self) * height;

      if (self->node == NULL || self->node_width != width ||
          self->node_height != height || self->node_scale != scale)
        make_node (self, width, height, scale);
      gtk_snapshot_append_node (own->snapshot, self->node);
      tessera_pen_dashes (pen, (TesseraArea){ 0, round (bound), width, 1 }, 6,
                          pen->palette->good);
      draw_window (self, pen, width, height);
    }
  tessera_pen_outline (pen, all, 1, pen->palette->frame);
}

static void
on_drag_begin (GtkGestureDrag *gesture, double x, double y, Curves *self)
{
  TesseraDocument *document = self->panel.document;
  const TesseraView *v = &document->view;
  double t = x / MAX (gtk_widget_get_width (self->panel.box), 1);
  double half = (v->t1 - v->t0) / 2;

  gtk_widget_grab_focus (self->panel.box);
  if (sheet_of (self) == NULL)
    return;
  self->drag_t = t;
  self->dragging_window = v->t1 - v->t0 < 1;
  if (self->dragging_window && (t < v->t0 || t > v->t1))
    tessera_document_show_time (document, t - half, t + half);
  self->drag_view = document->view;
  tessera_document_set_moment (document,
                               tessera_axis_event_at (sheet_of (self)->axis, t));
}

/* With a window on a part the window moves; with everything shown a stretch is drawn
 * out. */
static void
on_drag_update (GtkGestureDrag *gesture, double dx, double dy, Curves *self)
{
  double dt = dx / MAX (gtk_widget_get_width (self->panel.box), 1);
  double other = CLAMP (self->drag_t + dt, 0, 1);

  if (sheet_of (self) == NULL)
    return;
  if (self->dragging_window)
    tessera_document_show_time (self->panel.document, self->drag_view.t0 + dt,
                                self->drag_view.t1 + dt);
  else if (fabs (dx) > 4)
    tessera_document_show_time (self->panel.document, MIN (self->drag_t, other),
                                MAX (self->drag_t, other));
}

static gboolean
on_scroll (GtkEventControllerScroll *controller, double dx, double dy, Curves *self)
{
  const TesseraView *v = &self->panel.document->view;

  tessera_document_zoom (self->panel.document, pow (1.25, -dy), 1, (v->t0 + v->t1) / 2,
                         (v->y0 + v->y1) / 2);
  return TRUE;
}

static void
curves_changed (TesseraDocument *document, guint what, gpointer user)
{
  Curves *self = user;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_COLOUR |
              TESSERA_CHANGED_VERDICT))
    forget_node (self);
  if (self->node == NULL || what & (TESSERA_CHANGED_VIEW | TESSERA_CHANGED_MOMENT))
    gtk_widget_queue_draw (self->panel.box);
}

GtkWidget *
tessera_curves_view_new (TesseraDocument *document)
{
  static const TesseraDrawingKind kind = { draw_curves, 160, 56, 480, 84 };
  Curves *self =
      tessera_drawing_new (sizeof *self, document, "curves", &kind, forget_node);
  GtkGesture *drag = gtk_gesture_drag_new ();
  GtkEventController *scroll =
      gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);

  g_signal_connect (drag, "drag-begin", G_CALLBACK (on_drag_begin), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (on_drag_update), self);
  gtk_widget_add_controller (self->panel.box, GTK_EVENT_CONTROLLER (drag));
  g_signal_connect (scroll, "scroll", G_CALLBACK (on_scroll), self);
  gtk_widget_add_controller (self->panel.box, scroll);
  gtk_widget_set_focusable (self->panel.box, TRUE);
  tessera_set_accessible_label (self->panel.box,
                                "Memory over time, and the window on it");
  return tessera_panel_watch (self, curves_changed);
}
