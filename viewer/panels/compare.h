/*
 * How what stands on the left and on the right differ: heights, hits, what moved.
 *
 * Of two plans these are the numbers of `tessera compare`: both come from
 * tessera_compare_plans().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_COMPARE (tessera_compare_view_get_type ())
G_DECLARE_FINAL_TYPE (
    TesseraCompareView, tessera_compare_view, TESSERA, COMPARE_VIEW, GtkBox)

GtkWidget *tessera_compare_view_new (TesseraDocument *document);
