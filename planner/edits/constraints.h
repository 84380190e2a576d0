/*
 * Edits applied to the blocks of a trace, in their order.
 *
 * What shapes groups is done at once: blocks get other groups and classes. What shapes
 * places is noted for later as constraints of blocks, since selectors go by groups as the
 * edits so far have made them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/edit.h"

/* A pin, together or apart. */
typedef struct
{
  uint32_t edit; /* index */
  TesseraEditKind kind;
  uint32_t *blocks; /* ascending */
  size_t n_blocks;
  uint64_t *offsets; /* pin: of each block */
  uint32_t *with;    /* apart, where has_with: the other side */
  size_t n_with;
  bool has_with;
} TesseraConstraint;

typedef struct
{
  TesseraConstraint *constraints;
  size_t n_constraints, cap_constraints;
  uint32_t *left_out; /* [n_blocks] 1 + the edit (dynamic); 0: none; NULL: nobody is */
  uint64_t cap_bytes; /* the smallest; UINT64_MAX: none */
  uint32_t cap_edit;
} TesseraConstraints;

/*
 * tessera_constraints_of_trace:
 * @edited: to be all zero; becomes @blocks with an array of blocks of its own, grouped
 * and edited
 * @groups: to be NULL; the groups of that
 *
 * @error: a sentence that names the edit
 *
 * Groups the blocks anew, and applies the edits. What was made is the caller's to free
 * (edited->blocks, groups) and to clear (@out_constraints) in any case.
 *
 * Returns: TESSERA_OK, or TESSERA_REFUSED where an edit can't be applied at all:
 * *out_conflict says which
 */
TESSERA_MUST_USE TesseraStatus
tessera_constraints_of_trace (const TesseraTrace *trace,
                              const TesseraBlocks *blocks,
                              const TesseraStructure *structure,
                              const TesseraEdit *edits,
                              size_t n_edits,
                              TesseraError *error,
                              TesseraEditConflict *out_conflict,
                              TesseraBlocks *edited,
                              TesseraGroup **groups,
                              size_t *n_groups,
                              TesseraConstraints *out_constraints);
void tessera_constraints_clear (TesseraConstraints *constraints);

/* Where each of @blocks, which @edit pins, is to lie: @offsets, one for each. */
void tessera_pin_offsets (const TesseraEdit *edit,
                          const uint32_t *blocks,
                          size_t n_blocks,
                          uint64_t *offsets);

/* Edits of groups: merge, split, group, move, class. */
typedef struct
{
  const TesseraTrace *trace;
  TesseraBlocks *blocks;
  const TesseraStructure *structure;
  TesseraGroup *groups; /* owned by whoever made them; may hold groups without blocks */
  size_t n_groups, cap_groups;
} TesseraRegroup;

/* Applies an edit of groups to what @selected (by block) says. Returns: false: there is no
 * group of the name. */
bool tessera_regroup (TesseraRegroup *regroup,
                      const TesseraEdit *edit,
                      const uint8_t *selected);
/* Drops groups without blocks and measures the others. */
void tessera_regroup_finish (TesseraRegroup *regroup);
