/*
 * What is live at one moment: the blocks, and rows of those that belong together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/study.h"

typedef enum
{
  CLI_BY_PHASES, /* of birth and death */
  CLI_BY_LINE,   /* the program's own */
  CLI_BY_SIZE
} CliBy;

typedef struct
{
  char *name;               /* "finetune.py:33 train_step", "forward -> backward" */
  guint64 bytes, n_blocks;  /* block bytes */
  guint8 lifetime_class;    /* of all of them; 0: of several */
  gboolean is_recomputable; /* all were born in a forward and die in a backward pass */
} CliRow;

/* Blocks that have their place in the layout just after @event_index, largest first: array
 * of uint32 block indexes. */
GArray *cli_live_blocks (const CliStudy *study, uint32_t event_index);
/* Rows of the blocks in @indexes, most bytes first: array of CliRow, which it owns. */
GArray *cli_group_blocks (const CliStudy *study, const GArray *indexes, CliBy by);
/* What the row of the block is called; newly allocated. */
char *cli_row_name (const CliStudy *study, CliBy by, const TesseraBlock *block);
/* One byte a block: @block and its like in every other step (same size, stream, stack and
 * phases, as many such before it in the step). */
guint8 *cli_find_alike (const CliStudy *study, uint32_t block);
