/*
 * Groups of blocks: groups.h.
 *
 * Persistent blocks are grouped by the phase they come from; dynamic ones by the modules
 * (else the phases) of birth and death, over all steps; the others by the very phases of
 * birth and death. Where one of these has many large blocks of one size, they are a group
 * of their own: in those, interval colouring is exact.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/groups/private.h"

#include "planner/memory.h"
#include "planner/modules.h"

/* So many equal blocks of at least this size make a HomoSize group. */
#define MANY_BLOCKS 16
#define LARGE_BYTES (UINT64_C (1) << 20)

typedef struct
{
  TesseraGroupKey key;
  uint32_t block;
} Keyed;

typedef struct
{
  const TesseraTrace *trace;
  TesseraBlocks *blocks;
  const TesseraStructure *structure;
  uint32_t *module_of_event; /* string ids; NULL: the trace names no modules */
  uint32_t *first_of_name;   /* [n_phases] the first phase of equal name */
  Keyed *keyed;              /* by key, then block */
  TesseraGroup *groups;
  size_t n_groups, cap_groups;
} Grouping;

static int
compare_keys (const TesseraGroupKey *x, const TesseraGroupKey *y)
{
  if (x->kind != y->kind)
    return x->kind < y->kind ? -1 : 1;
  if (x->step != y->step)
    return x->step < y->step ? -1 : 1;
  if (x->from != y->from)
    return x->from < y->from ? -1 : 1;
  if (x->to != y->to)
    return x->to < y->to ? -1 : 1;
  if (x->lifetime_class != y->lifetime_class)
    return x->lifetime_class < y->lifetime_class ? -1 : 1;
  return x->size_bytes < y->size_bytes ? -1 : x->size_bytes > y->size_bytes;
}

static int
by_key (const void *a, const void *b)
{
  const Keyed *x = a, *y = b;
  int order = compare_keys (&x->key, &y->key);

  return order ? order : x->block < y->block ? -1 : x->block > y->block;
}

/* Phases of equal name, whatever their instance: the first of them stands for all. */
static void
find_names (Grouping *grouping)
{
  const TesseraStructure *structure = grouping->structure;
  size_t n_strings = tessera_trace_n_strings (grouping->trace);
  g_autofree uint32_t *first = tessera_new_nones (n_strings);
  g_autofree uint32_t *labelled = tessera_new_nones (structure->n_phases);
  size_t n_labelled = 0;

  grouping->first_of_name = tessera_new_nones (structure->n_phases);
  for (uint32_t i = 0; i < structure->n_phases; i++)
    {
      const TesseraPhase *phase = &structure->phases[i];
      size_t k = 0;

      grouping->first_of_name[i] = i;
      if (!phase->label && phase->name < n_strings)
        {
          if (first[phase->name] == TESSERA_NONE)
            first[phase->name] = i;
          grouping->first_of_name[i] = first[phase->name];
        }
      if (!phase->label)
        continue;
      while (k < n_labelled && structure->phases[labelled[k]].label != phase->label)
        k++;
      if (k == n_labelled) /* labels are static text, a handful */
        labelled[n_labelled++] = i;
      grouping->first_of_name[i] = labelled[k];
    }
}

static uint32_t
main_of (const Grouping *grouping, uint32_t phase)
{
  return phase == TESSERA_NONE ? TESSERA_NONE : grouping->structure->phases[phase].main;
}

static uint32_t
name_of (const Grouping *grouping, uint32_t phase)
{
  return phase == TESSERA_NONE ? TESSERA_NONE
                               : grouping->first_of_name[main_of (grouping, phase)];
}

static TesseraGroupKey
key_of (const Grouping *grouping, const TesseraBlock *block)
{
  const uint32_t *modules = grouping->module_of_event;
  TesseraGroupKey key = { .lifetime_class = block->lifetime_class, .step = TESSERA_NONE };

  switch (block->lifetime_class)
    {
    case TESSERA_CLASS_PERSISTENT:
      key.kind = TESSERA_GROUP_PERSISTENT;
      key.from = name_of (grouping, block->born_phase);
      key.to = TESSERA_NONE;
      break;
    case TESSERA_CLASS_DYNAMIC:
      key.kind = TESSERA_GROUP_HOMO_LAYER;
      key.are_modules = modules != NULL;
      key.from =
          modules ? modules[block->born_index] : name_of (grouping, block->born_phase);
      key.to = name_of (grouping, block->died_phase);
      if (modules)
        key.to = block->died_index < grouping->blocks->n_events
                     ? modules[block->died_index]
                     : TESSERA_NONE;
      break;
    default:
      key.kind = TESSERA_GROUP_HOMO_PHASE;
      key.from = main_of (grouping, block->born_phase);
      key.to = main_of (grouping, block->died_phase);
      key.step = block->step;
      key.size_bytes = block->block_bytes;
    }
  return key;
}

