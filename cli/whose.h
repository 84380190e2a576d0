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
  CLI_OPTION (                                                                           \
      "rules", 0, FILENAME, variable,                                                    \
      "Rules for categories, read before the built-in ones (docs/CATEGORIES.md)",        \
      "FILE")

/* The categories of a study's blocks, by the rules of @path (nullable), else by those that
 * its trace carries, and the built-in ones. The study has its layout. */
typedef struct
{
  TesseraWhose whose;
  uint8_t *categories;
  uint32_t *tensors;
  TesseraOrigins origins;
} CliWhose;

void cli_whose_init (CliWhose *whose, const CliStudy *study, const char *rules_path);
void cli_whose_clear (CliWhose *whose);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CliWhose, cli_whose_clear)

/* The text of a file of rules that are understood; else the command ends. */
char *cli_read_rules (const char *path);

/* The event that @text means: a number, "failure", "peak" (of live), "A..B" (where most is live
 * in that range); NULL: the failure, else the peak. What makes no sense ends the command. */
uint32_t cli_read_moment (const CliStudy *study, const char *text);

/* The answer to info --by. */
void cli_tell_whose (const CliStudy *study,
                     const CliWhose *whose,
                     TesseraBy by,
                     uint32_t event_index);
/* What to do about it: with the study's needs (else only changes of the program), each line
 * with what it wins and the text to type; nothing where nothing is to be won. @json NULL: as text. */
void
cli_tell_suggestions (JsonBuilder *json, const CliStudy *study, const CliWhose *whose);
/* Of info itself: the largest categories and lines, in a few rows (@json NULL: as text). */
void cli_tell_whose_briefly (JsonBuilder *json,
                             const CliStudy *study,
                             const CliWhose *whose,
                             uint32_t event_index);
