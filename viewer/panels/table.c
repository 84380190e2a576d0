/*
 * All blocks in a table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/table.h"

#include "db/size-text.h"
#include "viewer/document/describe.h"
#include "viewer/document/document-view.h"
#include "viewer/panels/blocklist.h"
#include "viewer/panels/rows/cell.h"
#include "viewer/panels/rows/row-list.h"
#include "viewer/panels/rows/still.h"
#include "viewer/panels/sorting.h"
#include "viewer/window/ui.h"

#include <string.h>

struct _TesseraTable
{
  GtkBox parent_instance;

  TesseraDocument *document;
  TesseraBlockWish wish;  /* its text is ours */
  TesseraBlockList *list; /* NULL: none yet */
  TesseraJob *job;        /* that makes another; NULL: none */
  TesseraRowList *rows;
  TesseraCellKind *kinds[TESSERA_N_COLUMNS];
  GtkWidget *view;
  GtkWidget *note; /* that no block matches */
  GtkWidget *text;
  GtkWidget *least;
  GtkWidget *most;
  GtkWidget *count;
  guint scroll_tick; /* 0: none is waiting */
};

G_DEFINE_TYPE (TesseraTable, tessera_table, GTK_TYPE_BOX)

static const struct
{
  const char *title;
  int n_chars; /* that it has room for at least */
  gboolean is_number;
} columns[TESSERA_N_COLUMNS] = {
  [TESSERA_COLUMN_BLOCK] = { "Block", 8, TRUE },
  [TESSERA_COLUMN_SIZE] = { "Size", 10, TRUE },
  [TESSERA_COLUMN_LIFE] = { "Life", 21, TRUE },
  [TESSERA_COLUMN_CLASS] = { "Class", 10, FALSE },
  [TESSERA_COLUMN_PHASES] = { "Phases", 14, FALSE },
  [TESSERA_COLUMN_SOURCE] = { "Source", 20, FALSE },
  [TESSERA_COLUMN_GROUP] = { "Group", 20, FALSE },
  [TESSERA_COLUMN_ADDRESS] = { "Address", 13, TRUE },
};

static char *
cell_text (TesseraTable *self, TesseraColumn column, uint32_t block)
{
  TesseraData *data = self->document->data;

  switch (column)
    {
    case TESSERA_COLUMN_SIZE:
      return tessera_describe_bytes (data->blocks->blocks[block].size_bytes);
    case TESSERA_COLUMN_LIFE:
      return tessera_describe_life (data, block);
    case TESSERA_COLUMN_CLASS:
      return g_strdup (tessera_class_name (data->blocks->blocks[block].lifetime_class));
    case TESSERA_COLUMN_PHASES:
      return tessera_describe_phases (data, block);
    case TESSERA_COLUMN_ADDRESS:
      return tessera_describe_address (data, block);
    case TESSERA_COLUMN_GROUP:
      return tessera_describe_group (data, block);
    case TESSERA_COLUMN_SOURCE:
      return tessera_describe_source (data, block);
    default:
      return tessera_describe_count (block);
    }
}

/* --- rows ------------------------------------------------------------------------- */

static GtkWidget *
make_cell (gpointer user, int column)
{
  GtkWidget *cell = tessera_cell_new (TESSERA_TABLE (user)->kinds[column]);

  gtk_widget_set_name (cell, "cell");
  return cell;
}

static void
show_cell (gpointer user, GtkWidget *cell, guint position, int column)
{
  TesseraTable *self = user;
  g_autofree char *text =
      position != GTK_INVALID_LIST_POSITION && self->document->data != NULL
          ? cell_text (self, (TesseraColumn) column, self->list->blocks[position])
          : g_strdup ("");

  tessera_cell_set_text (TESSERA_CELL (cell), text);
}

static gboolean
is_selected (gpointer user, guint position)
{
  TesseraTable *self = user;

  return tessera_document_is_selected (self->document, self->list->blocks[position]);
}

