/*
 * tessera dry-run --try: what changes of the program win, measured by dry runs of the script
 * as it is, in which the Python package makes the change (python/tessera/trying.py).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/rehearsal.h"
#include "cli/whose.h"

/* Stands for all changes that the advice names. */
#define CLI_SUGGESTED "suggested"

/* The changes of "fused,fused+zero-grad"; what is none ends the command. Transfer full. */
char **cli_changes_read (const char *text);

/* A dry run for each change of @run, whose own trace is @study; then a table of them, and why what
 * could not be tried was not ("tried"; @json NULL: as text). The trace keeps what was live at
 * most with changes that are advised, by which the advice is verified from then on. */
void cli_try (JsonBuilder *json,
              const CliRehearsal *run,
              CliStudy *study,
              const TesseraWhose *whose);
