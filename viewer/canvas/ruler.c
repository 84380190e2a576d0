/*
 * The time axis below a canvas.
 *
 * Events are marked at round numbers, wherever the axis puts them: where it is wide, an
 * event is. On the axis of time the marks are round times.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/ruler.h"

#include "viewer/model/document.h"
#include "viewer/kit/draw.h"
#include "viewer/kit/kit.h"

#include <math.h>

#define HEIGHT 17
#define TICK 4
/* Between the left edges of two labels. */
#define LEAST_GAP 72

struct _TesseraRuler
{
  TesseraDrawing drawing;
};

G_DEFINE_TYPE (TesseraRuler, tessera_ruler, TESSERA_TYPE_DRAWING)

typedef struct
{
  TesseraRuler *self;
  GtkSnapshot *snapshot;
  const TesseraPalette *palette;
  double free_from; /* left of this a label would touch the one before */
} Pass;

/* Returns: FALSE past the right edge. */
static gboolean
draw_mark (Pass *pass, double t, const char *text)
{
  const TesseraView *v = &pass->self->drawing.document->view;
  int width = gtk_widget_get_width (GTK_WIDGET (pass->self)), w, h;
  double x = round ((t - v->t0) / (v->t1 - v->t0) * width);
  g_autoptr (PangoLayout) layout = NULL;

  if (x < 0)
    return TRUE;
  if (x > width || x < pass->free_from)
    return x <= width;
  layout = tessera_text_new (GTK_WIDGET (pass->self), text, 0.82, FALSE);
  pango_layout_get_pixel_size (layout, &w, &h);
  if (x + 3 + w > width)
    return FALSE;
  tessera_draw_box (pass->snapshot, x, 0, 1, TICK + 6, pass->palette->dim, 0.5);
  tessera_draw_text (pass->snapshot, layout, x + 4, 1, pass->palette->dim);
  pass->free_from = x + MAX (LEAST_GAP, w + 14);
  return TRUE;
}

static void
draw_events (Pass *pass, const TesseraAxis *axis)
{
  const TesseraView *v = &pass->self->drawing.document->view;
  uint32_t first = tessera_axis_event_at (axis, v->t0);
  uint32_t last = tessera_axis_event_at (axis, v->t1);
  /* More candidates than labels: the axis may bunch them. */
  double step = MAX (tessera_nice_step ((double) (last - first) + 1, 24), 1);
  int n = 0;

  for (double at = ceil (first / step) * step; at <= last && n < 200; at += step, n++)
    {
      g_autofree char *count = tessera_describe_count ((uint64_t) at);
      /* The first that is written says what the others count. */
      g_autofree char *text =
          g_strconcat (pass->free_from < 0 ? "event " : "", count, NULL);

      if (!draw_mark (pass, axis->at[(uint32_t) at], text))
        return;
    }
}

static void
draw_times (Pass *pass, const TesseraTrace *trace)
{
  const TesseraView *v = &pass->self->drawing.document->view;
  int width = gtk_widget_get_width (GTK_WIDGET (pass->self));
  double begin = (double) trace->events[0].at_ns;
  double whole = (double) trace->events[trace->n_events - 1].at_ns - begin;
  double step = tessera_nice_step (whole * (v->t1 - v->t0), MAX (width / 110, 2));

  if (whole <= 0)
    return;
  for (double at = ceil (v->t0 * whole / step) * step; at <= v->t1 * whole; at += step)
    {
      g_autofree char *text = tessera_describe_duration ((int64_t) at);

      if (!draw_mark (pass, at / whole, text))
        return;
    }
}

static void
tessera_ruler_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TesseraRuler *self = TESSERA_RULER (widget);
  const TesseraSheet *sheet = self->drawing.document->sheets[TESSERA_SIDE_LEFT];
  Pass pass = { self, snapshot, tessera_palette (self->drawing.document->dark), -1 };

  if (sheet == NULL || sheet->axis->n_events == 0)
    return;
  if (sheet->axis->kind == TESSERA_AXIS_TIME && sheet->data->trace->has_time)
    draw_times (&pass, sheet->data->trace);
  else
    draw_events (&pass, sheet->axis);
}

static void
tessera_ruler_measure (GtkWidget *widget,
                       GtkOrientation orientation,
                       int for_size,
                       int *minimum,
                       int *natural,
                       int *minimum_baseline,
                       int *natural_baseline)
{
  *minimum = *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 80 : HEIGHT;
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  if (what & (TESSERA_CHANGED_VIEW | TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS |
              TESSERA_CHANGED_COLOUR))
    gtk_widget_queue_draw (user);
}

static void
tessera_ruler_class_init (TesseraRulerClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  widget_class->snapshot = tessera_ruler_snapshot;
  widget_class->measure = tessera_ruler_measure;
  gtk_widget_class_set_css_name (widget_class, "ruler");
}

static void
tessera_ruler_init (TesseraRuler *self)
{
  gtk_widget_set_tooltip_text (GTK_WIDGET (self), "Event numbers, or time");
  tessera_set_accessible_label (GTK_WIDGET (self), "Time axis");
}

GtkWidget *
tessera_ruler_new (TesseraDocument *document)
{
  return tessera_drawing_new (TESSERA_TYPE_RULER, document, on_changed);
}
