/*
 * What the colours mean, and a filter; below, what reserved memory is made of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"
#include "viewer/panels/panels.h"

/* Entries in sight; the others unfold. */
#define MOST_OPEN 12u

/* What stands below the entries. */
enum
{
  FAILED,
  MISSED,
  RESERVED_FREE,
  N_FIXED
};

typedef struct
{
  GtkWidget *button; /* NULL: a fixed row */
  GtkWidget *box, *swatch, *name, *amount;
  size_t entry;
} Row;

typedef struct
{
  TesseraPanel panel;
  GtkWidget *key;      /* GtkDropDown */
  GtkWidget *caption;  /* of the entries' numbers */
  GtkWidget *expander; /* of the entries beyond MOST_OPEN */
  Row rows[TESSERA_MAX_LEGEND_ENTRIES];
  Row fixed[N_FIXED];
  GtkWidget *all; /* shows everything again */
} Legend;

/* --- a row ------------------------------------------------------------------------ */

static void
on_entry_clicked (GtkWidget *button, Legend *self)
{
  const Row *row = self->rows;

  while (row->button != button)
    row++;
  tessera_document_filter (self->panel.document, row->entry,
                           !tessera_wants_more (button));
}

static Row
row_new (void)
{
  Row row = { .swatch = tessera_swatch_new (0, TESSERA_NONE),
              .name = tessera_name_new ("legend-name", NULL, 5),
              .amount = tessera_label_new ("", "amount") };

  gtk_widget_set_hexpand (row.name, TRUE);
  row.box = tessera_row_new (8, row.swatch, row.name, row.amount, NULL);
  return row;
}

static Row
entry_row_new (Legend *self, GtkWidget *box)
{
  Row row = row_new ();

  row.button = gtk_button_new ();
  gtk_button_set_child (GTK_BUTTON (row.button), row.box);
  gtk_widget_set_css_classes (row.button, (const char *[]){ "flat", "legend-row", NULL });
  g_signal_connect (row.button, "clicked", G_CALLBACK (on_entry_clicked), self);
  gtk_box_append (GTK_BOX (box), row.button);
  return row;
}

static Row
fixed_row_new (GtkWidget *box, const char *name, const char *widget_name)
{
  Row row = row_new ();

  tessera_name_set (row.name, name);
  gtk_widget_add_css_class (row.box, "legend-fixed");
  gtk_widget_set_name (row.box, widget_name);
  gtk_box_append (GTK_BOX (box), row.box);
  return row;
}

/* --- what stands in them ---------------------------------------------------------- */

