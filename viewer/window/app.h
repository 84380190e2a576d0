/*
 * The application: options, files from outside, style, keys.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

#define TESSERA_APPLICATION_ID "org.tessera.Viewer"

#define TESSERA_TYPE_APP (tessera_app_get_type ())
G_DECLARE_FINAL_TYPE (TesseraApp, tessera_app, TESSERA, APP, GtkApplication)

TesseraApp *tessera_app_new (void);
/* A picture that was asked for could not be made. */
gboolean tessera_app_has_failed (TesseraApp *self);
