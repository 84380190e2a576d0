/*
 * Lifetime classes, their groups, their blocks. See group-tree.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/groups/group-nodes.h"

static GListModel *
create_children (gpointer item, gpointer user)
{
  const TesseraNode *node = item;

  switch (node->kind)
    {
    case TESSERA_NODE_CLASS:
      return G_LIST_MODEL (tessera_nodes_of_groups (user, node->index));
    case TESSERA_NODE_GROUP:
      return G_LIST_MODEL (tessera_nodes_of_blocks (user, node->index));
    default:
      return NULL;
    }
}

GtkTreeListModel *
tessera_group_tree_new (TesseraGrouping *grouping,
                        TesseraTreeColumn column,
                        gboolean down)
{
  TesseraNodeOrder *tree = tessera_node_order_new (grouping, column, down);
  GtkTreeListModel *model;

  model =
      gtk_tree_list_model_new (G_LIST_MODEL (tessera_nodes_of_classes (tree)), FALSE,
                               FALSE, create_children, tree, tessera_node_order_unref);
  g_object_set_data (G_OBJECT (model), "tree", tree); /* the model owns it already */
  return model;
}

static GtkTreeListRow *
open_child (GtkTreeListRow *parent, TesseraNodeKind kind, uint32_t index)
{
  GListModel *children;
  guint position;

  gtk_tree_list_row_set_expanded (parent, TRUE);
  children = gtk_tree_list_row_get_children (parent);
  if (children == NULL)
    return NULL;
  position = tessera_nodes_find (TESSERA_NODES (children), kind, index);
  return position != G_MAXUINT ? gtk_tree_list_row_get_child_row (parent, position)
                               : NULL;
}

static GtkTreeListRow *
row_of_class (GtkTreeListModel *tree, uint32_t class)
{
  TesseraNodes *nodes = TESSERA_NODES (gtk_tree_list_model_get_model (tree));
  guint position = tessera_nodes_find (nodes, TESSERA_NODE_CLASS, class);

  return position != G_MAXUINT ? gtk_tree_list_model_get_child_row (tree, position)
                               : NULL;
}

static TesseraNodeOrder *
tree_of (GtkTreeListModel *tree)
{
  return g_object_get_data (G_OBJECT (tree), "tree");
}

GtkTreeListRow *
tessera_group_tree_open_to (GtkTreeListModel *tree, TesseraNodeKind kind, uint32_t index)
{
  const TesseraGrouping *grouping = tree_of (tree)->grouping;
  uint32_t place =
      kind == TESSERA_NODE_BLOCK ? tessera_place_of (grouping->data, index) : index;
  g_autoptr (GtkTreeListRow) of_class = NULL;
  g_autoptr (GtkTreeListRow) of_group = NULL;

  if (kind == TESSERA_NODE_CLASS)
    return row_of_class (tree, index);
  of_class = row_of_class (tree, grouping->rows[place].lifetime_class);
  if (of_class == NULL)
    return NULL;
  of_group = open_child (of_class, TESSERA_NODE_GROUP, place);
  if (of_group == NULL || kind == TESSERA_NODE_GROUP)
    return g_steal_pointer (&of_group);
  return open_child (of_group, TESSERA_NODE_BLOCK, index);
}

void
tessera_group_tree_more (GtkTreeListModel *tree, GtkTreeListRow *row)
{
  g_autoptr (GtkTreeListRow) parent = gtk_tree_list_row_get_parent (row);

  tessera_nodes_list_more (TESSERA_NODES (gtk_tree_list_row_get_children (parent)));
}

void
tessera_group_tree_open_classes (GtkTreeListModel *tree)
{
  guint n = g_list_model_get_n_items (gtk_tree_list_model_get_model (tree));

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GtkTreeListRow) row = gtk_tree_list_model_get_child_row (tree, i);

      gtk_tree_list_row_set_expanded (row, TRUE);
    }
}

/* The place in @grouping of the same name and class; TESSERA_NONE: there is none. */
static uint32_t
find_twin (const TesseraGrouping *grouping, const TesseraGrouping *like, uint32_t place)
{
  const char *name = tessera_place_name (like->data, place);

  if (grouping->data == like->data)
    return place;
  for (uint32_t i = 0; i < grouping->n_places; i++)
    if (grouping->rows[i].lifetime_class == like->rows[place].lifetime_class &&
        g_str_equal (tessera_place_name (grouping->data, i), name))
      return i;
  return TESSERA_NONE;
}

void
tessera_group_tree_open_like (GtkTreeListModel *tree, GtkTreeListModel *like)
{
  GListModel *classes = gtk_tree_list_model_get_model (like);

  for (guint i = 0; i < g_list_model_get_n_items (classes); i++)
    {
      g_autoptr (GtkTreeListRow) of_class = gtk_tree_list_model_get_child_row (like, i);
      g_autoptr (TesseraNode) class = g_list_model_get_item (classes, i);
      g_autoptr (GtkTreeListRow) twin = NULL;
      GListModel *groups = gtk_tree_list_row_get_children (of_class);

      if (groups == NULL || !gtk_tree_list_row_get_expanded (of_class))
        continue;
      twin = row_of_class (tree, class->index);
      if (twin == NULL)
        continue;
      gtk_tree_list_row_set_expanded (twin, TRUE);
      for (guint k = 0; k < g_list_model_get_n_items (groups); k++)
        {
          g_autoptr (GtkTreeListRow) of_group =
              gtk_tree_list_row_get_child_row (of_class, k);
          g_autoptr (TesseraNode) group = g_list_model_get_item (groups, k);
          g_autoptr (GtkTreeListRow) opened = NULL;

          uint32_t place;

          if (!gtk_tree_list_row_get_expanded (of_group))
            continue;
          place = find_twin (tree_of (tree)->grouping, tree_of (like)->grouping,
                             group->index);
          opened = open_child (twin, TESSERA_NODE_GROUP, place);
          if (opened != NULL)
            gtk_tree_list_row_set_expanded (opened, TRUE);
        }
    }
}
