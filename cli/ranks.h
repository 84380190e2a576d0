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

/* The first look at a file. */
typedef struct
{
  guint64 peak_live_bytes, peak_reserved_bytes;
  guint64 rank, world; /* as recorded; world below 2: not told */
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

typedef struct
{
  char *path;
  guint64 rank;
  gboolean is_numbered; /* nothing told the rank, or what another file is as well */
  GPtrArray *alike;     /* borrowed, by rank, itself among them; NULL: it is not the
                           fullest of its kind */
  GMappedFile *looked;
  GMappedFile *answered; /* NULL: not asked for, or it failed */
} CliRank;

typedef struct
{
  GPtrArray *ranks; /* owned, by rank */
  GPtrArray *kinds; /* the fullest of each kind: who dies first, then who needs most */
  guint n_failed;   /* files that could not be read, or not be worked on */
} CliRanks;

/* The answers that are wanted. @plans: (nullable): the folder that gets each rank's plan */
typedef struct
{
  gboolean is_fast; /* no plan, no smallest devices */
  const char *plans;
} CliRankOptions;

/* @paths: texts. What cannot be read has had its sentence. */
void cli_ranks_look (CliRanks *ranks, const GPtrArray *paths);
void cli_ranks_answer (CliRanks *ranks, const CliRankOptions *options);
void cli_ranks_clear (CliRanks *ranks);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CliRanks, cli_ranks_clear)

const CliRankLook *cli_rank_look (const CliRank *rank);
const CliRankAnswer *cli_rank_answer (const CliRank *rank); /* or NULL */
/* Where its plan is written; g_free(). */
char *cli_rank_plan_path (const CliRank *rank, const char *plans);
