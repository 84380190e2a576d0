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
 * Prints a sentence where @output can't be written or must not be: a folder or device in
 * its place, a folder that is not there, or @input itself, which would be lost.
 *
 * Returns: CLI_DONE, CLI_FAILED or CLI_USAGE
 */
int cli_check_output (const char *name, const char *input, const char *output);

/* The same of a trace that a run will write, in whose place a file that is no trace, say
 * the program itself, must not lie: only one that ends in .tsr is replaced unseen. */
int cli_check_trace_output (const char *name, const char *input, const char *output);

/*
 * cli_write_file:
 * @output: looked at by cli_check_output()
 * @n_bytes: of @data, or -1: up to its end
 *
 * The file is there whole, or is what it was.
 *
 * Returns: TESSERA_OK, or TESSERA_IO with a sentence
 */
TESSERA_MUST_USE TesseraStatus cli_write_file (const char *output,
                                               const char *data,
                                               gssize n_bytes,
                                               TesseraError *error);
