/*
 * Edits applied to the blocks of a trace, in their order: see holds.h.
 *
 * What shapes groups is done at once: blocks get other groups and classes. What shapes
 * places is noted for later as constraints of blocks, since selectors go by groups as the
 * edits so far have made them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/holds.h"

#include <inttypes.h>
#include <stdio.h>

#include "planner/groups.h"
#include "planner/memory.h"
#include "planner/modules.h"

/* ---- Groups: merge, split, group, move, class ---- */

typedef struct
{
  const TesseraTrace *trace;
  TesseraBlocks *blocks;
  const TesseraStructure *structure;
  TesseraGroup *groups; /* may hold groups without blocks */
  size_t n_groups, cap_groups;
} Regroup;

static uint32_t
add_group (Regroup *regroup, const char *name)
{
  TESSERA_GROW (regroup->groups, regroup->cap_groups, regroup->n_groups + 1);
  regroup->groups[regroup->n_groups] =
      (TesseraGroup){ .name = g_strdup (name), .kind = TESSERA_GROUP_HAND };
  return (uint32_t) regroup->n_groups++;
}

/* The first of that name, or TESSERA_NONE. */
static uint32_t
find_group (const Regroup *regroup, const char *name)
{
  for (uint32_t i = 0; i < regroup->n_groups; i++)
    if (strcmp (regroup->groups[i].name, name) == 0)
      return i;
  return TESSERA_NONE;
}

static uint32_t
find_or_add_group (Regroup *regroup, const char *name)
{
  uint32_t group = find_group (regroup, name);

  return group == TESSERA_NONE ? add_group (regroup, name) : group;
}

static void
join (Regroup *regroup, const uint8_t *selected, uint32_t group)
{
  for (size_t i = 0; i < regroup->blocks->n_blocks; i++)
    if (selected[i])
      regroup->blocks->blocks[i].group = group;
}

/* By group: whether a selected block is in it. */
static uint8_t *
find_touched (const Regroup *regroup, const uint8_t *selected)
{
  uint8_t *touched = g_new0 (uint8_t, regroup->n_groups + 1);

  for (size_t i = 0; i < regroup->blocks->n_blocks; i++)
    if (selected[i])
      touched[regroup->blocks->blocks[i].group] = 1;
  return touched;
}

static void
merge (Regroup *regroup, const TesseraEdit *edit, const uint8_t *selected)
{
  g_autofree uint8_t *touched = find_touched (regroup, selected);
  size_t n_touched = regroup->n_groups;
  uint32_t group = find_or_add_group (regroup, edit->group);

  for (size_t i = 0; i < regroup->blocks->n_blocks; i++)
    {
      TesseraBlock *block = &regroup->blocks->blocks[i];

      if (block->group < n_touched && touched[block->group])
        block->group = group;
    }
}

typedef struct
{
  Regroup *regroup;
  const TesseraEdit *edit;
  uint32_t *modules; /* by event, or NULL */
  GHashTable *parts; /* 1 + the group, by "from, suffix" */
} Split;

static const char *
phase_of (const Split *split, const TesseraBlock *block)
{
  const TesseraStructure *structure = split->regroup->structure;

  return block->born_phase < structure->n_phases
             ? tessera_phase_name (split->regroup->trace,
                                   &structure->phases[block->born_phase])
             : "no phase";
}

static const char *
module_of (const Split *split, const TesseraBlock *block)
{
  const char *module = NULL;

  if (!split->modules || !(block->flags & TESSERA_AT_START))
    module = tessera_module_of_birth (split->regroup->trace, split->modules,
                                      block->born_index, block->stack);
  return module ? module : "no module";
}

