/*
 * What the colours mean, and a filter.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/legend.h"

#include "viewer/document/describe.h"
#include "viewer/window/ui.h"

/* Entries beyond this are summed up in one line: nobody tells more colours apart. */
#define MOST_ENTRIES 200
/* Entries in sight; the others unfold. */
#define MOST_OPEN 12

struct _TesseraLegend
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *key;     /* GtkDropDown */
  GtkWidget *caption; /* of the entries' numbers */
  GtkWidget *entries;
  GtkWidget *all; /* shows everything again */
  int built_for;  /* key and darkness of the rows; -1: none */
};

G_DEFINE_TYPE (TesseraLegend, tessera_legend, GTK_TYPE_BOX)

static void
on_entry_clicked (
    GtkGestureClick *gesture, int n, double x, double y, TesseraLegend *self)
{
  GtkWidget *row = gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (gesture));
  GdkModifierType state =
      gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture));
  size_t entry = GPOINTER_TO_SIZE (g_object_get_data (G_OBJECT (row), "entry"));

  gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_CLAIMED);
  tessera_document_filter (self->document, entry,
                           (state & (GDK_CONTROL_MASK | GDK_SHIFT_MASK)) == 0);
}

static void
on_entry_activated (GtkButton *row, TesseraLegend *self)
{
  tessera_document_filter (self->document,
                           GPOINTER_TO_SIZE (g_object_get_data (G_OBJECT (row), "entry")),
                           TRUE);
}

static GtkWidget *
row_box_new (GtkWidget *swatch, const char *name, const char *amount)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *label = tessera_name_new ("legend-name", NULL, 5);
  GtkWidget *number = tessera_label_new (amount, "amount");

  gtk_widget_set_hexpand (label, TRUE);
  tessera_name_set (label, name);
  gtk_box_append (GTK_BOX (box), swatch);
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), number);
  return box;
}

static GtkWidget *
row_new (TesseraLegend *self, const TesseraLegendEntry *entry, size_t index)
{
  g_autofree char *amount = tessera_describe_bytes (entry->peak_bytes);
  g_autofree char *count = tessera_describe_counted (entry->n_blocks, "block");
  g_autofree char *tip = g_strdup_printf ("%s: %s, %s live at the peak\n"
                                          "Click: this alone. Ctrl+click: out or in.",
                                          entry->name, count, amount);
  GtkWidget *row = gtk_button_new ();
  GtkGesture *click = gtk_gesture_click_new ();

  gtk_button_set_child (
      GTK_BUTTON (row),
      row_box_new (tessera_swatch_new (entry->rgb, TESSERA_NONE), entry->name, amount));
  gtk_widget_set_css_classes (row, (const char *[]){ "flat", "legend-row", NULL });
  tessera_set_tip (row, tip);
  g_object_set_data (G_OBJECT (row), "entry", GSIZE_TO_POINTER (index));
  /* The gesture sees the click before the button does, with its modifiers; the button
   * serves the keyboard. */
  gtk_event_controller_set_propagation_phase (GTK_EVENT_CONTROLLER (click),
                                              GTK_PHASE_CAPTURE);
  g_signal_connect (click, "pressed", G_CALLBACK (on_entry_clicked), self);
  gtk_widget_add_controller (row, GTK_EVENT_CONTROLLER (click));
  g_signal_connect (row, "clicked", G_CALLBACK (on_entry_activated), self);
  return row;
}

/* What nobody planned to miss, which is striped. Recordings before version 9 of traces do
 * not tell which of the misses were planned: then all are. */
static uint64_t
n_unplanned (const TesseraLayout *layout)
{
  return layout->is_left != NULL ? layout->n_misses - layout->n_planned_misses
                                 : layout->n_misses;
}

