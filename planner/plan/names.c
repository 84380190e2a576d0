/*
 * Phase names and ordinals of a plan's slots: how a run will know which is which.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"
#include "planner/structure/private.h"

#include <stdlib.h>
#include <string.h>

/* Requests of equal stream and size in the stretch @stretch. */
typedef struct
{
  uint64_t block_bytes;
  uint32_t stretch; /* 0: unused */
  uint32_t count;
  uint16_t stream;
} Count;

typedef struct
{
  Count *counts;
  size_t n_counts; /* a power of two, at least twice the keys there can be */
} CountTable;

/* The events in order, with the stretch (1, 2 ...) that each request lies in. */
typedef struct
{
  const TesseraPlanBuild *build;
  uint32_t event;
  uint32_t stretch;
  uint32_t phase, step; /* of the last request */
  uint32_t next_step;
} Cursor;

static uint32_t
next_ordinal (CountTable *table, const TesseraSlot *slot, uint32_t stretch)
{
  uint64_t hash =
      tessera_mix (tessera_mix (TESSERA_FNV_BASIS, slot->block_bytes), slot->stream);
  size_t i = (size_t) (hash ^ (hash >> 32)) & (table->n_counts - 1);
  Count *count;

  while (table->counts[i].stretch && (table->counts[i].block_bytes != slot->block_bytes ||
                                      table->counts[i].stream != slot->stream))
    i = (i + 1) & (table->n_counts - 1);
  count = &table->counts[i];
  if (count->stretch != stretch)
    *count = (Count){ slot->block_bytes, stretch, 0, slot->stream };
  return count->count++;
}

/* Moves on to @event, which is a request. */
static void
cursor_reach (Cursor *cursor, uint32_t event)
{
  const TesseraStructure *structure = cursor->build->structure;

  for (; cursor->event <= event; cursor->event++)
    {
      uint32_t i = cursor->event, step;

      if (!tessera_is_request (&cursor->build->trace->events[i]))
        continue;
      while (cursor->next_step < structure->n_steps &&
             structure->steps[cursor->next_step].end_index <= i)
        cursor->next_step++;
      step = cursor->next_step < structure->n_steps &&
                     structure->steps[cursor->next_step].begin_index <= i
                 ? cursor->next_step
                 : TESSERA_NONE;
      if (cursor->stretch == 0 || structure->phase_of_event[i] != cursor->phase ||
          step != cursor->step)
        cursor->stretch++;
      cursor->phase = structure->phase_of_event[i];
      cursor->step = step;
    }
}

/* Ids of the plan's names, by name; TESSERA_NONE: empty. Larger than names can come. */
typedef struct
{
  uint32_t *ids;
  size_t n_ids; /* a power of two */
} NameTable;

static TesseraStatus
name_add (TesseraPlan *plan, const char *name)
{
  size_t n = plan->n_strings;

  if ((n & (n - 1)) == 0)
    {
      char **more = realloc (plan->strings, (n ? 2 * n : 1) * sizeof *more);

      if (!more)
        return TESSERA_NO_MEMORY;
      plan->strings = more;
    }
  plan->strings[n] = strdup (name);
  if (!plan->strings[n])
    return TESSERA_NO_MEMORY;
  plan->n_strings++;
  return TESSERA_OK;
}

/* The plan's id of a name, added where it is new. */
static TesseraStatus
name_id (TesseraPlan *plan, const NameTable *table, const char *name, uint32_t *out_id)
{
  uint64_t hash = TESSERA_FNV_BASIS;
  TesseraStatus status = TESSERA_OK;
  size_t at;

  for (const char *c = name; *c != '\0'; c++)
    hash = tessera_mix (hash, (uint8_t) *c);
  for (at = hash & (table->n_ids - 1);; at = (at + 1) & (table->n_ids - 1))
    if (table->ids[at] == TESSERA_NONE ||
        strcmp (plan->strings[table->ids[at]], name) == 0)
      break;
  if (table->ids[at] == TESSERA_NONE)
    {
      status = name_add (plan, name);
      if (status == TESSERA_OK)
        table->ids[at] = (uint32_t) (plan->n_strings - 1);
    }
  *out_id = table->ids[at];
  return status;
}

