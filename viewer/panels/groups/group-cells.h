/*
 * The columns of the tree of groups: what each says of a class, a group, a block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/panels/groups/group-tree.h"
#include "viewer/panels/row-model.h"

/* All columns, which can be sorted by, the heights on top first. */
void tessera_group_cells_add (TesseraRowModel *rows, GtkColumnView *view);
GtkWidget *tessera_group_cells_make (TesseraTreeColumn column);
/* @row: of a tree of @grouping. */
void tessera_group_cells_show (GtkWidget *cell,
                               const TesseraGrouping *grouping,
                               GtkTreeListRow *row,
                               TesseraTreeColumn column);
