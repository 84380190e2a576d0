/*
 * What a column view shows, row by row.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/panels.h"
#include "viewer/panels/private.h"

/* A view that is lower, in pixels, has not got its size yet. */
#define LEAST_HEIGHT 40
/* The scroll bar lies over what is at the edge, in pixels. */
#define EDGE 6

struct _TesseraRowModel
{
  GObject parent_instance;

  const TesseraRowModelKind *kind; /* NULL: it is closed */
  TesseraListPanel *user;
  GtkColumnView *view; /* NULL: it has gone */
  guint n_rows;
  guint scroll_tick; /* 0: the view is where it should be */
  guint scroll_to;
};

/* --- items ------------------------------------------------------------------------ */

static GType
get_item_type (GListModel *model)
{
  return G_TYPE_OBJECT;
}

static guint
get_n_items (GListModel *model)
{
  return TESSERA_ROW_MODEL (model)->n_rows;
}

static gpointer
get_item (GListModel *model, guint position)
{
  return position < get_n_items (model) ? g_object_new (G_TYPE_OBJECT, NULL) : NULL;
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
  TesseraRowModel *self = TESSERA_ROW_MODEL (model);

  return self->kind != NULL && position < self->n_rows &&
         self->kind->is_selected (self->user, position);
}

/* A person did so. */
static void
choose (TesseraListPanel *panel,
        const TesseraRowModelKind *kind,
        const GtkBitset *rows,
        TesseraSelectHow how)
{
  TesseraDocument *document = panel->panel.document;
  size_t n_all = document->data->blocks->n_blocks;
  uint8_t *is_in = g_malloc0 (MAX (n_all, 1));
  TesseraSelection *found;
  uint32_t lead = TESSERA_NONE, block;
  GtkBitsetIter iter;
  guint position;

  for (gboolean more = gtk_bitset_iter_init_first (&iter, rows, &position); more;
       more = gtk_bitset_iter_next (&iter, &position))
    if ((block = kind->mark (panel, position, is_in)) != TESSERA_NONE)
      lead = block;
  found = tessera_selection_new (n_all, is_in);
  panel->is_choosing = TRUE;
  tessera_document_set_selection (
      document, tessera_selection_join (document->selection, found, how), lead);
  panel->is_choosing = FALSE;
  tessera_selection_unref (found);
  if (kind->reveals && document->selected != TESSERA_NONE)
    tessera_document_reveal (document, document->selected);
}

/* Of the rows of @mask those in @wanted are to be selected, and no others of them. All
 * that GTK does by itself comes here. */
static gboolean
set_selection (GtkSelectionModel *model, GtkBitset *wanted, GtkBitset *mask)
{
  TesseraRowModel *self = TESSERA_ROW_MODEL (model);
  g_autoptr (GtkBitset) more = gtk_bitset_copy (wanted);
  g_autoptr (GtkBitset) less = gtk_bitset_copy (mask);
  gboolean is_all = gtk_bitset_get_size (mask) >= self->n_rows;

  if (self->kind == NULL || gtk_bitset_is_empty (mask) ||
      gtk_bitset_get_maximum (mask) >= self->n_rows)
    return FALSE;
  gtk_bitset_intersect (more, mask);
  gtk_bitset_subtract (less, wanted);
  if (is_all || !gtk_bitset_is_empty (more))
    choose (self->user, self->kind, more,
            is_all ? TESSERA_SELECT_ONLY : TESSERA_SELECT_MORE);
  if (!is_all && !gtk_bitset_is_empty (less))
    choose (self->user, self->kind, less, TESSERA_SELECT_LESS);
  return TRUE;
}

static void
init_selection (GtkSelectionModelInterface *interface)
{
  interface->is_selected = is_selected;
  interface->set_selection = set_selection;
}

G_DEFINE_TYPE_WITH_CODE (TesseraRowModel,
                         tessera_row_model,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, init_list_model)
                             G_IMPLEMENT_INTERFACE (GTK_TYPE_SELECTION_MODEL,
                                                    init_selection))

/* --- what became other ------------------------------------------------------------ */

/* GTK binds the rows anew that have changed. */
void
tessera_row_model_refresh (TesseraRowModel *self)
{
  if (self->n_rows > 0)
    gtk_selection_model_selection_changed (GTK_SELECTION_MODEL (self), 0, self->n_rows);
}

