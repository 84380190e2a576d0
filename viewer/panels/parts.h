/*
 * What reserved memory is made of at the chosen moment, to the byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_PARTS (tessera_parts_view_get_type ())
G_DECLARE_FINAL_TYPE (TesseraPartsView, tessera_parts_view, TESSERA, PARTS_VIEW, GtkBox)

GtkWidget *tessera_parts_view_new (TesseraDocument *document);
