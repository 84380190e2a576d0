/*
 * The largest blocks alive at the chosen moment: what the memory is made of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_LARGEST (tessera_largest_get_type ())
G_DECLARE_FINAL_TYPE (TesseraLargest, tessera_largest, TESSERA, LARGEST, GtkBox)

GtkWidget *tessera_largest_new (TesseraDocument *document);

/* The @n largest blocks alive at an event, largest first, of equals the oldest first.
 * Returns: how many there are. */
size_t tessera_largest_blocks (const TesseraBlocks *blocks,
                               uint32_t event_index,
                               size_t n,
                               uint32_t *out_blocks);