/* The last of them leads: that is where the person clicked. */
static void
choose (gpointer user, guint position, guint n, TesseraSelectHow how)
{
  TesseraTable *self = user;
  const uint32_t *blocks = self->list != NULL ? &self->list->blocks[position] : NULL;

  tessera_document_select_blocks (self->document, blocks, n, how,
                                  n > 0 ? blocks[n - 1] : TESSERA_NONE);
  if (self->document->selected != TESSERA_NONE)
    tessera_document_reveal (self->document, self->document->selected);
}

static const TesseraRowListKind row_kind = { make_cell, show_cell, is_selected, choose };

static void
show_count (TesseraTable *self)
{
  guint n = self->list != NULL ? self->list->n_blocks : 0;
  size_t n_all =
      self->document->data != NULL ? self->document->data->blocks->n_blocks : 0;
  g_autofree char *shown = tessera_describe_count (n);
  g_autofree char *all = tessera_describe_counted (n_all, "block");
  g_autofree char *text =
      n == n_all ? g_strdup (all) : g_strdup_printf ("%s of %s", shown, all);

  gtk_label_set_text (GTK_LABEL (self->count), text);
}

static void queue_scroll (TesseraTable *self);

/* @list: (transfer full) (nullable) */
static void
take_list (TesseraTable *self, TesseraBlockList *list)
{
  TesseraBlockList *before = self->list;

  self->list = list;
  tessera_row_list_set_rows (self->rows, list != NULL ? list->n_blocks : 0, 0);
  tessera_block_list_unref (before);
  tessera_note_show (self->note, list != NULL && list->n_blocks == 0);
  show_count (self);
  queue_scroll (self);
}

/* --- making lists ----------------------------------------------------------------- */

typedef struct
{
  TesseraData *data;
  TesseraBlockWish wish; /* its text is ours */
  TesseraBlockList *list;
} Making;

static void
making_free (gpointer user)
{
  Making *making = user;

  tessera_data_unref (making->data);
  tessera_block_list_unref (making->list);
  g_free ((char *) making->wish.text);
  g_free (making);
}

static TesseraStatus
making_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Making *making = user;

  making->list = tessera_block_list_new (making->data, &making->wish);
  return TESSERA_OK;
}

static void
making_done (gpointer owner,
             gpointer user,
             TesseraStatus status,
             const TesseraError *error)
{
  TesseraTable *self = owner;
  Making *making = user;

  g_clear_pointer (&self->job, tessera_job_unref);
  take_list (self, g_steal_pointer (&making->list));
}

static const TesseraJobKind making_kind = { making_work, making_done, NULL, making_free,
                                            "list of blocks" };

static void
forget_job (TesseraTable *self)
{
  g_clear_pointer (&self->job, tessera_job_drop);
}

/* Sorting and filtering a million rows takes frames: a worker does. */
static void
make_list (TesseraTable *self)
{
  Making *making;

  forget_job (self);
  if (self->document == NULL || self->document->data == NULL ||
      !gtk_widget_get_mapped (GTK_WIDGET (self)))
    return;
  making = g_new0 (Making, 1);
  making->data = tessera_data_ref (self->document->data);
  making->wish = self->wish;
  making->wish.text = g_strdup (self->wish.text);
  self->job = tessera_job_start (&making_kind, G_OBJECT (self), making);
}

gboolean
tessera_table_is_settled (TesseraTable *self)
{
  return self->job == NULL && tessera_row_list_is_settled (self->rows) &&
         self->scroll_tick == 0;
}

static void
on_sort (gpointer user, int column, gboolean down)
{
  TesseraTable *self = user;

  self->wish.column = (TesseraColumn) column;
  self->wish.down = down;
  make_list (self);
}

