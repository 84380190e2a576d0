/*
 * Lifetime classes, groups and blocks as a tree.
 *
 * Nothing is counted while nobody looks: the grouping is asked for when the panel is
 * first seen.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/groups/groups.h"

#include "viewer/document/select/document-query.h"
#include "viewer/document/select/document-select.h"
#include "viewer/document/document-view.h"
#include "viewer/panels/groups/group-cells.h"
#include "viewer/panels/groups/query-entry.h"
#include "viewer/panels/sorting.h"
#include "viewer/window/ui.h"

struct _TesseraGroupsView
{
  GtkBox parent_instance;

  TesseraDocument *document;
  TesseraGrouping *grouping; /* that the tree shows; NULL: nothing */
  GtkTreeListModel *tree;    /* NULL: nothing */
  GtkMultiSelection *rows;
  GtkWidget *view;
  TesseraTreeColumn column;
  gboolean down;
  gboolean selecting; /* the selection is being taken over, one way or the other */
  guint scroll_tick;
  guint scroll_to;
  guint keep_tick;   /* 0: none is waiting */
  guint n_kept;      /* frames that it waited */
  double keep_value; /* of the vertical adjustment */
};

G_DEFINE_TYPE (TesseraGroupsView, tessera_groups_view, GTK_TYPE_BOX)

/* --- rows to blocks --------------------------------------------------------------- */

static void
mark_place (const TesseraGrouping *grouping, uint32_t place, uint8_t *is_in)
{
  for (uint32_t i = grouping->begin[place]; i < grouping->begin[place + 1]; i++)
    is_in[grouping->blocks[i]] = 1;
}

static void
mark_node (const TesseraGrouping *grouping, const TesseraNode *node, uint8_t *is_in)
{
  if (node->kind == TESSERA_NODE_BLOCK)
    is_in[node->index] = 1;
  else if (node->kind == TESSERA_NODE_GROUP)
    mark_place (grouping, node->index, is_in);
  else if (node->kind == TESSERA_NODE_CLASS)
    for (uint32_t place = 0; place < grouping->n_places; place++)
      if (grouping->rows[place].lifetime_class == node->index)
        mark_place (grouping, place, is_in);
}

static TesseraNode *
node_at (TesseraGroupsView *self, guint position)
{
  g_autoptr (GtkTreeListRow) row = gtk_tree_list_model_get_row (self->tree, position);

  return row != NULL ? gtk_tree_list_row_get_item (row) : NULL;
}

static void
on_rows (GtkSelectionModel *model, guint first, guint n_changed, TesseraGroupsView *self)
{
  g_autoptr (GtkBitset) rows = NULL;
  uint32_t lead = TESSERA_NONE;
  GtkBitsetIter iter;
  guint position;
  uint8_t *is_in;
  size_t n_all;

  if (self->selecting || self->tree == NULL)
    return;
  n_all = self->grouping->data->blocks->n_blocks;
  is_in = g_malloc0 (MAX (n_all, 1));
  rows = gtk_selection_model_get_selection (model);
  for (gboolean more = gtk_bitset_iter_init_first (&iter, rows, &position); more;
       more = gtk_bitset_iter_next (&iter, &position))
    {
      g_autoptr (TesseraNode) node = node_at (self, position);

      mark_node (self->grouping, node, is_in);
      if (node->kind == TESSERA_NODE_BLOCK &&
          !tessera_document_is_selected (self->document, node->index))
        lead = node->index;
    }
  self->selecting = TRUE;
  tessera_document_set_selection (self->document, tessera_selection_new (n_all, is_in),
                                  lead);
  self->selecting = FALSE;
}

/* --- blocks to rows --------------------------------------------------------------- */

static gboolean
scroll (GtkWidget *view, GdkFrameClock *clock, gpointer user)
{
  TesseraGroupsView *self = user;

  if (!gtk_widget_get_mapped (view))
    {
      self->scroll_tick = 0;
      return G_SOURCE_REMOVE;
    }
  if (gtk_widget_get_height (view) < 40)
    return G_SOURCE_CONTINUE;
  self->scroll_tick = 0;
  tessera_column_view_scroll_to (GTK_COLUMN_VIEW (view), self->scroll_to);
  return G_SOURCE_REMOVE;
}

static void
queue_scroll (TesseraGroupsView *self, guint position)
{
  self->scroll_to = position;
  if (self->scroll_tick == 0)
    self->scroll_tick = gtk_widget_add_tick_callback (self->view, scroll, self, NULL);
}

static GtkAdjustment *
adjustment_of (TesseraGroupsView *self)
{
  return gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (self->view));
}

/* A new model is shown from its top; how high it is is known a frame later. */
static gboolean
keep_scroll (GtkWidget *view, GdkFrameClock *clock, gpointer user)
{
  TesseraGroupsView *self = user;

  if (self->n_kept++ == 0)
    return G_SOURCE_CONTINUE;
  self->keep_tick = 0;
  if (self->scroll_tick == 0) /* else a row is wanted */
    gtk_adjustment_set_value (adjustment_of (self), self->keep_value);
  return G_SOURCE_REMOVE;
}

