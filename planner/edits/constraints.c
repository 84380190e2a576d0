/*
 * Edits applied to blocks: see constraints.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/constraints.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "planner/edits/regroup.h"
#include "planner/groups.h"

typedef struct
{
  TesseraRegroup regroup;
  const TesseraEdit *edits;
  uint8_t *selected; /* by block */
  TesseraConstraints *constraints;
  TesseraError *error;
  TesseraEditConflict *conflict;
} Apply;

static TesseraStatus
refuse_group (Apply *apply, uint32_t index)
{
  const TesseraEdit *edit = &apply->edits[index];

  if (apply->conflict)
    *apply->conflict = (TesseraEditConflict){ index, index };
  return tessera_fail (apply->error, TESSERA_REFUSED,
                       "the edit \"%s\" can't be applied: there is no group called "
                       "\"%s\", neither of the trace's nor made by an edit before it",
                       edit->name, edit->group);
}

static TesseraStatus
select_blocks (Apply *apply, const TesseraSelector *selector)
{
  const TesseraRegroup *regroup = &apply->regroup;

  return tessera_select (selector, regroup->trace, regroup->blocks, regroup->structure,
                         regroup->groups, regroup->n_groups, apply->selected);
}

/* A shape goes by the blocks that were listed, in their order, of which some may not be
 * selected. */
void
tessera_pin_offsets (const TesseraEdit *edit,
                     const uint32_t *blocks,
                     size_t n_blocks,
                     uint64_t *offsets)
{
  for (size_t i = 0, k = 0; i < n_blocks; i++)
    {
      offsets[i] = edit->at;
      if (!edit->shape)
        continue;
      while (k + 1 < edit->what.n_blocks && edit->what.blocks[k] < blocks[i])
        k++;
      offsets[i] += edit->shape[k];
    }
}

static TesseraStatus
find_offsets (const TesseraEdit *edit, TesseraConstraint *constraint)
{
  constraint->offsets = malloc ((constraint->n_blocks + 1) * sizeof *constraint->offsets);
  if (!constraint->offsets)
    return TESSERA_NO_MEMORY;
  tessera_pin_offsets (edit, constraint->blocks, constraint->n_blocks,
                       constraint->offsets);
  return TESSERA_OK;
}

static TesseraStatus
list_selected (const Apply *apply, uint32_t **out_blocks, size_t *out_n_blocks)
{
  return tessera_selected_list (apply->selected, apply->regroup.blocks->n_blocks,
                                out_blocks, out_n_blocks);
}

static TesseraStatus
add_constraint (Apply *apply, uint32_t index)
{
  TesseraConstraints *constraints = apply->constraints;
  const TesseraEdit *edit = &apply->edits[index];
  TesseraConstraint *constraint;
  TesseraStatus status;

  if (!TESSERA_RESERVE (constraints->constraints, constraints->cap_constraints,
                        constraints->n_constraints + 1))
    return TESSERA_NO_MEMORY;
  constraint = &constraints->constraints[constraints->n_constraints++];
  *constraint = (TesseraConstraint){ .edit = index,
                                     .kind = edit->kind,
                                     .has_with = edit->has_with };
  status = list_selected (apply, &constraint->blocks, &constraint->n_blocks);
  if (status == TESSERA_OK && edit->kind == TESSERA_EDIT_PIN)
    status = find_offsets (edit, constraint);
  if (status == TESSERA_OK && edit->has_with)
    status = select_blocks (apply, &edit->with);
  if (status == TESSERA_OK && edit->has_with)
    status = list_selected (apply, &constraint->with, &constraint->n_with);
  return status;
}

static TesseraStatus
leave_out (Apply *apply, uint32_t index)
{
  TesseraConstraints *constraints = apply->constraints;
  size_t n_blocks = apply->regroup.blocks->n_blocks;

  if (!constraints->left_out)
    constraints->left_out = calloc (n_blocks + 1, sizeof *constraints->left_out);
  if (!constraints->left_out)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < n_blocks; i++)
    if (apply->selected[i] && !constraints->left_out[i])
      constraints->left_out[i] = index + 1;
  return TESSERA_OK;
}

