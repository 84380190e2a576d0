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
#include "planner/groups.h"

#include <inttypes.h>
#include <stdio.h>

#include "db/size-text.h"
#include "planner/gaps.h"
#include "planner/memory.h"
#include "planner/modules.h"

/* So many equal blocks of at least this size make a HomoSize group. */
#define MANY_BLOCKS 16
#define LARGE_BYTES (UINT64_C (1) << 20)

/* What makes blocks a group: kind, class and two names or phases. */
typedef struct
{
  uint8_t kind; /* TesseraGroupKind */
  uint8_t lifetime_class;
  uint32_t step; /* index, or TESSERA_NONE */
  uint32_t from; /* phase, or where the trace names modules a HomoLayer group's string
                          of it: of birth ... */
  uint32_t to;   /* ... and of death; TESSERA_NONE: none */
  uint64_t size_bytes; /* of a HomoSize group, else 0 */
} Key;

typedef struct
{
  Key key;
  uint32_t block;
} Keyed;

typedef struct
{
  const TesseraTrace *trace;
  TesseraBlocks *blocks;
  const TesseraStructure *structure;
  uint32_t *module_of_event; /* string ids; NULL: the trace names no modules */
  uint32_t *first_of_name;   /* [n_phases] the first phase of equal name */
  uint32_t *ordinals; /* [n_phases] 1, 2 ...: which of the phases of its name in its
                                step; 0: the only one */
  Keyed *keyed;       /* by key, then block */
  TesseraGroup *groups;
  size_t n_groups, cap_groups;
} Grouping;

static int
compare_keys (const Key *x, const Key *y)
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
  g_autoptr (GHashTable) firsts = g_hash_table_new (NULL, NULL); /* 1 + the phase */

  grouping->first_of_name = g_new (uint32_t, structure->n_phases + 1);
  for (uint32_t i = 0; i < structure->n_phases; i++)
    {
      /* Labels are static texts, names are strings of the trace: there is one of each. */
      gpointer name =
          (gpointer) tessera_phase_name (grouping->trace, &structure->phases[i]);
      guint first = GPOINTER_TO_UINT (g_hash_table_lookup (firsts, name));

      if (first == 0)
        g_hash_table_insert (firsts, name, GUINT_TO_POINTER (first = i + 1));
      grouping->first_of_name[i] = first - 1;
    }
}

