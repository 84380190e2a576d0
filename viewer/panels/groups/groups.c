/*
 * Lifetime classes, groups and blocks as a tree.
 *
 * Nothing is counted while nobody looks: the grouping is asked for when the panel is
 * first seen.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/groups/groups.h"

#include "viewer/model/document.h"
#include "viewer/panels/groups/group-cells.h"
#include "viewer/panels/groups/query-entry.h"
#include "viewer/kit/kit.h"

struct _TesseraGroupsView
{
  GtkBox parent_instance;

  TesseraDocument *document;
  TesseraGrouping *grouping; /* that the tree shows; NULL: nothing */
  GtkTreeListModel *tree;    /* NULL: nothing */
  TesseraRowModel *rows;
  GtkWidget *view;
  GtkWidget *note; /* that no block matches */
  TesseraTreeColumn column;
  gboolean down;
  gboolean is_followed; /* the tree is being opened at what is selected */
  uint8_t *wholes; /* WHOLE_* of each place, then of each class; NULL: not asked yet */
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

/* The last block of them that stands in a row of its own leads. */
static void
choose (gpointer user, const GtkBitset *rows, TesseraSelectHow how)
{
  TesseraGroupsView *self = user;
  TesseraSelection *found;
  size_t n_all = self->grouping->data->blocks->n_blocks;
  uint8_t *is_in = g_malloc0 (MAX (n_all, 1));
  uint32_t lead = TESSERA_NONE;
  GtkBitsetIter iter;
  guint position;

  for (gboolean more = gtk_bitset_iter_init_first (&iter, rows, &position); more;
       more = gtk_bitset_iter_next (&iter, &position))
    {
      g_autoptr (TesseraNode) node = node_at (self, position);

      mark_node (self->grouping, node, is_in);
      if (node->kind == TESSERA_NODE_BLOCK)
        lead = node->index;
    }
  found = tessera_selection_new (n_all, is_in);
  self->is_followed = TRUE;
  tessera_document_set_selection (
      self->document, tessera_selection_join (self->document->selection, found, how),
      lead);
  self->is_followed = FALSE;
  tessera_selection_unref (found);
}

/* --- blocks to rows --------------------------------------------------------------- */

/* Whether all blocks of a place or class are selected. */
enum
{
  WHOLE_UNKNOWN,
  WHOLE_YES,
  WHOLE_NO
};

static void
forget_wholes (TesseraGroupsView *self)
{
  g_clear_pointer (&self->wholes, g_free);
}

/* The first block that is not ends it: of a million only those few are looked at whose
 * group is wholly selected. */
static gboolean
is_place_whole (TesseraGroupsView *self, uint32_t place)
{
  const TesseraGrouping *grouping = self->grouping;
  const TesseraSelection *selection = self->document->selection;
  uint32_t i = grouping->begin[place], end = grouping->begin[place + 1];

  if (self->wholes[place] == WHOLE_UNKNOWN)
    {
      while (i < end && selection->is_in[grouping->blocks[i]])
        i++;
      self->wholes[place] = i == end ? WHOLE_YES : WHOLE_NO;
    }
  return self->wholes[place] == WHOLE_YES;
}

static gboolean
is_class_whole (TesseraGroupsView *self, uint32_t class)
{
  const TesseraGrouping *grouping = self->grouping;
  uint8_t *whole = &self->wholes[grouping->n_places + class];

  if (*whole == WHOLE_UNKNOWN)
    {
      uint32_t place = 0;

      while (
          place < grouping->n_places &&
          (grouping->rows[place].lifetime_class != class || is_place_whole (self, place)))
        place++;
      *whole = place == grouping->n_places ? WHOLE_YES : WHOLE_NO;
    }
  return *whole == WHOLE_YES;
}

/* A class, a group where all of it is. */
static gboolean
is_selected (gpointer user, guint position)
{
  TesseraGroupsView *self = user;
  const TesseraGrouping *grouping = self->grouping;
  g_autoptr (TesseraNode) node = NULL;

  if (self->document->selection == NULL || grouping == NULL)
    return FALSE;
  if (self->wholes == NULL)
    self->wholes = g_new0 (uint8_t, grouping->n_places + TESSERA_N_CLASSES);
  node = node_at (self, position);
  if (node->kind == TESSERA_NODE_BLOCK)
    return tessera_document_is_selected (self->document, node->index);
  if (node->kind == TESSERA_NODE_GROUP)
    return is_place_whole (self, node->index);
  return node->kind == TESSERA_NODE_CLASS && is_class_whole (self, node->index);
}

/* Opens the tree at the block that leads, or at its group where all of that is
 * selected. */
