/*
 * The rows of a column view, which stay while what they show changes. See row-list.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/rows/row-list-private.h"

#include "viewer/window/ui.h"

/* --- a list ----------------------------------------------------------------------- */

static GType
get_item_type (GListModel *model)
{
  return G_TYPE_OBJECT;
}

static guint
get_n_items (GListModel *model)
{
  return TESSERA_ROW_LIST (model)->n_shown;
}

static gpointer
get_item (GListModel *model, guint position)
{
  return position < TESSERA_ROW_LIST (model)->n_shown ? g_object_new (G_TYPE_OBJECT, NULL)
                                                      : NULL;
}

static void
init_list_model (GListModelInterface *interface)
{
  interface->get_item_type = get_item_type;
  interface->get_n_items = get_n_items;
  interface->get_item = get_item;
}

G_DEFINE_TYPE_WITH_CODE (TesseraRowList,
                         tessera_row_list,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, init_list_model)
                             G_IMPLEMENT_INTERFACE (GTK_TYPE_SELECTION_MODEL,
                                                    tessera_row_list_init_selection))

/* --- what it shows ---------------------------------------------------------------- */

static void
show_from (TesseraRowList *self, guint from, int column)
{
  GHashTableIter iter;
  gpointer item, of;

  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, &of))
    if ((column < 0 || column == GPOINTER_TO_INT (of)) &&
        gtk_list_item_get_position (item) >= from)
      g_hash_table_add (self->stale, item);
  if (tessera_row_list_may_work (self))
    tessera_row_list_write_stale (self, 0);
  tessera_row_list_queue_rest (self);
}

void
tessera_row_list_set_rows (TesseraRowList *self, guint n_rows, guint from)
{
  self->n_rows = n_rows;
  self->has_followed = FALSE;
  show_from (self, from, -1);
  /* What is seen is full: the rest is work for other frames. */
  if (self->n_shown < MIN (self->n_rows, self->sight_end) &&
      tessera_row_list_may_work (self))
    tessera_row_list_take_a_step (self);
  tessera_row_list_reselect (self);
  tessera_row_list_queue_rest (self);
}

void
tessera_row_list_show (TesseraRowList *self, int column)
{
  show_from (self, 0, column);
}

void
tessera_row_list_reselect (TesseraRowList *self)
{
  self->reselects = self->reselects_in_sight = TRUE;
  if (tessera_row_list_may_work (self))
    tessera_row_list_tell_selected (self, TESSERA_MOST_ROWS_TOLD, TESSERA_MOST_ROWS_TOLD);
  tessera_row_list_queue_rest (self);
}

/* Where it may work already. */
void
tessera_row_list_go_to (TesseraRowList *self, guint position)
{
  guint begin, end;

  if (tessera_row_list_find_sight (self, &begin, &end))
    {
      self->goes_up = position < begin;
      self->goes_down = position >= end;
    }
  self->goes_to = position;
  tessera_column_view_scroll_to (self->view, position);
  tessera_row_list_write_stale (self, 0);
  self->goes_to = GTK_INVALID_LIST_POSITION;
  self->goes_up = self->goes_down = FALSE;
}

gboolean
tessera_row_list_scroll_to (TesseraRowList *self, guint position)
{
  if (!tessera_row_list_may_work (self))
    return FALSE;
  if (self->view != NULL)
    tessera_row_list_go_to (self, position);
  return TRUE;
}

void
tessera_row_list_close (TesseraRowList *self)
{
  self->n_rows = 0;
}

guint
tessera_row_list_get_n_rows (TesseraRowList *self)
{
  return self->n_rows;
}

gboolean
tessera_row_list_is_settled (TesseraRowList *self)
{
  return !tessera_row_list_has_rest (self);
}

/* --- life ------------------------------------------------------------------------- */

static void
tessera_row_list_finalize (GObject *object)
{
  TesseraRowList *self = TESSERA_ROW_LIST (object);

  g_clear_weak_pointer (&self->view);
  tessera_row_list_forget_frames (self);
  g_hash_table_unref (self->bound);
  g_hash_table_unref (self->stale);
  G_OBJECT_CLASS (tessera_row_list_parent_class)->finalize (object);
}

static void
tessera_row_list_class_init (TesseraRowListClass *class)
{
  G_OBJECT_CLASS (class)->finalize = tessera_row_list_finalize;
}

static void
tessera_row_list_init (TesseraRowList *self)
{
  self->bound = g_hash_table_new (NULL, NULL);
  self->stale = g_hash_table_new (NULL, NULL);
  self->goes_to = GTK_INVALID_LIST_POSITION;
}

TesseraRowList *
tessera_row_list_new (const TesseraRowListKind *kind, gpointer user, GtkColumnView *view)
{
  TesseraRowList *self = g_object_new (TESSERA_TYPE_ROW_LIST, NULL);

  self->kind = kind;
  self->user = user;
  g_set_weak_pointer (&self->view, view);
  gtk_column_view_set_model (view, GTK_SELECTION_MODEL (self));
  g_signal_connect_object (view, "notify::vadjustment",
                           G_CALLBACK (tessera_row_list_watch_scrolling), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (view, "map", G_CALLBACK (tessera_row_list_come_into_sight),
                           self, G_CONNECT_SWAPPED);
  tessera_row_list_watch_scrolling (self);
  return self;
}