/* What parts the block from others of its group. */
static void
name_part (const Split *split, const TesseraBlock *block, char *name, size_t n_name)
{
  const TesseraStructure *structure = split->regroup->structure;

  switch (split->edit->by)
    {
    case TESSERA_SPLIT_SIZE:
      snprintf (name, n_name, "%" PRIu64 " bytes", block->size_bytes);
      break;
    case TESSERA_SPLIT_STEP:
      if (block->step < structure->n_steps)
        snprintf (name, n_name, "step %" PRId64, structure->steps[block->step].number);
      else
        snprintf (name, n_name, "no step");
      break;
    case TESSERA_SPLIT_AT:
      snprintf (name, n_name, "%s event %" PRIu64,
                block->born_index >= split->edit->at ? "from" : "before",
                split->edit->at);
      break;
    case TESSERA_SPLIT_PHASE:
      snprintf (name, n_name, "%s", phase_of (split, block));
      break;
    default:
      snprintf (name, n_name, "%s", module_of (split, block));
    }
}

static uint32_t
find_part (Split *split, const TesseraBlock *block)
{
  char suffix[256], key[300], name[1024], shown[1024];
  uint32_t part;

  name_part (split, block, suffix, sizeof suffix);
  snprintf (key, sizeof key, "%u, %s", block->group, suffix);
  part = GPOINTER_TO_UINT (g_hash_table_lookup (split->parts, key));
  if (part == 0)
    {
      snprintf (name, sizeof name, "%s, %s", split->regroup->groups[block->group].name,
                suffix);
      part =
          1 + add_group (split->regroup, tessera_show_text (name, shown, sizeof shown));
      g_hash_table_insert (split->parts, g_strdup (key), GUINT_TO_POINTER (part));
    }
  return part - 1;
}

static void
split_groups (Regroup *regroup, const TesseraEdit *edit, const uint8_t *selected)
{
  TesseraBlocks *blocks = regroup->blocks;
  size_t n_touched = regroup->n_groups;
  g_autofree uint8_t *touched = find_touched (regroup, selected);
  Split split = { .regroup = regroup,
                  .edit = edit,
                  .parts =
                      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) };

  if (edit->by == TESSERA_SPLIT_MODULE)
    split.modules = tessera_find_modules (regroup->trace);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    if (blocks->blocks[i].group < n_touched && touched[blocks->blocks[i].group])
      blocks->blocks[i].group = find_part (&split, &blocks->blocks[i]);
  free (split.modules);
  g_hash_table_unref (split.parts);
}

/* The group of the same name as @wanted, with the kind of that where it is new. */
static uint32_t
adopt (Regroup *regroup, const TesseraGroup *wanted)
{
  size_t n_before = regroup->n_groups;
  uint32_t group = find_or_add_group (regroup, wanted->name);

  if (group == n_before)
    regroup->groups[group].kind = wanted->kind;
  return group;
}

/* The selected go to the groups that they would have been put into with their new class;
 * the others stay where they are. */
static void
set_class (Regroup *regroup, const TesseraEdit *edit, const uint8_t *selected)
{
  TesseraBlocks *blocks = regroup->blocks, fresh = *blocks;
  TesseraGroup *groups;
  size_t n_groups;
  g_autofree TesseraBlock *copies = g_new (TesseraBlock, blocks->n_blocks + 1);
  g_autofree uint32_t *to = NULL;

  fresh.blocks = copies;
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      if (selected[i])
        blocks->blocks[i].lifetime_class = edit->lifetime_class;
      fresh.blocks[i] = blocks->blocks[i];
    }
  tessera_group_blocks (regroup->trace, &fresh, regroup->structure, &groups, &n_groups);
  to = tessera_new_nones (n_groups);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      uint32_t group = fresh.blocks[i].group;

      if (!selected[i])
        continue;
      if (to[group] == TESSERA_NONE)
        to[group] = adopt (regroup, &groups[group]);
      blocks->blocks[i].group = to[group];
    }
  tessera_groups_free (groups, n_groups);
}

/* Applies an edit of groups to what is @selected, by block. Returns: false: there is no
 * group of the name. */
static bool
apply_to_groups (Regroup *regroup, const TesseraEdit *edit, const uint8_t *selected)
{
  switch (edit->kind)
    {
    case TESSERA_EDIT_MERGE:
      merge (regroup, edit, selected);
      break;
    case TESSERA_EDIT_SPLIT:
      split_groups (regroup, edit, selected);
      break;
    case TESSERA_EDIT_GROUP:
      join (regroup, selected, find_or_add_group (regroup, edit->group));
      break;
    case TESSERA_EDIT_MOVE:
      if (find_group (regroup, edit->group) == TESSERA_NONE)
        return false;
      join (regroup, selected, find_group (regroup, edit->group));
      break;
    case TESSERA_EDIT_CLASS:
      set_class (regroup, edit, selected);
      break;
    default:
      break;
    }
  return true;
}

