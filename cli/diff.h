/*
 * What changed between two runs, told: a sentence first, then category, module and line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/whose.h"

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
/* That, and the rows that changed by category, module and line. @json NULL: as text. */
void cli_tell_diff (JsonBuilder *json, const CliSide *before, const CliSide *after);
/* The same as text for a person, or as Markdown; newly allocated. */
char *cli_diff_text (const CliSide *before, const CliSide *after, gboolean is_markdown);