static void
queue_keep_scroll (TesseraGroupsView *self, double value)
{
  self->keep_value = value;
  self->n_kept = 0;
  if (self->keep_tick == 0)
    self->keep_tick = gtk_widget_add_tick_callback (self->view, keep_scroll, self, NULL);
}

/* How many blocks of each place are selected. */
static uint32_t *
count_selected (TesseraGroupsView *self)
{
  const TesseraSelection *selection = self->document->selection;
  uint32_t *counts = g_new0 (uint32_t, self->grouping->n_places);

  for (size_t i = 0; selection != NULL && i < selection->n_blocks; i++)
    counts[tessera_place_of (self->grouping->data, selection->blocks[i])]++;
  return counts;
}

static gboolean
is_selected (TesseraGroupsView *self, const TesseraNode *node, const uint32_t *counts)
{
  const TesseraGrouping *grouping = self->grouping;
  uint64_t n = 0;

  if (node->kind == TESSERA_NODE_BLOCK)
    return tessera_document_is_selected (self->document, node->index);
  if (node->kind == TESSERA_NODE_GROUP)
    return counts[node->index] == grouping->rows[node->index].n_blocks;
  if (node->kind != TESSERA_NODE_CLASS)
    return FALSE;
  for (uint32_t place = 0; place < grouping->n_places; place++)
    if (grouping->rows[place].lifetime_class == node->index)
      n += counts[place];
  return n == grouping->classes[node->index].n_blocks;
}

/* Opens the tree at the block that leads, or at its group where all of that is
 * selected. */
static GtkTreeListRow *
open_to_lead (TesseraGroupsView *self, const uint32_t *counts)
{
  uint32_t lead = self->document->selected;
  uint32_t place;
  GtkTreeListRow *row = NULL;

  if (lead == TESSERA_NONE)
    return NULL;
  place = tessera_place_of (self->grouping->data, lead);
  if (tessera_document_n_selected (self->document) == 1)
    row = tessera_group_tree_open_to (self->tree, TESSERA_NODE_BLOCK, lead);
  return row != NULL ? row
                     : tessera_group_tree_open_to (self->tree, TESSERA_NODE_GROUP, place);
}

static void
follow_selection (TesseraGroupsView *self)
{
  g_autofree uint32_t *counts = NULL;
  g_autoptr (GtkTreeListRow) lead = NULL;
  g_autoptr (GtkBitset) rows = NULL;
  g_autoptr (GtkBitset) all = NULL;
  guint n;

  if (self->selecting || self->tree == NULL || !gtk_widget_get_mapped (GTK_WIDGET (self)))
    return;
  self->selecting = TRUE;
  counts = count_selected (self);
  lead = open_to_lead (self, counts);
  n = g_list_model_get_n_items (G_LIST_MODEL (self->tree));
  rows = gtk_bitset_new_empty ();
  all = gtk_bitset_new_range (0, n);
  for (guint i = 0; i < n && self->document->selection != NULL; i++)
    {
      g_autoptr (TesseraNode) node = node_at (self, i);

      if (is_selected (self, node, counts))
        gtk_bitset_add (rows, i);
    }
  gtk_selection_model_set_selection (GTK_SELECTION_MODEL (self->rows), rows, all);
  if (lead != NULL)
    queue_scroll (self, gtk_tree_list_row_get_position (lead));
  self->selecting = FALSE;
}

/* --- the tree --------------------------------------------------------------------- */

/* What was open stays open. */
static void
rebuild (TesseraGroupsView *self)
{
  g_autoptr (GtkTreeListModel) before = g_steal_pointer (&self->tree);
  g_autoptr (GListStore) none = NULL;

  self->selecting = TRUE;
  if (self->grouping != NULL)
    {
      self->tree = tessera_group_tree_new (self->grouping, self->column, self->down);
      if (before != NULL)
        tessera_group_tree_open_like (self->tree, before);
      else
        tessera_group_tree_open_classes (self->tree);
    }
  /* Never without one: GTK 4.8 then forgets to free what it keeps. */
  none = g_list_store_new (TESSERA_TYPE_NODE);
  gtk_multi_selection_set_model (
      self->rows, self->tree != NULL ? G_LIST_MODEL (self->tree) : G_LIST_MODEL (none));
  self->selecting = FALSE;
  follow_selection (self);
}

static void
take_grouping (TesseraGroupsView *self)
{
  TesseraGrouping *grouping = self->document->grouping;
  double value = gtk_adjustment_get_value (adjustment_of (self));
  gboolean is_same;

  if (self->grouping == grouping)
    return;
  /* Another file's rows open nothing. */
  if (grouping == NULL || self->grouping == NULL ||
      tessera_data_origin (grouping->data) != tessera_data_origin (self->grouping->data))
    g_clear_object (&self->tree);
  tessera_grouping_unref (self->grouping);
  self->grouping = grouping != NULL ? tessera_grouping_ref (grouping) : NULL;
  is_same = self->tree != NULL;
  rebuild (self);
  if (is_same && value > 0 && self->document->selection == NULL)
    queue_keep_scroll (self, value);
}

