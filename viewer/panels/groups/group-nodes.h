/*
 * Classes, groups of a class, blocks of a group, in order: the lists that the tree of
 * groups is made of.
 *
 * A GtkTreeListModel keeps a record for each row that is open, so a group lists its first
 * thousand blocks in the order that was chosen, and a row that brings more. GTK asks for
 * the children of every row that it binds, to see whether it can be opened: so nothing is
 * sorted before one is wanted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/panels/groups/group-tree.h"

/* Of what the tree is, and by what it is sorted. Shared, main thread only. */
typedef struct
{
  TesseraGrouping *grouping;
  TesseraTreeColumn column;
  gboolean down;
} TesseraNodeOrder;

TesseraNodeOrder *tessera_node_order_new (TesseraGrouping *grouping,
                                          TesseraTreeColumn column,
                                          gboolean down);
void tessera_node_order_unref (gpointer order);

/* A GListModel of TesseraNode. */
#define TESSERA_TYPE_NODES (tessera_nodes_get_type ())
G_DECLARE_FINAL_TYPE (TesseraNodes, tessera_nodes, TESSERA, NODES, GObject)

/* (transfer full) each. */
TesseraNodes *tessera_nodes_of_classes (TesseraNodeOrder *order);
TesseraNodes *tessera_nodes_of_groups (TesseraNodeOrder *order, uint32_t class);
TesseraNodes *tessera_nodes_of_blocks (TesseraNodeOrder *order, uint32_t place);
/* Position among the children, or G_MAXUINT. Lists so many blocks that it is there. */
guint tessera_nodes_find (TesseraNodes *nodes, TesseraNodeKind kind, uint32_t index);
void tessera_nodes_list_more (TesseraNodes *nodes);
