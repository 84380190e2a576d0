/*
 * Steps and phases above a canvas, on its time axis. A click on one shows it whole.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_LANES (tessera_lanes_get_type ())
G_DECLARE_FINAL_TYPE (TesseraLanes, tessera_lanes, TESSERA, LANES, GtkWidget)

GtkWidget *tessera_lanes_new (TesseraDocument *document);
