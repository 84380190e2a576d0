/*
 * Several plans: those that are kept, which of them stands on which side, and how the two
 * that are shown differ.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_PLANS (tessera_plans_view_get_type ())
G_DECLARE_FINAL_TYPE (TesseraPlansView, tessera_plans_view, TESSERA, PLANS_VIEW, GtkBox)

GtkWidget *tessera_plans_view_new (TesseraDocument *document);
