/*
 * Steps and phases above a canvas, on its time axis.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/lanes.h"

#include "cli/command.h"
#include "viewer/model/document.h"
#include "viewer/kit/draw.h"
#include "viewer/canvas/phase-colour.h"
#include "viewer/kit/kit.h"

#define STEP_HEIGHT 18
#define PHASE_HEIGHT 15
#define GAP 3
/* Pixels for the first letters of a name. */
#define LEAST_CUT 30
/* Deeper phases than this are found by hovering blocks; a lane each would eat the
 * canvas. */
#define MOST_DEPTH 2

struct _TesseraLanes
{
  TesseraDrawing drawing;
  guint n_depths; /* of phases that are drawn */
};

G_DEFINE_TYPE (TesseraLanes, tessera_lanes, TESSERA_TYPE_DRAWING)

static const TesseraAxis *
axis_of (TesseraLanes *self)
{
  const TesseraSheet *sheet = self->drawing.document->sheets[TESSERA_SIDE_LEFT];

  return sheet != NULL ? sheet->axis : NULL;
}

static double
x_of (TesseraLanes *self, uint32_t event_index)
{
  const TesseraAxis *axis = axis_of (self);
  const TesseraView *v = &self->drawing.document->view;
  double t = axis->at[MIN (event_index, axis->n_events)];

  return (t - v->t0) / (v->t1 - v->t0) * gtk_widget_get_width (GTK_WIDGET (self));
}

/* In the middle of a box, or as much of it as there is room for, but not of a number. */
static void
draw_name (TesseraLanes *self,
           GtkSnapshot *snapshot,
           const graphene_rect_t *box,
           const char *name)
{
  const TesseraPalette *palette = tessera_palette (self->drawing.document->dark);
  g_autoptr (PangoLayout) layout =
      tessera_text_new (GTK_WIDGET (self), name, 0.82, FALSE);
  int w, h, room = (int) box->size.width - 6;

  pango_layout_get_pixel_size (layout, &w, &h);
  if (w > room)
    {
      if (room < LEAST_CUT || g_ascii_isdigit (*name))
        return;
      pango_layout_set_width (layout, room * PANGO_SCALE);
      pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
      w = room;
    }
  tessera_draw_text (
      snapshot, layout, (double) box->origin.x + ((double) box->size.width - w) / 2,
      (double) box->origin.y + ((double) box->size.height - h) / 2, palette->text);
}

/* A box with its name where there is room for it. Returns: its right edge. */
static double
draw_item (TesseraLanes *self,
           GtkSnapshot *snapshot,
           double x0,
           double x1,
           double y,
           double height,
           uint32_t rgb,
           const char *name)
{
  int width = gtk_widget_get_width (GTK_WIDGET (self));

  x0 = MAX (x0, -8);
  x1 = MIN (x1, width + 8);
  /* A pixel between neighbours, but never nothing. */
  tessera_draw_pill (snapshot, x0, y, MAX (x1 - x0 - 1, 1), height, x1 - x0 > 8 ? 3 : 0,
                     rgb, 1);
  if (x1 - x0 < 24)
    return x1;
  x0 = MAX (x0, 0);
  draw_name (self, snapshot,
             &GRAPHENE_RECT_INIT ((float) x0, (float) y, (float) (MIN (x1, width) - x0),
                                  (float) height),
             name);
  return x1;
}

static void
draw_steps (TesseraLanes *self, GtkSnapshot *snapshot)
{
  const TesseraStructure *structure = self->drawing.document->data->structure;
  const TesseraPalette *palette = tessera_palette (self->drawing.document->dark);
  int width = gtk_widget_get_width (GTK_WIDGET (self));
  double last = -1e9;

  for (size_t i = 0; i < structure->n_steps; i++)
    {
      const TesseraStep *step = &structure->steps[i];
      double x0 = x_of (self, step->begin_index), x1 = x_of (self, step->end_index);
      g_autofree char *name = NULL;

      /* What ends within the pixel that is drawn already adds nothing. */
      if (x1 < 0 || x1 < last + 0.5)
        continue;
      if (x0 > width)
        break;
      name = x1 - x0 > 60 ? g_strdup_printf ("step %" G_GINT64_FORMAT, step->number)
                          : g_strdup_printf ("%" G_GINT64_FORMAT, step->number);
      last = draw_item (self, snapshot, x0, x1, 0, STEP_HEIGHT, palette->lane, name);
    }
}

static void
draw_phases (TesseraLanes *self, GtkSnapshot *snapshot)
{
  TesseraData *data = self->drawing.document->data;
  int width = gtk_widget_get_width (GTK_WIDGET (self));
  double last[MOST_DEPTH] = { -1e9, -1e9 };

  for (size_t i = 0; i < data->structure->n_phases; i++)
    {
      const TesseraPhase *phase = &data->structure->phases[i];
      const char *name;
      double x0, x1;

      if (phase->depth >= MOST_DEPTH)
        continue;
      x0 = x_of (self, phase->begin_index);
      x1 = x_of (self, phase->end_index);
      if (x1 < 0 || x1 < last[phase->depth] + 0.5)
        continue;
      if (x0 > width)
        break;
      name = cli_shown (tessera_phase_name (data->trace, phase));
      last[phase->depth] = draw_item (
          self, snapshot, x0, x1, STEP_HEIGHT + GAP + phase->depth * (PHASE_HEIGHT + GAP),
          PHASE_HEIGHT, tessera_phase_colour (name, self->drawing.document->dark), name);
    }
}

