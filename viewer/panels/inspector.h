/*
 * Everything about the selected block: exact bytes, both places, what it rests on, its
 * neighbours and its stack.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_INSPECTOR (tessera_inspector_get_type ())
G_DECLARE_FINAL_TYPE (TesseraInspector, tessera_inspector, TESSERA, INSPECTOR, GtkBox)

GtkWidget *tessera_inspector_new (TesseraDocument *document);
