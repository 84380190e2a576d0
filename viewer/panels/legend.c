/*
 * What the colours mean, and a filter.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/panels.h"

#include "viewer/model/document.h"
#include "viewer/kit/kit.h"

/* Entries beyond this are summed up in one line: nobody tells more colours apart. */
#define MOST_ENTRIES 200
/* Entries in sight; the others unfold. */
#define MOST_OPEN 12

/* What is told below the entries. */
enum
{
  FAILED,
  MISSED,
  RESERVED_FREE,
  N_FIXED
};

/* A place for an entry: it stays while what stands in it changes. */
typedef struct
{
  GtkWidget *button; /* NULL: a fixed row */
  GtkWidget *box, *swatch, *name, *amount;
  size_t entry;
} Row;

#define TESSERA_TYPE_LEGEND (tessera_legend_get_type ())
G_DECLARE_FINAL_TYPE (TesseraLegend, tessera_legend, TESSERA, LEGEND, GtkBox)

struct _TesseraLegend
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *key;     /* GtkDropDown */
  GtkWidget *caption; /* of the entries' numbers */
  GtkWidget *entries;
  GtkWidget *expander, *more; /* what unfolds */
  GPtrArray *rows;            /* Row: of the entries, as many as were needed once */
  Row *fixed[N_FIXED];
  GArray *shown;  /* size_t: which entries have blocks, MOST_ENTRIES at most */
  GtkWidget *all; /* shows everything again */
};

G_DEFINE_TYPE (TesseraLegend, tessera_legend, GTK_TYPE_BOX)

/* --- a row ------------------------------------------------------------------------ */

static void
on_entry_clicked (
    GtkGestureClick *gesture, int n, double x, double y, TesseraLegend *self)
{
  GtkWidget *button = gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (gesture));
  const Row *row = g_object_get_data (G_OBJECT (button), "row");
  GdkModifierType state =
      gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture));

  gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_CLAIMED);
  tessera_document_filter (self->document, row->entry,
                           (state & (GDK_CONTROL_MASK | GDK_SHIFT_MASK)) == 0);
}

static void
on_entry_activated (GtkButton *button, TesseraLegend *self)
{
  const Row *row = g_object_get_data (G_OBJECT (button), "row");

  tessera_document_filter (self->document, row->entry, TRUE);
}

static Row *
row_new (void)
{
  Row *row = g_new0 (Row, 1);

  row->box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);
  row->swatch = tessera_swatch_new (0, TESSERA_NONE);
  row->name = tessera_name_new ("legend-name", NULL, 5);
  row->amount = tessera_label_new ("", "amount");
  gtk_widget_set_hexpand (row->name, TRUE);
  gtk_box_append (GTK_BOX (row->box), row->swatch);
  gtk_box_append (GTK_BOX (row->box), row->name);
  gtk_box_append (GTK_BOX (row->box), row->amount);
  return row;
}

/* In @box from now on. */
static Row *
entry_row_new (TesseraLegend *self, GtkWidget *box)
{
  Row *row = row_new ();
  GtkGesture *click = gtk_gesture_click_new ();

  row->button = gtk_button_new ();
  gtk_button_set_child (GTK_BUTTON (row->button), row->box);
  gtk_widget_set_css_classes (row->button,
                              (const char *[]){ "flat", "legend-row", NULL });
  g_object_set_data (G_OBJECT (row->button), "row", row);
  /* The gesture sees the click before the button does, with its modifiers; the button
   * serves the keyboard. */
  gtk_event_controller_set_propagation_phase (GTK_EVENT_CONTROLLER (click),
                                              GTK_PHASE_CAPTURE);
  g_signal_connect (click, "pressed", G_CALLBACK (on_entry_clicked), self);
  gtk_widget_add_controller (row->button, GTK_EVENT_CONTROLLER (click));
  g_signal_connect (row->button, "clicked", G_CALLBACK (on_entry_activated), self);
  gtk_box_append (GTK_BOX (box), row->button);
  return row;
}

static Row *
fixed_row_new (GtkWidget *box, const char *name, const char *widget_name)
{
  Row *row = row_new ();

  tessera_name_set (row->name, name);
  gtk_widget_add_css_class (row->box, "legend-fixed");
  gtk_widget_set_name (row->box, widget_name);
  gtk_box_append (GTK_BOX (box), row->box);
  return row;
}

/* --- what stands in them ---------------------------------------------------------- */