static void
tessera_lanes_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TesseraLanes *self = TESSERA_LANES (widget);
  const TesseraPalette *palette = tessera_palette (self->drawing.document->dark);
  int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);

  if (axis_of (self) == NULL)
    return;
  gtk_snapshot_push_clip (snapshot,
                          &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  draw_steps (self, snapshot);
  draw_phases (self, snapshot);
  if (gtk_widget_has_visible_focus (widget))
    tessera_draw_outline (snapshot, 0, 0, width, height, 2, palette->accent);
  gtk_snapshot_pop (snapshot);
}

static void
tessera_lanes_measure (GtkWidget *widget,
                       GtkOrientation orientation,
                       int for_size,
                       int *minimum,
                       int *natural,
                       int *minimum_baseline,
                       int *natural_baseline)
{
  TesseraLanes *self = TESSERA_LANES (widget);
  int lanes = (int) self->n_depths;

  *minimum = *natural = orientation == GTK_ORIENTATION_HORIZONTAL
                            ? 80
                            : STEP_HEIGHT + lanes * (PHASE_HEIGHT + GAP);
}

/* The innermost step or phase at a point; FALSE: none. */
static gboolean
range_at (TesseraLanes *self,
          double x,
          double y,
          uint32_t *out_begin,
          uint32_t *out_end,
          char **out_name)
{
  const TesseraAxis *axis = axis_of (self);
  const TesseraView *v = &self->drawing.document->view;
  TesseraData *data = self->drawing.document->data;
  guint depth = (guint) MAX ((y - STEP_HEIGHT - GAP) / (PHASE_HEIGHT + GAP), 0);
  uint32_t event;

  if (axis == NULL)
    return FALSE;
  event = tessera_axis_event_at (
      axis,
      v->t0 + x / MAX (gtk_widget_get_width (GTK_WIDGET (self)), 1) * (v->t1 - v->t0));
  for (size_t i = 0; y < STEP_HEIGHT && i < data->structure->n_steps; i++)
    {
      const TesseraStep *step = &data->structure->steps[i];

      if (event < step->begin_index || event >= step->end_index)
        continue;
      *out_begin = step->begin_index;
      *out_end = step->end_index;
      *out_name = g_strdup_printf ("step %" G_GINT64_FORMAT, step->number);
      return TRUE;
    }
  for (size_t i = 0; y >= STEP_HEIGHT && i < data->structure->n_phases; i++)
    {
      const TesseraPhase *phase = &data->structure->phases[i];

      if (phase->depth != depth || event < phase->begin_index ||
          event >= phase->end_index)
        continue;
      *out_begin = phase->begin_index;
      *out_end = phase->end_index;
      *out_name =
          g_strdup_printf ("%s%s", cli_shown (tessera_phase_name (data->trace, phase)),
                           phase->is_inferred ? " (inferred from stacks)" : "");
      return TRUE;
    }
  return FALSE;
}

static void
on_pressed (GtkGestureClick *gesture, int n, double x, double y, TesseraLanes *self)
{
  uint32_t begin, end;
  g_autofree char *name = NULL;

  gtk_widget_grab_focus (GTK_WIDGET (self));
  if (range_at (self, x, y, &begin, &end, &name))
    {
      const TesseraAxis *axis = axis_of (self);

      tessera_document_show_time (self->drawing.document, axis->at[begin],
                                  axis->at[MIN (end, axis->n_events)]);
    }
}

static gboolean
on_tooltip (TesseraLanes *self,
            int x,
            int y,
            gboolean keyboard,
            GtkTooltip *tooltip,
            gpointer unused)
{
  uint32_t begin, end;
  g_autofree char *name = NULL, *first = NULL, *last = NULL, *text = NULL;

  if (keyboard || !range_at (self, x, y, &begin, &end, &name))
    return FALSE;
  first = tessera_describe_count (begin);
  last = tessera_describe_count (end);
  text = g_strdup_printf ("%s\nevents %s to %s", name, first, last);
  gtk_tooltip_set_text (tooltip, text);
  return TRUE;
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraLanes *self = user;

  if (what & TESSERA_CHANGED_TRACE)
    {
      self->n_depths = 0;
      for (size_t i = 0;
           document->data != NULL && i < document->data->structure->n_phases; i++)
        self->n_depths =
            MAX (self->n_depths, document->data->structure->phases[i].depth + 1);
      self->n_depths = MIN (self->n_depths, MOST_DEPTH);
      /* A trace without steps and phases leaves its room to the canvas. */
      gtk_widget_set_visible (GTK_WIDGET (self),
                              document->data != NULL &&
                                  (document->data->structure->n_steps > 0 ||
                                   document->data->structure->n_phases > 0));
      gtk_widget_queue_resize (GTK_WIDGET (self));
    }
  if (what & (TESSERA_CHANGED_VIEW | TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS |
              TESSERA_CHANGED_COLOUR))
    gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
tessera_lanes_class_init (TesseraLanesClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  widget_class->snapshot = tessera_lanes_snapshot;
  widget_class->measure = tessera_lanes_measure;
  gtk_widget_class_set_css_name (widget_class, "lanes");
}

static void
tessera_lanes_init (TesseraLanes *self)
{
  GtkGesture *click = gtk_gesture_click_new ();

  g_signal_connect (click, "pressed", G_CALLBACK (on_pressed), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (click));
  gtk_widget_set_has_tooltip (GTK_WIDGET (self), TRUE);
  g_signal_connect (self, "query-tooltip", G_CALLBACK (on_tooltip), NULL);
  tessera_set_accessible_label (GTK_WIDGET (self), "Steps and phases over time");
}

GtkWidget *
tessera_lanes_new (TesseraDocument *document)
{
  return tessera_drawing_new (TESSERA_TYPE_LANES, document, on_changed);
}
