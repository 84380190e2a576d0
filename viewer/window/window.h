/*
 * The application and its windows: one document each, and everything that shows it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/document.h"

#include <adwaita.h>

/* --- the application: options, files from outside, style, keys ---------------------- */

#define TESSERA_APPLICATION_ID "org.tessera.Viewer"

#define TESSERA_TYPE_APP (tessera_app_get_type ())
G_DECLARE_FINAL_TYPE (TesseraApp, tessera_app, TESSERA, APP, AdwApplication)

TesseraApp *tessera_app_new (void);
/* A picture that was asked for could not be made. */
gboolean tessera_app_has_failed (TesseraApp *self);

/* --- a window ------------------------------------------------------------------------ */

#define TESSERA_TYPE_WINDOW (tessera_window_get_type ())
G_DECLARE_FINAL_TYPE (
    TesseraWindow, tessera_window, TESSERA, WINDOW, AdwApplicationWindow)

GtkWidget *tessera_window_new (GtkApplication *application);
TesseraDocument *tessera_window_get_document (TesseraWindow *self); /* borrowed */
void tessera_window_open (TesseraWindow *self, GFile *file);
/* Nothing is being loaded, planned or measured, and the canvases show exact pictures. */
gboolean tessera_window_is_settled (TesseraWindow *self);
/* A sentence over the window. Of an error it stays until it is closed or replaced. "":
 * what was said is over. */
void tessera_window_say (TesseraWindow *self, const char *sentence, gboolean is_error);
/* It, empty where there is none; borrowed until the next. */
const char *tessera_window_get_said (TesseraWindow *self);

/* The size that windows had last, for the next one: in tessera/window.ini of the folder
 * where the person's settings are. Before @window is shown; what is kept there and makes
 * no sense is left alone. */
void tessera_window_restore_size (GtkWindow *window);
/* While @window is still there. A folder that cannot be written is none of its worries.
 */
void tessera_window_keep_size (GtkWindow *window);

/* What a widget shows now, in device pixels. NULL: nothing was drawn yet. */
GdkTexture *tessera_widget_to_texture (GtkWidget *widget);
