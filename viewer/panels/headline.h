/*
 * The verdict on top of the window: one sentence, four numbers.
 *
 * Its words are those of `tessera info`: both come from tessera_verdict().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_HEADLINE (tessera_headline_get_type ())
G_DECLARE_FINAL_TYPE (TesseraHeadline, tessera_headline, TESSERA, HEADLINE, GtkBox)

GtkWidget *tessera_headline_new (TesseraDocument *document);
