/*
 * Edits of groups: see regroup.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/regroup.h"

#include "planner/groups.h"
#include "planner/modules.h"

#include "db/array.h"
#include "db/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static TesseraStatus
add_group (TesseraRegroup *regroup, const char *name, uint32_t *out_group)
{
  char *copy = strdup (name);

  if (!copy ||
      !TESSERA_RESERVE (regroup->groups, regroup->cap_groups, regroup->n_groups + 1))
    {
      free (copy);
      return TESSERA_NO_MEMORY;
    }
  *out_group = (uint32_t) regroup->n_groups;
  regroup->groups[regroup->n_groups++] =
      (TesseraGroup){ .name = copy, .kind = TESSERA_GROUP_HAND };
  return TESSERA_OK;
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

static TesseraStatus
find_or_add_group (TesseraRegroup *regroup, const char *name, uint32_t *out_group)
{
  *out_group = find_group (regroup, name);
  return *out_group == TESSERA_NONE ? add_group (regroup, name, out_group) : TESSERA_OK;
}

static void
join (TesseraRegroup *regroup, const uint8_t *selected, uint32_t group)
{
  for (size_t i = 0; i < regroup->blocks->n_blocks; i++)
    if (selected[i])
      regroup->blocks->blocks[i].group = group;
}

/* By group: whether a selected block is in it. NULL: no memory. */
static uint8_t *
find_touched (const TesseraRegroup *regroup, const uint8_t *selected)
{
  uint8_t *touched = calloc (regroup->n_groups + 1, 1);

  for (size_t i = 0; touched && i < regroup->blocks->n_blocks; i++)
    if (selected[i])
      touched[regroup->blocks->blocks[i].group] = 1;
  return touched;
}

static TesseraStatus
merge (TesseraRegroup *regroup, const TesseraEdit *edit, const uint8_t *selected)
{
  uint8_t *touched = find_touched (regroup, selected);
  size_t n_touched = regroup->n_groups;
  uint32_t group;
  TesseraStatus status =
      touched ? find_or_add_group (regroup, edit->group, &group) : TESSERA_NO_MEMORY;

  for (size_t i = 0; status == TESSERA_OK && i < regroup->blocks->n_blocks; i++)
    {
      TesseraBlock *block = &regroup->blocks->blocks[i];

      if (block->group < n_touched && touched[block->group])
        block->group = group;
    }
  free (touched);
  return status;
}

static TesseraStatus
make_group (TesseraRegroup *regroup, const TesseraEdit *edit, const uint8_t *selected)
{
  uint32_t group;
  TesseraStatus status = find_or_add_group (regroup, edit->group, &group);

  if (status == TESSERA_OK)
    join (regroup, selected, group);
  return status;
}

static TesseraStatus
move (TesseraRegroup *regroup, const TesseraEdit *edit, const uint8_t *selected)
{
  uint32_t group = find_group (regroup, edit->group);

  if (group == TESSERA_NONE)
    return TESSERA_REFUSED;
  join (regroup, selected, group);
  return TESSERA_OK;
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

static TesseraStatus
find_part (Split *split, const TesseraBlock *block, uint32_t *out_group)
{
  char suffix[256], name[1024], shown[1024];
  uint64_t key = key_of (split, block, suffix, sizeof suffix);
  uint64_t hash = tessera_hash_number (TESSERA_HASH_START, key ^ block->group);
  size_t at = (size_t) (hash >> 16) & (split->n_parts - 1);
  TesseraStatus status = TESSERA_OK;
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
      status = add_group (split->regroup, tessera_show_text (name, shown, sizeof shown),
                          &part->to);
    }
  *out_group = part->to;
  return status;
}

