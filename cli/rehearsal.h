/*
 * A dry run performed: the program runs over the null CUDA, its trace is planned, and the
 * fit answer is printed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/answer.h"
#include "cli/job.h"

typedef struct
{
  CliJob job;
  CliQuestion question;
  char **program;                         /* borrowed; ends with NULL */
  char *trace_path, *plan_path;           /* absolute; written */
  char *followed_path;                    /* a plan that is read, or NULL */
  TesseraPlan *followed;                  /* ... as it was before the run */
  char *trace_pattern, *followed_pattern; /* the same, as the job takes them */
  gboolean
      is_once; /* no second run with the memory of the GPU where it does not fit, and no
                       advice */
  char **changes; /* of tries.h, looked at after the run; borrowed; NULL: none */
  guint n_jobs;   /* for these, at a time; 0: as cores and memory allow */
} CliRehearsal;

/* Prints the answer, or a sentence why there is none. Returns the exit status. */
int cli_rehearse (CliRehearsal *rehearsal);
