/*
 * A dry run that does not fit, once more with the memory that the GPU has: a script may
 * catch that memory is out and go on with less.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/rehearsal.h"

typedef struct
{
  guint64 n_failed; /* requests, all of them caught; 0: the script did not get on */
  size_t n_steps;
  guint64 reserved_bytes; /* at most */
  gint64 batch,
      batch_before; /* of its steps, and of those of the first run; 0: not told */
  char *trace_path;
  char *text; /* a sentence */
} CliSecondRun;

/* @available_bytes: of the GPU, for PyTorch. What goes wrong is no news: the script did not
 * get on. The trace stays where it did. */
void cli_second_run (const CliRehearsal *first,
                     const CliStudy *study,
                     guint64 available_bytes,
                     CliSecondRun *out_second);
void cli_second_run_json (JsonBuilder *builder, const CliSecondRun *second);
void cli_second_run_clear (CliSecondRun *second);