static TesseraStatus
apply_edit (Apply *apply, uint32_t index)
{
  const TesseraEdit *edit = &apply->edits[index];
  TesseraStatus status = select_blocks (apply, &edit->what);

  if (status != TESSERA_OK)
    return status;
  switch (edit->kind)
    {
    case TESSERA_EDIT_PIN:
    case TESSERA_EDIT_TOGETHER:
    case TESSERA_EDIT_APART:
      return add_constraint (apply, index);
    case TESSERA_EDIT_DYNAMIC:
      return leave_out (apply, index);
    case TESSERA_EDIT_CAP:
      if (edit->at < apply->constraints->cap_bytes)
        {
          apply->constraints->cap_bytes = edit->at;
          apply->constraints->cap_edit = index;
        }
      return TESSERA_OK;
    default:
      status = tessera_regroup (&apply->regroup, edit, apply->selected);
      return status == TESSERA_REFUSED ? refuse_group (apply, index) : status;
    }
}

/* @blocks get groups and classes; @groups are those that are left, measured anew. */
static TesseraStatus
apply_all (const TesseraTrace *trace,
           TesseraBlocks *blocks,
           const TesseraStructure *structure,
           TesseraGroup **groups,
           size_t *n_groups,
           const TesseraEdit *edits,
           size_t n_edits,
           TesseraError *error,
           TesseraEditConflict *out_conflict,
           TesseraConstraints *out_constraints)
{
  Apply apply = { .regroup = { trace, blocks, structure, *groups, *n_groups, *n_groups },
                  .edits = edits,
                  .constraints = out_constraints,
                  .error = error,
                  .conflict = out_conflict };
  bool is_any = false;
  TesseraStatus status = TESSERA_OK;

  *out_constraints = (TesseraConstraints){ .cap_bytes = UINT64_MAX };
  apply.selected = malloc (blocks->n_blocks + 1);
  if (!apply.selected)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < n_edits && status == TESSERA_OK; i++)
    if (!edits[i].is_undone)
      {
        status = apply_edit (&apply, i);
        is_any = true;
      }
  if (status == TESSERA_OK && is_any)
    status = tessera_regroup_finish (&apply.regroup);
  *groups = apply.regroup.groups;
  *n_groups = apply.regroup.n_groups;
  free (apply.selected);
  return status;
}

TesseraStatus
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
                              TesseraConstraints *out_constraints)
{
  TesseraStatus status;

  *out_constraints = (TesseraConstraints){ 0 };
  *edited = *blocks;
  edited->blocks = malloc ((blocks->n_blocks + 1) * sizeof *edited->blocks);
  if (!edited->blocks)
    return TESSERA_NO_MEMORY;
  memcpy (edited->blocks, blocks->blocks, blocks->n_blocks * sizeof *edited->blocks);
  status = tessera_group_blocks (trace, edited, structure, groups, n_groups);
  if (status != TESSERA_OK)
    return status;
  return apply_all (trace, edited, structure, groups, n_groups, edits, n_edits, error,
                    out_conflict, out_constraints);
}

TesseraStatus
tessera_edits_regroup (const TesseraTrace *trace,
                       const TesseraBlocks *blocks,
                       const TesseraStructure *structure,
                       const TesseraEdit *edits,
                       size_t n_edits,
                       TesseraError *error,
                       TesseraEditConflict *out_conflict,
                       TesseraBlock **out_blocks,
                       TesseraGroup **out_groups,
                       size_t *out_n_groups)
{
  TesseraBlocks edited = { 0 };
  TesseraConstraints constraints;
  TesseraStatus status;

  *out_blocks = NULL;
  *out_groups = NULL;
  *out_n_groups = 0;
  if (out_conflict)
    *out_conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  status = tessera_constraints_of_trace (trace, blocks, structure, edits, n_edits, error,
                                         out_conflict, &edited, out_groups, out_n_groups,
                                         &constraints);
  tessera_constraints_clear (&constraints);
  if (status == TESSERA_OK)
    {
      *out_blocks = edited.blocks;
      return status;
    }
  free (edited.blocks);
  tessera_groups_free (*out_groups, *out_n_groups);
  *out_groups = NULL;
  *out_n_groups = 0;
  return status;
}

