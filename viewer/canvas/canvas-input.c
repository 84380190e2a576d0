/*
 * The hand on a canvas: pointer, wheel, pinch, drag. Keys are the window's actions.
 *
 * Wheel zooms both ways at the pointer, with Control time alone, with Shift address
 * alone. Drag moves; drag with the right button draws a band to zoom into, with Shift one
 * to select by, with Control as well adding to what is selected. Click selects, with
 * Control in or out, with Shift in; the right button asks what can be done.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/private.h"

#include <math.h>

#define WHEEL_FACTOR 1.25
/* A band smaller than this is a slip of the hand. */
#define LEAST_BAND 6

static void
hover_at (TesseraCanvas *self, double x, double y)
{
  uint32_t block = TESSERA_NONE;

  self->pointer_x = x;
  self->pointer_y = y;
  if (tessera_canvas_sheet (self) != NULL && x >= 0)
    block = tessera_canvas_block_at (self, x, y);
  tessera_document_hover (self->panel.document, self->side, block);
  if (block != TESSERA_NONE)
    gtk_widget_queue_draw (self->panel.box); /* the card follows the pointer */
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
                                  : gtk_widget_get_width (self->panel.box) / 2.0;
  double y = self->pointer_y >= 0 ? self->pointer_y
                                  : gtk_widget_get_height (self->panel.box) / 2.0;
  double factor;

  if (tessera_canvas_sheet (self) == NULL)
    return FALSE;
  /* A touch pad's sideways movement is a movement, not a zoom. */
  if (fabs (dx) > fabs (dy) && !(state & GDK_SHIFT_MASK))
    {
      tessera_document_pan (self->panel.document, dx * 0.05, 0);
      return TRUE;
    }
  factor = pow (WHEEL_FACTOR, -(fabs (dy) > 0 ? dy : dx));
  tessera_document_zoom (self->panel.document, state & GDK_SHIFT_MASK ? 1 : factor,
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
  tessera_document_zoom (self->panel.document, scale / self->pinch, scale / self->pinch,
                         tessera_canvas_t_at (self, x),
                         tessera_canvas_bytes_at (self, y));
  self->pinch = scale;
}

static TesseraBand
band_for (TesseraCanvas *self, guint button, GdkModifierType state)
{
  if (tessera_canvas_sheet (self) == NULL)
    return TESSERA_BAND_NONE;
  if (button == GDK_BUTTON_SECONDARY)
    return TESSERA_BAND_ZOOM;
  if (state & GDK_SHIFT_MASK)
    return state & GDK_CONTROL_MASK ? TESSERA_BAND_SELECT_MORE : TESSERA_BAND_SELECT;
  return TESSERA_BAND_NONE;
}

static void
on_drag_begin (GtkGestureDrag *gesture, double x, double y, TesseraCanvas *self)
{
  GdkModifierType state =
      gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture));
  guint button = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture));

  gtk_widget_grab_focus (self->panel.box);
  self->drag_view = self->panel.document->view;
  self->band = band_for (self, button, state);
  if (button == GDK_BUTTON_PRIMARY && self->band == TESSERA_BAND_NONE &&
      (state & GDK_CONTROL_MASK) == 0)
    tessera_canvas_begin_pin (self, x, y);
  self->band_x = self->band_end_x = x;
  self->band_y = self->band_end_y = y;
}

static void
on_drag_update (GtkGestureDrag *gesture, double dx, double dy, TesseraCanvas *self)
{
  const TesseraView *v = &self->drag_view;
  double dt = dx / MAX (gtk_widget_get_width (self->panel.box), 1) * (v->t1 - v->t0);
  double db = dy / MAX (gtk_widget_get_height (self->panel.box), 1) * (v->y1 - v->y0);

  if (tessera_canvas_sheet (self) == NULL)
    return;
  if (self->pinning)
    {
      tessera_canvas_update_pin (self, dy);
      return;
    }
  if (self->band != TESSERA_BAND_NONE)
    {
      self->band_end_x =
          CLAMP (self->band_x + dx, 0, gtk_widget_get_width (self->panel.box));
      self->band_end_y =
          CLAMP (self->band_y + dy, 0, gtk_widget_get_height (self->panel.box));
      gtk_widget_queue_draw (self->panel.box);
      return;
    }
  tessera_document_set_view (
      self->panel.document,
      &(TesseraView){ v->t0 - dt, v->t1 - dt, v->y0 + db, v->y1 + db });
}

static void
click (TesseraCanvas *self, double x, double y, GdkModifierType state)
{
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  uint32_t block;

  if (sheet == NULL)
    return;
  block = tessera_canvas_block_at (self, x, y);
  if (state & (GDK_CONTROL_MASK | GDK_SHIFT_MASK))
    {
      tessera_document_select_blocks (
          self->panel.document, &block, 1,
          state & GDK_SHIFT_MASK ? TESSERA_SELECT_MORE : TESSERA_SELECT_TURN, block);
      return;
    }
  tessera_document_set_moment (
      self->panel.document,
      tessera_axis_event_at (sheet->axis, tessera_canvas_t_at (self, x)));
  tessera_document_select (self->panel.document, block);
}

