/*
 * What the readers of edits in JSON share: a place for complaints, and values.
 *
 * All return FALSE after a complaint. Names of members (@key) go into its sentence.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <json-glib/json-glib.h>

#include "planner/edit.h"

typedef struct
{
  const char *where; /* which edit of which file, for sentences */
  TesseraError *error;
} EditsPlace;

/* Returns: FALSE */
gboolean edits_complain (const EditsPlace *place, const char *format, ...)
    G_GNUC_PRINTF (2, 3);

gboolean edits_read_number (const EditsPlace *place,
                            const char *key,
                            JsonNode *node,
                            guint64 most,
                            guint64 *out_number);
/* Below TESSERA_NONE. */
gboolean edits_read_u32 (const EditsPlace *place,
                         const char *key,
                         JsonNode *node,
                         uint32_t *out_number);
/* One line of at most 1,024 bytes. Frees what *out_text was before. */
gboolean edits_read_text (const EditsPlace *place,
                          const char *key,
                          JsonNode *node,
                          char **out_text);
/* The same of a text that is no JSON. */
gboolean edits_take_text (const EditsPlace *place,
                          const char *key,
                          const char *text,
                          char **out_text);
gboolean edits_read_class (const EditsPlace *place, JsonNode *node, guint8 *out_class);
/* Owned by @node; NULL after a complaint. */
JsonArray *edits_read_array (const EditsPlace *place, const char *key, JsonNode *node);
/* @number: of the thing that @name names; 0: there is none. */
gboolean
edits_is_known (const EditsPlace *place, const char *key, guint number, const char *name);

/* @of: the member that holds the selector, which has been initialized. What is not
 * understood is refused. */
gboolean edits_read_selector (const EditsPlace *place,
                              const char *of,
                              JsonNode *node,
                              TesseraSelector *selector);