static GtkWidget *
missed_row_new (const TesseraPalette *palette, const TesseraLayout *layout)
{
  g_autofree char *amount = tessera_describe_bytes (
      layout->is_left != NULL ? layout->miss_bytes - layout->planned_miss_bytes
                              : layout->miss_bytes);
  g_autofree char *count = tessera_describe_counted (n_unplanned (layout), "request");
  g_autofree char *tip = g_strdup_printf (
      "%s found no place in the plan's pool%s", count,
      layout->pool_bytes > 0
          ? " when the run was recorded; in the table, look for \"missed\""
          : " in simulation");
  GtkWidget *row = row_box_new (tessera_swatch_new (palette->reserved, palette->missed),
                                "missed the plan", amount);

  gtk_widget_add_css_class (row, "legend-fixed");
  gtk_widget_set_name (row, "legend-missed");
  tessera_set_tip (row, tip);
  return row;
}

static void
add_fixed_rows (TesseraLegend *self)
{
  const TesseraPalette *palette = tessera_palette (self->document->dark);
  TesseraSheet *sheet = self->document->sheets[TESSERA_SIDE_LEFT];
  const TesseraParts *parts = &self->document->verdict.parts;
  g_autofree char *free_bytes = NULL;
  GtkWidget *row;

  if (sheet == NULL)
    return;
  if (sheet->layout->n_ooms > 0)
    {
      g_autofree char *asked = tessera_describe_bytes (
          sheet->layout->ooms[sheet->layout->n_ooms - 1].size_bytes);

      row = row_box_new (tessera_swatch_new (palette->bad, TESSERA_NONE),
                         "request that failed", asked);
      gtk_widget_add_css_class (row, "legend-fixed");
      gtk_box_append (GTK_BOX (self->entries), row);
    }
  for (int side = 0; side < TESSERA_N_SIDES; side++)
    {
      const TesseraSheet *of = self->document->sheets[side];

      if (of == NULL || n_unplanned (of->layout) == 0)
        continue;
      gtk_box_append (GTK_BOX (self->entries), missed_row_new (palette, of->layout));
      break;
    }
  free_bytes = tessera_describe_bytes (parts->reserved_bytes - parts->live_bytes -
                                       parts->rounding_bytes);
  row = row_box_new (tessera_swatch_new (palette->reserved, palette->hatch),
                     "reserved, free", free_bytes);
  gtk_widget_add_css_class (row, "legend-fixed");
  tessera_set_tip (row,
                   "Taken from the device and used by nothing at the verdict's moment");
  gtk_box_append (GTK_BOX (self->entries), row);
}

static void
rebuild (TesseraLegend *self)
{
  const TesseraColouring *colouring;
  GtkWidget *more = NULL;
  size_t n_rows = 0;

  tessera_remove_children (self->entries);
  if (self->document->paint == NULL)
    return;
  colouring = self->document->paint->colouring;
  for (size_t i = 0; i < MIN (colouring->n_entries, MOST_ENTRIES); i++)
    {
      if (colouring->entries[i].n_blocks == 0)
        continue;
      if (n_rows == MOST_OPEN)
        more = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
      gtk_box_append (GTK_BOX (more != NULL ? more : self->entries),
                      row_new (self, &colouring->entries[i], i));
      n_rows++;
    }
  if (more != NULL)
    {
      g_autofree char *text = g_strdup_printf ("%zu more", n_rows - MOST_OPEN);
      GtkWidget *expander = gtk_expander_new (text);

      gtk_expander_set_child (GTK_EXPANDER (expander), more);
      gtk_box_append (GTK_BOX (self->entries), expander);
    }
  add_fixed_rows (self);
}

static void
style_rows (GtkWidget *parent, const TesseraPaint *paint)
{
  GtkWidget *row;

  for (row = gtk_widget_get_first_child (parent); row != NULL;
       row = gtk_widget_get_next_sibling (row))
    {
      size_t entry = GPOINTER_TO_SIZE (g_object_get_data (G_OBJECT (row), "entry"));

      if (!gtk_widget_has_css_class (row, "legend-row"))
        style_rows (row, paint);
      else if (paint->shown_entries[entry])
        gtk_widget_remove_css_class (row, "filtered");
      else
        gtk_widget_add_css_class (row, "filtered");
    }
}

