/*
 * One dry run of a sweep: a child of this process, with a process group and files of its
 * own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sys/types.h>

#include "cli/rehearsal.h"

#define CLI_TRIAL_POLICIES 3 /* native, expandable, plan */

typedef enum
{
  CLI_TRIAL_RUNNING,
  CLI_TRIAL_MEASURED,
  CLI_TRIAL_OUT_OF_MEMORY, /* even of the null CUDA's */
  CLI_TRIAL_FAILED,
} CliTrialState;

typedef struct
{
  char *stem; /* "FOLDER/3": its files are FOLDER/3.log ...; to be set */
  pid_t pid;  /* 0: it has ended */
  CliTrialState state;
  guint64 bytes[CLI_TRIAL_POLICIES]; /* the smallest device; G_MAXUINT64: none will do */
  char *remark; /* what went wrong, or bears on the answer; or NULL. Owned */
} CliTrial;

/* @run: but for the paths of trace and plan. A machine that has no room for another
 * process ends the command. */
void cli_trial_start (CliTrial *trial, const CliRehearsal *run);
/* Whether it goes on. When it has ended, its result is there and its files are gone, but
 * for the log of a script that failed. */
gboolean cli_trial_poll (CliTrial *trial);
/* Ends it and all that it started, at @deadline_us (of the monotonic clock) by force. */
void cli_trial_stop (CliTrial *trial, gint64 deadline_us);
/* What the log at @path says last, without Tessera's own sentences where it is @of_script;
 * g_free(). */
char *cli_trial_last_line (const char *path, gboolean of_script);
