/*
 * The history: what was edited, in words; how far it is undone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_EDITS (tessera_edits_view_get_type ())
G_DECLARE_FINAL_TYPE (TesseraEditsView, tessera_edits_view, TESSERA, EDITS_VIEW, GtkBox)

GtkWidget *tessera_edits_view_new (TesseraDocument *document);
/* Takes the focus to an edit. */
void tessera_edits_view_show (TesseraEditsView *self, size_t index);
/* "Peak 2.30 GiB → 2.31 GiB, 10.00 MiB more by the last change; bound 2.29 GiB":
 * (transfer full); NULL: there is nothing to tell. */
char *tessera_describe_change (TesseraDocument *document);