static GtkColumnViewColumn *
add_column (TesseraTable *self, TesseraColumn column)
{
  GtkColumnViewColumn *added =
      tessera_row_list_add_column (self->rows, columns[column].title, (int) column);

  self->kinds[column] = tessera_cell_kind_new (
      &(TesseraCellLook){ .css_class = columns[column].is_number ? "figure" : NULL,
                          .n_chars = columns[column].n_chars,
                          .most_lines = columns[column].is_number ? 1 : 2,
                          .is_number = columns[column].is_number,
                          .has_tip = TRUE });
  tessera_sorting_add (added, (int) column);
  gtk_column_view_column_set_resizable (added, TRUE);
  gtk_column_view_column_set_expand (added, columns[column].n_chars > 13 &&
                                                !columns[column].is_number);
  return added;
}

/* --- selection
 * --------------------------------------------------------------------------- */

/* Before the view has its size, it would show nothing but the one row. */
static gboolean
scroll_to_selected (GtkWidget *view, GdkFrameClock *clock, gpointer user)
{
  TesseraTable *self = user;
  guint position = self->list != NULL && self->document->selected != TESSERA_NONE
                       ? tessera_block_list_find (self->list, self->document->selected)
                       : GTK_INVALID_LIST_POSITION;

  if (position == GTK_INVALID_LIST_POSITION || !gtk_widget_get_mapped (view))
    {
      self->scroll_tick = 0;
      return G_SOURCE_REMOVE;
    }
  if (gtk_widget_get_height (view) < 40 || !tessera_row_list_is_settled (self->rows) ||
      !tessera_row_list_scroll_to (self->rows, position))
    return G_SOURCE_CONTINUE;
  self->scroll_tick = 0;
  return G_SOURCE_REMOVE;
}

static void
queue_scroll (TesseraTable *self)
{
  if (self->scroll_tick == 0 && self->list != NULL && self->list->n_blocks > 0)
    self->scroll_tick =
        gtk_widget_add_tick_callback (self->view, scroll_to_selected, self, NULL);
}

/* --- filter ----------------------------------------------------------------------------
 */

static uint64_t
entered_bytes (GtkWidget *entry, uint64_t otherwise)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (entry));
  uint64_t bytes = otherwise;

  if (*text != '\0' && !tessera_parse_bytes (text, &bytes))
    gtk_widget_add_css_class (entry, "error");
  else
    gtk_widget_remove_css_class (entry, "error");
  return bytes;
}

static void
on_filter (TesseraTable *self)
{
  g_free ((char *) self->wish.text);
  self->wish.text = g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->text)));
  self->wish.least_bytes = entered_bytes (self->least, 0);
  self->wish.most_bytes = entered_bytes (self->most, UINT64_MAX);
  make_list (self);
}

static gboolean
is_of_same_trace (TesseraTable *self)
{
  return self->list != NULL && self->document->data != NULL &&
         tessera_data_origin (self->list->data) ==
             tessera_data_origin (self->document->data);
}

/* What edits of groups change: of the same trace only classes and groups can be others.
 */
static void
fill (TesseraTable *self)
{
  if (!is_of_same_trace (self))
    {
      take_list (self, NULL);
      make_list (self);
      return;
    }
  tessera_row_list_show (self->rows, TESSERA_COLUMN_CLASS);
  tessera_row_list_show (self->rows, TESSERA_COLUMN_GROUP);
  if (self->list->data == self->document->data)
    return;
  tessera_data_unref (self->list->data);
  self->list->data = tessera_data_ref (self->document->data);
  if (tessera_block_wish_depends_on_groups (&self->wish))
    make_list (self);
}

static void
on_map (TesseraTable *self)
{
  if (self->document == NULL)
    return;
  if (self->list == NULL)
    make_list (self);
  queue_scroll (self);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraTable *self = user;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_GROUPS))
    fill (self);
  if (what & TESSERA_CHANGED_SELECTION)
    tessera_row_list_reselect (self->rows);
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SELECTION))
    queue_scroll (self);
}

