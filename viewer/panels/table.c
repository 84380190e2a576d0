/*
 * All blocks in a table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/table.h"

#include "viewer/document/describe.h"
#include "viewer/document/document-view.h"
#include "viewer/panels/block-rows.h"
#include "viewer/panels/sorting.h"
#include "viewer/window/ui.h"

#include <string.h>

struct _TesseraTable
{
  GtkBox parent_instance;

  TesseraDocument *document;
  TesseraBlockList *list;
  GtkWidget *view;
  GtkWidget *text;
  GtkWidget *least;
  GtkWidget *most;
  GtkWidget *count;
  GHashTable *bound; /* set of the list items of classes and groups that are seen */
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
  [TESSERA_COLUMN_CLASS] = { "Class", 9, FALSE },
  [TESSERA_COLUMN_PHASES] = { "Phases", 14, FALSE },
  [TESSERA_COLUMN_SOURCE] = { "Source", 20, FALSE },
  [TESSERA_COLUMN_GROUP] = { "Group", 20, FALSE },
  [TESSERA_COLUMN_ADDRESS] = { "Address", 13, TRUE },
};

TesseraBlockList *
tessera_table_get_list (TesseraTable *self)
{
  return self->list;
}

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
      return g_strdup_printf ("0x%" G_GINT64_MODIFIER "x",
                              data->blocks->blocks[block].addr);
    case TESSERA_COLUMN_GROUP:
      return tessera_describe_group (data, block);
    case TESSERA_COLUMN_SOURCE:
      return tessera_describe_source (data, block);
    default:
      return tessera_describe_count (block);
    }
}

static void
on_setup (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer user)
{
  TesseraColumn column = GPOINTER_TO_INT (user);
  GtkWidget *label = columns[column].is_number ? tessera_label_new ("", "figure")
                                               : tessera_name_new ("cell", NULL, 2);

  gtk_label_set_xalign (GTK_LABEL (label), columns[column].is_number ? 1 : 0);
  gtk_label_set_width_chars (GTK_LABEL (label), columns[column].n_chars);
  gtk_list_item_set_child (item, label);
}

static void
show_cell (TesseraTable *self, GtkListItem *item, TesseraColumn column)
{
  TesseraBlockRow *row = gtk_list_item_get_item (item);
  GtkWidget *label = gtk_list_item_get_child (item);
  g_autofree char *text = cell_text (self, column, tessera_block_row_get_block (row));

  if (columns[column].is_number)
    gtk_label_set_text (GTK_LABEL (label), text);
  else
    tessera_name_set (label, text);
  tessera_cell_set_tip (label, text);
}

/* What edits of groups change: the cells that are seen are written anew then. */
static gboolean
is_of_groups (TesseraColumn column)
{
  return column == TESSERA_COLUMN_CLASS || column == TESSERA_COLUMN_GROUP;
}

static void
on_bind (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer user)
{
  TesseraTable *self = g_object_get_data (G_OBJECT (factory), "table");
  TesseraColumn column = GPOINTER_TO_INT (user);

  if (self->document->data == NULL)
    return;
  show_cell (self, item, column);
  if (is_of_groups (column))
    g_hash_table_insert (self->bound, item, user);
}

static void
on_unbind (GtkSignalListItemFactory *factory, GtkListItem *item, GHashTable *bound)
{
  g_hash_table_remove (bound, item);
}

static void
show_groups (TesseraTable *self)
{
  GHashTableIter iter;
  gpointer item, column;

  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, &column))
    show_cell (self, item, GPOINTER_TO_INT (column));
}

static void queue_scroll (TesseraTable *self);

static void
on_sort (gpointer user, int column, gboolean down)
{
  TesseraTable *self = user;

  tessera_block_list_sort (self->list, (TesseraColumn) column, down);
  queue_scroll (self);
}

static GtkColumnViewColumn *
add_column (TesseraTable *self, TesseraColumn column)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  GtkColumnViewColumn *added =
      gtk_column_view_column_new (columns[column].title, factory);

  g_object_set_data (G_OBJECT (factory), "table", self);
  g_signal_connect (factory, "setup", G_CALLBACK (on_setup), GINT_TO_POINTER (column));
  g_signal_connect (factory, "bind", G_CALLBACK (on_bind), GINT_TO_POINTER (column));
  if (is_of_groups (column))
    g_signal_connect_data (factory, "unbind", G_CALLBACK (on_unbind),
                           g_hash_table_ref (self->bound),
                           (GClosureNotify) (void (*) (void)) g_hash_table_unref, 0);
  tessera_sorting_add (added, (int) column);
  gtk_column_view_column_set_resizable (added, TRUE);
  gtk_column_view_column_set_expand (added, !columns[column].is_number);
  gtk_column_view_append_column (GTK_COLUMN_VIEW (self->view), added);
  g_object_unref (added); /* the view's */
  return added;
}