/* Phases are in order, so the step moves on. */
static void
count_ordinals (Grouping *grouping)
{
  const TesseraStructure *structure = grouping->structure;
  g_autoptr (GHashTable) last_of = g_hash_table_new (g_str_hash, g_str_equal);
  uint32_t *ordinals = g_new0 (uint32_t, structure->n_phases + 1), step = 0;

  for (uint32_t i = 0; i < structure->n_phases; i++)
    {
      const TesseraPhase *phase = &structure->phases[i];
      gpointer name = (gpointer) tessera_phase_name (grouping->trace, phase);
      guint before; /* 1 + the last phase of the name in the step */

      for (; step < structure->n_steps &&
             structure->steps[step].end_index <= phase->begin_index;
           step++)
        g_hash_table_remove_all (last_of);
      before = GPOINTER_TO_UINT (g_hash_table_lookup (last_of, name));
      if (before > 0)
        {
          ordinals[before - 1] = MAX (ordinals[before - 1], 1);
          ordinals[i] = ordinals[before - 1] + 1;
        }
      g_hash_table_insert (last_of, name, GUINT_TO_POINTER (i + 1));
    }
  grouping->ordinals = ordinals;
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

static Key
key_of (const Grouping *grouping, const TesseraBlock *block)
{
  const uint32_t *modules = grouping->module_of_event;
  Key key = { .lifetime_class = block->lifetime_class, .step = TESSERA_NONE };

  switch (block->lifetime_class)
    {
    case TESSERA_CLASS_PERSISTENT:
      key.kind = TESSERA_GROUP_PERSISTENT;
      key.from = name_of (grouping, block->born_phase);
      key.to = TESSERA_NONE;
      break;
    case TESSERA_CLASS_DYNAMIC:
      key.kind = TESSERA_GROUP_HOMO_LAYER;
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

/* Names of groups, for people: "forward -> backward, step 1", "64 x 16.00 MiB, forward". */

/* "forward", "forward 2" where the step has several; @phase may be TESSERA_NONE. */
static void
write_end (
    const Grouping *grouping, const Key *key, uint32_t end, char *text, size_t n_text)
{
  bool is_layer = key->kind == TESSERA_GROUP_HOMO_LAYER;
  const char *name;

  text[0] = '\0';
  if (end == TESSERA_NONE)
    return;
  name = is_layer && grouping->module_of_event
             ? tessera_trace_string (grouping->trace, end)
             : tessera_phase_name (grouping->trace, &grouping->structure->phases[end]);
  if (!is_layer && key->kind != TESSERA_GROUP_PERSISTENT && grouping->ordinals[end])
    snprintf (text, n_text, "%s %" PRIu32, name, grouping->ordinals[end]);
  else
    snprintf (text, n_text, "%s", name);
}

/* Allocated. */
static char *
name_group (const Grouping *grouping, const Key *key, size_t n_members)
{
  char from[160], to[160], size[32], head[64] = "", step[48] = "", name[512], shown[512];
  const char *of;

  write_end (grouping, key, key->from, from, sizeof from);
  write_end (grouping, key, key->to, to, sizeof to);
  of = from[0]                     ? from
       : to[0]                     ? "before"
       : key->step == TESSERA_NONE ? "no phase"
                                   : "rest";
  tessera_format_bytes (key->size_bytes, size, sizeof size);
  if (key->kind == TESSERA_GROUP_PERSISTENT)
    snprintf (head, sizeof head, "persistent, from ");
  else if (key->kind == TESSERA_GROUP_HOMO_LAYER)
    snprintf (head, sizeof head, "dynamic, ");
  else if (key->kind == TESSERA_GROUP_HOMO_SIZE)
    snprintf (head, sizeof head, "%zu x %s, ", n_members, size);
  if (key->step != TESSERA_NONE)
    snprintf (step, sizeof step, ", step %" PRId64,
              grouping->structure->steps[key->step].number);
  if (key->kind == TESSERA_GROUP_PERSISTENT)
    snprintf (name, sizeof name, "%s%s", head, from[0] ? from : "the start");
  else if (key->from == key->to || (!to[0] && !from[0]))
    snprintf (name, sizeof name, "%s%s%s", head, of, step);
  else
    snprintf (name, sizeof name, "%s%s -> %s%s", head, of, to[0] ? to : "after", step);
  return g_strdup (tessera_show_text (name, shown, sizeof shown));
}

static uint32_t
add_group (Grouping *grouping, const Key *key, size_t n_members)
{
  TESSERA_GROW (grouping->groups, grouping->cap_groups, grouping->n_groups + 1);
  grouping->groups[grouping->n_groups] = (TesseraGroup){
    .name = name_group (grouping, key, n_members),
    .kind = key->kind,
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
is_same_phase (const Key *a, const Key *b)
{
  Key x = *a, y = *b;

  x.size_bytes = y.size_bytes = 0;
  return compare_keys (&x, &y) == 0;
}

/* Gives the members of each key a group. */
static void
assign (Grouping *grouping)
{
  size_t n = grouping->blocks->n_blocks;
  uint32_t rest = TESSERA_NONE; /* the group of those that are not many */

  for (size_t i = 0, end; i < n; i = end)
    {
      const Keyed *keyed = &grouping->keyed[i];
      Key key = keyed->key;
      uint32_t group;

      for (end = i;
           end < n && compare_keys (&grouping->keyed[end].key, &keyed->key) == 0;)
        end++;
      if (i && !is_same_phase (&keyed->key, &keyed[-1].key))
        rest = TESSERA_NONE;
      group = rest;
      if (is_many (keyed, end - i))
        {
          key.kind = TESSERA_GROUP_HOMO_SIZE;
          group = add_group (grouping, &key, end - i);
        }
      else if (rest == TESSERA_NONE)
        group = rest = add_group (grouping, &key, end - i);
      for (size_t k = i; k < end; k++)
        grouping->blocks->blocks[grouping->keyed[k].block].group = group;
    }
}

/* Local layouts. */

uint64_t
tessera_lay_lowest (TesseraDecision *decisions, size_t n_decisions)
{
  g_autofree TesseraKeyed *ends = g_new (TesseraKeyed, n_decisions + 1);
  g_autoptr (GArray) gaps = tessera_gaps_new ();
  uint64_t height = 0;

  for (uint32_t i = 0; i < n_decisions; i++)
    ends[i] = (TesseraKeyed){ decisions[i].end, i };
  tessera_sort (ends, n_decisions);
  for (size_t i = 0, n_ended = 0; i < n_decisions; i++)
    {
      TesseraDecision *decision = &decisions[i];

      /* What ends by now began before it: it has a place. */
      for (; ends[n_ended].key <= decision->begin; n_ended++)
        {
          const TesseraDecision *ended = &decisions[ends[n_ended].value];

          tessera_gaps_give (gaps, ended->offset_bytes,
                             ended->offset_bytes + ended->size_bytes);
        }
      decision->offset_bytes = tessera_gaps_find (gaps, decision->size_bytes, false);
      tessera_gaps_take (gaps, decision->offset_bytes,
                         decision->offset_bytes + decision->size_bytes);
      height = MAX (height, decision->offset_bytes + decision->size_bytes);
    }
  return height;
}

/* @members: the blocks of the group in order of birth; @room: for as many. */
static void
measure_group (const TesseraBlocks *blocks,
               const TesseraKeyed *members,
               size_t n_members,
               TesseraDecision *room,
               TesseraGroup *group)
{
  const TesseraBlock *first = &blocks->blocks[members[0].value];
  uint32_t end = 0;
  size_t n = 0;
  double used = 0, reserved;

  group->lifetime_class = first->lifetime_class;
  for (size_t i = 0; i < n_members; i++)
    {
      const TesseraBlock *block = &blocks->blocks[members[i].value];

      end = MAX (block->died_index, end);
      if (block->lifetime_class != first->lifetime_class)
        group->lifetime_class = 0;
      /* What was pending when the trace began may end before its first event. */
      if (block->died_index <= block->born_index)
        continue;
      room[n++] = (TesseraDecision){ .size_bytes = block->block_bytes,
                                     .begin = block->born_index,
                                     .end = block->died_index };
      used += (double) block->block_bytes * (block->died_index - block->born_index);
    }
  group->height_bytes = tessera_lay_lowest (room, n);
  reserved = (double) group->height_bytes * (end - first->born_index);
  group->n_blocks = (uint32_t) n_members;
  group->bytes_x_events = used < 1.8e19 ? (uint64_t) used : UINT64_MAX;
  group->time_memory_product = reserved > 0 ? used / reserved : 1;
}

void
tessera_groups_measure (const TesseraBlocks *blocks,
                        TesseraGroup *groups,
                        size_t n_groups)
{
  size_t n = blocks->n_blocks;
  g_autofree TesseraKeyed *members = g_new (TesseraKeyed, n + 1);
  g_autofree TesseraDecision *room = g_new (TesseraDecision, n + 1);

  for (size_t i = 0; i < n_groups; i++)
    groups[i].n_blocks = 0;
  for (uint32_t i = 0; i < n; i++)
    members[i] = (TesseraKeyed){ blocks->blocks[i].group, i };
  tessera_sort (members, n);
  for (size_t i = 0, end; i < n; i = end)
    {
      for (end = i + 1; end < n && members[end].key == members[i].key;)
        end++;
      measure_group (blocks, members + i, end - i, room, &groups[members[i].key]);
    }
}

void
tessera_group_blocks (const TesseraTrace *trace,
                      TesseraBlocks *blocks,
                      const TesseraStructure *structure,
                      TesseraGroup **out_groups,
                      size_t *out_n_groups)
{
  g_autofree Keyed *keyed = g_new (Keyed, blocks->n_blocks + 1);
  Grouping grouping = { .trace = trace,
                        .blocks = blocks,
                        .structure = structure,
                        .module_of_event = tessera_find_modules (trace),
                        .keyed = keyed };

  find_names (&grouping);
  count_ordinals (&grouping);
  for (uint32_t i = 0; i < blocks->n_blocks; i++)
    keyed[i] = (Keyed){ key_of (&grouping, &blocks->blocks[i]), i };
  qsort (keyed, blocks->n_blocks, sizeof *keyed, by_key);
  assign (&grouping);
  tessera_groups_measure (blocks, grouping.groups, grouping.n_groups);
  *out_groups = grouping.groups;
  *out_n_groups = grouping.n_groups;
  free (grouping.module_of_event);
  free (grouping.first_of_name);
  free (grouping.ordinals);
}

void
tessera_groups_free (TesseraGroup *groups, size_t n_groups)
{
  for (size_t i = 0; i < n_groups; i++)
    free (groups[i].name);
  free (groups);
}
