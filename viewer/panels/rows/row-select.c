/*
 * What is selected in a row list: nobody keeps it, whoever made the list is asked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/rows/row-list-private.h"

static gboolean
is_selected (GtkSelectionModel *model, guint position)
{
  TesseraRowList *self = TESSERA_ROW_LIST (model);

  return position < self->n_rows && self->kind->is_selected (self->user, position);
}

static GtkBitset *
get_selection_in_range (GtkSelectionModel *model, guint position, guint n)
{
  GtkBitset *rows = gtk_bitset_new_empty ();

  for (guint i = position; i < position + n; i++)
    if (is_selected (model, i))
      gtk_bitset_add (rows, i);
  return rows;
}

static gboolean
choose (GtkSelectionModel *model, guint position, guint n, TesseraSelectHow how)
{
  TesseraRowList *self = TESSERA_ROW_LIST (model);

  if (position >= self->n_rows && n > 0)
    return FALSE;
  self->kind->choose (self->user, position,
                      MIN (n, self->n_rows - MIN (position, self->n_rows)), how);
  return TRUE;
}

static gboolean
select_range (GtkSelectionModel *model, guint position, guint n, gboolean unselect_rest)
{
  return choose (model, position, n,
                 unselect_rest ? TESSERA_SELECT_ONLY : TESSERA_SELECT_MORE);
}

static gboolean
select_item (GtkSelectionModel *model, guint position, gboolean unselect_rest)
{
  return select_range (model, position, 1, unselect_rest);
}

static gboolean
unselect_range (GtkSelectionModel *model, guint position, guint n)
{
  return choose (model, position, n, TESSERA_SELECT_LESS);
}

static gboolean
unselect_item (GtkSelectionModel *model, guint position)
{
  return unselect_range (model, position, 1);
}

static gboolean
select_all (GtkSelectionModel *model)
{
  return select_range (model, 0, TESSERA_ROW_LIST (model)->n_rows, TRUE);
}

static gboolean
unselect_all (GtkSelectionModel *model)
{
  return select_range (model, 0, 0, TRUE);
}

/* Rows of @mask become as @wanted says, run by run. */
static gboolean
set_selection (GtkSelectionModel *model, GtkBitset *wanted, GtkBitset *mask)
{
  GtkBitsetIter iter;
  guint position, first = 0, n = 0;
  gboolean is_wanted = FALSE;

  for (gboolean more = gtk_bitset_iter_init_first (&iter, mask, &position); more;
       more = gtk_bitset_iter_next (&iter, &position))
    {
      gboolean is_in = gtk_bitset_contains (wanted, position);

      if (n > 0 && position == first + n && is_in == is_wanted)
        {
          n++;
          continue;
        }
      if (n > 0)
        choose (model, first, n, is_wanted ? TESSERA_SELECT_MORE : TESSERA_SELECT_LESS);
      first = position;
      n = 1;
      is_wanted = is_in;
    }
  if (n > 0)
    choose (model, first, n, is_wanted ? TESSERA_SELECT_MORE : TESSERA_SELECT_LESS);
  return TRUE;
}

void
tessera_row_list_init_selection (GtkSelectionModelInterface *interface)
{
  interface->is_selected = is_selected;
  interface->get_selection_in_range = get_selection_in_range;
  interface->select_item = select_item;
  interface->unselect_item = unselect_item;
  interface->select_range = select_range;
  interface->unselect_range = unselect_range;
  interface->select_all = select_all;
  interface->unselect_all = unselect_all;
  interface->set_selection = set_selection;
}

/* GTK binds all cells of a row anew whose selection it is told of, and styles them. */
static guint
tell (TesseraRowList *self, GtkBitset *rows, guint most)
{
  guint n = MIN ((guint) gtk_bitset_get_size (rows), most);

  for (guint i = 0; i < n; i++)
    gtk_selection_model_selection_changed (GTK_SELECTION_MODEL (self),
                                           gtk_bitset_get_nth (rows, i), 1);
  return n;
}

void
tessera_row_list_tell_selected (TesseraRowList *self, guint most_in_sight, guint most)
{
  g_autoptr (GtkBitset) in_sight = gtk_bitset_new_empty ();
  g_autoptr (GtkBitset) others = gtk_bitset_new_empty ();
  g_autoptr (GtkBitset) looked_at = gtk_bitset_new_empty ();
  GHashTableIter iter;
  gpointer item;
  guint begin, end, n;

  tessera_row_list_find_sight (self, &begin, &end);
  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    {
      guint position = gtk_list_item_get_position (item);

      if (gtk_bitset_add (looked_at, position) &&
          is_selected (GTK_SELECTION_MODEL (self), position) !=
              gtk_list_item_get_selected (item))
        gtk_bitset_add (tessera_row_list_is_in_sight (self, item) ? in_sight : others,
                        position);
    }
  n = tell (self, in_sight, most_in_sight);
  self->reselects_in_sight = gtk_bitset_get_size (in_sight) > n;
  n += tell (self, others, MAX (most, n) - n);
  self->reselects = gtk_bitset_get_size (in_sight) + gtk_bitset_get_size (others) > n;
}