static GtkWidget *
size_entry_new (TesseraTable *self, const char *placeholder, const char *name)
{
  GtkWidget *entry = gtk_entry_new ();

  gtk_entry_set_placeholder_text (GTK_ENTRY (entry), placeholder);
  gtk_editable_set_width_chars (GTK_EDITABLE (entry), 10);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (entry), 10);
  gtk_widget_set_tooltip_text (entry, "A size: 512, 20 MiB, 1.5 GiB");
  gtk_widget_set_name (entry, name);
  tessera_set_accessible_label (entry, placeholder);
  g_signal_connect_swapped (entry, "changed", G_CALLBACK (on_filter), self);
  return entry;
}

static GtkWidget *
filter_bar_new (TesseraTable *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  self->text = gtk_search_entry_new ();
  g_object_set (self->text, "placeholder-text", "Class, phase, group, function or file",
                "hexpand", TRUE, NULL);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (self->text), 44);
  gtk_widget_set_name (self->text, "filter-text");
  tessera_set_accessible_label (self->text, "Filter blocks by text");
  g_signal_connect_swapped (self->text, "search-changed", G_CALLBACK (on_filter), self);
  self->least = size_entry_new (self, "size from", "filter-least");
  self->most = size_entry_new (self, "size up to", "filter-most");
  self->count = tessera_label_new ("", "quiet");
  gtk_widget_set_name (self->count, "block-count");
  gtk_box_append (GTK_BOX (bar), self->text);
  gtk_box_append (GTK_BOX (bar), self->least);
  gtk_box_append (GTK_BOX (bar), self->most);
  gtk_box_append (GTK_BOX (bar), self->count);
  return bar;
}

static void
tessera_table_dispose (GObject *object)
{
  TesseraTable *self = TESSERA_TABLE (object);

  forget_job (self);
  if (self->rows != NULL)
    tessera_row_list_close (self->rows);
  g_clear_object (&self->rows);
  g_clear_pointer (&self->list, tessera_block_list_unref);
  g_clear_object (&self->document);
  for (int i = 0; i < TESSERA_N_COLUMNS; i++)
    g_clear_pointer (&self->kinds[i], tessera_cell_kind_unref);
  g_free ((char *) g_steal_pointer (&self->wish.text));
  G_OBJECT_CLASS (tessera_table_parent_class)->dispose (object);
}

static void
tessera_table_class_init (TesseraTableClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_table_dispose;
}

static void
tessera_table_init (TesseraTable *self)
{
  GtkWidget *scrolled = gtk_scrolled_window_new ();
  GtkColumnViewColumn *by_size = NULL;

  g_signal_connect (self, "map", G_CALLBACK (on_map), NULL);
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 6);
  self->wish.most_bytes = UINT64_MAX;
  self->view = gtk_column_view_new (NULL);
  self->rows = tessera_row_list_new (&row_kind, self, GTK_COLUMN_VIEW (self->view));
  gtk_widget_set_name (self->view, "block-table");
  gtk_widget_add_css_class (self->view, "data-table");
  tessera_set_accessible_label (self->view, "Blocks");
  for (int i = 0; i < TESSERA_N_COLUMNS; i++)
    {
      GtkColumnViewColumn *added = add_column (self, (TesseraColumn) i);

      if (i == TESSERA_COLUMN_SIZE)
        by_size = added;
    }
  tessera_sorting_watch (GTK_COLUMN_VIEW (self->view), on_sort, self);
  gtk_column_view_sort_by_column (GTK_COLUMN_VIEW (self->view), by_size,
                                  GTK_SORT_DESCENDING);
  g_signal_connect_swapped (self->view, "map", G_CALLBACK (queue_scroll), self);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), self->view);
  gtk_box_append (GTK_BOX (self), filter_bar_new (self));
  self->note = tessera_note_new (scrolled, "No block matches what the fields above say");
  gtk_box_append (GTK_BOX (self), tessera_still_new (self->note, 120, 60));
  gtk_widget_add_css_class (GTK_WIDGET (self), "table-panel");
}

GtkWidget *
tessera_table_new (TesseraDocument *document)
{
  TesseraTable *self = g_object_new (TESSERA_TYPE_TABLE, NULL);

  self->document = g_object_ref (document);
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
