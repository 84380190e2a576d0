/*
 * Where a subcommand writes: looked at before the work begins.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/command.h"

/*
 * cli_check_output:
 * @name: the subcommand
 * @input: (nullable): the file it reads
 * @output: (nullable): the file it is to write; NULL is fine
 *
 * Prints a sentence where @output can't be written or must not be: a folder in its place,
 * a folder that is not there, or @input itself, which would be lost. Where it is standard
 * output, what is to be read goes to standard error.
 *
 * Returns: CLI_DONE, CLI_FAILED or CLI_USAGE
 */
int cli_check_output (const char *name, const char *input, const char *output);

/* Of a trace that a run will write, which grows: no device; and a file that is no trace, say
 * the program itself, must not lie in its place: only one that ends in .tsr is replaced unseen. */
int cli_check_trace_output (const char *name, const char *input, const char *output);
