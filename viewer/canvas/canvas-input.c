/*
 * The hand on a canvas: pointer, wheel, pinch, drag. Keys are the window's actions.
 *
 * Wheel zooms both ways at the pointer, with Control time alone, with Shift address
 * alone. Drag moves; drag with Shift or the right button draws a band to zoom into.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/canvas-private.h"
#include "viewer/document/document-view.h"

#include <math.h>

#define WHEEL_FACTOR 1.25
/* A band smaller than this is a slip of the hand. */
#define LEAST_BAND 6

static void
hover_at (TesseraCanvas *self, double x, double y)
{
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  uint32_t block = TESSERA_NONE;

  self->pointer_x = x;
  self->pointer_y = y;
  if (sheet != NULL && x >= 0)
    block = tessera_scene_block_at (sheet->scene, tessera_canvas_t_at (self, x),
                                    tessera_canvas_bytes_at (self, y));
  tessera_document_hover (self->document, self->side, block);
  if (block != TESSERA_NONE)
    gtk_widget_queue_draw (GTK_WIDGET (self)); /* the card follows the pointer */
}

static void
on_motion (GtkEventControllerMotion *controller, double x, double y, TesseraCanvas *self)
{
  hover_at (self, x, y);
}

static void
on_leave (GtkEventControllerMotion *controller, TesseraCanvas *self)
{
  hover_at (self, -1, -1);
}

static gboolean
on_scroll (GtkEventControllerScroll *controller,
           double dx,
           double dy,
           TesseraCanvas *self)
{
  GdkModifierType state =
      gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (controller));
  double x = self->pointer_x >= 0 ? self->pointer_x
                                  : gtk_widget_get_width (GTK_WIDGET (self)) / 2.0;
  double y = self->pointer_y >= 0 ? self->pointer_y
                                  : gtk_widget_get_height (GTK_WIDGET (self)) / 2.0;
  double factor;

  if (tessera_canvas_sheet (self) == NULL)
    return FALSE;
  /* A touch pad's sideways movement is a movement, not a zoom. */
  if (fabs (dx) > fabs (dy) && !(state & GDK_SHIFT_MASK))
    {
      tessera_document_pan (self->document, dx * 0.05, 0);
      return TRUE;
    }
  factor = pow (WHEEL_FACTOR, -(fabs (dy) > 0 ? dy : dx));
  tessera_document_zoom (self->document, state & GDK_SHIFT_MASK ? 1 : factor,
                         state & GDK_CONTROL_MASK ? 1 : factor,
                         tessera_canvas_t_at (self, x),
                         tessera_canvas_bytes_at (self, y));
  hover_at (self, self->pointer_x, self->pointer_y);
  return TRUE;
}

static void
on_pinch_begin (GtkGesture *gesture, GdkEventSequence *sequence, TesseraCanvas *self)
{
  self->pinch = 1;
}

static void
on_pinch (GtkGestureZoom *gesture, double scale, TesseraCanvas *self)
{
  double x = self->pointer_x, y = self->pointer_y;

  gtk_gesture_get_bounding_box_center (GTK_GESTURE (gesture), &x, &y);
  tessera_document_zoom (self->document, scale / self->pinch, scale / self->pinch,
                         tessera_canvas_t_at (self, x),
                         tessera_canvas_bytes_at (self, y));
  self->pinch = scale;
}

static void
on_drag_begin (GtkGestureDrag *gesture, double x, double y, TesseraCanvas *self)
{
  GdkModifierType state =
      gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture));
  guint button = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture));

  gtk_widget_grab_focus (GTK_WIDGET (self));
  self->drag_view = self->document->view;
  self->banding = (button == GDK_BUTTON_SECONDARY || (state & GDK_SHIFT_MASK) != 0) &&
                  tessera_canvas_sheet (self) != NULL;
  self->band_x = self->band_end_x = x;
  self->band_y = self->band_end_y = y;
}

