/*
 * Short ways to make the widgets that the panels are built of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"

#include "db/size-text.h"

#include <string.h>

GtkWidget *
tessera_label_new (const char *text, const char *css_classes)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  if (css_classes != NULL)
    {
      g_auto (GStrv) classes = g_strsplit (css_classes, " ", -1);

      gtk_widget_set_css_classes (label, (const char **) classes);
    }
  return label;
}

GtkWidget *
tessera_heading_new (const char *text)
{
  return tessera_label_new (text, "panel-heading");
}

GtkWidget *
tessera_line_new (void)
{
  return gtk_separator_new (GTK_ORIENTATION_HORIZONTAL);
}

GtkWidget *
tessera_named (GtkWidget *widget, const char *name)
{
  gtk_widget_set_name (widget, name);
  return widget;
}

GtkWidget *
tessera_box_new (GtkOrientation orientation, int spacing, ...)
{
  GtkWidget *box = gtk_box_new (orientation, spacing);
  va_list children;

  va_start (children, spacing);
  for (GtkWidget *child; (child = va_arg (children, GtkWidget *)) != NULL;)
    gtk_box_append (GTK_BOX (box), child);
  va_end (children);
  return box;
}

GtkWidget *
tessera_button_new (const char *label,
                    const char *action,
                    const char *name,
                    const char *css_classes,
                    const char *tip)
{
  g_auto (GStrv) classes = g_strsplit (css_classes != NULL ? css_classes : "", " ", -1);
  gboolean is_icon = g_str_has_suffix (label, "-symbolic");
  GtkWidget *button =
      is_icon ? gtk_button_new_from_icon_name (label) : gtk_button_new_with_label (label);

  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  if (is_icon && css_classes != NULL)
    gtk_widget_set_css_classes (button, (const char **) classes);
  for (char **class = classes; *class != NULL; class ++)
    gtk_widget_add_css_class (button, *class);
  if (name != NULL)
    gtk_widget_set_name (button, name);
  tessera_set_tip (button, tip);
  if (is_icon && tip != NULL)
    tessera_set_accessible_label (button, tip);
  return button;
}

/* Of the unit behind a number, which @text, a blank behind a digit, ends; 0: none. */
static size_t
unit_length (const char *text)
{
  static const char *const others[] = { "%", "bytes" };
  size_t n = strcspn (text + 1, " ,.;:)");

  for (size_t i = 0; i < TESSERA_N_SIZE_UNITS + G_N_ELEMENTS (others); i++)
    {
      const char *unit = i < TESSERA_N_SIZE_UNITS ? tessera_size_units[i].name
                                                  : others[i - TESSERA_N_SIZE_UNITS];

      if (strlen (unit) == n && strncmp (text + 1, unit, n) == 0)
        return n;
    }
  return 0;
}

/* Of attributes, since what is written is what is copied and compared. */
static void
keep_units (GtkLabel *label)
{
  g_autoptr (PangoAttrList) attributes = pango_attr_list_new ();
  const char *text = gtk_label_get_text (label);

  /* A hyphen would be taken for a part of a name. */
  pango_attr_list_insert (attributes, pango_attr_insert_hyphens_new (FALSE));
  for (const char *at = text; *at != '\0'; at++)
    if (*at == ' ' && at > text && g_ascii_isdigit (at[-1]) && unit_length (at) > 0)
      {
        PangoAttribute *join = pango_attr_allow_breaks_new (FALSE);

        join->start_index = (guint) (at - text) - 1;
        join->end_index = (guint) (at - text + 1) + (guint) unit_length (at);
        pango_attr_list_insert (attributes, join);
      }
  gtk_label_set_attributes (label, attributes);
}

GtkWidget *
tessera_sentence_new (const char *text, const char *css_classes)
{
  GtkWidget *label = tessera_label_new (text, css_classes);

  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  g_signal_connect (label, "notify::label", G_CALLBACK (keep_units), NULL);
  keep_units (GTK_LABEL (label));
  return label;
}

GtkWidget *
tessera_name_new (const char *widget_name, const char *css_classes, int most_lines)
{
  GtkWidget *label = tessera_sentence_new ("", css_classes);

  gtk_label_set_lines (GTK_LABEL (label), most_lines);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  return tessera_named (label, widget_name);
}

/* Behind what joins the parts of a name; not before a file's suffix. */
static gboolean
may_break (const char *text)
{
  if (g_ascii_islower (text[0]) && g_ascii_isupper (text[1]) && g_ascii_islower (text[2]))
    return TRUE;
  if (strchr ("_.:/#", text[0]) == NULL || g_ascii_isdigit (text[1]))
    return FALSE;
  return text[0] != '.' || strcspn (text + 1, "_.:/#, ") > 3;
}

/* With marks where @text may be broken and where not. */
static char *
mark_breaks (const char *text)
{
  GString *marked = g_string_new (NULL);

  for (; *text != '\0'; text++)
    {
      g_string_append_c (marked, *text);
      if ((text[0] == '-' && text[1] == '>') ||
          (text[0] == ':' && g_ascii_isdigit (text[1])))
        g_string_append (marked, TESSERA_NO_BREAK);
      else if (may_break (text))
        g_string_append (marked, TESSERA_MAY_BREAK);
    }
  return g_string_free (marked, FALSE);
}

void
tessera_name_write (GtkWidget *label, const char *text)
{
  g_autofree char *marked = mark_breaks (text);

  gtk_label_set_text (GTK_LABEL (label), marked);
}

void
tessera_name_set (GtkWidget *label, const char *text)
{
  tessera_name_write (label, text);
  tessera_set_tip (label, text);
}