/* Rows that were there and are stay, with their widgets: they are written anew, which
 * takes a tenth of making them. */
void
tessera_row_model_set_length (TesseraRowModel *self, guint n_rows, gboolean is_known)
{
  guint n_before = self->n_rows, n_same = MIN (n_before, n_rows);

  tessera_note_show (self->user->note, is_known && n_rows == 0);
  self->n_rows = n_rows;
  if (n_before != n_rows)
    g_list_model_items_changed (G_LIST_MODEL (self), n_same, n_before - n_same,
                                n_rows - n_same);
  if (n_same > 0)
    gtk_selection_model_selection_changed (GTK_SELECTION_MODEL (self), 0, n_same);
}

/* --- columns ---------------------------------------------------------------------- */

static int
column_of (gpointer object)
{
  return GPOINTER_TO_INT (g_object_get_data (object, "column"));
}

static void
on_setup (GtkSignalListItemFactory *factory, GtkListItem *item, TesseraRowModel *self)
{
  guint n_columns = g_list_model_get_n_items (gtk_column_view_get_columns (self->view));
  const TesseraRowModelKind *kind = self->kind;
  int column = column_of (factory);
  GtkWidget *cell;

  if (kind == NULL)
    return;
  cell = column == 0 && kind->make != NULL
             ? kind->make (self->user)
             : tessera_cell_new (kind->columns[column].n_chars,
                                 kind->columns[column].is_number);
  if (column + 1 == (int) n_columns)
    gtk_widget_set_margin_end (cell, EDGE);
  gtk_list_item_set_child (item, cell);
}

static void
on_bind (GtkSignalListItemFactory *factory, GtkListItem *item, TesseraRowModel *self)
{
  guint position = gtk_list_item_get_position (item);
  GtkWidget *cell = gtk_list_item_get_child (item);
  g_autofree char *text = NULL;

  if (self->kind == NULL)
    return;
  if (column_of (factory) == 0 && self->kind->show != NULL)
    {
      self->kind->show (self->user, cell, position);
      return;
    }
  text = self->kind->text (self->user, position, column_of (factory));
  gtk_inscription_set_text (GTK_INSCRIPTION (cell), text);
}

/* GTK's own sorting would make an object of every row. So each column has a sorter that
 * only tells which column it is: to compare two objects by the view's sorter reveals the
 * column and the direction that the person chose. All of this is the main thread's. */
static int probed_column;

static int
probe (gconstpointer a, gconstpointer b, gpointer column)
{
  probed_column = GPOINTER_TO_INT (column);
  return -1;
}

static void
on_sort (TesseraRowModel *self, GtkSorterChange change, GtkSorter *sorter)
{
  g_autoptr (GObject) a = g_object_new (G_TYPE_OBJECT, NULL);
  g_autoptr (GObject) b = g_object_new (G_TYPE_OBJECT, NULL);
  GtkOrdering ordering;

  probed_column = -1;
  ordering = gtk_sorter_compare (sorter, a, b);
  if (probed_column >= 0 && self->kind != NULL)
    self->kind->sort (self->user, probed_column, ordering == GTK_ORDERING_LARGER);
}

static void
on_activate (GtkColumnView *view, guint position, TesseraRowModel *self)
{
  if (self->kind != NULL && self->kind->activate != NULL)
    self->kind->activate (self->user, position);
}

static void
add_column (TesseraRowModel *self, int column)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  g_autoptr (GtkColumnViewColumn) added =
      gtk_column_view_column_new (self->kind->columns[column].title, factory);
  g_autoptr (GtkCustomSorter) sorter =
      gtk_custom_sorter_new (probe, GINT_TO_POINTER (column), NULL);

  g_object_set_data (G_OBJECT (factory), "column", GINT_TO_POINTER (column));
  g_signal_connect_object (factory, "setup", G_CALLBACK (on_setup), self, 0);
  g_signal_connect_object (factory, "bind", G_CALLBACK (on_bind), self, 0);
  if (self->kind->sort != NULL)
    gtk_column_view_column_set_sorter (added, GTK_SORTER (sorter));
  gtk_column_view_column_set_resizable (added, TRUE);
  gtk_column_view_column_set_expand (added, self->kind->columns[column].is_wide);
  gtk_column_view_append_column (self->view, added);
  if (self->kind->sort != NULL && column == self->kind->first)
    gtk_column_view_sort_by_column (self->view, added, GTK_SORT_DESCENDING);
}