static void
write_entry (TesseraLegend *self, Row *row, size_t index)
{
  const TesseraPaint *paint = self->document->paint;
  const TesseraLegendEntry *entry = &paint->colouring->entries[index];
  const TesseraMoment *told = &self->document->told;
  gboolean is_counted = told->colouring == paint->colouring;
  g_autofree char *moment = tessera_describe_told (self->document);
  g_autofree char *amount =
      is_counted ? tessera_describe_bytes (told->live_bytes[index]) : g_strdup ("…");
  g_autofree char *count = tessera_describe_counted (entry->n_blocks, "block");
  g_autofree char *tip = g_strdup_printf ("%s: %s, %s live at %s\n"
                                          "Click: this alone. Ctrl+click: out or in.",
                                          entry->name, count, amount, moment);

  row->entry = index;
  tessera_swatch_set (row->swatch, entry->rgb, TESSERA_NONE);
  tessera_name_set (row->name, entry->name);
  gtk_label_set_text (GTK_LABEL (row->amount), amount);
  tessera_set_tip (row->button, tip);
  if (paint->shown_entries[index])
    gtk_widget_remove_css_class (row->button, "filtered");
  else
    gtk_widget_add_css_class (row->button, "filtered");
}

/* @amount: NULL: it is not told. Takes it and @tip over. */
static void
write_fixed (Row *row, uint32_t rgb, uint32_t hatch_rgb, char *amount, char *tip)
{
  gtk_widget_set_visible (row->box, amount != NULL);
  if (amount != NULL)
    {
      tessera_swatch_set (row->swatch, rgb, hatch_rgb);
      gtk_label_set_text (GTK_LABEL (row->amount), amount);
      tessera_set_tip (row->box, tip);
    }
  g_free (amount);
  g_free (tip);
}

static void
write_missed (TesseraLegend *self, const TesseraPalette *palette)
{
  const TesseraLayout *layout = NULL;
  g_autofree char *count = NULL, *bytes = NULL;

  for (int side = 0; side < TESSERA_N_SIDES && layout == NULL; side++)
    {
      const TesseraSheet *sheet = self->document->sheets[side];

      if (sheet != NULL && sheet->layout->n_misses > sheet->layout->n_planned_misses)
        layout = sheet->layout;
    }
  if (layout == NULL)
    {
      write_fixed (self->fixed[MISSED], 0, TESSERA_NONE, NULL, NULL);
      return;
    }
  /* Only a run that followed a plan can have missed it. */
  tessera_name_set (self->fixed[MISSED]->name,
                    layout->pool_bytes > 0 ? "missed the plan" : "beside the pool");
  count =
      tessera_describe_counted (layout->n_misses - layout->n_planned_misses, "request");
  bytes = tessera_describe_bytes (layout->miss_bytes - layout->planned_miss_bytes);
  write_fixed (self->fixed[MISSED], palette->reserved, palette->missed,
               g_strdup_printf ("%s in all", bytes),
               g_strdup_printf ("%s found no place in the plan's pool%s", count,
                                layout->pool_bytes > 0
                                    ? " when the run was recorded; in the "
                                      "table, look for \"missed\""
                                    : " in simulation"));
}

/* What a request asked for that failed is not live: no number stands with those that are.
 */
static void
write_failed (TesseraLegend *self, const TesseraLayout *layout, uint32_t rgb)
{
  size_t n = layout != NULL ? layout->n_ooms : 0;

  if (n == 0)
    write_fixed (self->fixed[FAILED], 0, TESSERA_NONE, NULL, NULL);
  else
    {
      g_autofree char *count = tessera_describe_counted (n, "request");
      g_autofree char *size = tessera_describe_bytes (layout->ooms[n - 1].size_bytes);

      write_fixed (self->fixed[FAILED], rgb, TESSERA_NONE, g_strdup (""),
                   g_strdup_printf ("%s failed, the last of %s", count, size));
    }
}

static void
write_fixed_rows (TesseraLegend *self)
{
  const TesseraPalette *palette = tessera_palette (self->document->dark);
  TesseraSheet *sheet = self->document->sheets[TESSERA_SIDE_LEFT];
  const TesseraParts *parts = &self->document->told.parts;

  write_failed (self, sheet != NULL ? sheet->layout : NULL, palette->bad);
  write_missed (self, palette);
  write_fixed (self->fixed[RESERVED_FREE], palette->reserved, palette->hatch,
               sheet != NULL ? tessera_describe_bytes (tessera_parts_free_bytes (parts))
                             : NULL,
               g_strdup ("Taken from the device and used by nothing at that moment"));
}

/* --- all of them ------------------------------------------------------------------ */

/* Rows that are there: of what stands in them. Folded ones need not be there. */
static void
write_entries (TesseraLegend *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    {
      Row *row = g_ptr_array_index (self->rows, i);

      gtk_widget_set_visible (row->button, i < self->shown->len);
      if (i < self->shown->len)
        write_entry (self, row, g_array_index (self->shown, size_t, i));
    }
}

