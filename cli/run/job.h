/*
 * A training program and the environment that makes it record, follow a plan, or run over
 * the null CUDA. The program itself is never changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/command.h"

typedef enum
{
  CLI_PLACE_VIEWER,   /* the viewer's program */
  CLI_PLACE_LIBRARY,  /* libtessera.so */
  CLI_PLACE_NULLCUDA, /* the folder of libnullcuda.so */
  CLI_PLACE_AUTOLOAD, /* the folder that Python enables Tessera from */
} CliPlace;

/* Where that lies: beside this program in the build tree, or where it is installed.
 * Returns: (transfer full) (nullable) (type filename): an absolute path of what is there */
char *cli_place_find (CliPlace place);

/* All strings are borrowed; NULL: the program's own environment decides. */
typedef struct
{
  const char *record;  /* pattern of the trace's path, see cli_job_pattern() */
  const char *plan;    /* pattern as well */
  const char *policy;  /* native, expandable, direct, plan */
  const char *stacks;  /* "0", "1" */
  const char *follow;  /* "length", "trace" */
  gboolean overwrites; /* what is no trace, where @record is to be */

  /* Dry runs only. */
  gboolean is_dry;
  guint64 gpu_bytes;              /* 0: @gpu is a profile */
  guint64 headroom_bytes;         /* of these not for tensors: kept with the trace */
  const char *gpu;                /* as given */
  guint64 budget_bytes;           /* that can be allocated; 0: more than any GPU has */
  const char *contract;           /* "0", "1": whether the order of streams is checked */
  gint64 least_steps, most_steps; /* whole steps after which the program is stopped: the
                                     least once one repeats the one before */
  gint64 most_events;             /* it goes on after these steps, up to so many events */
  double most_seconds;            /* ... or seconds; both 0: it is stopped there */
  gint64 rank, world;             /* world 0: no process group */
  const char *change;             /* of the program, made from outside: "fused" ... */
  const char *change_modules;     /* that checkpointing is about: "blocks.*" */
} CliJob;

/* How a program ended. */
typedef struct
{
  int status;        /* of its exit */
  int signal_number; /* that ended it; 0: none did */
  int stopped_by;    /* a signal that told us to end, and we it; 0: none came */
} CliJobEnd;

/* "train" for `python dir/train.py`, "pkg.main" for `python -m pkg.main`, else the
 * program's own name. Transfer full. */
char *cli_program_name (char **program);

/* The launcher of several processes that the command line names ("torchrun"); NULL: none.
 * Borrowed. */
const char *cli_program_launcher (char **program);

/* Where the program is a Python: whether it starts, and has a PyTorch built for CUDA. One
 * sentence where not. Other programs pass. */
TESSERA_MUST_USE TesseraStatus cli_program_check (char **program, TesseraError *error);

/* Whether @policy is one of those that the library knows. */
gboolean cli_job_policy_is_known (const char *policy);

/* Whether @follow is NULL or something that the library knows. */
gboolean cli_job_follow_is_known (const char *follow);

/* (transfer full): the pattern of @path alone, whatever % it holds. */
char *cli_job_pattern (const char *path);

/* (transfer full): @path itself, or where it is a folder the plan that `tessera job --plans`
 * wrote there for @rank; -1: the pattern of each rank's own. A folder without ends the command. */
char *cli_job_plan_of (const char *path, int rank);

/*
 * cli_job_environ:
 * @out_environ: (transfer full): strv of "NAME=value"
 *
 * Fails with a sentence where a part that the job needs is not installed.
 */
TESSERA_MUST_USE TesseraStatus cli_job_environ (const CliJob *job,
                                                char ***out_environ,
                                                TesseraError *error);

/* Becomes the program, whose exit status is then ours, and which gets all signals. Where
 * a part of Tessera is missing it runs without, after a sentence. */
G_NORETURN void cli_job_become (const CliJob *job, char **program);

/*
 * cli_job_wait:
 * @stdout_to: a descriptor that gets its standard output; -1: ours does
 *
 * Runs the program to its end. Signals that would end us go to it instead; ctrl-C reaches
 * it from the terminal.
 */
TESSERA_MUST_USE TesseraStatus cli_job_wait (char **program,
                                             char **environ_of_job,
                                             int stdout_to,
                                             CliJobEnd *out_end,
                                             TesseraError *error);
