/*
 * What lies around the selected block: before and after it in time, below and above it in
 * address. Each is a button that selects it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_NEIGHBOURS (tessera_neighbours_get_type ())
G_DECLARE_FINAL_TYPE (TesseraNeighbours, tessera_neighbours, TESSERA, NEIGHBOURS, GtkBox)

GtkWidget *tessera_neighbours_new (TesseraDocument *document);
