/*
 * The menu of edits: of the header bar, and under the pointer.
 *
 * An item that cannot be used now says why in its tooltip, which a GtkPopoverMenu has no
 * room for: so the items are buttons.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/document.h"

#include <gtk/gtk.h>

/* A popover; its items are actions of the window above it. */
GtkWidget *tessera_edit_menu_new (TesseraDocument *document);
