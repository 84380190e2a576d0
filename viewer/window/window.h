/*
 * The window: one document and everything that shows it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_WINDOW (tessera_window_get_type ())
G_DECLARE_FINAL_TYPE (
    TesseraWindow, tessera_window, TESSERA, WINDOW, GtkApplicationWindow)

GtkWidget *tessera_window_new (GtkApplication *application);
TesseraDocument *tessera_window_get_document (TesseraWindow *self); /* borrowed */
void tessera_window_open (TesseraWindow *self, GFile *file);
/* Nothing is being loaded, planned or measured, and the canvases show exact pictures. */
gboolean tessera_window_is_settled (TesseraWindow *self);
/* A line that stays until it is closed or replaced. */
void tessera_window_say (TesseraWindow *self, const char *sentence, gboolean is_error);
/* It, empty where there is none; borrowed until the next. */
const char *tessera_window_get_said (TesseraWindow *self);
