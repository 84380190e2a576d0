/*
 * Edits applied to blocks: see constraints.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/constraints.h"

#include <inttypes.h>

#include "planner/groups.h"
#include "planner/memory.h"

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

static void
select_blocks (Apply *apply, const TesseraSelector *selector)
{
  const TesseraRegroup *regroup = &apply->regroup;

  tessera_select (selector, regroup->trace, regroup->blocks, regroup->structure,
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

static void
list_selected (const Apply *apply, uint32_t **out_blocks, size_t *out_n_blocks)
{
  tessera_selected_list (apply->selected, apply->regroup.blocks->n_blocks, out_blocks,
                         out_n_blocks);
}

static void
add_constraint (Apply *apply, uint32_t index)
{
  TesseraConstraints *constraints = apply->constraints;
  const TesseraEdit *edit = &apply->edits[index];
  TesseraConstraint *constraint;

  TESSERA_GROW (constraints->constraints, constraints->cap_constraints,
                constraints->n_constraints + 1);
  constraint = &constraints->constraints[constraints->n_constraints++];
  *constraint = (TesseraConstraint){ .edit = index,
                                     .kind = edit->kind,
                                     .has_with = edit->has_with };
  list_selected (apply, &constraint->blocks, &constraint->n_blocks);
  if (edit->kind == TESSERA_EDIT_PIN)
    {
      constraint->offsets = g_new (uint64_t, constraint->n_blocks + 1);
      tessera_pin_offsets (edit, constraint->blocks, constraint->n_blocks,
                           constraint->offsets);
    }
  if (edit->has_with)
    {
      select_blocks (apply, &edit->with);
      list_selected (apply, &constraint->with, &constraint->n_with);
    }
}

static void
leave_out (Apply *apply, uint32_t index)
{
  TesseraConstraints *constraints = apply->constraints;
  size_t n_blocks = apply->regroup.blocks->n_blocks;

  if (!constraints->left_out)
    constraints->left_out = g_new0 (uint32_t, n_blocks + 1);
  for (size_t i = 0; i < n_blocks; i++)
    if (apply->selected[i] && !constraints->left_out[i])
      constraints->left_out[i] = index + 1;
}

static TesseraStatus
apply_edit (Apply *apply, uint32_t index)
{
  const TesseraEdit *edit = &apply->edits[index];

  select_blocks (apply, &edit->what);
  switch (edit->kind)
    {
    case TESSERA_EDIT_PIN:
    case TESSERA_EDIT_TOGETHER:
    case TESSERA_EDIT_APART:
      add_constraint (apply, index);
      break;
    case TESSERA_EDIT_DYNAMIC:
      leave_out (apply, index);
      break;
    case TESSERA_EDIT_CAP:
      if (edit->at < apply->constraints->cap_bytes)
        {
          apply->constraints->cap_bytes = edit->at;
          apply->constraints->cap_edit = index;
        }
      break;
    default:
      if (!tessera_regroup (&apply->regroup, edit, apply->selected))
        return refuse_group (apply, index);
    }
  return TESSERA_OK;
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
  g_autofree uint8_t *selected = g_new (uint8_t, blocks->n_blocks + 1);
  Apply apply = { .regroup = { trace, blocks, structure, *groups, *n_groups, *n_groups },
                  .edits = edits,
                  .selected = selected,
                  .constraints = out_constraints,
                  .error = error,
                  .conflict = out_conflict };
  bool is_any = false;
  TesseraStatus status = TESSERA_OK;

  *out_constraints = (TesseraConstraints){ .cap_bytes = UINT64_MAX };
  for (uint32_t i = 0; i < n_edits && status == TESSERA_OK; i++)
    if (!edits[i].is_undone)
      {
        status = apply_edit (&apply, i);
        is_any = true;
      }
  if (status == TESSERA_OK && is_any)
    tessera_regroup_finish (&apply.regroup);
  *groups = apply.regroup.groups;
  *n_groups = apply.regroup.n_groups;
  return status;
}

static TesseraBlock *
copy_blocks (const TesseraBlocks *blocks)
{
  return g_memdup2 (blocks->blocks, blocks->n_blocks * sizeof *blocks->blocks);
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
  *edited = *blocks;
  edited->blocks = copy_blocks (blocks);
  tessera_group_blocks (trace, edited, structure, groups, n_groups);
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
static void
by_hand (TesseraSelector *selector, const uint8_t *selected, size_t n_blocks)
{
  tessera_selector_clear (selector);
  tessera_selected_list (selected, n_blocks, &selector->blocks, &selector->n_blocks);
}

/* Distances of the blocks in @settled, of those that @edit gives. */
static void
keep_shape (const TesseraEdit *edit, TesseraEdit *settled)
{
  if (!edit->shape)
    return;
  free (settled->shape);
  settled->shape = g_new (uint64_t, settled->what.n_blocks + 1);
  tessera_pin_offsets (edit, settled->what.blocks, settled->what.n_blocks,
                       settled->shape);
  for (size_t i = 0; i < settled->what.n_blocks; i++)
    settled->shape[i] -= edit->at;
}

static bool
settle (TesseraRegroup *regroup, uint8_t *selected, TesseraEdit *settled)
{
  const size_t n_blocks = regroup->blocks->n_blocks;
  TesseraEdit edit;
  bool is_done;

  tessera_edit_copy (settled, &edit);
  tessera_select (&edit.what, regroup->trace, regroup->blocks, regroup->structure,
                  regroup->groups, regroup->n_groups, selected);
  by_hand (&settled->what, selected, n_blocks);
  keep_shape (&edit, settled);
  is_done = tessera_regroup (regroup, &edit, selected);
  if (is_done && edit.has_with)
    {
      tessera_select (&edit.with, regroup->trace, regroup->blocks, regroup->structure,
                      regroup->groups, regroup->n_groups, selected);
      by_hand (&settled->with, selected, n_blocks);
    }
  tessera_edit_clear (&edit);
  return is_done;
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
  g_autofree TesseraBlock *copies = copy_blocks (blocks);
  g_autofree uint8_t *selected = g_new (uint8_t, blocks->n_blocks + 1);
  bool are_done = true;

  edited.blocks = copies;
  tessera_group_blocks (trace, &edited, structure, &regroup.groups, &regroup.n_groups);
  regroup.cap_groups = regroup.n_groups;
  for (size_t i = 0; i < n_edits && are_done; i++)
    are_done = edits[i].is_undone || settle (&regroup, selected, &edits[i]);
  tessera_groups_free (regroup.groups, regroup.n_groups);
  return are_done ? TESSERA_OK : TESSERA_REFUSED;
}