static TesseraStatus
split_groups (TesseraRegroup *regroup, const TesseraEdit *edit, const uint8_t *selected)
{
  TesseraBlocks *blocks = regroup->blocks;
  Split split = { .regroup = regroup, .edit = edit, .n_parts = 16 };
  size_t n_touched = regroup->n_groups;
  TesseraStatus status = TESSERA_OK;

  if (edit->by == TESSERA_SPLIT_MODULE)
    split.modules = tessera_find_modules (regroup->trace);
  while (split.n_parts < 2 * blocks->n_blocks)
    split.n_parts *= 2;
  split.touched = find_touched (regroup, selected);
  split.parts = calloc (split.n_parts, sizeof *split.parts);
  if (!split.touched || !split.parts)
    status = TESSERA_NO_MEMORY;
  for (size_t i = 0; status == TESSERA_OK && i < blocks->n_blocks; i++)
    {
      TesseraBlock *block = &blocks->blocks[i];

      if (block->group < n_touched && split.touched[block->group])
        status = find_part (&split, block, &block->group);
    }
  free (split.modules);
  free (split.touched);
  free (split.parts);
  return status;
}

/* The group of the same name as @wanted, with the kind of that where it is new. */
static TesseraStatus
adopt (TesseraRegroup *regroup, const TesseraGroup *wanted, uint32_t *out_group)
{
  size_t n_before = regroup->n_groups;
  TesseraStatus status = find_or_add_group (regroup, wanted->name, out_group);

  if (status == TESSERA_OK && *out_group == n_before)
    regroup->groups[*out_group].kind = wanted->kind;
  return status;
}

/* The selected go to the groups that they would have been put into with their new class;
 * the others stay where they are. */
static TesseraStatus
set_class (TesseraRegroup *regroup, const TesseraEdit *edit, const uint8_t *selected)
{
  TesseraBlocks *blocks = regroup->blocks, fresh = *blocks;
  TesseraGroup *groups = NULL;
  size_t n_groups = 0;
  uint32_t *to = NULL;
  TesseraStatus status = TESSERA_NO_MEMORY;

  fresh.blocks = malloc ((blocks->n_blocks + 1) * sizeof *fresh.blocks);
  if (!fresh.blocks)
    return status;
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      if (selected[i])
        blocks->blocks[i].lifetime_class = edit->lifetime_class;
      fresh.blocks[i] = blocks->blocks[i];
    }
  if (tessera_group_blocks (regroup->trace, &fresh, regroup->structure, &groups,
                            &n_groups) == TESSERA_OK)
    to = malloc ((n_groups + 1) * sizeof *to);
  if (to)
    {
      status = TESSERA_OK;
      memset (to, 0xff, (n_groups + 1) * sizeof *to); /* TESSERA_NONE */
    }
  for (size_t i = 0; status == TESSERA_OK && i < blocks->n_blocks; i++)
    {
      uint32_t group = fresh.blocks[i].group;

      if (!selected[i])
        continue;
      if (to[group] == TESSERA_NONE)
        status = adopt (regroup, &groups[group], &to[group]);
      if (status == TESSERA_OK)
        blocks->blocks[i].group = to[group];
    }
  tessera_groups_free (groups, n_groups);
  free (to);
  free (fresh.blocks);
  return status;
}

TesseraStatus
tessera_regroup (TesseraRegroup *regroup,
                 const TesseraEdit *edit,
                 const uint8_t *selected)
{
  switch (edit->kind)
    {
    case TESSERA_EDIT_MERGE:
      return merge (regroup, edit, selected);
    case TESSERA_EDIT_SPLIT:
      return split_groups (regroup, edit, selected);
    case TESSERA_EDIT_GROUP:
      return make_group (regroup, edit, selected);
    case TESSERA_EDIT_MOVE:
      return move (regroup, edit, selected);
    case TESSERA_EDIT_CLASS:
      return set_class (regroup, edit, selected);
    default:
      return TESSERA_OK;
    }
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

TesseraStatus
tessera_regroup_finish (TesseraRegroup *regroup)
{
  TesseraBlocks *blocks = regroup->blocks;
  uint32_t *new_index = malloc ((regroup->n_groups + 1) * sizeof *new_index);
  size_t n_left = 0;

  if (!new_index)
    return TESSERA_NO_MEMORY;
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
  free (new_index);
  return tessera_groups_measure (blocks, regroup->groups);
}
