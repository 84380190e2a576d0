/*
 * Whose work a frame does, where a window has several row lists, and more that takes
 * long.
 *
 * Rows that become other are laid out and drawn in the next frame, 3 to 6 ms a list. An
 * edit changes every list of a window, the legend's names, and both pictures: one after
 * the other none of them makes a frame late.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

/* Whether @who may work for the frame that comes or is. Who may not has the next one, if
 * it asks then. @who is compared, and never looked at. @clock: NULL is fine. */
gboolean tessera_row_turns_take (GdkFrameClock *clock, gpointer who);
