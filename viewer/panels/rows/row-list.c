/*
 * The rows of a column view, which stay while what they show changes. See row-list.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/rows/row-list.h"

/* Making a row of eight cells takes 0.2 to 0.3 ms, destroying it half of that. */
#define MOST_MADE 16
#define MOST_DESTROYED 40

struct _TesseraRowList
{
  GObject parent_instance;

  const TesseraRowListKind *kind;
  gpointer user;
  GtkColumnView *view; /* NULL: it has gone */
  guint n_rows;        /* that there are */
  guint n_shown;       /* that the view knows of */
  guint tick;          /* 0: the view knows of all */
  GHashTable *bound;   /* GtkListItem to its column */
};

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

/* --- what is selected ------------------------------------------------------------- */

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

static void
init_selection_model (GtkSelectionModelInterface *interface)
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

G_DEFINE_TYPE_WITH_CODE (TesseraRowList,
                         tessera_row_list,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, init_list_model)
                             G_IMPLEMENT_INTERFACE (GTK_TYPE_SELECTION_MODEL,
                                                    init_selection_model))

/* --- cells ------------------------------------------------------------------------ */

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
  gtk_list_item_set_child (item, self->kind->make (self->user, column_of (factory)));
}

static void
on_bind (GtkSignalListItemFactory *factory, GtkListItem *item, TesseraRowList *self)
{
  g_hash_table_insert (self->bound, item, GINT_TO_POINTER (column_of (factory)));
  show (self, item, column_of (factory));
}

static void
on_unbind (GtkSignalListItemFactory *factory, GtkListItem *item, TesseraRowList *self)
{
  g_hash_table_remove (self->bound, item);
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

/* --- rows ------------------------------------------------------------------------- */

/* One above the last row that has widgets. */
static guint
end_of_bound (TesseraRowList *self)
{
  GHashTableIter iter;
  gpointer item;
  guint end = 0;

  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    end = MAX (end, gtk_list_item_get_position (item) + 1);
  return end;
}

static void
change (TesseraRowList *self, guint position, guint n_removed, guint n_added)
{
  self->n_shown = self->n_shown - n_removed + n_added;
  g_list_model_items_changed (G_LIST_MODEL (self), position, n_removed, n_added);
}

/* Rows without widgets cost nothing. */
static void
take_a_step (TesseraRowList *self)
{
  guint end = end_of_bound (self);

  if (self->n_shown < self->n_rows)
    {
      guint n = self->n_rows - self->n_shown;

      if (end >= self->n_shown)
        n = MIN (n, MOST_MADE);
      change (self, self->n_shown, 0, n);
      return;
    }
  end = MAX (end, self->n_rows);
  if (end < self->n_shown)
    change (self, end, self->n_shown - end, 0);
  else if (self->n_shown > self->n_rows)
    {
      guint n = MIN (self->n_shown - self->n_rows, MOST_DESTROYED);

      change (self, self->n_shown - n, n, 0);
    }
}

static gboolean
on_tick (GtkWidget *view, GdkFrameClock *clock, gpointer user)
{
  TesseraRowList *self = user;

  take_a_step (self);
  if (self->n_shown != self->n_rows)
    return G_SOURCE_CONTINUE;
  self->tick = 0;
  return G_SOURCE_REMOVE;
}

static void
show_from (TesseraRowList *self, guint from, int column)
{
  GHashTableIter iter;
  gpointer item, of;

  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, &of))
    if ((column < 0 || column == GPOINTER_TO_INT (of)) &&
        gtk_list_item_get_position (item) >= from)
      show (self, item, GPOINTER_TO_INT (of));
}

void
tessera_row_list_set_rows (TesseraRowList *self, guint n_rows, guint from)
{
  self->n_rows = n_rows;
  show_from (self, from, -1);
  take_a_step (self);
  if (self->n_shown != self->n_rows && self->tick == 0 && self->view != NULL)
    self->tick =
        gtk_widget_add_tick_callback (GTK_WIDGET (self->view), on_tick, self, NULL);
  tessera_row_list_reselect (self);
}

void
tessera_row_list_show (TesseraRowList *self, int column)
{
  show_from (self, 0, column);
}

/* GTK binds all cells of a row anew whose selection it is told of. */
void
tessera_row_list_reselect (TesseraRowList *self)
{
  g_autoptr (GtkBitset) others = gtk_bitset_new_empty ();
  GHashTableIter iter;
  GtkBitsetIter each;
  gpointer item;
  guint position;

  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    {
      position = gtk_list_item_get_position (item);
      if (is_selected (GTK_SELECTION_MODEL (self), position) !=
          gtk_list_item_get_selected (item))
        gtk_bitset_add (others, position);
    }
  for (gboolean more = gtk_bitset_iter_init_first (&each, others, &position); more;
       more = gtk_bitset_iter_next (&each, &position))
    gtk_selection_model_selection_changed (GTK_SELECTION_MODEL (self), position, 1);
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
  return self->n_shown == self->n_rows;
}

/* --- life ------------------------------------------------------------------------- */

static void
tessera_row_list_finalize (GObject *object)
{
  TesseraRowList *self = TESSERA_ROW_LIST (object);

  g_clear_weak_pointer (&self->view);
  g_hash_table_unref (self->bound);
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
}

TesseraRowList *
tessera_row_list_new (const TesseraRowListKind *kind, gpointer user, GtkColumnView *view)
{
  TesseraRowList *self = g_object_new (TESSERA_TYPE_ROW_LIST, NULL);

  self->kind = kind;
  self->user = user;
  g_set_weak_pointer (&self->view, view);
  gtk_column_view_set_model (view, GTK_SELECTION_MODEL (self));
  return self;
}
