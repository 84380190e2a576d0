/*
 * The rows of the table as a selection model that keeps nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/block-rows.h"

#include "viewer/document/select/document-select.h"

struct _TesseraBlockRows
{
  GObject parent_instance;

  TesseraDocument *document; /* owned, as is the list */
  TesseraBlockList *list;
  void (*changed) (gpointer user);
  gpointer user;
};

/* --- a list of the same rows ------------------------------------------------------ */

static GType
get_item_type (GListModel *model)
{
  return TESSERA_TYPE_BLOCK_ROW;
}

static guint
get_n_items (GListModel *model)
{
  return g_list_model_get_n_items (G_LIST_MODEL (TESSERA_BLOCK_ROWS (model)->list));
}

static gpointer
get_item (GListModel *model, guint position)
{
  return g_list_model_get_item (G_LIST_MODEL (TESSERA_BLOCK_ROWS (model)->list),
                                position);
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
  TesseraBlockRows *self = TESSERA_BLOCK_ROWS (model);

  return position < get_n_items (G_LIST_MODEL (self)) &&
         tessera_document_is_selected (self->document,
                                       tessera_block_list_get (self->list, position));
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

/* --- selecting -------------------------------------------------------------------- */

/* The last of them leads: that is where the person clicked. */
static gboolean
choose (TesseraBlockRows *self, guint position, guint n, TesseraSelectHow how)
{
  g_autofree uint32_t *blocks = NULL;
  guint n_rows = get_n_items (G_LIST_MODEL (self));

  if (position >= n_rows && n > 0)
    return FALSE;
  n = MIN (n, n_rows - MIN (position, n_rows));
  blocks = g_new (uint32_t, MAX (n, 1));
  for (guint i = 0; i < n; i++)
    blocks[i] = tessera_block_list_get (self->list, position + i);
  tessera_document_select_blocks (self->document, blocks, n, how,
                                  n > 0 ? blocks[n - 1] : TESSERA_NONE);
  self->changed (self->user);
  return TRUE;
}

static gboolean
select_range (GtkSelectionModel *model, guint position, guint n, gboolean unselect_rest)
{
  return choose (TESSERA_BLOCK_ROWS (model), position, n,
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
  return choose (TESSERA_BLOCK_ROWS (model), position, n, TESSERA_SELECT_LESS);
}

static gboolean
unselect_item (GtkSelectionModel *model, guint position)
{
  return unselect_range (model, position, 1);
}

static gboolean
select_all (GtkSelectionModel *model)
{
  return select_range (model, 0, get_n_items (G_LIST_MODEL (model)), TRUE);
}

static gboolean
unselect_all (GtkSelectionModel *model)
{
  return select_range (model, 0, 0, TRUE);
}

/* Rows of @mask become as @wanted says. */
static gboolean
set_selection (GtkSelectionModel *model, GtkBitset *wanted, GtkBitset *mask)
{
  TesseraBlockRows *self = TESSERA_BLOCK_ROWS (model);
  g_autofree uint32_t *in = g_new (uint32_t, gtk_bitset_get_size (mask) + 1);
  g_autofree uint32_t *out = g_new (uint32_t, gtk_bitset_get_size (mask) + 1);
  size_t n_in = 0, n_out = 0;
  GtkBitsetIter iter;
  guint position;

  for (gboolean more = gtk_bitset_iter_init_first (&iter, mask, &position); more;
       more = gtk_bitset_iter_next (&iter, &position))
    {
      uint32_t block;

      if (position >= get_n_items (G_LIST_MODEL (self)))
        break;
      block = tessera_block_list_get (self->list, position);
      if (gtk_bitset_contains (wanted, position))
        in[n_in++] = block;
      else
        out[n_out++] = block;
    }
  tessera_document_select_blocks (self->document, out, n_out, TESSERA_SELECT_LESS,
                                  TESSERA_NONE);
  tessera_document_select_blocks (self->document, in, n_in, TESSERA_SELECT_MORE,
                                  n_in > 0 ? in[n_in - 1] : TESSERA_NONE);
  self->changed (self->user);
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

G_DEFINE_TYPE_WITH_CODE (TesseraBlockRows,
                         tessera_block_rows,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, init_list_model)
                             G_IMPLEMENT_INTERFACE (GTK_TYPE_SELECTION_MODEL,
                                                    init_selection_model))

/* --- life ------------------------------------------------------------------------- */

static void
on_items_changed (
    GListModel *list, guint position, guint removed, guint added, TesseraBlockRows *self)
{
  g_list_model_items_changed (G_LIST_MODEL (self), position, removed, added);
}

static void
on_changed (TesseraDocument *document, guint what, TesseraBlockRows *self)
{
  guint n = get_n_items (G_LIST_MODEL (self));

  if ((what & TESSERA_CHANGED_SELECTION) && n > 0)
    gtk_selection_model_selection_changed (GTK_SELECTION_MODEL (self), 0, n);
}

static void
tessera_block_rows_dispose (GObject *object)
{
  TesseraBlockRows *self = TESSERA_BLOCK_ROWS (object);

  if (self->list != NULL)
    g_signal_handlers_disconnect_by_data (self->list, self);
  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  g_clear_object (&self->list);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (tessera_block_rows_parent_class)->dispose (object);
}

static void
tessera_block_rows_class_init (TesseraBlockRowsClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_block_rows_dispose;
}

static void
tessera_block_rows_init (TesseraBlockRows *self)
{
}

TesseraBlockRows *
tessera_block_rows_new (TesseraDocument *document,
                        TesseraBlockList *list,
                        void (*changed) (gpointer user),
                        gpointer user)
{
  TesseraBlockRows *self = g_object_new (TESSERA_TYPE_BLOCK_ROWS, NULL);

  self->document = g_object_ref (document);
  self->list = g_object_ref (list);
  self->changed = changed;
  self->user = user;
  g_signal_connect (list, "items-changed", G_CALLBACK (on_items_changed), self);
  g_signal_connect (document, "changed", G_CALLBACK (on_changed), self);
  return self;
}
