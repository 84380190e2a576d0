/*
 * What makes the peak of the load: rows of blocks that are alive together in it, and what
 * a plan would need if those of a row were freed before it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/study.h"
#include "planner/what-if.h"

typedef enum
{
  CLI_BY_PHASES, /* of birth and death */
  CLI_BY_LINE,   /* the program's own */
  CLI_BY_SIZE
} CliPeakBy;

typedef struct
{
  char *name;
  guint64 bytes;    /* block bytes alive at the peak */
  guint64 n_blocks; /* ... and their number */
  guint8 lifetime_class;
  gboolean is_recomputable; /* all were born in a forward and die in a backward pass */
} CliPeakRow;

/* A question and its answer. */
typedef struct
{
  guint64 n_changed, changed_bytes; /* blocks, over the whole trace */
  guint64 bound_bytes, height_bytes;
  guint64 n_left; /* requests that edits leave to the dynamic allocator */
} CliWhatIf;

/* Rows of what is alive at @event_index, most bytes first: array of CliPeakRow, which it
 * owns. */
GArray *cli_peak_rows (const CliStudy *study, CliPeakBy by, uint32_t event_index);
/* One byte a block: those that would be in the row called @name, at any moment. */
guint8 *cli_peak_row_blocks (const CliStudy *study, CliPeakBy by, const char *name);
/* One byte a block: @block and its like in every other step (same size, stream, stack and
 * phases, as many such before it in the step). */
guint8 *cli_peak_likes (const CliStudy *study, uint32_t block);

/* Plans as study->plan was, as if the chosen were freed before @moments; NULL: as if they
 * were kept elsewhere. */
TESSERA_MUST_USE TesseraStatus cli_what_if (const CliStudy *study,
                                            const TesseraPlanOptions *options,
                                            const guint8 *chosen,
                                            const TesseraMoments *moments,
                                            CliWhatIf *out_answer,
                                            TesseraError *error);
