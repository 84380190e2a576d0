/*
 * What several selected blocks are, in numbers: how many, bytes, share of the peak,
 * sizes, phases. Hidden while fewer than two are selected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_SELECTION_VIEW (tessera_selection_view_get_type ())
G_DECLARE_FINAL_TYPE (
    TesseraSelectionView, tessera_selection_view, TESSERA, SELECTION_VIEW, GtkBox)

GtkWidget *tessera_selection_view_new (TesseraDocument *document);