void
tessera_label_set (GtkWidget *label, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  gtk_label_set_text (GTK_LABEL (label), text);
}

/* What the cell says. */
static gboolean
tell_tip (GtkWidget *cell,
          int x,
          int y,
          gboolean by_keyboard,
          GtkTooltip *tooltip,
          gpointer unused)
{
  const char *text = gtk_inscription_get_text (GTK_INSCRIPTION (cell));

  gtk_tooltip_set_text (tooltip, text);
  return text != NULL && *text != '\0';
}

GtkWidget *
tessera_cell_new (int n_chars, gboolean is_number)
{
  GtkWidget *widget = gtk_inscription_new ("");
  GtkInscription *cell = GTK_INSCRIPTION (widget);

  gtk_inscription_set_min_chars (cell, (guint) n_chars);
  gtk_inscription_set_text_overflow (cell, GTK_INSCRIPTION_OVERFLOW_ELLIPSIZE_MIDDLE);
  gtk_inscription_set_xalign (cell, is_number ? 1 : 0);
  if (is_number)
    gtk_widget_add_css_class (widget, "figure");
  g_object_set (widget, "name", is_number ? "number" : "line", "valign", GTK_ALIGN_START,
                "has-tooltip", TRUE, NULL);
  g_signal_connect (widget, "query-tooltip", G_CALLBACK (tell_tip), NULL);
  return widget;
}

GtkWidget *
tessera_note_new (GtkWidget *child, const char *text)
{
  GtkWidget *note = gtk_overlay_new ();
  GtkWidget *label = tessera_sentence_new (text, "quiet");

  g_object_set (label, "name", "note", "halign", GTK_ALIGN_CENTER, "valign",
                GTK_ALIGN_CENTER, "can-target", FALSE, "visible", FALSE, NULL);
  gtk_overlay_set_child (GTK_OVERLAY (note), child);
  gtk_overlay_add_overlay (GTK_OVERLAY (note), label);
  return note;
}

void
tessera_note_show (GtkWidget *note, gboolean is_empty)
{
  gtk_widget_set_visible (gtk_widget_get_last_child (note), is_empty);
}

typedef struct
{
  uint32_t rgb, hatch_rgb;
  double share;
} Patch;

static const char patch_key[] = "patch";

static void
draw_patch (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer user)
{
  const Patch *patch = user;

  tessera_set_rgb (cr, patch->rgb, 1);
  cairo_rectangle (cr, 0, 0, MAX (patch->share * width, 1), height);
  cairo_fill (cr);
  if (patch->hatch_rgb != TESSERA_NONE)
    tessera_hatch_area (cr, (TesseraArea){ 0, 0, width, height }, patch->hatch_rgb);
}

static GtkWidget *
patch_new (int width, int height)
{
  Patch *patch = g_new0 (Patch, 1);
  GtkWidget *area =
      g_object_new (GTK_TYPE_DRAWING_AREA, "content-width", width, "content-height",
                    height, "valign", GTK_ALIGN_CENTER, NULL);

  gtk_drawing_area_set_draw_func (GTK_DRAWING_AREA (area), draw_patch, patch, NULL);
  g_object_set_data_full (G_OBJECT (area), patch_key, patch, g_free);
  return area;
}

static void
patch_set (GtkWidget *area, Patch wanted)
{
  Patch *patch = g_object_get_data (G_OBJECT (area), patch_key);

  if (patch->rgb == wanted.rgb && patch->hatch_rgb == wanted.hatch_rgb &&
      patch->share == wanted.share)
    return;
  *patch = wanted;
  gtk_widget_queue_draw (area);
}

GtkWidget *
tessera_swatch_new (void)
{
  return patch_new (12, 12);
}

void
tessera_swatch_set (GtkWidget *swatch, uint32_t rgb, uint32_t hatch_rgb)
{
  patch_set (swatch, (Patch){ rgb, hatch_rgb, 1 });
}

GtkWidget *
tessera_bar_new (void)
{
  return patch_new (36, 6);
}

void
tessera_bar_set (GtkWidget *bar, double share, uint32_t rgb)
{
  patch_set (bar, (Patch){ rgb, TESSERA_NONE, CLAMP (share, 0, 1) });
}

void
tessera_remove_children (GtkWidget *box)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (box)) != NULL)
    gtk_box_remove (GTK_BOX (box), child);
}

void
tessera_set_accessible_label (GtkWidget *widget, const char *label)
{
  gtk_accessible_update_property (GTK_ACCESSIBLE (widget), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  label, -1);
}

void
tessera_set_tip (GtkWidget *widget, const char *text)
{
  if (text != NULL && *text == '\0')
    text = NULL;
  if (g_strcmp0 (gtk_widget_get_tooltip_text (widget), text) != 0)
    gtk_widget_set_tooltip_text (widget, text);
}

void
tessera_set_tip_of (GtkWidget *widget, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  tessera_set_tip (widget, text);
}

void
tessera_add_key (GtkWidget *widget, const char *trigger, GtkShortcutFunc pressed)
{
  GtkEventController *controller = gtk_shortcut_controller_new ();

  gtk_shortcut_controller_add_shortcut (
      GTK_SHORTCUT_CONTROLLER (controller),
      gtk_shortcut_new (gtk_shortcut_trigger_parse_string (trigger),
                        gtk_callback_action_new (pressed, NULL, NULL)));
  gtk_widget_add_controller (widget, controller);
}

void
tessera_set_class (GtkWidget *widget, const char *css_class, gboolean has_it)
{
  if (has_it)
    gtk_widget_add_css_class (widget, css_class);
  else
    gtk_widget_remove_css_class (widget, css_class);
}