/* Measures groups, and drops those without blocks. */
static void
finish_groups (Regroup *regroup)
{
  TesseraBlocks *blocks = regroup->blocks;
  g_autofree uint32_t *new_index = g_new (uint32_t, regroup->n_groups + 1);
  size_t n_left = 0;

  tessera_groups_measure (blocks, regroup->groups, regroup->n_groups);
  for (size_t i = 0; i < regroup->n_groups; i++)
    {
      new_index[i] = (uint32_t) n_left;
      if (regroup->groups[i].n_blocks > 0)
        regroup->groups[n_left++] = regroup->groups[i];
      else
        free (regroup->groups[i].name);
    }
  regroup->n_groups = n_left;
  for (size_t i = 0; i < blocks->n_blocks; i++)
    blocks->blocks[i].group = new_index[blocks->blocks[i].group];
}

/* ---- All edits ---- */

typedef struct
{
  Regroup regroup;
  const TesseraEdit *edits;
  uint8_t *selected; /* by block */
  TesseraConstraints *constraints;
  TesseraEdit *settled; /* (nullable) the edits, to become lists of blocks */
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
  const Regroup *regroup = &apply->regroup;

  tessera_select (selector, regroup->trace, regroup->blocks, regroup->structure,
                  regroup->groups, regroup->n_groups, apply->selected);
}

/* Where each of the constraint's blocks is pinned. A shape goes by the blocks that were
 * listed, in their order, of which some may not be selected. */
static void
set_offsets (const TesseraEdit *edit, TesseraHold *constraint)
{
  constraint->offsets = g_new (uint64_t, constraint->n_blocks + 1);
  for (size_t i = 0, k = 0; i < constraint->n_blocks; i++)
    {
      constraint->offsets[i] = edit->at;
      if (!edit->shape)
        continue;
      while (k + 1 < edit->what.n_blocks && edit->what.blocks[k] < constraint->blocks[i])
        k++;
      constraint->offsets[i] += edit->shape[k];
    }
}

static void
list_selected (const Apply *apply, uint32_t **out_blocks, size_t *out_n_blocks)
{
  tessera_selected_list (apply->selected, apply->regroup.blocks->n_blocks, out_blocks,
                         out_n_blocks);
}

