/*
 * Dry runs of a sweep, or with a change of the program: each a child of this process, with a
 * process group and files of its own, as many at a time as cores and memory allow.
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
  char *stem; /* "FOLDER/3": its files are FOLDER/3.log ... */
  pid_t pid;  /* 0: it has ended */
  CliTrialState state;
  guint64 bytes[CLI_TRIAL_POLICIES]; /* the smallest device; G_MAXUINT64: none will do */
  guint64 live_bytes;                /* at most */
  gboolean
      is_unchanged; /* the change of its job could not be made: the remark says why */
  char *remark;     /* what went wrong, or bears on the answer; or NULL */
} CliTrial;

typedef struct CliTrials CliTrials;

/* @n_jobs: at a time; 0: as cores and memory allow. */
CliTrials *cli_trials_new (guint n_jobs);
/* Ends none: cli_trials_run() has. */
void cli_trials_free (CliTrials *trials);
guint cli_trials_most_jobs (const CliTrials *trials);

/* Starts one. @run: but for the paths of trace and plan. A machine that has no room for another
 * process ends the command. Returns: the trial, as long as @trials */
const CliTrial *cli_trials_start (CliTrials *trials, const CliRehearsal *run);

/* Until nothing goes on and @start_next has nothing to start (FALSE). @on_end (nullable): a trial has its
 * result, and its files are gone, but for the log of a script that failed. A signal ends all
 * that goes on, and then this command. */
void cli_trials_run (CliTrials *trials,
                     gboolean (*start_next) (gpointer user),
                     void (*on_end) (const CliTrial *trial, gpointer user),
                     gpointer user);
/* What the log at @path says last, without Tessera's own sentences where it is @of_script;
 * g_free(). */
char *cli_trial_last_line (const char *path, gboolean of_script);
/* Of the files in a folder those whose names begin so; @kept: (nullable): but this one. */
void cli_remove_files (const char *folder_path, const char *begin, const char *kept);
