/*
 * The window as a picture file, once everything in it is done: for docs and checks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/window/window.h"

/* What a widget shows now, in device pixels. NULL: nothing was drawn yet. */
GdkTexture *tessera_widget_to_texture (GtkWidget *widget);

/* What the window shows now. FALSE: nothing was drawn yet, or it cannot be written. */
gboolean tessera_widget_save_png (GtkWidget *widget, const char *path);

/* Calls @done (window, success) after the window settled and was written. */
void tessera_screenshot_when_settled (TesseraWindow *window,
                                      const char *path,
                                      void (*done) (gpointer user, gboolean success),
                                      gpointer user);
