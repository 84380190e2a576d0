/*
 * Where a subcommand writes: looked at before the work begins.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/command.h"
#include "db/store.h"

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

/* The option that goes with cli_check_result(). */
#define CLI_FORCE(force)                                                                 \
  {                                                                                      \
    "force", 0, 0, G_OPTION_ARG_NONE, force,                                             \
        "Overwrite a file that is something else than what is written", NULL             \
  }

/* As cli_check_output() of a trace or plan, or of another file (TESSERA_FILE_OTHER). What is
 * neither empty nor such a file, say a script in place of a trace or a trace in place of a
 * picture, is replaced only by @force. */
int cli_check_result (const char *name,
                      const char *input,
                      const char *output,
                      TesseraFileKind kind,
                      gboolean force);
/* Of a trace that a run writes: it grows, in a file. */
int cli_check_recording (const char *name,
                         const char *input,
                         const char *output,
                         gboolean force);
