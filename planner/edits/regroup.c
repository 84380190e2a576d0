/*
 * Edits of groups: see constraints.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/constraints.h"

#include <inttypes.h>
#include <stdio.h>

#include "db/hash.h"
#include "planner/groups.h"
#include "planner/memory.h"
#include "planner/modules.h"

static uint32_t
add_group (TesseraRegroup *regroup, const char *name)
{
  TESSERA_GROW (regroup->groups, regroup->cap_groups, regroup->n_groups + 1);
  regroup->groups[regroup->n_groups] =
      (TesseraGroup){ .name = g_strdup (name), .kind = TESSERA_GROUP_HAND };
  return (uint32_t) regroup->n_groups++;
}

/* The first of that name, or TESSERA_NONE. */
static uint32_t
find_group (const TesseraRegroup *regroup, const char *name)
{
  for (uint32_t i = 0; i < regroup->n_groups; i++)
    if (strcmp (regroup->groups[i].name, name) == 0)
      return i;
  return TESSERA_NONE;
}

static uint32_t
find_or_add_group (TesseraRegroup *regroup, const char *name)
{
  uint32_t group = find_group (regroup, name);

  return group == TESSERA_NONE ? add_group (regroup, name) : group;
}

static void
join (TesseraRegroup *regroup, const uint8_t *selected, uint32_t group)
{
  for (size_t i = 0; i < regroup->blocks->n_blocks; i++)
    if (selected[i])
      regroup->blocks->blocks[i].group = group;
}

/* By group: whether a selected block is in it. */
static uint8_t *
find_touched (const TesseraRegroup *regroup, const uint8_t *selected)
{
  uint8_t *touched = g_new0 (uint8_t, regroup->n_groups + 1);

  for (size_t i = 0; i < regroup->blocks->n_blocks; i++)
    if (selected[i])
      touched[regroup->blocks->blocks[i].group] = 1;
  return touched;
}

static void
merge (TesseraRegroup *regroup, const TesseraEdit *edit, const uint8_t *selected)
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

/* A part of a group that is split. */
typedef struct
{
  uint64_t key;
  uint32_t from, to; /* groups */
  bool is_used;
} Part;

typedef struct
{
  TesseraRegroup *regroup;
  const TesseraEdit *edit;
  uint32_t *modules; /* by event, or NULL */
  uint8_t *touched;
  Part *parts;
  size_t n_parts; /* a power of two */
} Split;

static const char *
phase_of (const Split *split, const TesseraBlock *block)
{
  const TesseraStructure *structure = split->regroup->structure;

  return block->born_phase < structure->n_phases
             ? tessera_phase_name (split->regroup->trace,
                                   &structure->phases[block->born_phase])
             : NULL;
}

static const char *
module_of (const Split *split, const TesseraBlock *block)
{
  if (split->modules && block->flags & TESSERA_AT_START)
    return NULL;
  return tessera_module_of_birth (split->regroup->trace, split->modules,
                                  block->born_index, block->stack);
}

/* What parts blocks from each other, as a name and as a number. */
static uint64_t
key_of (const Split *split, const TesseraBlock *block, char *name, size_t n_name)
{
  const TesseraStructure *structure = split->regroup->structure;
  const char *text;
  uint64_t key = block->size_bytes;
  bool is_later;

  switch (split->edit->by)
    {
    case TESSERA_SPLIT_SIZE:
      snprintf (name, n_name, "%" PRIu64 " bytes", block->size_bytes);
      return key;
    case TESSERA_SPLIT_STEP:
      if (block->step < structure->n_steps)
        snprintf (name, n_name, "step %" PRId64, structure->steps[block->step].number);
      else
        snprintf (name, n_name, "no step");
      return block->step;
    case TESSERA_SPLIT_AT:
      is_later = block->born_index >= split->edit->at;
      snprintf (name, n_name, "%s event %" PRIu64, is_later ? "from" : "before",
                split->edit->at);
      return is_later;
    case TESSERA_SPLIT_PHASE:
      text = phase_of (split, block);
      snprintf (name, n_name, "%s", text ? text : "no phase");
      break;
    default:
      text = module_of (split, block);
      snprintf (name, n_name, "%s", text ? text : "no module");
    }
  return tessera_hash_bytes (TESSERA_HASH_START, name, strlen (name));
}

static uint32_t
find_part (Split *split, const TesseraBlock *block)
{
  char suffix[256], name[1024], shown[1024];
  uint64_t key = key_of (split, block, suffix, sizeof suffix);
  uint64_t hash = tessera_hash_number (TESSERA_HASH_START, key ^ block->group);
  size_t at = (size_t) (hash >> 16) & (split->n_parts - 1);
  Part *part;

  while (split->parts[at].is_used &&
         (split->parts[at].key != key || split->parts[at].from != block->group))
    at = (at + 1) & (split->n_parts - 1);
  part = &split->parts[at];
  if (!part->is_used)
    {
      *part = (Part){ .key = key, .from = block->group, .is_used = true };
      snprintf (name, sizeof name, "%s, %s", split->regroup->groups[block->group].name,
                suffix);
      part->to =
          add_group (split->regroup, tessera_show_text (name, shown, sizeof shown));
    }
  return part->to;
}

static void
split_groups (TesseraRegroup *regroup, const TesseraEdit *edit, const uint8_t *selected)
{
  TesseraBlocks *blocks = regroup->blocks;
  Split split = { .regroup = regroup, .edit = edit, .n_parts = 16 };
  size_t n_touched = regroup->n_groups;

  if (edit->by == TESSERA_SPLIT_MODULE)
    split.modules = tessera_find_modules (regroup->trace);
  while (split.n_parts < 2 * blocks->n_blocks)
    split.n_parts *= 2;
  split.touched = find_touched (regroup, selected);
  split.parts = g_new0 (Part, split.n_parts);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      TesseraBlock *block = &blocks->blocks[i];

      if (block->group < n_touched && split.touched[block->group])
        block->group = find_part (&split, block);
    }
  free (split.modules);
  free (split.touched);
  free (split.parts);
}

/* The group of the same name as @wanted, with the kind of that where it is new. */
static uint32_t
adopt (TesseraRegroup *regroup, const TesseraGroup *wanted)
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
set_class (TesseraRegroup *regroup, const TesseraEdit *edit, const uint8_t *selected)
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

bool
tessera_regroup (TesseraRegroup *regroup,
                 const TesseraEdit *edit,
                 const uint8_t *selected)
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

/* The class that all blocks of a group have; 0: there are several. */
static void
find_classes (TesseraRegroup *regroup)
{
  for (size_t i = 0; i < regroup->n_groups; i++)
    regroup->groups[i].n_blocks = 0;
  for (size_t i = 0; i < regroup->blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &regroup->blocks->blocks[i];
      TesseraGroup *group = &regroup->groups[block->group];

      if (group->n_blocks++ == 0)
        group->lifetime_class = block->lifetime_class;
      else if (group->lifetime_class != block->lifetime_class)
        group->lifetime_class = 0;
    }
}

void
tessera_regroup_finish (TesseraRegroup *regroup)
{
  TesseraBlocks *blocks = regroup->blocks;
  g_autofree uint32_t *new_index = g_new (uint32_t, regroup->n_groups + 1);
  size_t n_left = 0;

  find_classes (regroup);
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
  tessera_groups_measure (blocks, regroup->groups);
}
