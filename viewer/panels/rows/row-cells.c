/*
 * The cells of a row list: which rows have widgets, which of these are seen, and what is
 * still to be written into them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/rows/row-list-private.h"

/* No row is lower, in pixels. */
#define LEAST_ROW_HEIGHT 20
/* The scroll bar lies over what is at the edge. No rule of style says so: one that asks
 * whether a cell is the last lets GTK look at all styles in rows more often. */
#define EDGE 6

static void
show (TesseraRowList *self, GtkListItem *item, int column)
{
  guint position = gtk_list_item_get_position (item);

  self->kind->show (self->user, gtk_list_item_get_child (item),
                    position < self->n_rows ? position : GTK_INVALID_LIST_POSITION,
                    column);
}

static int
column_of (GtkSignalListItemFactory *factory)
{
  return GPOINTER_TO_INT (g_object_get_data (G_OBJECT (factory), "column"));
}

static void
on_setup (GtkSignalListItemFactory *factory, GtkListItem *item, TesseraRowList *self)
{
  guint n_columns = g_list_model_get_n_items (gtk_column_view_get_columns (self->view));
  GtkWidget *cell = self->kind->make (self->user, column_of (factory));

  if (column_of (factory) + 1 == (int) n_columns)
    gtk_widget_set_margin_end (cell, EDGE);
  gtk_list_item_set_child (item, cell);
}

/* A row that was out of sight comes to the edge: those beyond it stay out. */
static gboolean
is_near (TesseraRowList *self, guint position)
{
  guint page = (guint) gtk_widget_get_height (GTK_WIDGET (self->view)) / LEAST_ROW_HEIGHT;
  guint before = self->goes_up ? 1 : page, after = self->goes_down ? 1 : page;

  return position + before >= self->goes_to && position <= self->goes_to + after;
}

/* Where the view goes far, GTK binds its 200 rows, of which few will be in sight. */
static void
on_bind (GtkSignalListItemFactory *factory, GtkListItem *item, TesseraRowList *self)
{
  g_hash_table_insert (self->bound, item, GINT_TO_POINTER (column_of (factory)));
  if (self->fresh != NULL && column_of (factory) == 0)
    g_ptr_array_add (self->fresh, item);
  if (self->goes_to == GTK_INVALID_LIST_POSITION ||
      is_near (self, gtk_list_item_get_position (item)))
    show (self, item, column_of (factory));
  else
    {
      g_hash_table_add (self->stale, item);
      tessera_row_list_queue_rest (self);
    }
}

static void
on_unbind (GtkSignalListItemFactory *factory, GtkListItem *item, TesseraRowList *self)
{
  g_hash_table_remove (self->bound, item);
  g_hash_table_remove (self->stale, item);
  if (self->fresh != NULL)
    g_ptr_array_remove_fast (self->fresh, item);
}

/* NULL: none. */
static GtkWidget *
row_of (GtkListItem *item)
{
  GtkWidget *row = gtk_list_item_get_child (item);

  while (row != NULL && !g_str_equal (gtk_widget_get_css_name (row), "row"))
    row = gtk_widget_get_parent (row);
  return row;
}

static void
set_visible (GPtrArray *rows, gboolean visible)
{
  for (guint i = 0; i < rows->len; i++)
    gtk_widget_set_visible (rows->pdata[i], visible);
}

/* GTK takes what is new of a row's parents for new of all rows behind it, and makes the
 * styles of these anew (7 ms for 200 rows of eight labels, 11 of five cells), unless the
 * row is hidden while it looks. A context for texts has to know the style. */
void
tessera_row_list_style (GPtrArray *items)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new ();

  for (guint i = 0; i < items->len; i++)
    {
      GtkWidget *row = row_of (items->pdata[i]);

      if (row != NULL && gtk_widget_get_next_sibling (row) != NULL &&
          gtk_widget_get_focus_child (row) == NULL && !gtk_widget_has_focus (row))
        g_ptr_array_add (rows, row);
    }
  set_visible (rows, FALSE);
  for (guint i = 0; i < rows->len; i++)
    g_object_unref (gtk_widget_create_pango_context (rows->pdata[i]));
  set_visible (rows, TRUE);
}

