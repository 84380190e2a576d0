/*
 * Edits as the command line tells them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/command.h"
#include "edits/edits.h"

/* As typed; each may be NULL. */
typedef struct
{
  char *kind, *what, *with, *group, *at, *by, *lifetime_class, *shape, *name;
} CliEditWords;

void cli_edit_words_clear (CliEditWords *words);

/*
 * cli_edit_make:
 * @path: the trace, which is opened: an edit that is about no block is refused (unless it
 *   goes by a group, which other edits may have made), and so is an edit of places that
 * is about dynamic requests only
 * @out_edit: to be cleared by the caller
 * @out_remark: a sentence, or NULL: what the edit does not reach; g_free() it
 */
TESSERA_MUST_USE TesseraStatus cli_edit_make (const CliEditWords *words,
                                              const char *path,
                                              const CliCommon *common,
                                              TesseraEdit *out_edit,
                                              char **out_remark,
                                              TesseraError *error);