static uint32_t
add_group (Grouping *grouping, const TesseraGroupKey *key)
{
  TESSERA_GROW (grouping->groups, grouping->cap_groups, grouping->n_groups + 1);
  grouping->groups[grouping->n_groups] = (TesseraGroup){
    .kind = key->kind,
    .lifetime_class = key->lifetime_class,
  };
  return (uint32_t) grouping->n_groups++;
}

static bool
is_many (const Keyed *keyed, size_t n)
{
  return keyed->key.kind == TESSERA_GROUP_HOMO_PHASE && n >= MANY_BLOCKS &&
         keyed->key.size_bytes >= LARGE_BYTES;
}

/* Keys equal but for the size. */
static bool
is_same_phase (const TesseraGroupKey *a, const TesseraGroupKey *b)
{
  TesseraGroupKey x = *a, y = *b;

  x.size_bytes = y.size_bytes = 0;
  return compare_keys (&x, &y) == 0;
}

/* Gives the members of each key a group. Returns: what each group is; the caller frees it. */
static TesseraGroupKey *
assign (Grouping *grouping)
{
  size_t n = grouping->blocks->n_blocks;
  TesseraGroupKey *keys = g_new0 (TesseraGroupKey, n + 1);
  uint32_t rest = TESSERA_NONE, group = 0;

  for (size_t i = 0, end; i < n; i = end)
    {
      Keyed *keyed = &grouping->keyed[i];

      for (end = i;
           end < n && compare_keys (&grouping->keyed[end].key, &keyed->key) == 0;)
        end++;
      if (i && !is_same_phase (&keyed->key, &keyed[-1].key))
        rest = TESSERA_NONE;
      group = rest;
      if (is_many (keyed, end - i) || rest == TESSERA_NONE)
        {
          group = add_group (grouping, &keyed->key);
          keys[group] = keyed->key;
          if (is_many (keyed, end - i))
            keys[group].kind = grouping->groups[group].kind = TESSERA_GROUP_HOMO_SIZE;
          else
            {
              keys[group].size_bytes = 0;
              rest = group;
            }
        }
      for (size_t k = i; k < end; k++)
        grouping->blocks->blocks[grouping->keyed[k].block].group = group;
    }
  return keys;
}

void
tessera_groups_measure (const TesseraBlocks *blocks, TesseraGroup *groups)
{
  size_t n = blocks->n_blocks;
  g_autofree TesseraKeyed *members = g_new (TesseraKeyed, n + 1);
  g_autofree TesseraDecision *room = g_new (TesseraDecision, n + 1);

  for (uint32_t i = 0; i < n; i++)
    members[i] = (TesseraKeyed){ blocks->blocks[i].group, i };
  tessera_demand_memory (tessera_sort_keyed (members, n));
  for (size_t i = 0, end; i < n; i = end)
    {
      for (end = i + 1; end < n && members[end].key == members[i].key;)
        end++;
      tessera_group_measure (blocks, members + i, end - i, room, &groups[members[i].key]);
    }
}

static void
name_groups (Grouping *grouping, const TesseraGroupKey *keys)
{
  g_autofree uint32_t *ordinals =
      tessera_phase_ordinals (grouping->trace, grouping->structure);

  for (size_t g = 0; g < grouping->n_groups; g++)
    grouping->groups[g].name =
        tessera_group_name (grouping->trace, grouping->structure, ordinals, &keys[g],
                            grouping->groups[g].n_blocks);
}

void
tessera_group_blocks (const TesseraTrace *trace,
                      TesseraBlocks *blocks,
                      const TesseraStructure *structure,
                      TesseraGroup **out_groups,
                      size_t *out_n_groups)
{
  g_autofree Keyed *keyed = g_new (Keyed, blocks->n_blocks + 1);
  g_autofree TesseraGroupKey *keys = NULL;
  Grouping grouping = { .trace = trace,
                        .blocks = blocks,
                        .structure = structure,
                        .module_of_event = tessera_find_modules (trace),
                        .keyed = keyed };

  find_names (&grouping);
  for (uint32_t i = 0; i < blocks->n_blocks; i++)
    keyed[i] = (Keyed){ key_of (&grouping, &blocks->blocks[i]), i };
  qsort (keyed, blocks->n_blocks, sizeof *keyed, by_key);
  keys = assign (&grouping);
  tessera_groups_measure (blocks, grouping.groups);
  name_groups (&grouping, keys);
  *out_groups = grouping.groups;
  *out_n_groups = grouping.n_groups;
  free (grouping.module_of_event);
  free (grouping.first_of_name);
}

void
tessera_groups_free (TesseraGroup *groups, size_t n_groups)
{
  for (size_t i = 0; i < n_groups; i++)
    free (groups[i].name);
  free (groups);
}