static void
write_entry (Legend *self, Row *row, size_t index)
{
  const TesseraPaint *paint = self->panel.document->paint;
  const TesseraLegendEntry *entry = &paint->colouring->entries[index];
  const TesseraMoment *described = &self->panel.document->described;
  gboolean is_counted = described->colouring == paint->colouring;
  g_autofree char *moment = tessera_document_describe_moment (self->panel.document);
  g_autofree char *amount =
      is_counted ? tessera_describe_bytes (described->live_bytes[index]) : g_strdup ("…");
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

/* @amount: NULL: the row is not seen. Takes it and @tip over. */
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
write_missed (Legend *self, const TesseraPalette *palette)
{
  const TesseraLayout *layout = NULL;
  g_autofree char *count = NULL, *bytes = NULL;

  for (int side = 0; side < TESSERA_N_SIDES && layout == NULL; side++)
    {
      const TesseraSheet *sheet = self->panel.document->sheets[side];

      if (sheet != NULL && sheet->layout->n_misses > sheet->layout->n_planned_misses)
        layout = sheet->layout;
    }
  if (layout == NULL)
    {
      write_fixed (&self->fixed[MISSED], 0, TESSERA_NONE, NULL, NULL);
      return;
    }
  /* Only a run that followed a plan can have missed it. */
  tessera_name_set (self->fixed[MISSED].name,
                    layout->pool_bytes > 0 ? "missed the plan" : "beside the pool");
  count =
      tessera_describe_counted (layout->n_misses - layout->n_planned_misses, "request");
  bytes = tessera_describe_bytes (layout->miss_bytes - layout->planned_miss_bytes);
  write_fixed (&self->fixed[MISSED], palette->reserved, palette->missed,
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
write_failed (Legend *self, const TesseraLayout *layout, uint32_t rgb)
{
  size_t n = layout != NULL ? layout->n_ooms : 0;

  if (n == 0)
    write_fixed (&self->fixed[FAILED], 0, TESSERA_NONE, NULL, NULL);
  else
    {
      g_autofree char *count = tessera_describe_counted (n, "request");

      write_fixed (&self->fixed[FAILED], rgb, TESSERA_NONE, g_strdup (""),
                   g_strdup_printf ("%s failed, the last of %s", count,
                                    TESSERA_SIZE (layout->ooms[n - 1].size_bytes)));
    }
}

static void
write_fixed_rows (Legend *self)
{
  const TesseraPalette *palette = tessera_palette (self->panel.document->dark);
  TesseraSheet *sheet = self->panel.document->sheets[TESSERA_SIDE_LEFT];
  const TesseraParts *parts = &self->panel.document->described.parts;

  write_failed (self, sheet != NULL ? sheet->layout : NULL, palette->bad);
  write_missed (self, palette);
  write_fixed (&self->fixed[RESERVED_FREE], palette->reserved, palette->hatch,
               sheet != NULL ? tessera_describe_bytes (tessera_parts_free_bytes (parts))
                             : NULL,
               g_strdup ("Taken from the device and used by nothing at that moment"));
}

/* --- all of them ------------------------------------------------------------------ */

/* Those that have blocks. Returns: how many they are. */
static guint
write_entries (Legend *self)
{
  const TesseraPaint *paint = self->panel.document->paint;
  size_t n_entries = paint != NULL ? paint->colouring->n_entries : 0;
  guint n = 0;

  for (size_t i = 0; i < n_entries; i++)
    if (paint->colouring->entries[i].n_blocks > 0)
      {
        gtk_widget_set_visible (self->rows[n].button, TRUE);
        write_entry (self, &self->rows[n++], i);
      }
  for (guint i = n; i < TESSERA_MAX_LEGEND_ENTRIES; i++)
    gtk_widget_set_visible (self->rows[i].button, FALSE);
  return n;
}

static void
write_all (Legend *self)
{
  const TesseraPaint *paint = self->panel.document->paint;
  g_autofree char *moment = tessera_document_describe_moment (self->panel.document);
  g_autofree char *caption = g_strconcat ("live at ", moment, NULL);
  guint n = write_entries (self);
  g_autofree char *more = g_strdup_printf ("%u more", n - MIN (n, MOST_OPEN));

  gtk_label_set_text (GTK_LABEL (self->caption), caption);
  gtk_widget_set_visible (self->expander, n > MOST_OPEN);
  gtk_expander_set_label (GTK_EXPANDER (self->expander), more);
  write_fixed_rows (self);
  gtk_widget_set_visible (self->all, paint != NULL && paint->shown != NULL);
}

static void
legend_changed (TesseraDocument *document, guint what, gpointer user)
{
  Legend *self = user;

  if (gtk_drop_down_get_selected (GTK_DROP_DOWN (self->key)) != document->colour_key)
    gtk_drop_down_set_selected (GTK_DROP_DOWN (self->key), document->colour_key);
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_COLOUR | TESSERA_CHANGED_SHEETS |
              TESSERA_CHANGED_MOMENT))
    write_all (self);
}

static void
on_key_selected (GtkDropDown *key, GParamSpec *spec, Legend *self)
{
  guint selected = gtk_drop_down_get_selected (key);

  if (selected != self->panel.document->colour_key)
    gtk_widget_activate_action (self->panel.box, "win.colour", "s",
                                tessera_colour_key_name ((TesseraColourKey) selected));
}

static GtkWidget *
head_new (Legend *self)
{
  GtkStringList *names = gtk_string_list_new (NULL);

  for (int i = 0; i < TESSERA_N_COLOUR_KEYS; i++)
    gtk_string_list_append (names, tessera_colour_key_name ((TesseraColourKey) i));
  self->key = gtk_drop_down_new (G_LIST_MODEL (names), NULL);
  g_object_set (self->key, "name", "colour-key", "hexpand", TRUE, "halign", GTK_ALIGN_END,
                NULL);
  tessera_set_accessible_label (self->key, "Colour by");
  return tessera_row_new (6, tessera_heading_new ("Colour by"), self->key, NULL);
}

/* What unfolds and the fixed rows, as close as the entries are to each other. */
static GtkWidget *
below_new (Legend *self, GtkWidget *more)
{
  GtkWidget *below;

  self->expander = tessera_named (gtk_expander_new (NULL), "legend-more");
  gtk_expander_set_child (GTK_EXPANDER (self->expander), more);
  below = tessera_column_new (0, self->expander, NULL);
  self->fixed[FAILED] = fixed_row_new (below, "request that failed", "legend-failed");
  self->fixed[MISSED] = fixed_row_new (below, "missed the plan", "legend-missed");
  self->fixed[RESERVED_FREE] = fixed_row_new (below, "reserved, free", "legend-free");
  gtk_widget_add_css_class (below, "legend-below");
  return below;
}

GtkWidget *
tessera_legend_new (TesseraDocument *document)
{
  Legend *self = tessera_panel_new (sizeof *self, document, "legend", 6, NULL);
  GtkWidget *entries = tessera_named (tessera_column_new (0, NULL), "legend-entries");
  GtkWidget *more = tessera_column_new (0, NULL);

  for (guint i = 0; i < TESSERA_MAX_LEGEND_ENTRIES; i++)
    self->rows[i] = entry_row_new (self, i < MOST_OPEN ? entries : more);
  self->caption = tessera_label_new ("", "caption");
  gtk_widget_set_halign (self->caption, GTK_ALIGN_END);
  gtk_widget_add_css_class (self->caption, "legend-caption");
  self->all = tessera_button_new ("Show all", "win.show-all", "legend-all", "flat", NULL);
  tessera_panel_add (self, head_new (self), self->caption, entries,
                     below_new (self, more), self->all, NULL);
  tessera_panel_watch (self, legend_changed);
  g_signal_connect (self->key, "notify::selected", G_CALLBACK (on_key_selected), self);
  return self->panel.box;
}

/* --- what reserved memory is made of at the chosen moment, to the byte ------------ */

/* The parts, their sum, and what stands beside them. */
enum
{
  SUM = TESSERA_N_PARTS,
  LARGEST_HOLE,
  NEXT_REQUEST,
  FREE_AT_DRIVER,
  NOT_PYTORCHS,
  N_PART_ROWS
};

typedef struct
{
  TesseraPanel panel;
  GtkWidget *heading;
  GtkWidget *names[N_PART_ROWS];
  GtkWidget *bars[N_PART_ROWS]; /* NULL: none */
  GtkWidget *amounts[N_PART_ROWS];
} Parts;

/* What stands in the rows at the chosen moment. */
static void
list_parts (TesseraDocument *document, TesseraPart rows[N_PART_ROWS])
{
  const TesseraParts *parts = &document->described.parts;

  tessera_parts_list (document->data->trace, parts, rows);
  rows[SUM] =
      (TesseraPart){ NULL, "reserved", "Taken from the device: the sum of the above",
                     parts->reserved_bytes };
  rows[LARGEST_HOLE] =
      (TesseraPart){ NULL, "largest hole", "That the next request could use",
                     parts->largest_hole_bytes, .is_rare = true };
  rows[NEXT_REQUEST] =
      (TesseraPart){ NULL, "next request", "Rounded; the next allocation or failure",
                     parts->request_bytes, .is_rare = true };
  rows[FREE_AT_DRIVER] = (TesseraPart){ NULL, "free at driver", "Not taken by anyone",
                                        parts->free_at_driver_bytes, .is_rare = true };
  rows[NOT_PYTORCHS] =
      (TesseraPart){ NULL, "not PyTorch's", "Device memory outside PyTorch's allocator",
                     parts->outside_bytes, .is_rare = true };
}

static void
set_heading (Parts *self)
{
  g_autofree char *moment = tessera_document_describe_moment (self->panel.document);
  g_autofree char *text = g_strconcat ("At ", moment, NULL);

  gtk_label_set_text (GTK_LABEL (self->heading), text);
  tessera_set_tip (self->heading, strstr (text, "later") == NULL
                                      ? NULL
                                      : "At its first peak reserved memory was higher, "
                                        "with caches full from the start: what a run "
                                        "pays for is seen where it comes back");
}

static void
show_part (Parts *self, int row, const TesseraPart *part)
{
  const TesseraPalette *palette = tessera_palette (self->panel.document->dark);
  double whole = (double) MAX (self->panel.document->described.parts.reserved_bytes, 1);
  g_autofree char *exact = tessera_describe_bytes_exact (part->bytes);
  g_autofree char *tip = g_strdup_printf ("%s: %s", part->meaning, exact);

  gtk_label_set_text (GTK_LABEL (self->names[row]), part->name);
  gtk_label_set_text (GTK_LABEL (self->amounts[row]), TESSERA_SIZE (part->bytes));
  tessera_set_tip (self->names[row], tip);
  tessera_set_tip (self->amounts[row], tip);
  if (self->bars[row] == NULL)
    return;
  tessera_set_tip (self->bars[row], tip);
  tessera_bar_set (self->bars[row], (double) part->bytes / whole,
                   row == SUM ? palette->dim : palette->curve_live);
}

static void
parts_changed (TesseraDocument *document, guint what, gpointer user)
{
  Parts *self = user;
  TesseraPart rows[N_PART_ROWS];

  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_MOMENT | TESSERA_CHANGED_COLOUR)))
    return;
  gtk_widget_set_visible (self->panel.box, document->data != NULL);
  if (document->data == NULL)
    return;
  set_heading (self);
  list_parts (document, rows);
  for (int row = 0; row < N_PART_ROWS; row++)
    {
      uint64_t bytes = rows[row].bytes;
      gboolean is_seen = !rows[row].is_rare || (bytes != TESSERA_NOWHERE && bytes != 0);

      gtk_widget_set_visible (self->names[row], is_seen);
      gtk_widget_set_visible (self->amounts[row], is_seen);
      if (self->bars[row] != NULL)
        gtk_widget_set_visible (self->bars[row], is_seen);
      if (is_seen)
        show_part (self, row, &rows[row]);
    }
}

