/*
 * Room for one widget, which asks for the same room whatever is in it.
 *
 * When any widget of a window asks for another size, GTK measures all that lead to it,
 * and the display's back-end measures the window once more to tell how small it may
 * become. Measuring a list measures each of the 200 rows that GTK keeps: 5 to 15 ms, for
 * a list that scrolls and takes what room there is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

#define TESSERA_TYPE_STILL (tessera_still_get_type ())
G_DECLARE_FINAL_TYPE (TesseraStill, tessera_still, TESSERA, STILL, GtkWidget)

/* @child has to be content with @width and @height, in pixels, and takes all there is. */
GtkWidget *tessera_still_new (GtkWidget *child, int width, int height);
