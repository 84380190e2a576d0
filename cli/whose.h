/*
 * Whose memory it is, told: what is live at a moment by category, module, line ...
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "answers/suggestions.h"
#include "answers/whose.h"
#include "cli/print.h"
#include "cli/study.h"

#define CLI_OPTION_RULES(variable)                                                       \
  {                                                                                      \
    "rules", 0, 0, G_OPTION_ARG_FILENAME, variable,                                      \
        "Rules for categories, read before the built-in ones (docs/CATEGORIES.md)",      \
        "FILE"                                                                           \
  }

/* What is known of a study's blocks, by the rules of @path (nullable), else by those that
 * its trace carries, and the built-in ones. The study has its layout. */
void cli_whose_init (TesseraWhose *whose, const CliStudy *study, const char *rules_path);

/* The text of a file of rules that are understood; else the command ends. */
char *cli_read_rules (const char *path);

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
 * nothing is to be won. @json NULL: as text. */
void cli_tell_suggestions (JsonBuilder *json,
                           const CliStudy *study,
                           const TesseraWhose *whose);
/* Of info itself: the largest categories and lines, in a few rows (@json NULL: as text). */
void cli_tell_whose_briefly (JsonBuilder *json,
                             const CliStudy *study,
                             const TesseraWhose *whose,
                             uint32_t event_index);
