/*
 * The field that queries are typed into: filters the groups while typing, Enter selects
 * what matches. Below it stands why a query is none; beside it what can be asked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_QUERY_ENTRY (tessera_query_entry_get_type ())
G_DECLARE_FINAL_TYPE (
    TesseraQueryEntry, tessera_query_entry, TESSERA, QUERY_ENTRY, GtkBox)

GtkWidget *tessera_query_entry_new (TesseraDocument *document);