/* Of the block under the pointer, or of those selected where it is one of them. */
static void
ask (TesseraCanvas *self, double x, double y)
{
  uint32_t block;

  if (tessera_canvas_sheet (self) == NULL)
    return;
  block = tessera_canvas_block_at (self, x, y);
  if (block != TESSERA_NONE &&
      !tessera_selection_has (self->panel.document->selection, block))
    tessera_document_select (self->panel.document, block);
  tessera_canvas_pop_menu_up (self, x, y);
}

TesseraView
tessera_canvas_band_view (const TesseraCanvas *self)
{
  return (TesseraView){
    .t0 = tessera_canvas_t_at (self, MIN (self->band_x, self->band_end_x)),
    .t1 = tessera_canvas_t_at (self, MAX (self->band_x, self->band_end_x)),
    .y0 = tessera_canvas_bytes_at (self, MAX (self->band_y, self->band_end_y)),
    .y1 = tessera_canvas_bytes_at (self, MIN (self->band_y, self->band_end_y)),
  };
}

/* A band that is only wide, or only high, leaves the other direction as it is. */
static void
zoom_to_band (TesseraCanvas *self, gboolean wide, gboolean high)
{
  const TesseraView *v = &self->panel.document->view;
  TesseraView next = tessera_canvas_band_view (self);

  if (!wide)
    next.t0 = v->t0, next.t1 = v->t1;
  if (!high)
    next.y0 = v->y0, next.y1 = v->y1;
  tessera_document_set_view (self->panel.document, &next);
}

static void
end_band (TesseraCanvas *self, TesseraBand band, gboolean wide, gboolean high)
{
  TesseraView rect = tessera_canvas_band_view (self);

  if (band == TESSERA_BAND_ZOOM)
    zoom_to_band (self, wide, high);
  else
    tessera_document_select_in (self->panel.document, self->side, &rect,
                                band == TESSERA_BAND_SELECT_MORE ? TESSERA_SELECT_MORE
                                                                 : TESSERA_SELECT_ONLY);
}

static void
on_drag_end (GtkGestureDrag *gesture, double dx, double dy, TesseraCanvas *self)
{
  GdkModifierType state =
      gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture));
  TesseraBand band = self->band;

  self->band = TESSERA_BAND_NONE;
  if (self->pinning)
    tessera_canvas_end_pin (self, fabs (dx) >= 3 || fabs (dy) >= 3);
  gtk_widget_queue_draw (self->panel.box);
  if (band != TESSERA_BAND_NONE && (fabs (dx) >= LEAST_BAND || fabs (dy) >= LEAST_BAND))
    end_band (self, band, fabs (dx) >= LEAST_BAND, fabs (dy) >= LEAST_BAND);
  else if (band == TESSERA_BAND_ZOOM)
    ask (self, self->band_x, self->band_y);
  else if (fabs (dx) < 3 && fabs (dy) < 3)
    click (self, self->band_x, self->band_y, state);
}

/* A gesture that is taken away draws no band and chooses nothing. */
static void
on_drag_cancel (GtkGesture *gesture, GdkEventSequence *sequence, TesseraCanvas *self)
{
  self->band = TESSERA_BAND_NONE;
  if (self->pinning)
    tessera_canvas_end_pin (self, FALSE);
  gtk_widget_queue_draw (self->panel.box);
}

static void
add_drag (TesseraCanvas *self, guint button)
{
  GtkGesture *drag = gtk_gesture_drag_new ();

  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (drag), button);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (on_drag_begin), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (on_drag_update), self);
  g_signal_connect (drag, "drag-end", G_CALLBACK (on_drag_end), self);
  g_signal_connect (drag, "cancel", G_CALLBACK (on_drag_cancel), self);
  gtk_widget_add_controller (self->panel.box, GTK_EVENT_CONTROLLER (drag));
}

void
tessera_canvas_add_controllers (TesseraCanvas *self)
{
  GtkEventController *motion = gtk_event_controller_motion_new ();
  GtkEventController *scroll =
      gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);
  GtkGesture *pinch = gtk_gesture_zoom_new ();

  g_signal_connect_swapped (motion, "motion", G_CALLBACK (hover_at), self);
  g_signal_connect_swapped (motion, "enter", G_CALLBACK (hover_at), self);
  g_signal_connect (motion, "leave", G_CALLBACK (on_leave), self);
  gtk_widget_add_controller (self->panel.box, motion);
  g_signal_connect (scroll, "scroll", G_CALLBACK (on_scroll), self);
  gtk_widget_add_controller (self->panel.box, scroll);
  g_signal_connect (pinch, "begin", G_CALLBACK (on_pinch_begin), self);
  g_signal_connect (pinch, "scale-changed", G_CALLBACK (on_pinch), self);
  gtk_widget_add_controller (self->panel.box, GTK_EVENT_CONTROLLER (pinch));
  add_drag (self, GDK_BUTTON_PRIMARY);
  add_drag (self, GDK_BUTTON_SECONDARY);
}
