/*
 * Short ways to make the widgets that the panels are built of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

#include "viewer/document/document.h"

typedef void (*TesseraChangedFunc) (TesseraDocument *document,
                                    guint what,
                                    gpointer widget);

/* Calls @changed now, with everything, and at every change while @widget lives. */
void
tessera_watch (TesseraDocument *document, GtkWidget *widget, TesseraChangedFunc changed);

/* @css_classes: (nullable): space-separated. Left aligned; ellipsized at the end. */
GtkWidget *tessera_label_new (const char *text, const char *css_classes);
GtkWidget *tessera_heading_new (const char *text);
/* A little square of colour (0xRRGGBB), hatched with @hatch_rgb unless TESSERA_NONE. */
GtkWidget *tessera_swatch_new (uint32_t rgb, uint32_t hatch_rgb);
/* A bar of @share (0..1) of its width. */
GtkWidget *tessera_bar_new (double share, uint32_t rgb);
/* Only works once the view has its size. */
void tessera_column_view_scroll_to (GtkColumnView *view, guint position);
void tessera_remove_children (GtkWidget *box);
void tessera_set_accessible_label (GtkWidget *widget, const char *label);
