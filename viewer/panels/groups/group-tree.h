/*
 * Lifetime classes, their groups, their blocks: as a tree of list models that make rows
 * only where they are seen.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

#include "viewer/model/data.h"

typedef enum
{
  TESSERA_TREE_NAME,   /* of blocks: by birth */
  TESSERA_TREE_HEIGHT, /* of blocks: with rounding */
  TESSERA_TREE_PEAK,
  TESSERA_TREE_BYTES,
  TESSERA_TREE_FILLED, /* of blocks: how long they live */
  TESSERA_N_TREE_COLUMNS
} TesseraTreeColumn;

typedef enum
{
  TESSERA_NODE_CLASS,
  TESSERA_NODE_GROUP, /* a place of the grouping */
  TESSERA_NODE_BLOCK,
  TESSERA_NODE_MORE /* so many blocks are not listed (yet) */
} TesseraNodeKind;

/* An item of the tree. */
#define TESSERA_TYPE_NODE (tessera_node_get_type ())
G_DECLARE_FINAL_TYPE (TesseraNode, tessera_node, TESSERA, NODE, GObject)

struct _TesseraNode
{
  GObject parent_instance;

  TesseraNodeKind kind;
  uint32_t index; /* class, place, block; of the others: how many */
};

/* The whole tree, closed. (transfer full) */
GtkTreeListModel *tessera_group_tree_new (TesseraGrouping *grouping,
                                          TesseraTreeColumn column,
                                          gboolean down);
/* The row of an item that is in the tree, which is opened on the way; NULL: it is not
 * there. (transfer full) */
GtkTreeListRow *
tessera_group_tree_open_to (GtkTreeListModel *tree, TesseraNodeKind kind, uint32_t index);
/* Lists more blocks of the group in which @row, a TESSERA_NODE_MORE, is the last. */
void tessera_group_tree_more (GtkTreeListModel *tree, GtkTreeListRow *row);
/* Opens all classes: their groups are seen. */
void tessera_group_tree_open_classes (GtkTreeListModel *tree);
/* Opens in @tree what is open in @like: classes and groups. */
void tessera_group_tree_open_like (GtkTreeListModel *tree, GtkTreeListModel *like);
