/*
 * tessera job --slurm, --parallel: dry runs that an engine runs, one for each rank or value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

/* @cells: "rank=0..63" or "batch=1,2,4", where the program has {batch}; @world: ranks of the
 * job, 0: the cells are none; @words: the folder, then the program, ends with NULL.
 * Writes FOLDER/task, the dry run of one cell, and prints the line that has the engine run
 * all of them and then answers, or runs that line. Returns: the exit status */
int cli_array (
    gboolean is_slurm, gboolean submits, const char *cells, gint world, char **words);