/* --- scrolling -------------------------------------------------------------------- */

/* "list.scroll-to-item" belongs to the list inside the column view. */
static void
scroll_view_to (GtkColumnView *view, guint position)
{
  GtkWidget *child = gtk_widget_get_first_child (GTK_WIDGET (view));

  for (; child != NULL; child = gtk_widget_get_next_sibling (child))
    if (gtk_widget_activate_action (child, "list.scroll-to-item", "u", position))
      return;
}

static gboolean
on_tick (GtkWidget *view, GdkFrameClock *clock, gpointer user)
{
  TesseraRowModel *self = user;

  if (gtk_widget_get_mapped (view) && gtk_widget_get_height (view) < LEAST_HEIGHT)
    return G_SOURCE_CONTINUE;
  self->scroll_tick = 0;
  if (gtk_widget_get_mapped (view) && self->scroll_to < self->n_rows)
    scroll_view_to (self->view, self->scroll_to);
  return G_SOURCE_REMOVE;
}

/* A view that has no size yet would show nothing but the one row. */
void
tessera_row_model_scroll_to (TesseraRowModel *self, guint position)
{
  self->scroll_to = position;
  if (position != GTK_INVALID_LIST_POSITION && self->scroll_tick == 0 &&
      self->view != NULL)
    self->scroll_tick =
        gtk_widget_add_tick_callback (GTK_WIDGET (self->view), on_tick, self, NULL);
}

gboolean
tessera_list_is_settled (GtkWidget *box)
{
  return !gtk_widget_get_mapped (box) ||
         ((TesseraListPanel *) tessera_panel_of (box))->rows->scroll_tick == 0;
}

/* --- life ------------------------------------------------------------------------- */

/* Asks nobody any more: whoever made it goes. */
static void
close_rows (TesseraRowModel *self)
{
  if (self->scroll_tick != 0 && self->view != NULL)
    gtk_widget_remove_tick_callback (GTK_WIDGET (self->view), self->scroll_tick);
  self->scroll_tick = 0;
  self->kind = NULL;
}

static void
tessera_row_model_finalize (GObject *object)
{
  TesseraRowModel *self = TESSERA_ROW_MODEL (object);

  g_clear_weak_pointer (&self->view);
  G_OBJECT_CLASS (tessera_row_model_parent_class)->finalize (object);
}

static void
tessera_row_model_class_init (TesseraRowModelClass *class)
{
  G_OBJECT_CLASS (class)->finalize = tessera_row_model_finalize;
}

static void
tessera_row_model_init (TesseraRowModel *self)
{
}

void
tessera_list_panel_make (TesseraListPanel *panel, const TesseraRowModelKind *kind)
{
  TesseraRowModel *self = panel->rows = g_object_new (TESSERA_TYPE_ROW_MODEL, NULL);
  GtkWidget *view = gtk_column_view_new (NULL), *scrolled = gtk_scrolled_window_new ();

  self->kind = kind;
  self->user = panel;
  g_set_weak_pointer (&self->view, GTK_COLUMN_VIEW (view));
  gtk_widget_set_name (view, kind->name);
  gtk_widget_add_css_class (view, "data-table");
  tessera_set_accessible_label (view, kind->title);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), view);
  panel->note = tessera_note_new (scrolled, kind->empty);
  gtk_widget_set_vexpand (panel->note, TRUE);
  gtk_column_view_set_model (self->view, GTK_SELECTION_MODEL (self));
  g_signal_connect_object (view, "activate", G_CALLBACK (on_activate), self, 0);
  g_signal_connect_object (gtk_column_view_get_sorter (self->view), "changed",
                           G_CALLBACK (on_sort), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (panel->panel.box, "destroy", G_CALLBACK (close_rows), self,
                           G_CONNECT_SWAPPED);
  for (int i = 0; i < TESSERA_MOST_COLUMNS && kind->columns[i].title != NULL; i++)
    add_column (self, i);
}
