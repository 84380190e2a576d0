/* Hand-overs between streams, as text and JSON. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/output.h"
#include "cli/study.h"

/* What --waits says. */
typedef enum
{
  CLI_WAITS_ALL, /* as many as the lowest height takes: the default */
  CLI_WAITS_AT_MOST,
  CLI_WAITS_CURVE /* all, and what fewer would cost */
} CliWaitsKind;

typedef struct
{
  CliWaitsKind kind;
  size_t most;
} CliWaits;

/* "all", "none", a number, or "curve"; NULL: all. */
gboolean cli_parse_waits (const char *text, CliWaits *out_waits);
/* Nothing where the plan keeps streams apart. */
void cli_print_waits (const CliStudy *study);
/* Members "hand_overs", their number, "waits" and "hand_over_list". */
void cli_json_waits (JsonBuilder *builder, const CliStudy *study);
/* Plans again with fewer and fewer waits: a row each. */
TESSERA_MUST_USE TesseraStatus cli_print_waits_curve (const CliStudy *study,
                                                      const TesseraPlanOptions *options,
                                                      TesseraError *error);
/* What @block of the trace takes over and hands on. @builder: (nullable): NULL prints it
 */
void cli_explain_waits (JsonBuilder *builder, const CliStudy *study, uint32_t block);