static void
add_part (Parts *self, GtkGrid *grid, int row)
{
  const char *css_class = row < SUM ? NULL : row == SUM ? "strong" : "quiet";

  self->names[row] = tessera_label_new ("", css_class);
  self->bars[row] = row <= SUM ? tessera_bar_new (0, 0) : NULL;
  self->amounts[row] = tessera_number_new ("amount", css_class);
  gtk_widget_add_css_class (self->amounts[row], "figure");
  gtk_widget_set_hexpand (self->names[row], TRUE);
  gtk_grid_attach (grid, self->names[row], 0, row, 1, 1);
  if (self->bars[row] != NULL)
    gtk_grid_attach (grid, self->bars[row], 1, row, 1, 1);
  gtk_grid_attach (grid, self->amounts[row], 2, row, 1, 1);
}

GtkWidget *
tessera_parts_view_new (TesseraDocument *document)
{
  Parts *self = tessera_panel_new (sizeof *self, document, "parts", 6, NULL);
  GtkWidget *grid = gtk_grid_new ();

  self->heading = tessera_named (tessera_heading_new (""), "parts-heading");
  gtk_grid_set_column_spacing (GTK_GRID (grid), 8);
  gtk_grid_set_row_spacing (GTK_GRID (grid), 4);
  for (int row = 0; row < N_PART_ROWS; row++)
    add_part (self, GTK_GRID (grid), row);
  tessera_panel_add (self, self->heading, grid, NULL);
  return tessera_panel_watch (self, parts_changed);
}
