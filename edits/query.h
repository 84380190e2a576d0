/*
 * Selectors as text: what the search field, the command line and lists of edits show.
 *
 *   size>=1MiB phase=backward module=*mlp* class=transient life<100 step=3 stream=1
 *   source=train.py:12 group="forward -> backward" alive=12345
 *
 * Conditions are joined by blanks: all have to hold. Sizes take KiB, MiB, GiB; texts with
 * blanks are quoted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "planner/edit.h"

/* @selector: initialised and filled. FALSE: *out_error is one sentence that names the
 * condition (g_free()). An empty text selects every block. */
gboolean
tessera_query_parse (const char *text, TesseraSelector *selector, char **out_error);
/* The text of @selector; blocks by hand are told as "12 blocks". */
char *tessera_query_format (const TesseraSelector *selector);
/* One sentence for a list: "Pin 12 blocks (forward -> backward) at 3.25 GiB". */
char *tessera_edit_describe (const TesseraEdit *edit);
/* The narrowest rule that selects exactly what @blocks are (by module, phase, size,
 * ordinal ...), so that it holds for tomorrow's trace; FALSE: there is none, and
 * @selector lists the blocks. */
gboolean tessera_query_rule_for (const TesseraTrace *trace,
                                 const TesseraBlocks *blocks,
                                 const TesseraStructure *structure,
                                 const TesseraGroup *groups,
                                 size_t n_groups,
                                 const uint32_t *chosen,
                                 size_t n_chosen,
                                 TesseraSelector *selector);
/* "Similar to this": same size, phases of birth and death, module, stream; any step. */
void tessera_query_similar (const TesseraTrace *trace,
                            const TesseraBlocks *blocks,
                            const TesseraStructure *structure,
                            uint32_t block,
                            TesseraSelector *selector);
