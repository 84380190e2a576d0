/*
 * The columns of the tree of groups: what each says of a class, a group, a block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/panels/groups/group-tree.h"
#include "viewer/panels/rows/row-list.h"

/* What the cells of the tree share. */
typedef struct TesseraGroupCells TesseraGroupCells;

TesseraGroupCells *tessera_group_cells_new (void);
void tessera_group_cells_free (TesseraGroupCells *self);
/* All columns, which can be sorted by, the heights on top first. */
void tessera_group_cells_add (TesseraRowList *rows, GtkColumnView *view);
GtkWidget *tessera_group_cells_make (TesseraGroupCells *self, TesseraTreeColumn column);
/* @row: (nullable): of a tree of @grouping; NULL: nothing is shown. */
void tessera_group_cells_show (GtkWidget *cell,
                               const TesseraGrouping *grouping,
                               GtkTreeListRow *row,
                               TesseraTreeColumn column);