/* --- selection
 * --------------------------------------------------------------------------- */

/* Before the view has its size, it would show nothing but the one row. */
static gboolean
scroll_to_selected (GtkWidget *view, GdkFrameClock *clock, gpointer user)
{
  TesseraTable *self = user;
  guint position = tessera_block_list_find (self->list, self->document->selected);

  if (position == GTK_INVALID_LIST_POSITION || !gtk_widget_get_mapped (view))
    {
      self->scroll_tick = 0;
      return G_SOURCE_REMOVE;
    }
  if (gtk_widget_get_height (view) < 40)
    return G_SOURCE_CONTINUE;
  self->scroll_tick = 0;
  tessera_column_view_scroll_to (GTK_COLUMN_VIEW (view), position);
  return G_SOURCE_REMOVE;
}

static void
queue_scroll (TesseraTable *self)
{
  if (self->scroll_tick == 0 && g_list_model_get_n_items (G_LIST_MODEL (self->list)) > 0)
    self->scroll_tick =
        gtk_widget_add_tick_callback (self->view, scroll_to_selected, self, NULL);
}

/* Rows were selected by hand. */
static void
show_lead (gpointer user)
{
  TesseraTable *self = user;

  if (self->document->selected != TESSERA_NONE)
    tessera_document_reveal (self->document, self->document->selected);
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
show_count (TesseraTable *self)
{
  guint n = g_list_model_get_n_items (G_LIST_MODEL (self->list));
  size_t n_all =
      self->document->data != NULL ? self->document->data->blocks->n_blocks : 0;
  g_autofree char *shown = tessera_describe_count (n);
  g_autofree char *all = tessera_describe_counted (n_all, "block");
  g_autofree char *text =
      n == n_all ? g_strdup (all) : g_strdup_printf ("%s of %s", shown, all);

  gtk_label_set_text (GTK_LABEL (self->count), text);
}

static void
on_filter (TesseraTable *self)
{
  tessera_block_list_filter (
      self->list, gtk_editable_get_text (GTK_EDITABLE (self->text)),
      entered_bytes (self->least, 0), entered_bytes (self->most, UINT64_MAX));
  show_count (self);
  queue_scroll (self);
}

/* Sorting a million rows takes a second: only for somebody who looks at them. */
static void
fill (TesseraTable *self)
{
  bool is_seen = gtk_widget_get_mapped (GTK_WIDGET (self));

  tessera_block_list_set_data (self->list, is_seen ? self->document->data : NULL);
  show_count (self);
}

static void
on_map (TesseraTable *self)
{
  if (self->document == NULL)
    return;
  fill (self);
  queue_scroll (self);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraTable *self = user;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_GROUPS))
    fill (self);
  if ((what & TESSERA_CHANGED_GROUPS) && document->data != NULL)
    show_groups (self);
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
  self->least = size_entry_new (self, "at least", "filter-least");
  self->most = size_entry_new (self, "at most", "filter-most");
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

  g_clear_object (&self->list);
  g_clear_object (&self->document);
  g_clear_pointer (&self->bound, g_hash_table_unref);
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
  self->list = tessera_block_list_new ();
  self->bound = g_hash_table_new (NULL, NULL);
  self->view = gtk_column_view_new (NULL);
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
  gtk_widget_set_vexpand (scrolled, TRUE);
  gtk_box_append (GTK_BOX (self), filter_bar_new (self));
  gtk_box_append (GTK_BOX (self), scrolled);
  gtk_widget_add_css_class (GTK_WIDGET (self), "table-panel");
}

GtkWidget *
tessera_table_new (TesseraDocument *document)
{
  TesseraTable *self = g_object_new (TESSERA_TYPE_TABLE, NULL);
  g_autoptr (TesseraBlockRows) rows = NULL;

  self->document = g_object_ref (document);
  rows = tessera_block_rows_new (document, self->list, show_lead, self);
  gtk_column_view_set_model (GTK_COLUMN_VIEW (self->view), GTK_SELECTION_MODEL (rows));
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
