/*
 * What is known of a study, in the words and members that all subcommands share: text on
 * standard output, and members of the JSON object that is open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "answers/suggestions.h"
#include "answers/whose.h"
#include "cli/print.h"
#include "cli/study.h"

/* tell.c: the trace and its verdict */

/* What needs are told for, in this order. */
#define CLI_N_POLICIES 3
extern const TesseraLayoutKind cli_policies[CLI_N_POLICIES];
/* "as recorded", "native", "expandable segments", "plan". */
const char *cli_layout_name (TesseraLayoutKind kind);
/* The same, and for a plan that was followed its file's name. */
const char *cli_study_policy_name (const CliStudy *study, TesseraLayoutKind kind);
/* "persistent" ..., 0: "mixed". */
const char *cli_class_name (guint8 lifetime_class);
const char *cli_cause_name (TesseraCause cause);

/* What the importer found odd, a line each; "notes". */
void cli_tell_notes (const CliStudy *study);
/* "3 edits of run.tsr applied (--no-edits leaves them out)", nothing where there are none;
 * "edits": name and text of each. */
void cli_tell_edits (const CliStudy *study);
/* What comes before every figure, for commands that print no verdict: a leak, and that the
 * recording was cut off; with the members "cut_off" (the recording has no end) and "leak": an
 * object, or null where no step keeps more than the one before. */
void cli_tell_warnings (const CliStudy *study);
void cli_member_warnings (const CliStudy *study);
/* What was reserved at a moment, part by part. */
void cli_tell_parts (const CliStudy *study, const TesseraParts *parts);
/* bound_bytes, and for each policy _bytes, _retries (flushes with a wait on that device)
 * and _endless_bytes (reserved with memory to spare); "planned": height and proof. */
void cli_tell_needs (const CliStudy *study);
/* What a trace that libtessera recorded says of itself (docs/FORMAT.md), and how the plan
 * that it followed fared: one line, or none; "recording": an object, or null. The study
 * has a layout as recorded. */
void cli_tell_recording (const CliStudy *study);

/* tell-plan.c: the plan */

/* "optimal (proven)" or how far the height is above what is proven; to be freed. */
char *cli_proof_text (const TesseraPlan *plan);
/* proven_bound_bytes, gap (0.01: one percent above it), optimal (true, or null: not
 * known), proof (the sentence), cut_short. */
void cli_member_proof (const TesseraPlan *plan);
/* What stands behind "can a run follow it? "; to be freed. "followable": "yes", "same batches
 * only", "no"; "follow_reason". */
char *cli_followable_text (const TesseraPlan *plan);
void cli_member_followable (const TesseraPlan *plan);
/* "5780 hits, 3 misses, 2 of them planned" (requests that the plan leaves to the dynamic
 * allocator); to be freed. "hits", "misses", "planned_misses". */
char *cli_hits_text (const TesseraLayout *followed);
void cli_member_hits (const TesseraLayout *followed);
/* What steps keep beyond the next one, by the program's own lines: not where edits may have left
 * them out; "kept". */
void cli_tell_kept (const CliStudy *study);
/* How sizes follow from length and batch: nothing, or null, where no kind of step varies
 * so; "steps_that_vary". */
void cli_tell_laws (const CliStudy *study);
/* "N (the longest seen)", and what it is for besides: " and batch up to B"; to be freed. In
 * the units in which sizes count it, so that N alone can be a fraction of the program's. */
char *cli_most_text (const TesseraLengths *lengths);
/* "every length up to 250: 1.12 GiB at length 250, 2.25 % above the bound there" */
char *cli_lengths_text (const TesseraLengths *lengths);

/* whose.c: what is live at a moment by category, module, line ..., and what to do about it */

#define CLI_OPTION_RULES(variable)                                                       \
  {                                                                                      \
    CLI_OPTION ("rules", FILENAME, variable),                                            \
        "Rules for categories, read before the built-in ones (docs/CATEGORIES.md)",      \
        "FILE"                                                                           \
  }

/* What is known of a study's blocks, by the rules of @path (nullable), else by those that
 * its trace carries, and the built-in ones. The study has its layout. */
void cli_whose_init (TesseraWhose *whose, const CliStudy *study, const char *rules_path);

/* The text of a file of rules that are understood; else the command ends. */
char *cli_read_rules (const char *path);

/* What --by names, @otherwise where @text is NULL; what is no heading ends the command. */
TesseraBy cli_read_by (const char *text, TesseraBy otherwise);

/* The event that @text means: a number, "failure", "peak" (of live), "A..B" (where most is live
 * in that range); NULL: the failure, else the peak. What makes no sense ends the command. */
uint32_t cli_read_moment (const CliStudy *study, const char *text);

/* Policies, then changes of the program: TesseraSuggestion, g_array_unref(). Without the study's
 * needs only the latter. */
GArray *cli_suggest (const CliStudy *study, const TesseraWhose *whose);
/* Of what a person reads. --json has all rows. */
#define CLI_MOST_ROWS 40u
#define CLI_BRIEF_ROWS 5u
/* Leaves at most @most rows in @owners (TesseraOwner), none of which is tiny; those of depth 0
 * that are left out become one, "3 more", with no stack. Returns: @owners. */
GArray *cli_rows_worth_reading (GArray *owners, guint64 all_bytes, guint most);
/* The answer to info --by. */
void cli_tell_whose (const CliStudy *study,
                     const TesseraWhose *whose,
                     TesseraBy by,
                     uint32_t event_index);
/* The answer to info --growth: what is more where the last step begins, which may have died,
 * than where the third does: what the first two make stays. Fewer than four steps end the
 * command. */
void cli_tell_growth (const CliStudy *study, const TesseraWhose *whose, TesseraBy by);
/* What to do about it, each line with what it wins and the text to type; nothing where
 * nothing is to be won; "what_to_do". */
void cli_tell_suggestions (const CliStudy *study, const TesseraWhose *whose);
/* Of info itself: the largest categories and lines, in a few rows; "whose". */
void cli_tell_whose_briefly (const CliStudy *study,
                             const TesseraWhose *whose,
                             uint32_t event_index);

/* diff.c: what changed between two runs: a sentence first, then category, module and line */

/* One of the two: a study with its layout, and the moment of it that is looked at. */
typedef struct
{
  CliStudy study;
  TesseraWhose whose;
  uint32_t event_index;
  guint64 live_bytes; /* then */
} CliSide;

/* Opens @path; @at as cli_read_moment() takes it. */
void cli_side_open (CliSide *side, const char *path, const char *at, const char *rules);
void cli_side_clear (CliSide *side);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CliSide, cli_side_clear)

/* What went the way of the whole by most under one heading: "train.py:214 loss_of, activation
 * (+1.70 GiB)"; NULL: nothing did. Newly allocated. */
char *cli_diff_most (const CliSide *before, const CliSide *after, TesseraBy by);
/* "+1.90 GiB at the peak of live, 12.30 GiB instead of 10.40 GiB (+18.3 %): most of it in
 * train.py:214 loss_of, activation (+1.70 GiB)."; newly allocated. */
char *cli_diff_sentence (const CliSide *before, const CliSide *after);
/* That, and the rows that changed by category, module and line. */
void cli_tell_diff (const CliSide *before, const CliSide *after);
/* Its rows as text for a person, or as Markdown; newly allocated. */
char *cli_diff_text (const CliSide *before, const CliSide *after, gboolean is_markdown);
