/*
 * The largest blocks alive at the chosen moment: what the memory is made of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_LARGEST (tessera_largest_get_type ())
G_DECLARE_FINAL_TYPE (TesseraLargest, tessera_largest, TESSERA, LARGEST, GtkBox)

GtkWidget *tessera_largest_new (TesseraDocument *document);
