/*
 * Edits of groups: merge, split, group, move, class.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/edit.h"

typedef struct
{
  const TesseraTrace *trace;
  TesseraBlocks *blocks;
  const TesseraStructure *structure;
  TesseraGroup *groups; /* owned by whoever made them; may hold groups without blocks */
  size_t n_groups, cap_groups;
} TesseraRegroup;

/* Applies an edit of groups to what @selected (by block) says. Returns: TESSERA_OK,
 * TESSERA_NO_MEMORY or TESSERA_REFUSED: there is no group of the name. */
TESSERA_MUST_USE TesseraStatus tessera_regroup (TesseraRegroup *regroup,
                                                const TesseraEdit *edit,
                                                const uint8_t *selected);
/* Drops groups without blocks and measures the others. */
TESSERA_MUST_USE TesseraStatus tessera_regroup_finish (TesseraRegroup *regroup);
