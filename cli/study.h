/*
 * A file opened and studied: what every subcommand starts from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/command.h"
#include "edits/edits.h"
#include "planner/lengths.h"
#include "planner/planner.h"
#include "simulator/simulate.h"
#include "simulator/verdict.h"

/* What one policy needs. */
typedef struct
{
  uint64_t smallest_bytes; /* the smallest device that completes */
  uint64_t retries;        /* how often it flushed and waited there */
  uint64_t endless_bytes;  /* the most it reserves where memory never ends */
} CliNeed;

typedef struct
{
  char *path;
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraLayout *layout;   /* as recorded, or native where the file has no addresses */
  TesseraHistory *history; /* filled by cli_study_edits() */
  TesseraPlan *plan;       /* filled by cli_study_plan() */
  TesseraLaws *laws;       /* filled by cli_study_laws() */
  const TesseraLengths *lengths; /* the plan's; NULL: none for every length */
  char *why_no_lengths;          /* a sentence, or NULL: nothing varies by a law */
  TesseraLayout *planned;
  TesseraNeeds needs; /* its leak is there from the start; the rest is filled by
                         cli_study_needs() */
  CliNeed need[TESSERA_LAYOUT_PLAN + 1]; /* by policy: the same, and what it costs */
  gint64 plan_begin_us;
  double plan_seconds;     /* from the first block placed to the last advice */
  uint64_t unedited_bytes; /* height of a quick plan without the edits; 0: it has none */
} CliStudy;

/* Opens and finds blocks, steps and phases. */
TESSERA_MUST_USE TesseraStatus cli_study_open (CliStudy *study,
                                               const char *path,
                                               const CliCommon *common,
                                               TesseraError *error);
/* tessera_simulate() of the study's trace; what goes wrong is said with the name of the
 * file: @plan_path (nullable) where a plan from a file is followed. */
TESSERA_MUST_USE TesseraStatus cli_study_simulate (const CliStudy *study,
                                                   const TesseraSimulateOptions *options,
                                                   const char *plan_path,
                                                   TesseraError *error,
                                                   TesseraLayout **out_layout);
/* Adds the layout under @kind (RECORDED falls back to NATIVE where nothing was recorded).
 */
TESSERA_MUST_USE TesseraStatus cli_study_layout (CliStudy *study,
                                                 TesseraLayoutKind kind,
                                                 const CliCommon *common,
                                                 TesseraError *error);
/* What a plan is made with: the edits of @edits_path, else those kept with the file, else
 * (@no_edits) none. Those that stand go into @options, for as long as the study is there.
 */
TESSERA_MUST_USE TesseraStatus cli_study_edits (CliStudy *study,
                                                const char *edits_path,
                                                gboolean no_edits,
                                                TesseraPlanOptions *options,
                                                TesseraError *error);
/* What the importer found odd, a line each; as JSON: "notes". */
void cli_study_print_notes (const CliStudy *study);
void cli_study_json_notes (JsonBuilder *builder, const CliStudy *study);
/* "3 edits of run.tsr applied (--no-edits leaves them out)"; nothing where there are
 * none. */
void cli_study_print_edits (const CliStudy *study, const char *edits_path);
/* The same as JSON, also where there are none: "edits", name and text of each. */
void cli_study_json_edits (JsonBuilder *builder, const CliStudy *study);
/* Plans, and lays the trace out under the plan, which carries the study's edits. */
TESSERA_MUST_USE TesseraStatus cli_study_plan (CliStudy *study,
                                               const TesseraPlanOptions *options,
                                               TesseraError *error);
/* What the plan's edits cost: 0 where they have made nothing larger, or there are none.
 * What they leave to the dynamic allocator counts as well. */
TESSERA_MUST_USE TesseraStatus cli_study_unedited (CliStudy *study,
                                                   const TesseraPlanOptions *options,
                                                   TesseraError *error);
uint64_t cli_study_edits_cost (const CliStudy *study);
/* What kinds of step there are, and how their sizes follow from length and batch; a plan
 * for every length where they do, which becomes part of the plan. Needs the plan, and
 * calls cli_study_advise(). */
TESSERA_MUST_USE TesseraStatus cli_study_laws (CliStudy *study,
                                               const TesseraLengthsOptions *options,
                                               TesseraError *error);
/* Says in the plan whether a run is advised to follow it (simulator/advice.h). */
TESSERA_MUST_USE TesseraStatus cli_study_advise (CliStudy *study,
                                                 gboolean counts_misses,
                                                 TesseraError *error);
/* The smallest devices; needs the plan. */
TESSERA_MUST_USE TesseraStatus cli_study_needs (CliStudy *study, TesseraError *error);
void cli_study_clear (CliStudy *study);

/* The moment a verdict is about: the last failure, else peak_reserved_index of the
 * layout. */
uint32_t cli_study_moment (const CliStudy *study);
/* What was reserved at @event_index; says so where there is no such event. */
TESSERA_MUST_USE TesseraStatus cli_study_parts (const CliStudy *study,
                                                uint32_t event_index,
                                                TesseraParts *out_parts,
                                                TesseraError *error);
/* Verdict at the moment above, with what is known of needs. */
TESSERA_MUST_USE TesseraStatus cli_study_verdict (const CliStudy *study,
                                                  TesseraVerdict *out_verdict,
                                                  TesseraError *error);
/* The layout's name: "as recorded", "native", "expandable segments", "plan". */
const char *cli_layout_name (TesseraLayoutKind kind);
/* "yes", "same batches only", "no". */
const char *cli_followable_name (const TesseraPlan *plan);
/* ... and why; what stands behind "followable: ". */
char *cli_followable_text (const TesseraPlan *plan);
/* "recorded", "native", "expandable" or "plan:P.tsp"; *out_plan points into @text, or
 * NULL. */
gboolean
cli_parse_policy (const char *text, TesseraLayoutKind *out_kind, const char **out_plan);
