/*
 * The columns of the tree of groups: what each says of a class, a group, a block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"
#include "viewer/panels/groups/group-tree.h"

/* All columns, which can be sorted by, the heights on top first. */
void tessera_group_cells_add (GtkColumnView *view, TesseraDocument *document);