static const TesseraHold *
add_constraint (Apply *apply, uint32_t index)
{
  TesseraConstraints *constraints = apply->constraints;
  const TesseraEdit *edit = &apply->edits[index];
  TesseraHold *constraint;

  TESSERA_GROW (constraints->constraints, constraints->cap_constraints,
                constraints->n_constraints + 1);
  constraint = &constraints->constraints[constraints->n_constraints++];
  *constraint =
      (TesseraHold){ .edit = index, .kind = edit->kind, .has_with = edit->has_with };
  list_selected (apply, &constraint->blocks, &constraint->n_blocks);
  if (edit->kind == TESSERA_EDIT_PIN)
    set_offsets (edit, constraint);
  if (edit->has_with)
    {
      select_blocks (apply, &edit->with);
      list_selected (apply, &constraint->with, &constraint->n_with);
    }
  return constraint;
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

/* The selector is of these blocks, and of nothing else. */
static void
settle_on (TesseraSelector *selector, const uint32_t *blocks, size_t n_blocks)
{
  tessera_selector_clear (selector);
  selector->blocks = g_memdup2 (blocks, (n_blocks + 1) * sizeof *blocks);
  selector->n_blocks = n_blocks;
}

/* The edit that was applied lists what it selected; of a shape the distances go along.
 * @made: (nullable) the edit's constraint */
static void
settle (Apply *apply, uint32_t index, const TesseraHold *made)
{
  TesseraEdit *edit = &apply->settled[index];

  if (!made)
    {
      g_autofree uint32_t *blocks = NULL;
      size_t n_blocks;

      list_selected (apply, &blocks, &n_blocks);
      settle_on (&edit->what, blocks, n_blocks);
      return;
    }
  settle_on (&edit->what, made->blocks, made->n_blocks);
  if (edit->has_with)
    settle_on (&edit->with, made->with, made->n_with);
  if (!edit->shape)
    return;
  g_free (edit->shape);
  edit->shape = g_memdup2 (made->offsets, (made->n_blocks + 1) * sizeof *edit->shape);
  for (size_t i = 0; i < made->n_blocks; i++)
    edit->shape[i] -= edit->at;
}

static TesseraStatus
apply_edit (Apply *apply, uint32_t index)
{
  const TesseraEdit *edit = &apply->edits[index];
  const TesseraHold *made = NULL;

  select_blocks (apply, &edit->what);
  switch (edit->kind)
    {
    case TESSERA_EDIT_PIN:
    case TESSERA_EDIT_TOGETHER:
    case TESSERA_EDIT_APART:
      made = add_constraint (apply, index);
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
      if (!apply_to_groups (&apply->regroup, edit, apply->selected))
        return refuse_group (apply, index);
    }
  if (apply->settled)
    settle (apply, index, made);
  return TESSERA_OK;
}

TesseraStatus
tessera_constraints_of_trace (const TesseraTrace *trace,
                              const TesseraBlocks *blocks,
                              const TesseraStructure *structure,
                              const TesseraEdit *edits,
                              size_t n_edits,
                              TesseraEdit *settled,
                              TesseraError *error,
                              TesseraEditConflict *out_conflict,
                              TesseraConstraints *out_constraints)
{
  g_autofree uint8_t *selected = g_new (uint8_t, blocks->n_blocks + 1);
  TesseraBlocks edited = *blocks;
  Apply apply = { .regroup = { trace, &edited, structure },
                  .edits = edits,
                  .selected = selected,
                  .constraints = out_constraints,
                  .settled = settled,
                  .error = error,
                  .conflict = out_conflict };
  bool is_any = false;
  TesseraStatus status = TESSERA_OK;

  *out_constraints = (TesseraConstraints){ .cap_bytes = UINT64_MAX };
  edited.blocks = g_memdup2 (blocks->blocks, blocks->n_blocks * sizeof *blocks->blocks);
  tessera_group_blocks (trace, &edited, structure, &apply.regroup.groups,
                        &apply.regroup.n_groups);
  apply.regroup.cap_groups = apply.regroup.n_groups;
  for (uint32_t i = 0; i < n_edits && status == TESSERA_OK; i++)
    if (!edits[i].is_undone)
      {
        status = apply_edit (&apply, i);
        is_any = true;
      }
  if (status == TESSERA_OK && is_any)
    finish_groups (&apply.regroup);
  out_constraints->blocks = edited.blocks;
  out_constraints->groups = apply.regroup.groups;
  out_constraints->n_groups = apply.regroup.n_groups;
  return status;
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
  TesseraConstraints constraints;
  TesseraStatus status;

  *out_blocks = NULL;
  *out_groups = NULL;
  *out_n_groups = 0;
  if (out_conflict)
    *out_conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  status = tessera_constraints_of_trace (trace, blocks, structure, edits, n_edits, NULL,
                                         error, out_conflict, &constraints);
  if (status == TESSERA_OK)
    {
      *out_blocks = g_steal_pointer (&constraints.blocks);
      *out_groups = g_steal_pointer (&constraints.groups);
      *out_n_groups = constraints.n_groups;
      constraints.n_groups = 0;
    }
  tessera_constraints_clear (&constraints);
  return status;
}

TesseraStatus
tessera_edits_settle (const TesseraTrace *trace,
                      const TesseraBlocks *blocks,
                      const TesseraStructure *structure,
                      TesseraEdit *edits,
                      size_t n_edits)
{
  TesseraConstraints constraints;
  TesseraStatus status = tessera_constraints_of_trace (
      trace, blocks, structure, edits, n_edits, edits, NULL, NULL, &constraints);

  tessera_constraints_clear (&constraints);
  return status;
}
