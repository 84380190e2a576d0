/*
 * What starts programs: a training program in the environment that makes it record, follow a plan
 * or run over the null CUDA, and never changed; dry runs, whose trace is planned and answered from;
 * and the ranks of a job.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <limits.h>
#include <sys/types.h>

#include "cli/tell.h"

/* ---- job.c: a program and its environment ---- */

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
  const char *record;  /* pattern of the trace's path; of a dry run the path itself */
  const char *plan;    /* as well */
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
  gint n_gpus;                    /* that the process sees; 0: one, or those of a node */
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

/* What to type behind `tessera dry-run` where the command line names a launcher: "--world 8
 * --rank 0 -- python train.py". Transfer full. */
char *cli_program_unlaunched (char **program);

/* Whether @policy is one of those that the library knows. */
gboolean cli_job_policy_is_known (const char *policy);

/* Whether @follow is NULL or something that the library knows. */
gboolean cli_job_follow_is_known (const char *follow);

/* Where @path is a folder it becomes the plan that `tessera job --plans` wrote there for @rank;
 * -1: the pattern of each rank's own. A folder without ends the command. */
void cli_job_find_plan (char **path, int rank);

/* All parts of Tessera are there that the job needs, and where the program is a Python, it starts
 * and has a PyTorch built for CUDA; or the command ends. */
void cli_job_check (const CliJob *job, char **program);

/* Becomes the program, whose exit status is then ours, and which gets all signals. Where
 * a part of Tessera is missing it runs without, after a sentence. */
G_NORETURN void cli_job_become (const CliJob *job, char **program);

/* Runs the program to its end, with no @job in the environment as it is. Signals that would end us go to it instead; ctrl-C reaches
 * it from the terminal. What does not start ends the command. @stdout_to: a descriptor that gets
 * its standard output; -1: ours does */
CliJobEnd cli_job_wait (const CliJob *job, char **program, int stdout_to);

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

/* "T.tsp" of "T.tsr" and ".tsp"; newly allocated. */
char *cli_path_beside (const char *trace_path, const char *ending);

typedef struct
{
  CliJob job;
  CliQuestion question;
  char **program;         /* borrowed; ends with NULL */
  char *plan_path;        /* absolute, as the job's; written */
  TesseraPlan *followed;  /* the job's, as it was before the run, or NULL */
  struct CliTrial *trial; /* that gets the figures, and nothing is told; NULL: none */
  char **changes; /* of cli_changes_read(), tried after the run; borrowed; or NULL */
  guint n_jobs;   /* runs at a time; 0: as cores and memory allow */
} CliRehearsal;

/* Prints the answer, or a sentence why there is none. Returns the exit status. */
int cli_rehearse (CliRehearsal *rehearsal);

/* ---- trial.c: runs for their figures alone, each a child of this process, with a process
 * group and files of its own, as many at a time as cores and memory allow ---- */

typedef enum
{
  CLI_TRIAL_RUNNING,
  CLI_TRIAL_MEASURED,
  CLI_TRIAL_OUT_OF_MEMORY, /* even of the null CUDA's */
  CLI_TRIAL_FAILED,
} CliTrialState;

