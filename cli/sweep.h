/*
 * tessera dry-run --sweep: dry runs of one program with other values on its command line,
 * and the largest value that fits each GPU under each policy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/rehearsal.h"

/* What has no place in the program: a change of tries.h, or none. */
#define CLI_SWEEP_TRY "{try}"
#define CLI_SWEEP_NOTHING "nothing"

typedef struct
{
  const char *name;        /* "h100-80" */
  guint64 available_bytes; /* to PyTorch, the head-room left out */
} CliGpu;

/* What is asked; all is borrowed. */
typedef struct
{
  const CliRehearsal
      *model; /* of every run, but for the paths; its program has {NAME}s */
  char *
      *sweeps; /* "batch=1..64", "length=512,1024", "try=nothing,fused"; ends with NULL */
  const CliGpu *gpus;
  guint n_gpus;
  const char *picture; /* a PNG or SVG of the frontier, to be written; or NULL */
  guint n_jobs;        /* runs at a time; 0: as cores and memory allow */
} CliSweep;

/* Mistakes in @asked end the command. Prints the answer. Returns: the exit status */
int cli_sweep (const CliSweep *asked);
