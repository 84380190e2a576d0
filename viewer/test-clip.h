/*
 * Whether what is written can be read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/window/window.h"

/* How many labels of the window are cut, each told on standard error: ellipsized, with
 * less room than the text needs, or outside of what shows them; and those that part a
 * number from its unit. What can be scrolled down
 * to is not cut; what is reached by scrolling sideways alone is. One more where the
 * window had to grow beyond @width x @height. @state says what is looked at. */
int test_count_cut (TesseraWindow *window, const char *state, int width, int height);
