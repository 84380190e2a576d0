/*
 * Edits applied to blocks: see wishes.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/wishes.h"

#include "planner/edits/regroup.h"
#include "planner/groups.h"

#include "db/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  TesseraRegroup regroup;
  const TesseraEdit *edits;
  uint8_t *selected; /* by block */
  TesseraWishes *wishes;
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
find_offsets (const TesseraEdit *edit, TesseraWish *wish)
{
  wish->offsets = malloc ((wish->n_blocks + 1) * sizeof *wish->offsets);
  if (!wish->offsets)
    return TESSERA_NO_MEMORY;
  tessera_pin_offsets (edit, wish->blocks, wish->n_blocks, wish->offsets);
  return TESSERA_OK;
}

static TesseraStatus
list_selected (const Apply *apply, uint32_t **out_blocks, size_t *out_n_blocks)
{
  return tessera_selected_list (apply->selected, apply->regroup.blocks->n_blocks,
                                out_blocks, out_n_blocks);
}

static TesseraStatus
add_wish (Apply *apply, uint32_t index)
{
  TesseraWishes *wishes = apply->wishes;
  const TesseraEdit *edit = &apply->edits[index];
  TesseraWish *wish;
  TesseraStatus status;

  if (!TESSERA_RESERVE (wishes->wishes, wishes->cap_wishes, wishes->n_wishes + 1))
    return TESSERA_NO_MEMORY;
  wish = &wishes->wishes[wishes->n_wishes++];
  *wish = (TesseraWish){ .edit = index, .kind = edit->kind, .has_with = edit->has_with };
  status = list_selected (apply, &wish->blocks, &wish->n_blocks);
  if (status == TESSERA_OK && edit->kind == TESSERA_EDIT_PIN)
    status = find_offsets (edit, wish);
  if (status == TESSERA_OK && edit->has_with)
    status = select_blocks (apply, &edit->with);
  if (status == TESSERA_OK && edit->has_with)
    status = list_selected (apply, &wish->with, &wish->n_with);
  return status;
}

static TesseraStatus
leave_out (Apply *apply, uint32_t index)
{
  TesseraWishes *wishes = apply->wishes;
  size_t n_blocks = apply->regroup.blocks->n_blocks;

  if (!wishes->left_out)
    wishes->left_out = calloc (n_blocks + 1, sizeof *wishes->left_out);
  if (!wishes->left_out)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < n_blocks; i++)
    if (apply->selected[i] && !wishes->left_out[i])
      wishes->left_out[i] = index + 1;
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
      return add_wish (apply, index);
    case TESSERA_EDIT_DYNAMIC:
      return leave_out (apply, index);
    case TESSERA_EDIT_CAP:
      if (edit->at < apply->wishes->cap_bytes)
        {
          apply->wishes->cap_bytes = edit->at;
          apply->wishes->cap_edit = index;
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
           TesseraWishes *out_wishes)
{
  Apply apply = { .regroup = { trace, blocks, structure, *groups, *n_groups, *n_groups },
                  .edits = edits,
                  .wishes = out_wishes,
                  .error = error,
                  .conflict = out_conflict };
  bool is_any = false;
  TesseraStatus status = TESSERA_OK;

  *out_wishes = (TesseraWishes){ .cap_bytes = UINT64_MAX };
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
tessera_wishes_of_trace (const TesseraTrace *trace,
                         const TesseraBlocks *blocks,
                         const TesseraStructure *structure,
                         const TesseraEdit *edits,
                         size_t n_edits,
                         TesseraError *error,
                         TesseraEditConflict *out_conflict,
                         TesseraBlocks *edited,
                         TesseraGroup **groups,
                         size_t *n_groups,
                         TesseraWishes *out_wishes)
{
  TesseraStatus status;

  *out_wishes = (TesseraWishes){ 0 };
  *edited = *blocks;
  edited->blocks = malloc ((blocks->n_blocks + 1) * sizeof *edited->blocks);
  if (!edited->blocks)
    return TESSERA_NO_MEMORY;
  memcpy (edited->blocks, blocks->blocks, blocks->n_blocks * sizeof *edited->blocks);
  status = tessera_group_blocks (trace, edited, structure, groups, n_groups);
  if (status != TESSERA_OK)
    return status;
  return apply_all (trace, edited, structure, groups, n_groups, edits, n_edits, error,
                    out_conflict, out_wishes);
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
  TesseraWishes wishes;
  TesseraStatus status;

  *out_blocks = NULL;
  *out_groups = NULL;
  *out_n_groups = 0;
  if (out_conflict)
    *out_conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  status =
      tessera_wishes_of_trace (trace, blocks, structure, edits, n_edits, error,
                               out_conflict, &edited, out_groups, out_n_groups, &wishes);
  tessera_wishes_clear (&wishes);
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
tessera_wishes_clear (TesseraWishes *wishes)
{
  for (size_t i = 0; i < wishes->n_wishes; i++)
    {
      free (wishes->wishes[i].blocks);
      free (wishes->wishes[i].offsets);
      free (wishes->wishes[i].with);
    }
  free (wishes->wishes);
  free (wishes->left_out);
  *wishes = (TesseraWishes){ 0 };
}
