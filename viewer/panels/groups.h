/*
 * The groups that the planner keeps together, largest first. Choosing one shows its
 * blocks alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_GROUPS (tessera_groups_view_get_type ())
G_DECLARE_FINAL_TYPE (
    TesseraGroupsView, tessera_groups_view, TESSERA, GROUPS_VIEW, GtkBox)

GtkWidget *tessera_groups_view_new (TesseraDocument *document);