static void
on_drag_update (GtkGestureDrag *gesture, double dx, double dy, TesseraCanvas *self)
{
  const TesseraView *v = &self->drag_view;
  TesseraView next = *v;
  double dt = dx / MAX (gtk_widget_get_width (GTK_WIDGET (self)), 1) * (v->t1 - v->t0);
  double db = dy / MAX (gtk_widget_get_height (GTK_WIDGET (self)), 1) * (v->y1 - v->y0);

  if (tessera_canvas_sheet (self) == NULL)
    return;
  if (self->banding)
    {
      self->band_end_x =
          CLAMP (self->band_x + dx, 0, gtk_widget_get_width (GTK_WIDGET (self)));
      self->band_end_y =
          CLAMP (self->band_y + dy, 0, gtk_widget_get_height (GTK_WIDGET (self)));
      gtk_widget_queue_draw (GTK_WIDGET (self));
      return;
    }
  next.t0 -= dt;
  next.t1 -= dt;
  next.y0 += db;
  next.y1 += db;
  tessera_document_set_view (self->document, &next);
}

static void
click (TesseraCanvas *self, double x, double y)
{
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  double t = tessera_canvas_t_at (self, x);

  if (sheet == NULL)
    return;
  tessera_document_set_moment (self->document, tessera_axis_event_at (sheet->axis, t));
  tessera_document_select (
      self->document,
      tessera_scene_block_at (sheet->scene, t, tessera_canvas_bytes_at (self, y)));
}

/* A band that is only wide, or only high, leaves the other direction as it is. */
static void
zoom_to_band (TesseraCanvas *self, gboolean wide, gboolean high)
{
  const TesseraView *v = &self->document->view;
  TesseraView next = {
    .t0 = tessera_canvas_t_at (self, MIN (self->band_x, self->band_end_x)),
    .t1 = tessera_canvas_t_at (self, MAX (self->band_x, self->band_end_x)),
    .y0 = tessera_canvas_bytes_at (self, MAX (self->band_y, self->band_end_y)),
    .y1 = tessera_canvas_bytes_at (self, MIN (self->band_y, self->band_end_y)),
  };

  if (!wide)
    next.t0 = v->t0, next.t1 = v->t1;
  if (!high)
    next.y0 = v->y0, next.y1 = v->y1;
  tessera_document_set_view (self->document, &next);
}

static void
on_drag_end (GtkGestureDrag *gesture, double dx, double dy, TesseraCanvas *self)
{
  gboolean was_band = self->banding;

  self->banding = FALSE;
  gtk_widget_queue_draw (GTK_WIDGET (self));
  if (was_band && (fabs (dx) >= LEAST_BAND || fabs (dy) >= LEAST_BAND))
    zoom_to_band (self, fabs (dx) >= LEAST_BAND, fabs (dy) >= LEAST_BAND);
  else if (!was_band && fabs (dx) < 3 && fabs (dy) < 3)
    click (self, self->band_x, self->band_y);
}

static void
add_drag (TesseraCanvas *self, guint button)
{
  GtkGesture *drag = gtk_gesture_drag_new ();

  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (drag), button);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (on_drag_begin), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (on_drag_update), self);
  g_signal_connect (drag, "drag-end", G_CALLBACK (on_drag_end), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drag));
}

void
tessera_canvas_add_controllers (TesseraCanvas *self)
{
  GtkEventController *motion = gtk_event_controller_motion_new ();
  GtkEventController *scroll =
      gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);
  GtkGesture *pinch = gtk_gesture_zoom_new ();

  g_signal_connect (motion, "motion", G_CALLBACK (on_motion), self);
  g_signal_connect (motion, "enter", G_CALLBACK (on_motion), self);
  g_signal_connect (motion, "leave", G_CALLBACK (on_leave), self);
  gtk_widget_add_controller (GTK_WIDGET (self), motion);
  g_signal_connect (scroll, "scroll", G_CALLBACK (on_scroll), self);
  gtk_widget_add_controller (GTK_WIDGET (self), scroll);
  g_signal_connect (pinch, "begin", G_CALLBACK (on_pinch_begin), self);
  g_signal_connect (pinch, "scale-changed", G_CALLBACK (on_pinch), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (pinch));
  add_drag (self, GDK_BUTTON_PRIMARY);
  add_drag (self, GDK_BUTTON_SECONDARY);
}
