/*
 * A file opened and studied: what every subcommand starts from. What fails ends the
 * command, but where a call returns a status.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/command.h"
#include "edits/edits.h"
#include "planner/check.h"
#include "planner/lengths.h"
#include "planner/modules.h"
#include "planner/planner.h"
#include "simulator/simulate.h"
#include "simulator/verdict.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraLayout, tessera_layout_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraPlan, tessera_plan_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraTrace, tessera_trace_free)

typedef struct
{
  char *path;
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraLayout *layout;   /* as recorded, or native where the file has no addresses */
  TesseraHistory *history; /* filled by cli_study_edits() */
  TesseraPlan *plan;       /* filled by cli_study_plan() */
  char
      *followed; /* the name of the file that the plan is from, where the recorded run was
                     to follow it; NULL: the plan is made from the trace */
  gboolean follows_length;       /* by what it has for every length, as a run does */
  TesseraLaws *laws;             /* filled by cli_study_as_run() */
  const TesseraLengths *lengths; /* the plan's; NULL: none for every length */
  char *why_no_lengths;          /* a sentence, or NULL: nothing varies by a law */
  TesseraLayout *planned;        /* the trace under the plan */
  TesseraNeeds needs; /* its leak is there from the start; the rest is filled by
                         cli_study_needs() */
  TesseraNeed across; /* of a plan across streams, where the plan keeps them apart */
  uint64_t
      across_bound_bytes; /* alive at most, blocks ending at their free; 0: as else */
  TesseraNeed need[TESSERA_LAYOUT_PLAN + 1]; /* by policy: the same, and what it costs */
  gint64 plan_begin_us;
  double plan_seconds;     /* from the first block placed to the last advice */
  uint64_t unedited_bytes; /* height of a quick plan without the edits; 0: it has none */
} CliStudy;

/* The trace, as the command line says which device of the file. */
TESSERA_MUST_USE TesseraStatus cli_open_trace (const char *path,
                                               const char *doing,
                                               TesseraError *error,
                                               TesseraTrace **out_trace);
/* Opens and finds blocks, steps and phases. */
void cli_study_open (CliStudy *study, const char *path);
void cli_study_clear (CliStudy *study);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CliStudy, cli_study_clear)

/* tessera_simulate() of the study's trace; what goes wrong is said with the name of the
 * file: @plan_path (nullable) where a plan from a file is followed. */
TesseraLayout *cli_study_simulate (const CliStudy *study,
                                   const TesseraSimulateOptions *options,
                                   const char *plan_path);
/* Adds the layout under @kind (RECORDED falls back to NATIVE where nothing was recorded).
 */
void cli_study_layout (CliStudy *study, TesseraLayoutKind kind);
/* As RECORDED, for what asks no more than what is live and what is reserved: much sooner,
 * and blocks have their rounded sizes. */
void cli_study_live (CliStudy *study);
/* Streams apart or across, as the command line says. */
void cli_study_streams (TesseraPlanOptions *options);
/* Whether a plan across streams is worth a word: there are several, nobody said that they
 * are to be apart, and no dry run saw that the program does not allow it. */
gboolean cli_study_may_cross (const CliStudy *study);
/* What a plan is made with: that, and the edits of --edits, else those kept with the file, else
 * (--no-edits) none. Those that stand go into @options, for as long as the study is there.
 */
void cli_study_edits (CliStudy *study, TesseraPlanOptions *options);
/* Plans: the plan carries the study's edits. */
void cli_study_plan (CliStudy *study, const TesseraPlanOptions *options);
/* Lays the trace out under the plan's offsets, also where a run follows it by length. */
void cli_study_under_offsets (CliStudy *study);
/* The plan that `tessera plan` makes where it is told nothing, followed as a run follows it:
 * both of the above, and cli_study_as_run(). */
void cli_study_plan_as_edited (CliStudy *study);
/* Finds what the plan's edits cost: 0 where they have made nothing larger, or there are
 * none. What they leave to the dynamic allocator counts as well. */
void cli_study_unedited (CliStudy *study, const TesseraPlanOptions *options);
uint64_t cli_study_edits_cost (const CliStudy *study);
/* What kinds of step there are, and how their sizes follow from length and batch; a plan
 * for lengths and batches up to @most (0: the largest seen), where they do, which becomes part
 * of the plan; and the trace laid out as a run follows the plan, which says whether one is
 * advised to (simulator/simulate.h). Needs the plan. */
void cli_study_as_run (CliStudy *study, TesseraParameters most);
/* Puts @plan, which it takes, in the place of the study's: the one of the file @path, which
 * the recorded run was to follow, @by_length where it has something for every length. The
 * study has a layout as recorded. */
void cli_study_follow (CliStudy *study,
                       TesseraPlan *plan,
                       const char *path,
                       gboolean by_length);
/* The smallest devices; needs the plan. */
void cli_study_needs (CliStudy *study);

/* Verdict with what is known of needs. */
TesseraVerdict cli_study_verdict (const CliStudy *study);
/* What was reserved at @event_index; says so where there is no such event. */
TesseraParts cli_study_parts (const CliStudy *study, uint32_t event_index);

/* A study's blocks with the groups and classes that edits give them: of those that stand,
 * after cli_study_edits(); else the planner's own groups. Lives as long as the study. */
typedef struct
{
  TesseraBlocks blocks; /* the study's; groups and classes are its own */
  TesseraGroup *groups;
  size_t n_groups;
} CliRegrouped;

CliRegrouped cli_regroup (const CliStudy *study);
void cli_regrouped_clear (CliRegrouped *regrouped);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CliRegrouped, cli_regrouped_clear)

/* The plan in the file. */
TesseraPlan *cli_load_plan (const char *path);
/* All laws, also of what it has for every length. @trace: (nullable): the one it has to be
 * made from. *out_law: which is broken; NONE: it could not be looked at. */
TesseraStatus cli_check_plan (const TesseraPlan *plan,
                              const TesseraTrace *trace,
                              TesseraLaw *out_law,
                              TesseraError *error);
/* What is followed, drawn or compared has been looked at by the checker: else the
 * sentence names the law that the plan breaks. @trace: (nullable): the one it has to be
 * made from. */
void
cli_accept_plan (const char *path, const TesseraPlan *plan, const TesseraTrace *trace);

/* snapshot.c: the trace as a pickle that PyTorch's own tools read. The study has a layout
 * as recorded. */
void cli_study_write_snapshot (const CliStudy *study, const char *path);
/* "recorded", "native", "expandable" or "plan:P.tsp"; *out_plan points into @text, or
 * NULL. */
gboolean
cli_parse_policy (const char *text, TesseraLayoutKind *out_kind, const char **out_plan);
