/*
 * tessera dry-run --all-ranks: dry runs of a job's ranks, but of those alone that tell how
 * the others are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/rehearsal.h"

/* @model: of every run, but for rank and paths; @topology: (nullable): as given, else the
 * first rank's groups tell it; @folder: for the traces, is made; @n_jobs: runs at a time, 0:
 * as processors and memory allow. Prints the answer of `tessera job`. Returns: the exit status */
int cli_all_ranks (const CliRehearsal *model,
                   const char *topology,
                   const char *folder,
                   guint n_jobs);
