/*
 * What is known of a study, in the words and members that all subcommands share: text on
 * standard output, and members of the JSON object that is open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/print.h"
#include "cli/study.h"

/* tell.c: the trace and its verdict */

/* "as recorded", "native", "expandable segments", "plan". */
const char *cli_layout_name (TesseraLayoutKind kind);
/* The same, and for a plan that was followed its file's name. */
const char *cli_study_policy_name (const CliStudy *study, TesseraLayoutKind kind);
/* "persistent" ..., 0: "mixed". */
const char *cli_class_name (guint8 lifetime_class);
const char *cli_cause_name (TesseraCause cause);

/* What the importer found odd, a line each; "notes". */
void cli_print_notes (const CliStudy *study);
void cli_json_notes (JsonBuilder *json, const CliStudy *study);
/* "3 edits of run.tsr applied (--no-edits leaves them out)", nothing where there are none;
 * "edits": name and text of each. */
void cli_print_edits (const CliStudy *study);
void cli_json_edits (JsonBuilder *json, const CliStudy *study);
/* What comes before every figure, for commands that print no verdict: a leak, and that the
 * recording was cut off. "cut_off" (the recording has no end) and "leak": an object, or
 * null where no step keeps more than the one before. */
void cli_print_warnings (const CliStudy *study);
void cli_json_warnings (JsonBuilder *json, const CliStudy *study);
/* at_event, reserved_bytes, parts {...}, largest_hole_bytes, request_bytes,
 * free_at_driver_bytes, outside_bytes. */
void cli_print_parts (const CliStudy *study, const TesseraParts *parts);
void cli_json_parts (JsonBuilder *json, const CliStudy *study, const TesseraParts *parts);
/* bound_bytes, and for each policy _bytes, _retries (flushes with a wait on that device)
 * and _endless_bytes (reserved with memory to spare); "planned": height and proof. */
void cli_print_needs (const CliStudy *study);
void cli_json_needs (JsonBuilder *json, const CliStudy *study);
/* What a trace that libtessera recorded says of itself (docs/FORMAT.md), and how the plan
 * that it followed fared: one line, or none; "recording": an object, or null. The study
 * has a layout as recorded. */
void cli_print_recording (const CliStudy *study);
void cli_json_recording (JsonBuilder *json, const CliStudy *study);

/* tell-plan.c: the plan */

/* "optimal (proven)" or how far the height is above what is proven; to be freed. */
char *cli_proof_text (const TesseraPlan *plan);
/* proven_bound_bytes, gap (0.01: one percent above it), optimal (true, or null: not
 * known), proof (the sentence), cut_short (null, "time" or "person") and
 * time_limit_s (null: none). */
void cli_json_proof (JsonBuilder *json, const TesseraPlan *plan);
/* What stands behind "can a run follow it? "; to be freed. "followable": "yes", "same batches
 * only", "no"; "follow_reason". */
char *cli_followable_text (const TesseraPlan *plan);
void cli_json_followable (JsonBuilder *json, const TesseraPlan *plan);
/* To be said right after the number of misses: "", ", all planned" or ", 2 of them
 * planned" (requests that the plan leaves to the dynamic allocator). To be freed. */
char *cli_planned_misses (guint64 n_misses, guint64 n_planned);
/* What steps keep for good, by the program's own lines: not where edits may have left
 * them out. @json: (nullable): NULL prints; "kept". */
void cli_tell_kept (JsonBuilder *json, const CliStudy *study);
/* The kinds of step that a plan folds; prints only several. @json: (nullable); "kinds". */
void cli_tell_kinds (JsonBuilder *json, const TesseraPlan *plan);
/* How sizes follow from length and batch: nothing, or null, where no kind of step varies
 * so; "steps_that_vary". */
void cli_print_laws (const CliStudy *study);
void cli_json_laws (JsonBuilder *json, const CliStudy *study);
/* "N", and what it is for besides: " and batch up to B"; to be freed. */
char *cli_most_text (const TesseraLengths *lengths);
