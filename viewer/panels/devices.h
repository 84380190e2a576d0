/*
 * Which device of the file: a list in the header, there only where the file has several.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

#include "viewer/document/document.h"

/* Named "devices". Choosing opens the file again. */
GtkWidget *tessera_devices_new (TesseraDocument *document);