GtkColumnViewColumn *
tessera_row_list_add_column (TesseraRowList *self, const char *title, int column)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  GtkColumnViewColumn *added = gtk_column_view_column_new (title, factory);

  g_object_set_data (G_OBJECT (factory), "column", GINT_TO_POINTER (column));
  g_signal_connect_object (factory, "setup", G_CALLBACK (on_setup), self, 0);
  g_signal_connect_object (factory, "bind", G_CALLBACK (on_bind), self, 0);
  g_signal_connect_object (factory, "unbind", G_CALLBACK (on_unbind), self, 0);
  gtk_column_view_append_column (self->view, added);
  g_object_unref (added); /* the view's */
  return added;
}

/* --- which have widgets, which are seen ----------------------------------------------
 */

/* One above the last row that has widgets. */
guint
tessera_row_list_end_of_bound (TesseraRowList *self)
{
  GHashTableIter iter;
  gpointer item;
  guint end = 0;

  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    end = MAX (end, gtk_list_item_get_position (item) + 1);
  return end;
}

/* Since the last frame, in pixels, downwards. */
static double
scrolled_by (TesseraRowList *self)
{
  return self->has_scrolled && self->adjustment != NULL
             ? gtk_adjustment_get_value (self->adjustment) - self->seen_value
             : 0;
}

/* GTK maps the rows that are seen, and no others. */
static void
find_mapped (TesseraRowList *self, guint *out_begin, guint *out_end)
{
  GHashTableIter iter;
  gpointer item;

  *out_begin = G_MAXUINT;
  *out_end = 0;
  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    {
      GtkWidget *cell = gtk_list_item_get_child (item);
      guint position = gtk_list_item_get_position (item);

      if (cell == NULL || !gtk_widget_get_mapped (cell))
        continue;
      *out_begin = MIN (*out_begin, position);
      *out_end = MAX (*out_end, position + 1);
    }
}

void
tessera_row_list_note_seen (TesseraRowList *self)
{
  self->has_scrolled = FALSE;
  find_mapped (self, &self->seen_begin, &self->seen_end);
  if (self->adjustment != NULL)
    self->seen_value = gtk_adjustment_get_value (self->adjustment);
}

/* Who has just scrolled may see as many more as fit into that; GTK has taken widgets of
 * rows that were seen for others. */
gboolean
tessera_row_list_find_sight (TesseraRowList *self, guint *out_begin, guint *out_end)
{
  double by = scrolled_by (self);
  guint margin, before, after;

  if (self->has_scrolled)
    *out_begin = self->seen_begin, *out_end = self->seen_end;
  else
    find_mapped (self, out_begin, out_end);
  margin = *out_end > *out_begin ? (*out_end - *out_begin) / 2 + 2 : 0;
  before = margin + (by < 0 ? (guint) (-by / LEAST_ROW_HEIGHT) : 0);
  after = margin + (by > 0 ? (guint) (by / LEAST_ROW_HEIGHT) : 0);
  self->sight_begin = *out_begin < before ? 0 : *out_begin - before;
  self->sight_end = *out_end + after;
  /* Not laid out yet: any may be. */
  if (*out_end == 0)
    self->sight_begin = 0, self->sight_end = G_MAXUINT;
  return *out_end > 0;
}

gboolean
tessera_row_list_is_in_sight (TesseraRowList *self, GtkListItem *item)
{
  guint position = gtk_list_item_get_position (item);

  return position >= self->sight_begin && position < self->sight_end;
}

void
tessera_row_list_write_stale (TesseraRowList *self, guint most)
{
  GHashTableIter iter;
  gpointer item;
  guint begin, end;

  tessera_row_list_find_sight (self, &begin, &end);
  g_hash_table_iter_init (&iter, self->stale);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    {
      gboolean at_once = tessera_row_list_is_in_sight (self, item) ||
                         (self->goes_to != GTK_INVALID_LIST_POSITION &&
                          is_near (self, gtk_list_item_get_position (item)));

      if (!at_once && most == 0)
        continue;
      most -= !at_once;
      g_hash_table_iter_remove (&iter);
      show (self, item, GPOINTER_TO_INT (g_hash_table_lookup (self->bound, item)));
    }
}
