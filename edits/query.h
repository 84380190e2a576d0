/*
 * Selectors as text: what the search field, the command line and lists of edits show.
 *
 *   size>=1MiB phase=backward died=optimizer module=*mlp* class=transient life<100 step=3
 *   stream=1 ordinal=0 source=train.py:12 group="forward -> backward" alive=12345
 *   blocks=3,7-9
 *
 * Conditions are joined by blanks: all have to hold. size and life take < <= = >= >, the
 * others = only. Sizes are those of db/size-text.h, also with
 * blanks, as in size >= 1.5 GiB; texts with blanks are quoted, and inside
 * quotes a backslash stands before a quote or a backslash.
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
/* The text of @selector, which reads back as the same; but blocks by hand are told as "12
 * blocks", since there may be thousands. */
char *tessera_query_format (const TesseraSelector *selector);
/* One sentence for a list: "Pin size>=1MiB phase=backward at 3.25 GiB". */
char *tessera_edit_describe (const TesseraEdit *edit);
/* The rule that selects exactly the chosen (by module, phase, size, ordinal ...), so that
 * it holds for tomorrow's trace, without conditions that are not needed for that; FALSE:
 * there is none, and @selector lists the blocks. */
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
