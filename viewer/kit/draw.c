/*
 * Small pieces that every drawing uses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"

#include <math.h>

static GdkRGBA
rgba_of (uint32_t rgb, double alpha)
{
  return (GdkRGBA){ .red = (float) (rgb >> 16 & 255) / 255,
                    .green = (float) (rgb >> 8 & 255) / 255,
                    .blue = (float) (rgb & 255) / 255,
                    .alpha = (float) alpha };
}

void
tessera_set_source (cairo_t *cr, uint32_t rgb, double alpha)
{
  GdkRGBA colour = rgba_of (rgb, alpha);

  gdk_cairo_set_source_rgba (cr, &colour);
}

void
tessera_draw_box (GtkSnapshot *snapshot,
                  const graphene_rect_t *box,
                  uint32_t rgb,
                  double alpha)
{
  GdkRGBA colour = rgba_of (rgb, alpha);

  if (box->size.width > 0 && box->size.height > 0)
    gtk_snapshot_append_color (snapshot, &colour, box);
}

void
tessera_draw_outline (GtkSnapshot *snapshot,
                      const graphene_rect_t *box,
                      double line,
                      uint32_t rgb)
{
  const float x = box->origin.x, y = box->origin.y, width = box->size.width;
  const float height = box->size.height, thick = (float) line;

  tessera_draw_box (snapshot, TESSERA_BOX (x, y, width, thick), rgb, 1);
  tessera_draw_box (snapshot, TESSERA_BOX (x, y + height - thick, width, thick), rgb, 1);
  tessera_draw_box (snapshot, TESSERA_BOX (x, y + thick, thick, height - 2 * thick), rgb,
                    1);
  tessera_draw_box (snapshot,
                    TESSERA_BOX (x + width - thick, y + thick, thick, height - 2 * thick),
                    rgb, 1);
}

void
tessera_draw_pill (GtkSnapshot *snapshot,
                   const graphene_rect_t *box,
                   double radius,
                   uint32_t rgb,
                   double alpha)
{
  GskRoundedRect shape;

  if (box->size.width <= 0 || box->size.height <= 0)
    return;
  gsk_rounded_rect_init_from_rect (&shape, box,
                                   fminf ((float) radius, box->size.width / 2));
  gtk_snapshot_push_rounded_clip (snapshot, &shape);
  tessera_draw_box (snapshot, box, rgb, alpha);
  gtk_snapshot_pop (snapshot);
}

void
tessera_draw_dashes (GtkSnapshot *snapshot,
                     const graphene_rect_t *box,
                     double dash,
                     uint32_t rgb)
{
  const gboolean across = box->size.width > box->size.height;
  const float length = across ? box->size.width : box->size.height;
  graphene_rect_t piece = *box;

  for (float at = 0; at < length; at += 2 * (float) dash)
    {
      *(across ? &piece.origin.x : &piece.origin.y) =
          (across ? box->origin.x : box->origin.y) + at;
      *(across ? &piece.size.width : &piece.size.height) =
          fminf ((float) dash, length - at);
      tessera_draw_box (snapshot, &piece, rgb, 1);
    }
}

PangoLayout *
tessera_text_new (GtkWidget *widget,
                  const char *text,
                  double relative_size,
                  gboolean bold)
{
  PangoLayout *layout = gtk_widget_create_pango_layout (widget, text);
  PangoAttrList *attributes = pango_attr_list_new ();

  pango_attr_list_insert (attributes, pango_attr_scale_new (relative_size));
  /* Figures of equal width: numbers that change do not dance. */
  pango_attr_list_insert (attributes, pango_attr_font_features_new ("tnum"));
  if (bold)
    pango_attr_list_insert (attributes, pango_attr_weight_new (PANGO_WEIGHT_BOLD));
  pango_layout_set_attributes (layout, attributes);
  pango_attr_list_unref (attributes);
  return layout;
}

void
tessera_draw_text (
    GtkSnapshot *snapshot, PangoLayout *layout, double x, double y, uint32_t rgb)
{
  GdkRGBA colour = rgba_of (rgb, 1);

  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot,
                          &GRAPHENE_POINT_INIT ((float) round (x), (float) round (y)));
  gtk_snapshot_append_layout (snapshot, layout, &colour);
  gtk_snapshot_restore (snapshot);
}

