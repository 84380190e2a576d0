/*
 * What is live at one moment: the largest blocks, and bytes by the program's own lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "cli/study.h"

typedef struct
{
  char *line; /* "finetune.py:33 train_step", or "(no stack)" */
  guint64 bytes;
  guint64 n_blocks;
} CliCulprit;

/* Blocks live just after @event_index, largest first: array of uint32 block indexes. */
GArray *cli_live_blocks (const CliStudy *study, uint32_t event_index);
/* The same by source line, most bytes first: array of CliCulprit, which it owns. */
GArray *cli_culprits (const CliStudy *study, uint32_t event_index);
/* The innermost line of the program's own (else of anything); newly allocated. */
char *cli_own_line (const TesseraTrace *trace, uint32_t stack);
