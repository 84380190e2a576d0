/*
 * A real hand for tests: X events through XTest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <X11/X.h>
#include <X11/keysym.h>
#include <gtk/gtk.h>

/* Puts the pointer on a share of a widget's width and height. */
void test_hand_point (GtkWidget *widget, double share_x, double share_y);
void test_hand_button (unsigned number, gboolean down);
void test_hand_key (KeySym symbol, gboolean down);
/* Down and up, with modifiers held. */
void test_hand_press (GdkModifierType modifiers, KeySym symbol);
/* Key after key, as on the keyboard that the display has; each character must be on it.
 */
void test_hand_type (const char *text);
/* Gives the window the keyboard back, as a window manager does when a dialog of it
 * closes. */
void test_hand_focus (GtkWindow *window);
/* No gesture of the widget is going on any more, as far as GTK has heard. */
gboolean test_hand_is_off (GtkWidget *widget);