void
tessera_draw_label (GtkSnapshot *snapshot,
                    PangoLayout *layout,
                    double x,
                    double y,
                    uint32_t rgb,
                    uint32_t ground_rgb)
{
  int width, height;

  pango_layout_get_pixel_size (layout, &width, &height);
  tessera_draw_pill (snapshot, TESSERA_BOX (round (x) - 3, round (y), width + 6, height),
                     3, ground_rgb, 0.78);
  tessera_draw_text (snapshot, layout, x, y, rgb);
}

GskRenderNode *
tessera_image_node (cairo_surface_t *image, int width, int height)
{
  GskRenderNode *node = gsk_cairo_node_new (TESSERA_BOX (0, 0, width, height));
  cairo_t *cr = gsk_cairo_node_get_draw_context (node);

  cairo_set_source_surface (cr, image, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_paint (cr);
  cairo_destroy (cr);
  cairo_surface_destroy (image);
  return node;
}

double
tessera_nice_step (double span, int most)
{
  double raw = span / MAX (most, 1);
  double power = pow (10, floor (log10 (raw)));
  double share = raw / power;

  return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

double
tessera_nice_step_bytes (double span, int most)
{
  double raw = span / MAX (most, 1);
  double unit = 1;

  while (unit * 1024 <= raw)
    unit *= 1024;
  raw /= unit;
  /* Within a unit by tens, as people read them; what goes on into the next by parts of
   * that: 512 MiB, 1 GiB, 1.5 GiB, but no 500 MiB, 1000 MiB, 1.46 GiB. */
  if (span < 1024 * unit)
    return unit * tessera_nice_step (raw, 1);
  return unit * MAX (exp2 (ceil (log2 (raw))), 256);
}

/* --- a drawing -------------------------------------------------------------------- */

typedef struct
{
  GtkWidget parent_instance;

  const TesseraDrawingKind *kind;
} TesseraDrawing;

typedef GtkWidgetClass TesseraDrawingClass;

static GType tessera_drawing_get_type (void);
G_DEFINE_TYPE (TesseraDrawing, tessera_drawing, GTK_TYPE_WIDGET)

static void
drawing_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  TesseraPanel *panel = tessera_panel_of (widget);

  gtk_snapshot_push_clip (snapshot,
                          &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  ((TesseraDrawing *) widget)->kind->draw (panel, snapshot, width, height);
  if (gtk_widget_has_visible_focus (widget))
    tessera_draw_outline (snapshot, TESSERA_BOX (0, 0, width, height), 2,
                          tessera_palette (panel->document->dark)->accent);
  gtk_snapshot_pop (snapshot);
}

static void
drawing_measure (GtkWidget *widget,
                 GtkOrientation orientation,
                 int for_size,
                 int *minimum,
                 int *natural,
                 int *minimum_baseline,
                 int *natural_baseline)
{
  const TesseraDrawingKind *kind = ((TesseraDrawing *) widget)->kind;
  gboolean across = orientation == GTK_ORIENTATION_HORIZONTAL;

  *minimum = across ? kind->least_width : kind->least_height;
  *natural = across ? kind->width : kind->height;
}

/* A menu that was set on it. */
static void
drawing_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  GtkWidget *menu = gtk_widget_get_first_child (widget);

  if (menu != NULL)
    gtk_popover_present (GTK_POPOVER (menu));
}

static void
tessera_drawing_class_init (TesseraDrawingClass *class)
{
  class->snapshot = drawing_snapshot;
  class->measure = drawing_measure;
  class->size_allocate = drawing_size_allocate;
  gtk_widget_class_set_accessible_role (class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
tessera_drawing_init (TesseraDrawing *self)
{
}

gpointer
tessera_drawing_new (size_t n_bytes,
                     TesseraDocument *document,
                     const char *name,
                     const TesseraDrawingKind *kind,
                     GDestroyNotify clear)
{
  TesseraDrawing *drawing = g_object_new (tessera_drawing_get_type (), NULL);

  drawing->kind = kind;
  return tessera_panel_new_on (GTK_WIDGET (drawing), n_bytes, document, name, clear);
}
