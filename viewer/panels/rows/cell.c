/*
 * A text in a cell of a list. See cell.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/rows/cell.h"

#include "viewer/panels/rows/text-widths.h"
#include "viewer/window/ui.h"

struct TesseraCellKind
{
  TesseraCellLook look;
  PangoAttrList *attributes;
  TesseraTextWidths *widths; /* NULL: to be made */
  GtkWidget *measured_by;    /* whose font they are of; NULL: it has gone */
};

struct _TesseraCell
{
  GtkWidget parent_instance;

  TesseraCellKind *kind;
  char *text;   /* as it was given */
  char *marked; /* with marks where it may be broken; NULL: the same */
};

G_DEFINE_TYPE (TesseraCell, tessera_cell, GTK_TYPE_WIDGET)

/* --- kinds ------------------------------------------------------------------------ */

TesseraCellKind *
tessera_cell_kind_new (const TesseraCellLook *look)
{
  TesseraCellKind *kind = g_rc_box_new0 (TesseraCellKind);

  kind->look = *look;
  kind->attributes = pango_attr_list_new ();
  /* A hyphen would be taken for a part of the name. */
  pango_attr_list_insert (kind->attributes, look->is_number
                                                ? pango_attr_font_features_new ("tnum")
                                                : pango_attr_insert_hyphens_new (FALSE));
  return kind;
}

static void
forget_widths (TesseraCellKind *kind)
{
  g_clear_pointer (&kind->widths, tessera_text_widths_free);
  g_clear_weak_pointer (&kind->measured_by);
}

static void
kind_clear (gpointer user)
{
  TesseraCellKind *kind = user;

  forget_widths (kind);
  pango_attr_list_unref (kind->attributes);
}

void
tessera_cell_kind_unref (TesseraCellKind *kind)
{
  g_rc_box_release_full (kind, kind_clear);
}

/* All cells of a kind have one font: the first that is asked tells it. */
static TesseraTextWidths *
widths_of (TesseraCell *self)
{
  TesseraCellKind *kind = self->kind;

  if (kind->widths == NULL || kind->measured_by == NULL)
    {
      forget_widths (kind);
      kind->widths = tessera_text_widths_new (
          gtk_widget_get_pango_context (GTK_WIDGET (self)), kind->attributes);
      g_set_weak_pointer (&kind->measured_by, GTK_WIDGET (self));
    }
  return kind->widths;
}

/* --- text ------------------------------------------------------------------------- */

static const char *
shown_text (const TesseraCell *self)
{
  return self->marked != NULL ? self->marked : self->text;
}

const char *
tessera_cell_get_text (TesseraCell *self)
{
  return self->text;
}

void
tessera_cell_set_text (TesseraCell *self, const char *text)
{
  if (g_str_equal (self->text, text))
    return;
  g_free (self->text);
  g_free (self->marked);
  self->text = g_strdup (text);
  self->marked = self->kind->look.most_lines > 1 ? tessera_mark_breaks (text) : NULL;
  tessera_set_accessible_label (GTK_WIDGET (self), text);
  gtk_widget_queue_resize (GTK_WIDGET (self));
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

PangoLayout *
tessera_cell_lay_out (TesseraCell *self, int *out_x)
{
  const TesseraCellLook *look = &self->kind->look;
  GtkWidget *widget = GTK_WIDGET (self);
  PangoLayout *layout = gtk_widget_create_pango_layout (widget, shown_text (self));
  gboolean is_rtl = gtk_widget_get_direction (widget) == GTK_TEXT_DIR_RTL;
  gboolean is_right = look->is_number != is_rtl;
  int width = gtk_widget_get_width (widget), text_width;

  *out_x = 0;
  pango_layout_set_attributes (layout, self->kind->attributes);
  pango_layout_get_pixel_size (layout, &text_width, NULL);
  if (look->most_lines > 1 && text_width > width)
    {
      int height = tessera_text_widths_height (widths_of (self));

      pango_layout_set_wrap (layout, PANGO_WRAP_WORD_CHAR);
      pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_MIDDLE);
      pango_layout_set_height (
          layout,
          -CLAMP (gtk_widget_get_height (widget) / MAX (height, 1), 1, look->most_lines));
      pango_layout_set_width (layout, width * PANGO_SCALE);
    }
  else if (is_right)
    *out_x = width - text_width;
  return layout;
}

