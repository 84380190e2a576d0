/*
 * The size that windows had last, for the next one: in tessera/window.ini of the folder
 * where the person's settings are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

/* Before @window is shown. What is kept there and makes no sense is left alone. */
void tessera_window_size_restore (GtkWindow *window);
/* While @window is still there. A folder that cannot be written is none of its worries.
 */
void tessera_window_size_keep (GtkWindow *window);
