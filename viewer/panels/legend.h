/*
 * What the colours mean, and a filter: a click on an entry shows it alone, a click with
 * Control takes it out or in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_LEGEND (tessera_legend_get_type ())
G_DECLARE_FINAL_TYPE (TesseraLegend, tessera_legend, TESSERA, LEGEND, GtkBox)

GtkWidget *tessera_legend_new (TesseraDocument *document);