/* --- a widget --------------------------------------------------------------------- */

static GtkSizeRequestMode
get_request_mode (GtkWidget *widget)
{
  return TESSERA_CELL (widget)->kind->look.most_lines > 1
             ? GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH
             : GTK_SIZE_REQUEST_CONSTANT_SIZE;
}

static void
measure (GtkWidget *widget,
         GtkOrientation orientation,
         int for_size,
         int *least,
         int *natural,
         int *least_baseline,
         int *natural_baseline)
{
  TesseraCell *self = TESSERA_CELL (widget);
  const TesseraCellLook *look = &self->kind->look;
  TesseraTextWidths *widths = widths_of (self);
  int n_lines = 1;

  *least_baseline = *natural_baseline = -1;
  if (orientation == GTK_ORIENTATION_HORIZONTAL)
    {
      *least = *natural = tessera_text_widths_of_chars (widths, look->n_chars);
      if (look->most_lines == 1)
        *least = *natural = MAX (*least, tessera_text_widths_of (widths, self->text));
      return;
    }
  if (look->most_lines > 1 && for_size >= 0)
    n_lines = tessera_text_widths_count_lines (widths, shown_text (self), for_size);
  *least = *natural =
      MIN (n_lines, look->most_lines) * tessera_text_widths_height (widths);
}

static void
draw (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TesseraCell *self = TESSERA_CELL (widget);
  g_autoptr (PangoLayout) layout = NULL;
  GdkRGBA colour;
  int x;

  if (*self->text == '\0')
    return;
  layout = tessera_cell_lay_out (self, &x);
  gtk_style_context_get_color (gtk_widget_get_style_context (widget), &colour);
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT ((float) x, 0));
  gtk_snapshot_append_layout (snapshot, layout, &colour);
  gtk_snapshot_restore (snapshot);
}

static void
css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  TesseraCell *self = TESSERA_CELL (widget);

  GTK_WIDGET_CLASS (tessera_cell_parent_class)->css_changed (widget, change);
  if (self->kind == NULL || self->kind->widths == NULL ||
      self->kind->measured_by != widget)
    return;
  if (!tessera_text_widths_suits (self->kind->widths,
                                  gtk_widget_get_pango_context (widget)))
    forget_widths (self->kind);
}

static gboolean
query_tooltip (GtkWidget *widget, int x, int y, gboolean by_keyboard, GtkTooltip *tooltip)
{
  TesseraCell *self = TESSERA_CELL (widget);

  gtk_tooltip_set_text (tooltip, self->text);
  return *self->text != '\0';
}

static void
tessera_cell_finalize (GObject *object)
{
  TesseraCell *self = TESSERA_CELL (object);

  g_clear_pointer (&self->kind, tessera_cell_kind_unref);
  g_free (self->text);
  g_free (self->marked);
  G_OBJECT_CLASS (tessera_cell_parent_class)->finalize (object);
}

static void
tessera_cell_class_init (TesseraCellClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = tessera_cell_finalize;
  widget_class->get_request_mode = get_request_mode;
  widget_class->measure = measure;
  widget_class->snapshot = draw;
  widget_class->css_changed = css_changed;
  widget_class->query_tooltip = query_tooltip;
  /* Not "label": themes let outlines of labels come and go slowly, and GTK looks at the
   * styles of all that may. */
  gtk_widget_class_set_css_name (widget_class, "tessera-cell");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_LABEL);
}

static void
tessera_cell_init (TesseraCell *self)
{
  self->text = g_strdup ("");
}

GtkWidget *
tessera_cell_new (TesseraCellKind *kind)
{
  TesseraCell *self = g_object_new (TESSERA_TYPE_CELL, NULL);

  self->kind = g_rc_box_acquire (kind);
  if (kind->look.css_class != NULL)
    gtk_widget_add_css_class (GTK_WIDGET (self), kind->look.css_class);
  gtk_widget_set_has_tooltip (GTK_WIDGET (self), kind->look.has_tip);
  gtk_widget_set_valign (GTK_WIDGET (self), GTK_ALIGN_START);
  return GTK_WIDGET (self);
}
