/*
 * Blocks by what they are: queries (edits/query.h) that filter the groups or select.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

/* Filters the groups, on a worker: `grouping` and `query` change a moment later. What is
 * not understood is said in query_error at once, and the groups stay. "" shows all. */
void tessera_document_set_query (TesseraDocument *self, const char *text);
/* For workers: what is told of the groups. @text: (nullable): NULL is all blocks. */
TesseraStatus tessera_query_groups (TesseraData *data,
                                    const char *text,
                                    TesseraError *error,
                                    TesseraGrouping **out_grouping);
/* Selects what matches, on a worker. FALSE: not understood; *out_error (nullable) says
 * why. */
gboolean tessera_document_select_query (TesseraDocument *self,
                                        const char *text,
                                        TesseraSelectHow how,
                                        char **out_error);
/* All like a block: same size, phases, module and stream, of any step. */
void tessera_document_select_similar (TesseraDocument *self, uint32_t block);
