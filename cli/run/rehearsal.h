/*
 * tessera dry-run: a program runs over the null CUDA, its trace is planned, and the fit answer is
 * printed; for one run, for the values of a sweep, with changes of the program, or for the ranks of
 * a job.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sys/types.h>

#include "cli/run/job.h"
#include "cli/tell.h"

/* ---- answer.c: does a recorded run fit a GPU, and under which policy? ---- */

/* What is asked about. Strings are borrowed. */
typedef struct
{
  const char *gpu;          /* "h100-80" */
  guint64 gpu_bytes;        /* as its driver reports it */
  guint64 headroom_bytes;   /* of these, not for PyTorch's tensors */
  const char *headroom_why; /* what the head-room is for */
  gboolean is_complete;     /* the script ran to its end, and all of it was seen */
  const char *adapted;      /* a sentence: how the script got on where it did not fit */
} CliQuestion;

/* Bytes of the GPU that the head-room leaves to PyTorch. */
guint64 cli_answer_available (const CliQuestion *question);
/* Whether the job fits as the question has it: natively or with expandable segments, or,
 * where a plan was to be followed, as that went. */
gboolean cli_answer_is_yes (const CliStudy *study, const CliQuestion *question);

/* The answer, one sentence first, with what each policy needs. @study has a plan and needs
 * (cli_study_plan(), cli_study_needs()) and a layout. */
void cli_answer_tell (const CliStudy *study, const CliQuestion *question);
/* "Smallest known GPU: native l40s-48, plan rtx4090-24", the head-room included. */
void cli_answer_tell_smallest (const CliStudy *study, const CliQuestion *question);

/* ---- rehearsal.c: one run ---- */

typedef struct
{
  CliJob job;
  CliQuestion question;
  char **program;                         /* borrowed; ends with NULL */
  char *trace_path, *plan_path;           /* absolute; written */
  char *followed_path;                    /* a plan that is read, or NULL */
  TesseraPlan *followed;                  /* ... as it was before the run */
  char *trace_pattern, *followed_pattern; /* the same, as the job takes them */
  gboolean is_once; /* no second run with the memory of the GPU, and no advice */
  char **changes;   /* of cli_changes_read(), tried after the run; borrowed; or NULL */
  guint n_jobs;     /* for these, at a time; 0: as cores and memory allow */
} CliRehearsal;

/* Prints the answer, or a sentence why there is none. Returns the exit status. */
int cli_rehearse (CliRehearsal *rehearsal);

/* ---- trial.c: runs for their figures alone, each a child of this process, with a process
 * group and files of its own, as many at a time as cores and memory allow ---- */

#define CLI_TRIAL_POLICIES 3 /* native, expandable, plan */
/* The members of an answer that say what each needs: "native_bytes" ... */
extern const char *const cli_trial_needs[CLI_TRIAL_POLICIES];

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
/* How many dry runs go on at a time: @asked, where it is 0 as many as cores and memory allow, by
 * the largest so far. */
guint cli_most_jobs (guint asked);

/* Starts one. @run: but for the paths of trace and plan. A machine that has no room for another
 * process ends the command. Returns: the trial, as long as @trials */
const CliTrial *cli_trials_start (CliTrials *trials, const CliRehearsal *run);

/* Until nothing goes on and @start_next has nothing to start (FALSE). @on_end (nullable): a
 * trial has its result, and its files are gone, but for the log of a script that failed. A signal
 * ends all that goes on, and then this command. */
void cli_trials_run (CliTrials *trials,
                     gboolean (*start_next) (gpointer user),
                     void (*on_end) (const CliTrial *trial, gpointer user),
                     gpointer user);
/* What the log at @path says last, without Tessera's own sentences where it is @of_script;
 * g_free(). */
char *cli_trial_last_line (const char *path, gboolean of_script);
/* Of the files in a folder those whose names begin so; @kept: (nullable): but this one. */
void cli_remove_files (const char *folder_path, const char *begin, const char *kept);

/* --try: what changes of the program win, measured by trials of the script as it is, in which the
 * Python package makes the change (python/tessera/trying.py). */

/* Stands for all changes that the advice names. */
#define CLI_SUGGESTED "suggested"

/* The changes of "fused,fused+zero-grad"; what is none ends the command. Transfer full. */
char **cli_changes_read (const char *text);

/* A trial for each change of @run, whose own trace is @study; then a table of them, and why what
 * could not be tried was not ("tried"). The trace keeps what was live at
 * most with changes that are advised, by which the advice is verified from then on. */
void cli_try (const CliRehearsal *run, CliStudy *study, const TesseraWhose *whose);

/* ---- sweep.c: the largest value on the command line that fits each GPU under each policy ---- */

/* What has no place in the program: a change, or none. */
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

/* ---- all-ranks.c: those of a job's ranks alone that tell how the others are ---- */

/* @model: of every run, but for rank and paths; @topology: (nullable): as given, else the
 * first rank's groups tell it; @folder: for the traces, is made; @n_jobs: runs at a time, 0:
 * as processors and memory allow. Prints the answer of `tessera job`. Returns: the exit status */
int cli_all_ranks (const CliRehearsal *model,
                   const char *topology,
                   const char *folder,
                   guint n_jobs);