static GtkTreeListRow *
open_to_lead (TesseraGroupsView *self)
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
  g_autoptr (GtkTreeListRow) lead = NULL;

  forget_wholes (self);
  if (self->tree == NULL)
    return;
  if (!self->is_followed && gtk_widget_get_mapped (GTK_WIDGET (self)))
    lead = open_to_lead (self);
  tessera_row_model_refresh (self->rows);
  if (lead != NULL)
    tessera_row_model_scroll_to (self->rows, gtk_tree_list_row_get_position (lead));
}

/* --- the tree --------------------------------------------------------------------- */

static guint
n_rows (TesseraGroupsView *self)
{
  return self->tree != NULL ? g_list_model_get_n_items (G_LIST_MODEL (self->tree)) : 0;
}

/* Rows were opened or closed. */
static void
show_tree (TesseraGroupsView *self)
{
  tessera_row_model_set_length (self->rows, n_rows (self));
}

static GtkWidget *
make_cell (gpointer user, int column)
{
  return tessera_group_cells_make ((TesseraTreeColumn) column);
}

static void
show_cell (gpointer user, GtkWidget *cell, guint position, int column)
{
  TesseraGroupsView *self = user;
  g_autoptr (GtkTreeListRow) row = gtk_tree_list_model_get_row (self->tree, position);

  tessera_group_cells_show (cell, self->grouping, row, (TesseraTreeColumn) column);
}

static void
forget_tree (TesseraGroupsView *self)
{
  if (self->tree != NULL)
    g_signal_handlers_disconnect_by_data (self->tree, self);
  g_clear_object (&self->tree);
}

/* What was open stays open. */
static void
rebuild (TesseraGroupsView *self)
{
  g_autoptr (GtkTreeListModel) before =
      self->tree != NULL ? g_object_ref (self->tree) : NULL;

  forget_tree (self);
  if (self->grouping != NULL)
    {
      self->tree = tessera_group_tree_new (self->grouping, self->column, self->down);
      if (before != NULL)
        tessera_group_tree_open_like (self->tree, before);
      else
        tessera_group_tree_open_classes (self->tree);
      g_signal_connect_swapped (self->tree, "items-changed", G_CALLBACK (show_tree),
                                self);
    }
  forget_wholes (self);
  show_tree (self);
  tessera_note_show (self->note, self->tree != NULL && n_rows (self) == 0);
  follow_selection (self);
}

static void
take_grouping (TesseraGroupsView *self)
{
  TesseraGrouping *grouping = self->document->grouping;
  if (self->grouping == grouping)
    return;
  /* Another file's rows open nothing. */
  if (grouping == NULL || self->grouping == NULL ||
      tessera_data_origin (grouping->data) != tessera_data_origin (self->grouping->data))
    forget_tree (self);
  tessera_grouping_unref (self->grouping);
  self->grouping = grouping != NULL ? tessera_grouping_ref (grouping) : NULL;
  rebuild (self);
}

GtkTreeListModel *
tessera_groups_view_get_tree (TesseraGroupsView *self)
{
  return self->tree;
}

gboolean
tessera_groups_view_is_settled (TesseraGroupsView *self)
{
  return tessera_row_model_is_settled (self->rows);
}

static void
sort (gpointer user, int column, gboolean down)
{
  TesseraGroupsView *self = user;

  self->column = (TesseraTreeColumn) column;
  self->down = down;
  rebuild (self);
}

static const TesseraRowModelKind row_kind = { make_cell, show_cell, is_selected, choose,
                                              sort };

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
  g_autoptr (GtkTreeListRow) row = NULL;
  guint position = 0;

  if (!(open || close) || self->tree == NULL || self->document->selection == NULL)
    return FALSE;
  while (position < n_rows (self) && !is_selected (self, position))
    position++;
  row = gtk_tree_list_model_get_row (self->tree, position);
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

  if (self->rows != NULL)
    tessera_row_model_close (self->rows);
  g_clear_object (&self->rows);
  forget_tree (self);
  g_clear_pointer (&self->grouping, tessera_grouping_unref);
  forget_wholes (self);
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
  self->view = gtk_column_view_new (NULL);
  self->rows = tessera_row_model_new (&row_kind, self, GTK_COLUMN_VIEW (self->view));
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
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), self->view);
  gtk_box_append (GTK_BOX (self), tessera_query_entry_new (document));
  self->note =
      tessera_note_new (scrolled, "No block matches: Escape in the field shows all");
  gtk_widget_set_vexpand (self->note, TRUE);
  gtk_box_append (GTK_BOX (self), self->note);
  tessera_group_cells_add (self->rows, GTK_COLUMN_VIEW (self->view));
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
