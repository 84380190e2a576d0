/*
 * A study's blocks with the groups and classes that edits give them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/study.h"

typedef struct
{
  TesseraBlocks
      blocks; /* the study's but for their groups and classes, which are owned */
  TesseraGroup *groups;
  size_t n_groups;
} CliRegrouped;

/* After cli_study_edits(): those that stand are applied; with none it has the planner's
 * own groups. *@out_regrouped lives as long as the study, and is for
 * cli_regrouped_clear() whatever comes back. */
TESSERA_MUST_USE TesseraStatus cli_regroup (const CliStudy *study,
                                            CliRegrouped *out_regrouped,
                                            TesseraError *error);
void cli_regrouped_clear (CliRegrouped *regrouped);
