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
  Row row = { .swatch = tessera_swatch_new (),
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

  tessera_name_write (row.name, name);
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
  const char *amount = is_counted ? TESSERA_SIZE (described->live_bytes[index]) : "…";

  row->entry = index;
  tessera_swatch_set (row->swatch, entry->rgb, TESSERA_NONE);
  tessera_name_write (row->name, entry->name);
  tessera_label_set (row->amount, "%s", amount);
  tessera_set_tip_of (row->button,
                      "%s: %s, %s live at %s, %.1f %% of all\n"
                      "Click: this alone. Ctrl+click: out or in.",
                      entry->name, TESSERA_COUNTED (entry->n_blocks, "block"), amount,
                      moment,
                      100.0 * (double) described->live_bytes[index] /
                          (double) MAX (described->parts.live_bytes, 1));
  tessera_set_class (row->button, "filtered", !paint->shown_entries[index]);
}

static void
write_missed (Legend *self, const TesseraPalette *palette)
{
  const Row *row = &self->fixed[MISSED];
  const TesseraLayout *layout = NULL;

  for (int side = 0; side < TESSERA_N_SIDES && layout == NULL; side++)
    {
      const TesseraSheet *sheet = self->panel.document->sheets[side];

      if (sheet != NULL && sheet->layout->n_misses > sheet->layout->n_planned_misses)
        layout = sheet->layout;
    }
  gtk_widget_set_visible (row->box, layout != NULL);
  if (layout == NULL)
    return;
  /* Only a run that followed a plan can have missed it. */
  tessera_name_write (row->name,
                      layout->pool_bytes > 0 ? "missed the plan" : "beside the pool");
  tessera_swatch_set (row->swatch, palette->reserved, palette->missed);
  tessera_label_set (row->amount, "%s in all",
                     TESSERA_SIZE (layout->miss_bytes - layout->planned_miss_bytes));
  tessera_set_tip_of (
      row->box, "%s found no place in the plan's pool%s",
      TESSERA_COUNTED (layout->n_misses - layout->n_planned_misses, "request"),
      layout->pool_bytes > 0
          ? " when the run was recorded; in the table, look for \"missed\""
          : " in simulation");
}

/* What a request asked for that failed is not live: no number stands with those that are.
 */
static void
write_fixed_rows (Legend *self)
{
  const TesseraPalette *palette = tessera_palette (self->panel.document->dark);
  const TesseraSheet *sheet = self->panel.document->sheets[TESSERA_SIDE_LEFT];
  const TesseraParts *parts = &self->panel.document->described.parts;
  const Row *failed = &self->fixed[FAILED], *unused = &self->fixed[RESERVED_FREE];
  size_t n = sheet != NULL ? sheet->layout->n_ooms : 0;

  write_missed (self, palette);
  gtk_widget_set_visible (failed->box, n > 0);
  gtk_widget_set_visible (unused->box, sheet != NULL);
  tessera_swatch_set (failed->swatch, palette->bad, TESSERA_NONE);
  tessera_swatch_set (unused->swatch, palette->reserved, palette->hatch);
  tessera_label_set (unused->amount, "%s",
                     TESSERA_SIZE (tessera_parts_free_bytes (parts)));
  if (n > 0)
    tessera_set_tip_of (failed->box, "%s failed, the last of %s",
                        TESSERA_COUNTED (n, "request"),
                        TESSERA_SIZE (sheet->layout->ooms[n - 1].size_bytes));
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
  guint n = write_entries (self);
  g_autofree char *more = g_strdup_printf ("%u more", n - MIN (n, MOST_OPEN));

  tessera_label_set (self->caption, "live at %s", moment);
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
  tessera_set_tip (self->fixed[RESERVED_FREE].box,
                   "Taken from the device and used by nothing at that moment");
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
  GtkWidget *grid; /* a name, a bar up to the sum, an amount */
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

  tessera_label_set (self->heading, "At %s", moment);
  tessera_set_tip (self->heading, strstr (moment, "later") == NULL
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
  GtkWidget *cells[3];

  for (int i = 0; i < 3; i++)
    {
      cells[i] = gtk_grid_get_child_at (GTK_GRID (self->grid), i, row);
      tessera_set_tip_of (cells[i], "%s: %s", part->meaning, TESSERA_BYTES (part->bytes));
    }
  tessera_label_set (cells[0], "%s", part->name);
  tessera_label_set (cells[2], "%s", TESSERA_SIZE (part->bytes));
  if (row <= SUM)
    tessera_bar_set (cells[1], (double) part->bytes / whole,
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

      tessera_grid_show (self->grid, row, is_seen);
      if (is_seen)
        show_part (self, row, &rows[row]);
    }
}

static void
add_part (Parts *self, int row)
{
  const char *css_class = row < SUM ? NULL : row == SUM ? "strong" : "quiet";
  GtkWidget *name = tessera_label_new ("", css_class);
  GtkWidget *bar = row <= SUM ? tessera_bar_new () : tessera_label_new ("", NULL);
  GtkWidget *amount = tessera_number_new ("amount", css_class);

  gtk_widget_add_css_class (amount, "figure");
  gtk_widget_set_hexpand (name, TRUE);
  tessera_grid_add (self->grid, row, name, bar, amount, NULL);
}

GtkWidget *
tessera_parts_view_new (TesseraDocument *document)
{
  Parts *self = tessera_panel_new (sizeof *self, document, "parts", 6, NULL);

  self->heading = tessera_named (tessera_heading_new (""), "parts-heading");
  self->grid = tessera_grid_new (8, 4);
  for (int row = 0; row < N_PART_ROWS; row++)
    add_part (self, row);
  tessera_panel_add (self, self->heading, self->grid, NULL);
  return tessera_panel_watch (self, parts_changed);
}
