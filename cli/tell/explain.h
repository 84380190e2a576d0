/*
 * What `tessera explain` is asked, and what its answers share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/regrouped.h"
#include "cli/tell/peak.h"

typedef struct
{
  CliStudy study;             /* planned with the edits that stand */
  CliRegrouped regrouped;     /* its blocks as these edits class them */
  TesseraPlanOptions options; /* of every plan that is made here */
  TesseraEdit *settled; /* [study.history's] those edits, of the blocks that they mean */
  CliPeakBy by;
  gint n_rows;
  const char *freed_before; /* a phase or an event; NULL: the peak */
  TesseraMoments moments;
  gboolean json;
} CliExplain;

/* What --freed-before says, in words: "the peak", "event 7", "every backward". */
char *cli_moment_name (const CliExplain *explain);
/* "persistent" ..., "mixed" */
const char *cli_class_name (guint8 lifetime_class);

/* What is there all the time can be freed before no peak: the question is then what
 * keeping it elsewhere would win, on another device or in the host's memory. */
gboolean cli_asks_without (const CliExplain *explain, guint8 lifetime_class);
/* Plans again, with the same edits of the same blocks, as if the chosen were freed before
 * the moments, or were kept elsewhere (@without). */
TESSERA_MUST_USE TesseraStatus cli_explain_what_if (const CliExplain *explain,
                                                    const guint8 *chosen,
                                                    gboolean without,
                                                    CliWhatIf *out_answer,
                                                    TesseraError *error);
/* "1.5 GiB instead of 2 GiB (-512 MiB)", and what is left to the dynamic allocator. */
char *cli_answer_text (const CliExplain *explain, const CliWhatIf *answer);
void cli_answer_to_json (JsonBuilder *builder, const CliWhatIf *answer, gboolean without);

/* The edits behind the place of @block, a line or an object each. @builder: (nullable):
 * NULL prints. Returns: whether one pins it. */
gboolean
cli_explain_edits (JsonBuilder *builder, const CliExplain *explain, uint32_t block);

/* @text: a block's index, as typed. */
TESSERA_MUST_USE TesseraStatus cli_explain_block (const CliExplain *explain,
                                                  const char *text,
                                                  TesseraError *error);
TESSERA_MUST_USE TesseraStatus cli_explain_peak (const CliExplain *explain,
                                                 TesseraError *error);