static void
show_filter (TesseraLegend *self)
{
  const TesseraPaint *paint = self->document->paint;

  gtk_widget_set_visible (self->all, paint != NULL && paint->shown != NULL);
  if (paint != NULL)
    style_rows (self->entries, paint);
}

/* Rebuilding while a row handles its own click would pull it away under the gesture, so
 * a filter only restyles the rows; another colouring makes new ones. */
static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraLegend *self = user;
  const TesseraPaint *paint = document->paint;
  /* What is there to be seen: the chosen colours come a little later. */
  int shown = paint != NULL ? (int) paint->colouring->key * 2 + paint->dark : -1;
  gboolean key_changed =
      gtk_drop_down_get_selected (GTK_DROP_DOWN (self->key)) != document->colour_key;

  if (key_changed)
    gtk_drop_down_set_selected (GTK_DROP_DOWN (self->key), document->colour_key);
  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_COLOUR | TESSERA_CHANGED_SHEETS)))
    return;
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS) || self->built_for != shown)
    rebuild (self);
  self->built_for = shown;
  show_filter (self);
}

static void
on_key_selected (GtkDropDown *key, GParamSpec *spec, TesseraLegend *self)
{
  g_autofree char *value = g_strdup (
      tessera_colour_key_name ((TesseraColourKey) gtk_drop_down_get_selected (key)));

  if (gtk_drop_down_get_selected (key) != self->document->colour_key)
    gtk_widget_activate_action (GTK_WIDGET (self), "win.colour", "s", value);
}

static void
tessera_legend_dispose (GObject *object)
{
  g_clear_object (&TESSERA_LEGEND (object)->document);
  G_OBJECT_CLASS (tessera_legend_parent_class)->dispose (object);
}

static void
tessera_legend_class_init (TesseraLegendClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_legend_dispose;
}

static void
tessera_legend_init (TesseraLegend *self)
{
  GtkWidget *head = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  GtkStringList *names = gtk_string_list_new (NULL);
  GtkWidget *label = tessera_heading_new ("Colour by");

  self->built_for = -1;
  for (int i = 0; i < TESSERA_N_COLOUR_KEYS; i++)
    gtk_string_list_append (names, tessera_colour_key_name ((TesseraColourKey) i));
  self->key = gtk_drop_down_new (G_LIST_MODEL (names), NULL);
  gtk_widget_set_name (self->key, "colour-key");
  gtk_widget_set_hexpand (self->key, TRUE);
  gtk_widget_set_halign (self->key, GTK_ALIGN_END);
  tessera_set_accessible_label (self->key, "Colour by");
  self->caption = tessera_label_new ("live at the peak", "caption");
  gtk_widget_set_halign (self->caption, GTK_ALIGN_END);
  gtk_widget_add_css_class (self->caption, "legend-caption");
  self->entries = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_set_name (self->entries, "legend-entries");
  self->all = gtk_button_new_with_label ("Show all");
  gtk_widget_set_name (self->all, "legend-all");
  gtk_widget_add_css_class (self->all, "flat");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->all), "win.show-all");
  gtk_box_append (GTK_BOX (head), label);
  gtk_box_append (GTK_BOX (head), self->key);
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 6);
  gtk_box_append (GTK_BOX (self), head);
  gtk_box_append (GTK_BOX (self), self->caption);
  gtk_box_append (GTK_BOX (self), self->entries);
  gtk_box_append (GTK_BOX (self), self->all);
  gtk_widget_set_name (GTK_WIDGET (self), "legend");
}

GtkWidget *
tessera_legend_new (TesseraDocument *document)
{
  TesseraLegend *self = g_object_new (TESSERA_TYPE_LEGEND, NULL);

  self->document = g_object_ref (document);
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  g_signal_connect (self->key, "notify::selected", G_CALLBACK (on_key_selected), self);
  return GTK_WIDGET (self);
}
