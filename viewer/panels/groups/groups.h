/*
 * Lifetime classes, the groups that the planner keeps together, and their blocks, as a
 * tree: sort by any column, filter by a query, select both ways.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_GROUPS (tessera_groups_view_get_type ())
G_DECLARE_FINAL_TYPE (
    TesseraGroupsView, tessera_groups_view, TESSERA, GROUPS_VIEW, GtkBox)

GtkWidget *tessera_groups_view_new (TesseraDocument *document);
/* What it shows; NULL: nothing. */
GtkTreeListModel *tessera_groups_view_get_tree (TesseraGroupsView *self);
/* Whether all rows are there that are to be seen. */
gboolean tessera_groups_view_is_settled (TesseraGroupsView *self);