/* In memory that the child has as well, which writes there what it found. */
typedef struct CliTrial
{
  char stem[PATH_MAX]; /* "FOLDER/3": its files are FOLDER/3.log ... */
  pid_t pid;           /* 0: it has ended */
  CliTrialState state;
  guint64 bytes[CLI_N_POLICIES]; /* the smallest device; G_MAXUINT64: none will do */
  guint64 live_bytes;            /* at most */
  gboolean is_unchanged;         /* its change could not be made: the remark says why */
  char remark[1 << 14];          /* what went wrong, or bears on the answer; or "" */
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

/* @model: of every run, but for paths; its program has {NAME}s; @sweeps: "batch=1..64",
 * "length=512,1024", "try=nothing,fused"; then NULL; @picture: (nullable): a PNG or SVG of the
 * frontier, to be written. Mistakes end the command. Prints the answer. Returns: the exit
 * status */
int cli_sweep (const CliRehearsal *model,
               char **sweeps,
               const CliGpu *gpus,
               guint n_gpus,
               const char *picture);

/* ---- ranks.c: the ranks of one distributed job, a file each: which are alike, and what each
 * kind needs. What a file holds is found by a process of its own: what ends a command ends only
 * that one, after its sentence, and several files are worked on at once ---- */

/* How the ranks of a job are laid out: "pp=4 dp=16", the outermost axis first, so that the
 * last one's positions are neighbouring ranks. Axes whose names begin with p, t or e are
 * stages, tensor and expert positions, where ranks do something else; ranks that differ along
 * others do the same on other data. */
typedef struct
{
  char name[16];
  guint64 size, stride;
} CliAxis;

typedef struct
{
  CliAxis axes[8];
  guint n; /* 0: not known */
  guint64 world;
  guint64 n_classes; /* ranks of one stage, tensor and expert position are one */
  char text[160];    /* as above; "": not known */
} CliTopology;

/* Returns FALSE, and nothing known: @text is something else. A line's rest from # on is a
 * remark. */
gboolean cli_topology_read (CliTopology *topology, const char *text);
guint64 cli_topology_class (const CliTopology *topology, guint64 rank);
/* Where these ranks are and no others along that axis: "stage 3, tp 0-1"; or "". */
char *cli_topology_describe (const CliTopology *topology, const GArray *ranks);

/* The first look at a file. */
typedef struct
{
  guint64 peak_live_bytes, peak_reserved_bytes;
  guint64 rank, world; /* as recorded; world below 2: not told */
  char topology[128];  /* as recorded, or "" */
  guint64 n_failures;
  guint64 n_requests;
  guint64 hashes[]; /* [n_requests]: of all requests, frees and failures up to each */
} CliRankLook;

/* What is worked out for the fullest of those that are alike. */
typedef struct
{
  TesseraVerdict verdict;
  TesseraNeed need[TESSERA_LAYOUT_PLAN + 1]; /* 0: not asked for */
  guint64 pytorch_bytes;  /* smallest device of native or expandable; 0: not asked for */
  guint64 across_bytes;   /* of a plan across streams, where this one is not; 0: none */
  char not_followed[256]; /* why no run follows the plan; "" */
} CliRankAnswer;

typedef struct CliRank CliRank;

struct CliRank
{
  char *path;
  guint64 rank;
  gboolean is_numbered; /* nothing told the rank, or what another file is as well */
  gboolean is_taken;    /* no file is its own: taken to be as the one at @path */
  GPtrArray *alike;     /* borrowed, by rank, itself among them; NULL: it is not the
                           fullest of its kind */
  const CliRank *kind;  /* which is that */
  pid_t pid;            /* of the process that works on it, and ... */
  int result;           /* ... the descriptor of a file in memory */
  GMappedFile *looked;
  GMappedFile *answered; /* NULL: not asked for, or it failed */
};

typedef struct
{
  GPtrArray *ranks; /* owned, by rank */
  GPtrArray *kinds; /* the fullest of each kind: who dies first, then who needs most */
  guint n_failed;   /* files that could not be read, or not be worked on */
  guint64 world;    /* processes of the job as recorded; 0: not told */
  CliTopology topology;
  gboolean takes_equal; /* a rank with no file is taken to be as the next ranks before and
                           after it of its stage, tensor and expert position, where these
                           are alike */
} CliRanks;

/* What is done first in the process that looks at a file; it ends that where it fails. */
typedef void (*CliRankPrepare) (const CliRank *rank, gconstpointer user);

/* A file to look at; takes @path. @number: the rank that it will be of, once prepared; else
 * the file tells. */
void cli_ranks_add (CliRanks *ranks, char *path, guint64 number);
/* Looks at what was added since the last call, so many at once (0: as processors allow).
 * What cannot be read has had its sentence, and is gone. @prepare: (nullable) */
void cli_ranks_look (CliRanks *ranks,
                     guint n_at_once,
                     CliRankPrepare prepare,
                     gconstpointer user);
/* Numbers all that are there, and finds their kinds. */
void cli_ranks_fold (CliRanks *ranks);
/* @is_fast: no plan, no smallest devices; @plans: (nullable): the folder that gets each rank's plan */
void cli_ranks_answer (CliRanks *ranks, gboolean is_fast, const char *plans);
void cli_ranks_clear (CliRanks *ranks);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CliRanks, cli_ranks_clear)

const CliRankLook *cli_rank_look (const CliRank *rank);
const CliRankAnswer *cli_rank_answer (const CliRank *rank); /* or NULL */
/* Where its plan is written; g_free(). */
char *cli_rank_plan_path (const CliRank *rank, const char *plans);

/* Works the answers out and prints them, as `tessera job` does. Returns: its exit status */
int cli_ranks_tell (CliRanks *ranks);

/* ---- all-ranks.c: those of a job's ranks alone that tell how the others are ---- */

/* @model: of every run, but for rank and paths; @topology: (nullable): as given, else the
 * first rank's groups tell it; @folder: for the traces, is made. Prints the answer of
 * `tessera job`. Returns: the exit status */
int cli_all_ranks (const CliRehearsal *model, const char *topology, const char *folder);