static void
on_sort (gpointer user, int column, gboolean down)
{
  TesseraGroupsView *self = user;

  self->column = (TesseraTreeColumn) column;
  self->down = down;
  rebuild (self);
}

static void
ask (TesseraGroupsView *self)
{
  if (self->document->data != NULL && self->document->grouping == NULL &&
      self->document->jobs[TESSERA_WORK_GROUPS] == NULL &&
      gtk_widget_get_mapped (GTK_WIDGET (self)))
    tessera_document_set_query (self->document, "");
}

static void
on_map (TesseraGroupsView *self)
{
  if (self->document == NULL)
    return;
  ask (self);
  follow_selection (self);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraGroupsView *self = user;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_GROUPS))
    take_grouping (self);
  if (what & TESSERA_CHANGED_TRACE)
    ask (self);
  if (what & TESSERA_CHANGED_SELECTION)
    follow_selection (self);
}

/* Enter or a double click: opens or closes, shows a block, lists more. */
static void
on_activate (GtkColumnView *view, guint position, TesseraGroupsView *self)
{
  g_autoptr (GtkTreeListRow) row = gtk_tree_list_model_get_row (self->tree, position);
  g_autoptr (TesseraNode) node = row != NULL ? gtk_tree_list_row_get_item (row) : NULL;

  if (node == NULL)
    return;
  if (node->kind == TESSERA_NODE_BLOCK)
    tessera_document_reveal (self->document, node->index);
  else if (node->kind == TESSERA_NODE_MORE)
    tessera_group_tree_more (self->tree, row);
  else
    gtk_tree_list_row_set_expanded (row, !gtk_tree_list_row_get_expanded (row));
}

/* --- keys ------------------------------------------------------------------------- */

/* Right and Left open and close what is selected. */
static gboolean
on_key (GtkEventControllerKey *controller,
        guint key,
        guint code,
        GdkModifierType state,
        TesseraGroupsView *self)
{
  gboolean open = key == GDK_KEY_Right || key == GDK_KEY_KP_Right;
  gboolean close = key == GDK_KEY_Left || key == GDK_KEY_KP_Left;
  g_autoptr (GtkBitset) rows = NULL;
  g_autoptr (GtkTreeListRow) row = NULL;

  if (!(open || close) || self->tree == NULL)
    return FALSE;
  rows = gtk_selection_model_get_selection (GTK_SELECTION_MODEL (self->rows));
  if (gtk_bitset_is_empty (rows))
    return FALSE;
  row = gtk_tree_list_model_get_row (self->tree, gtk_bitset_get_minimum (rows));
  if (row == NULL || !gtk_tree_list_row_is_expandable (row))
    return FALSE;
  gtk_tree_list_row_set_expanded (row, open);
  return TRUE;
}

/* --- life ------------------------------------------------------------------------- */

static void
tessera_groups_view_dispose (GObject *object)
{
  TesseraGroupsView *self = TESSERA_GROUPS_VIEW (object);

  self->selecting = TRUE;
  g_clear_object (&self->tree);
  g_clear_pointer (&self->grouping, tessera_grouping_unref);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (tessera_groups_view_parent_class)->dispose (object);
}

static void
tessera_groups_view_class_init (TesseraGroupsViewClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_groups_view_dispose;
}

static void
tessera_groups_view_init (TesseraGroupsView *self)
{
  GtkEventController *keys = gtk_event_controller_key_new ();

  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 6);
  self->column = TESSERA_TREE_HEIGHT;
  self->down = TRUE;
  self->rows =
      gtk_multi_selection_new (G_LIST_MODEL (g_list_store_new (TESSERA_TYPE_NODE)));
  self->view = gtk_column_view_new (GTK_SELECTION_MODEL (self->rows));
  gtk_widget_set_name (self->view, "groups");
  gtk_widget_add_css_class (self->view, "data-table");
  tessera_set_accessible_label (self->view, "Classes, groups and blocks");
  g_signal_connect (self->view, "activate", G_CALLBACK (on_activate), self);
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_key), self);
  gtk_widget_add_controller (self->view, keys);
  g_signal_connect (self, "map", G_CALLBACK (on_map), NULL);
}

GtkWidget *
tessera_groups_view_new (TesseraDocument *document)
{
  TesseraGroupsView *self = g_object_new (TESSERA_TYPE_GROUPS, NULL);
  GtkWidget *scrolled = gtk_scrolled_window_new ();

  self->document = g_object_ref (document);
  tessera_group_cells_add (GTK_COLUMN_VIEW (self->view), document);
  tessera_sorting_watch (GTK_COLUMN_VIEW (self->view), on_sort, self);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), self->view);
  gtk_widget_set_vexpand (scrolled, TRUE);
  gtk_box_append (GTK_BOX (self), tessera_query_entry_new (document));
  gtk_box_append (GTK_BOX (self), scrolled);
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  g_signal_connect_object (self->rows, "selection-changed", G_CALLBACK (on_rows), self,
                           0);
  return GTK_WIDGET (self);
}
