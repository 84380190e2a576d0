/*
 * The ranks of one distributed job, a file each: which are alike, and what each kind needs.
 *
 * What a file holds is found by a process of its own: what ends a command ends only that
 * one, after its sentence, and several files are worked on at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/study.h"

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
  CliNeed need[TESSERA_LAYOUT_PLAN + 1]; /* 0: not asked for */
  char not_followed[256];                /* why no run follows the plan; "" */
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

/* The answers that are wanted. @plans: (nullable): the folder that gets each rank's plan */
typedef struct
{
  gboolean is_fast; /* no plan, no smallest devices */
  const char *plans;
} CliRankOptions;

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
void cli_ranks_answer (CliRanks *ranks, const CliRankOptions *options);
void cli_ranks_clear (CliRanks *ranks);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CliRanks, cli_ranks_clear)

const CliRankLook *cli_rank_look (const CliRank *rank);
const CliRankAnswer *cli_rank_answer (const CliRank *rank); /* or NULL */
/* Where its plan is written; g_free(). */
char *cli_rank_plan_path (const CliRank *rank, const char *plans);

/* Works the answers out and prints them, as `tessera job` does. Returns: its exit status */
int cli_ranks_tell (CliRanks *ranks);
