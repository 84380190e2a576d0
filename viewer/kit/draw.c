/*
 * What every drawing uses: a pen, steps of a scale, a widget that draws itself.
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

/* --- a pen ------------------------------------------------------------------------ */

/* Texts that were shaped and are kept for the next frame. */
#define MOST_LAYOUTS 512

static void
fill (TesseraPen *pen, TesseraArea area, double radius, uint32_t rgb, double alpha)
{
  GtkSnapshot *snapshot = ((TesseraWidgetPen *) pen)->snapshot;
  const graphene_rect_t box = GRAPHENE_RECT_INIT (
      (float) area.x, (float) area.y, (float) area.width, (float) area.height);
  GdkRGBA colour = rgba_of (rgb, alpha);
  GskRoundedRect shape;

  if (area.width <= 0 || area.height <= 0)
    return;
  if (radius > 0)
    {
      gsk_rounded_rect_init_from_rect (&shape, &box,
                                       (float) fmin (radius, area.width / 2));
      gtk_snapshot_push_rounded_clip (snapshot, &shape);
    }
  gtk_snapshot_append_color (snapshot, &colour, &box);
  if (radius > 0)
    gtk_snapshot_pop (snapshot);
}

static PangoLayout *
layout_new (GtkWidget *widget, const TesseraWords *words)
{
  PangoLayout *layout = gtk_widget_create_pango_layout (widget, words->text);
  g_autoptr (PangoAttrList) attributes = pango_attr_list_new ();

  pango_attr_list_insert (attributes, pango_attr_scale_new (words->scale));
  /* Figures of equal width: numbers that change do not dance. */
  pango_attr_list_insert (attributes, pango_attr_font_features_new ("tnum"));
  if (words->is_bold)
    pango_attr_list_insert (attributes, pango_attr_weight_new (PANGO_WEIGHT_BOLD));
  pango_layout_set_attributes (layout, attributes);
  if (words->most_width > 0)
    {
      pango_layout_set_width (layout, (int) words->most_width * PANGO_SCALE);
      pango_layout_set_ellipsize (layout, words->cuts_middle ? PANGO_ELLIPSIZE_MIDDLE
                                                             : PANGO_ELLIPSIZE_END);
    }
  return layout;
}

static PangoLayout *
layout_of (TesseraWidgetPen *self, const TesseraWords *words)
{
  guint serial = pango_context_get_serial (gtk_widget_get_pango_context (self->widget));
  g_autofree char *key =
      g_strdup_printf ("%g %d %d %d %s", words->scale, words->is_bold, words->cuts_middle,
                       (int) words->most_width, words->text);
  PangoLayout *layout;

  if (self->serial != serial || g_hash_table_size (self->layouts) > MOST_LAYOUTS)
    g_hash_table_remove_all (self->layouts);
  self->serial = serial;
  layout = g_hash_table_lookup (self->layouts, key);
  if (layout == NULL)
    {
      layout = layout_new (self->widget, words);
      g_hash_table_insert (self->layouts, g_steal_pointer (&key), layout);
    }
  return layout;
}

static void
measure (TesseraPen *pen, const TesseraWords *words, double *width, double *height)
{
  int w, h;

  pango_layout_get_pixel_size (layout_of ((TesseraWidgetPen *) pen, words), &w, &h);
  *width = w;
  *height = h;
}

static void
write_words (TesseraPen *pen, const TesseraWords *words, double x, double y, uint32_t rgb)
{
  TesseraWidgetPen *self = (TesseraWidgetPen *) pen;
  GdkRGBA colour = rgba_of (rgb, 1);

  gtk_snapshot_save (self->snapshot);
  gtk_snapshot_translate (self->snapshot,
                          &GRAPHENE_POINT_INIT ((float) round (x), (float) round (y)));
  gtk_snapshot_append_layout (self->snapshot, layout_of (self, words), &colour);
  gtk_snapshot_restore (self->snapshot);
}

GskRenderNode *
tessera_image_node (cairo_surface_t *image, int width, int height)
{
  GskRenderNode *node =
      gsk_cairo_node_new (&GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  cairo_t *cr = gsk_cairo_node_get_draw_context (node);

  cairo_set_source_surface (cr, image, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_paint (cr);
  cairo_destroy (cr);
  cairo_surface_destroy (image);
  return node;
}

/* --- a drawing -------------------------------------------------------------------- */

typedef struct
{
  GtkWidget parent_instance;

  const TesseraDrawingKind *kind;
  TesseraWidgetPen pen;
} TesseraDrawing;

typedef GtkWidgetClass TesseraDrawingClass;

static GType tessera_drawing_get_type (void);
G_DEFINE_TYPE (TesseraDrawing, tessera_drawing, GTK_TYPE_WIDGET)

static void
drawing_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  TesseraPanel *panel = tessera_panel_of (widget);
  TesseraWidgetPen *pen = &((TesseraDrawing *) widget)->pen;

  pen->snapshot = snapshot;
  pen->base.palette = tessera_palette (panel->document->dark);
  gtk_snapshot_push_clip (snapshot,
                          &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  ((TesseraDrawing *) widget)->kind->draw (panel, pen, width, height);
  if (gtk_widget_has_visible_focus (widget))
    tessera_pen_outline (&pen->base, (TesseraArea){ 0, 0, width, height }, 2,
                         pen->base.palette->accent);
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
drawing_finalize (GObject *drawing)
{
  g_hash_table_unref (((TesseraDrawing *) drawing)->pen.layouts);
  G_OBJECT_CLASS (tessera_drawing_parent_class)->finalize (drawing);
}

static void
tessera_drawing_class_init (TesseraDrawingClass *class)
{
  G_OBJECT_CLASS (class)->finalize = drawing_finalize;
  class->snapshot = drawing_snapshot;
  class->measure = drawing_measure;
  class->size_allocate = drawing_size_allocate;
  gtk_widget_class_set_accessible_role (class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
tessera_drawing_init (TesseraDrawing *self)
{
  self->pen = (TesseraWidgetPen){
    .base = { NULL, fill, measure, write_words },
    .widget = GTK_WIDGET (self),
    .layouts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref),
  };
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