void
tessera_constraints_clear (TesseraConstraints *constraints)
{
  for (size_t i = 0; i < constraints->n_constraints; i++)
    {
      free (constraints->constraints[i].blocks);
      free (constraints->constraints[i].offsets);
      free (constraints->constraints[i].with);
    }
  free (constraints->constraints);
  free (constraints->left_out);
  *constraints = (TesseraConstraints){ 0 };
}

/* *@selector, of the blocks that @selected says and of nothing else. */
static TesseraStatus
by_hand (TesseraSelector *selector, const uint8_t *selected, size_t n_blocks)
{
  tessera_selector_clear (selector);
  return tessera_selected_list (selected, n_blocks, &selector->blocks,
                                &selector->n_blocks);
}

/* Distances of the blocks in @settled, of those that @edit gives. */
static TesseraStatus
keep_shape (const TesseraEdit *edit, TesseraEdit *settled)
{
  if (!edit->shape)
    return TESSERA_OK;
  free (settled->shape);
  settled->shape = malloc ((settled->what.n_blocks + 1) * sizeof *settled->shape);
  if (!settled->shape)
    return TESSERA_NO_MEMORY;
  tessera_pin_offsets (edit, settled->what.blocks, settled->what.n_blocks,
                       settled->shape);
  for (size_t i = 0; i < settled->what.n_blocks; i++)
    settled->shape[i] -= edit->at;
  return TESSERA_OK;
}

static TesseraStatus
settle (TesseraRegroup *regroup, uint8_t *selected, TesseraEdit *settled)
{
  const size_t n_blocks = regroup->blocks->n_blocks;
  TesseraEdit edit;
  TesseraStatus status = tessera_edit_copy (settled, &edit);

  if (status == TESSERA_OK)
    status =
        tessera_select (&edit.what, regroup->trace, regroup->blocks, regroup->structure,
                        regroup->groups, regroup->n_groups, selected);
  if (status == TESSERA_OK)
    status = by_hand (&settled->what, selected, n_blocks);
  if (status == TESSERA_OK)
    status = keep_shape (&edit, settled);
  if (status == TESSERA_OK)
    status = tessera_regroup (regroup, &edit, selected);
  if (status == TESSERA_OK && edit.has_with)
    status =
        tessera_select (&edit.with, regroup->trace, regroup->blocks, regroup->structure,
                        regroup->groups, regroup->n_groups, selected);
  if (status == TESSERA_OK && edit.has_with)
    status = by_hand (&settled->with, selected, n_blocks);
  tessera_edit_clear (&edit);
  return status;
}

TesseraStatus
tessera_edits_settle (const TesseraTrace *trace,
                      const TesseraBlocks *blocks,
                      const TesseraStructure *structure,
                      TesseraEdit *edits,
                      size_t n_edits)
{
  TesseraBlocks edited = *blocks;
  TesseraRegroup regroup = { trace, &edited, structure, NULL, 0, 0 };
  uint8_t *selected = malloc (blocks->n_blocks + 1);
  TesseraStatus status = TESSERA_NO_MEMORY;

  edited.blocks = malloc ((blocks->n_blocks + 1) * sizeof *edited.blocks);
  if (selected && edited.blocks)
    {
      memcpy (edited.blocks, blocks->blocks, blocks->n_blocks * sizeof *edited.blocks);
      status = tessera_group_blocks (trace, &edited, structure, &regroup.groups,
                                     &regroup.n_groups);
      regroup.cap_groups = regroup.n_groups;
    }
  for (size_t i = 0; i < n_edits && status == TESSERA_OK; i++)
    if (!edits[i].is_undone)
      status = settle (&regroup, selected, &edits[i]);
  tessera_groups_free (regroup.groups, regroup.n_groups);
  free (edited.blocks);
  free (selected);
  return status;
}