static bool
name_table_init (NameTable *table, size_t n_names)
{
  table->n_ids = 16;
  while (table->n_ids < 2 * n_names)
    table->n_ids *= 2;
  table->ids = malloc (table->n_ids * sizeof *table->ids);
  if (table->ids)
    memset (table->ids, 0xff, table->n_ids * sizeof *table->ids);
  return table->ids != NULL;
}

/* Ids by string of the trace, so that each name is compared once. */
static TesseraStatus
phase_id (TesseraPlanBuild *build,
          const NameTable *names,
          uint32_t *id_of_string,
          uint32_t phase,
          uint32_t *out_id)
{
  const TesseraPhase *of = &build->structure->phases[phase];
  TesseraStatus status;

  if (of->label)
    return name_id (build->plan, names, of->label, out_id);
  if (of->name == TESSERA_NONE)
    return TESSERA_OK;
  if (id_of_string[of->name] == TESSERA_NONE)
    {
      status = name_id (build->plan, names, tessera_trace_string (build->trace, of->name),
                        &id_of_string[of->name]);
      if (status != TESSERA_OK)
        return status;
    }
  *out_id = id_of_string[of->name];
  return TESSERA_OK;
}

/* Requests without a slot are requests nonetheless: those of equals after them keep their
 * ordinals. Counts the blocks in [@from, @to) that edits left out. */
static void
count_left_out (const TesseraPlanBuild *build,
                Cursor *cursor,
                CountTable *table,
                uint32_t from,
                uint32_t to)
{
  for (uint32_t i = from; i < to; i++)
    {
      const TesseraBlock *block = &build->blocks->blocks[i];
      const TesseraSlot like = { .block_bytes = block->block_bytes,
                                 .stream = block->stream };
      TesseraSpell spell;

      if (!build->left_out[i] || block->flags & TESSERA_AT_START ||
          !tessera_run_spell (&build->run, i, &spell))
        continue;
      cursor_reach (cursor, block->born_index);
      next_ordinal (table, &like, cursor->stretch);
    }
}

TesseraStatus
tessera_build_names (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  size_t n_strings = tessera_trace_n_strings (build->trace);
  uint32_t *id_of_string = malloc ((n_strings + 1) * sizeof *id_of_string);
  CountTable table = { NULL, 16 };
  NameTable names = { 0 };
  Cursor cursor = { .build = build };
  uint32_t next = 0; /* block */
  TesseraStatus status = TESSERA_NO_MEMORY;

  while (table.n_counts < 2 * (plan->n_slots + build->n_left_out))
    table.n_counts *= 2;
  table.counts = calloc (table.n_counts, sizeof *table.counts);
  if (!id_of_string || !table.counts ||
      !name_table_init (&names, n_strings + build->structure->n_phases))
    goto out;
  memset (id_of_string, 0xff, (n_strings + 1) * sizeof *id_of_string);
  status = TESSERA_OK;
  for (size_t i = 0; status == TESSERA_OK && i < plan->n_slots; i++)
    {
      TesseraSlot *slot = &plan->slots[i];
      const TesseraBlock *block = &build->blocks->blocks[slot->block];

      if (block->born_phase != TESSERA_NONE)
        status = phase_id (build, &names, id_of_string, block->born_phase, &slot->phase);
      if (block->flags & TESSERA_AT_START ||
          (i >= build->first_spare && i < build->first_spare + build->n_spares))
        continue;
      count_left_out (build, &cursor, &table, next, slot->block);
      next = slot->block + 1;
      cursor_reach (&cursor, block->born_index);
      slot->ordinal = next_ordinal (&table, slot, cursor.stretch);
    }
out:
  free (id_of_string);
  free (names.ids);
  free (table.counts);
  return status;
}