static void
make_rows (TesseraLegend *self)
{
  gboolean unfolded = gtk_expander_get_expanded (GTK_EXPANDER (self->expander));
  guint n = unfolded ? self->shown->len : MIN (self->shown->len, MOST_OPEN);

  while (self->rows->len < n)
    {
      guint at = self->rows->len;
      Row *row = entry_row_new (self, at < MOST_OPEN ? self->entries : self->more);

      g_ptr_array_add (self->rows, row);
      write_entry (self, row, g_array_index (self->shown, size_t, at));
    }
}

static void
find_shown (TesseraLegend *self)
{
  const TesseraPaint *paint = self->document->paint;

  g_array_set_size (self->shown, 0);
  for (size_t i = 0; paint != NULL && i < MIN (paint->colouring->n_entries, MOST_ENTRIES);
       i++)
    if (paint->colouring->entries[i].n_blocks > 0)
      g_array_append_val (self->shown, i);
}

static void
write_all (TesseraLegend *self)
{
  const TesseraPaint *paint = self->document->paint;
  g_autofree char *moment = tessera_describe_told (self->document);
  g_autofree char *caption = g_strconcat ("live at ", moment, NULL);
  guint n_more;

  gtk_label_set_text (GTK_LABEL (self->caption), caption);
  find_shown (self);
  n_more = self->shown->len - MIN (self->shown->len, MOST_OPEN);
  write_entries (self);
  make_rows (self);
  gtk_widget_set_visible (self->expander, n_more > 0);
  if (n_more > 0)
    {
      g_autofree char *text = g_strdup_printf ("%u more", n_more);

      if (g_strcmp0 (gtk_expander_get_label (GTK_EXPANDER (self->expander)), text) != 0)
        gtk_expander_set_label (GTK_EXPANDER (self->expander), text);
    }
  write_fixed_rows (self);
  gtk_widget_set_visible (self->all, paint != NULL && paint->shown != NULL);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraLegend *self = user;

  if (gtk_drop_down_get_selected (GTK_DROP_DOWN (self->key)) != document->colour_key)
    gtk_drop_down_set_selected (GTK_DROP_DOWN (self->key), document->colour_key);
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_COLOUR | TESSERA_CHANGED_SHEETS |
              TESSERA_CHANGED_MOMENT))
    write_all (self);
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

/* Rows go last: their buttons may still be told of. */
static void
tessera_legend_finalize (GObject *object)
{
  TesseraLegend *self = TESSERA_LEGEND (object);

  for (int i = 0; i < N_FIXED; i++)
    g_free (self->fixed[i]);
  g_ptr_array_unref (self->rows);
  g_array_unref (self->shown);
  G_OBJECT_CLASS (tessera_legend_parent_class)->finalize (object);
}

static void
tessera_legend_class_init (TesseraLegendClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_legend_dispose;
  G_OBJECT_CLASS (class)->finalize = tessera_legend_finalize;
}

/* As close as the entries are to each other. */
static void
add_below (TesseraLegend *self)
{
  GtkWidget *below = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  gtk_box_append (GTK_BOX (below), self->expander);
  self->fixed[FAILED] = fixed_row_new (below, "request that failed", "legend-failed");
  self->fixed[MISSED] = fixed_row_new (below, "missed the plan", "legend-missed");
  self->fixed[RESERVED_FREE] = fixed_row_new (below, "reserved, free", "legend-free");
  gtk_widget_add_css_class (below, "legend-below");
  gtk_box_append (GTK_BOX (self), below);
}

static void
tessera_legend_init (TesseraLegend *self)
{
  GtkWidget *head = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  GtkStringList *names = gtk_string_list_new (NULL);
  GtkWidget *label = tessera_heading_new ("Colour by");

  for (int i = 0; i < TESSERA_N_COLOUR_KEYS; i++)
    gtk_string_list_append (names, tessera_colour_key_name ((TesseraColourKey) i));
  self->key = gtk_drop_down_new (G_LIST_MODEL (names), NULL);
  gtk_widget_set_name (self->key, "colour-key");
  gtk_widget_set_hexpand (self->key, TRUE);
  gtk_widget_set_halign (self->key, GTK_ALIGN_END);
  tessera_set_accessible_label (self->key, "Colour by");
  self->caption = tessera_label_new ("", "caption");
  gtk_widget_set_halign (self->caption, GTK_ALIGN_END);
  gtk_widget_add_css_class (self->caption, "legend-caption");
  self->entries = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_set_name (self->entries, "legend-entries");
  self->more = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  self->expander = gtk_expander_new (NULL);
  gtk_widget_set_name (self->expander, "legend-more");
  gtk_expander_set_child (GTK_EXPANDER (self->expander), self->more);
  g_signal_connect_swapped (self->expander, "notify::expanded", G_CALLBACK (make_rows),
                            self);
  self->rows = g_ptr_array_new_with_free_func (g_free);
  self->shown = g_array_new (FALSE, FALSE, sizeof (size_t));
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
  add_below (self);
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
