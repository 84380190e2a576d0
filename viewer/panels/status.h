/*
 * The line at the bottom: the chosen moment in words, and what is being worked on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_STATUS (tessera_status_bar_get_type ())
G_DECLARE_FINAL_TYPE (TesseraStatusBar, tessera_status_bar, TESSERA, STATUS_BAR, GtkBox)

GtkWidget *tessera_status_bar_new (TesseraDocument *document);
