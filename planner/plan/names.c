/*
 * Phase names and ordinals of a plan's slots and placeless requests: how a run will know
 * which is which.
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
next_ordinal (CountTable *table, uint64_t block_bytes, uint16_t stream, uint32_t stretch)
{
  uint64_t hash = tessera_mix (tessera_mix (TESSERA_FNV_BASIS, block_bytes), stream);
  size_t i = (size_t) (hash ^ (hash >> 32)) & (table->n_counts - 1);
  Count *count;

  while (table->counts[i].stretch && (table->counts[i].block_bytes != block_bytes ||
                                      table->counts[i].stream != stream))
    i = (i + 1) & (table->n_counts - 1);
  count = &table->counts[i];
  if (count->stretch != stretch)
    *count = (Count){ block_bytes, stretch, 0, stream };
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

/* What naming looks up and counts, request after request. */
typedef struct
{
  TesseraPlanBuild *build;
  NameTable names;
  uint32_t *id_of_string; /* of the trace: each name is compared once */
  CountTable counts;
  Cursor cursor;
} Naming;

static TesseraStatus
phase_id (Naming *naming, uint32_t phase, uint32_t *out_id)
{
  TesseraPlanBuild *build = naming->build;
  const TesseraPhase *of = &build->structure->phases[phase];
  TesseraStatus status;

  if (of->label)
    return name_id (build->plan, &naming->names, of->label, out_id);
  if (of->name == TESSERA_NONE)
    return TESSERA_OK;
  if (naming->id_of_string[of->name] == TESSERA_NONE)
    {
      status = name_id (build->plan, &naming->names,
                        tessera_trace_string (build->trace, of->name),
                        &naming->id_of_string[of->name]);
      if (status != TESSERA_OK)
        return status;
    }
  *out_id = naming->id_of_string[of->name];
  return TESSERA_OK;
}

/* The phase of the block's birth, and its ordinal unless it is no request's. */
static TesseraStatus
name_block (Naming *naming,
            uint32_t index,
            bool is_request,
            uint32_t *out_phase,
            uint32_t *out_ordinal)
{
  const TesseraBlock *block = &naming->build->blocks->blocks[index];

  if (is_request && !(block->flags & TESSERA_AT_START))
    {
      cursor_reach (&naming->cursor, block->born_index);
      *out_ordinal = next_ordinal (&naming->counts, block->block_bytes, block->stream,
                                   naming->cursor.stretch);
    }
  return block->born_phase != TESSERA_NONE
             ? phase_id (naming, block->born_phase, out_phase)
             : TESSERA_OK;
}

/* The placeless requests from *@next on that come before the slot. */
static TesseraStatus
name_placeless (Naming *naming, size_t slot, size_t *next)
{
  TesseraPlan *plan = naming->build->plan;
  TesseraStatus status = TESSERA_OK;

  for (; status == TESSERA_OK && *next < plan->n_placeless; ++*next)
    {
      TesseraPlaceless *placeless = &plan->placeless[*next];

      if (placeless->before > slot)
        break;
      status = name_block (naming, placeless->block, true, &placeless->phase,
                           &placeless->ordinal);
    }
  return status;
}

/* Slots and placeless requests, in the order in which they are asked for. */
static TesseraStatus
name_all (Naming *naming)
{
  TesseraPlanBuild *build = naming->build;
  TesseraPlan *plan = build->plan;
  size_t next = 0;
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; status == TESSERA_OK && i < plan->n_slots; i++)
    {
      TesseraSlot *slot = &plan->slots[i];

      status = name_placeless (naming, i, &next);
      if (status == TESSERA_OK)
        status = name_block (naming, slot->block, !tessera_build_is_spare (build, i),
                             &slot->phase, &slot->ordinal);
    }
  return status == TESSERA_OK ? name_placeless (naming, plan->n_slots, &next) : status;
}

/* No placeless request comes behind the slots of its section that are asked for: those
 * without an ordinal at the end of one that repeats are not. */
static void
close_sections (TesseraPlan *plan)
{
  size_t next = 0;

  for (uint32_t s = 0; s < plan->n_sections; s++)
    {
      const TesseraSection *section = &plan->sections[s];
      uint32_t end = section->first_slot + section->n_slots;

      while (section->kind == TESSERA_SECTION_REPEATS && end > section->first_slot &&
             plan->slots[end - 1].ordinal == TESSERA_NONE)
        end--;
      for (; next < plan->n_placeless && plan->placeless[next].section == s; next++)
        if (plan->placeless[next].before > end)
          plan->placeless[next].before = end;
    }
}

TesseraStatus
tessera_build_names (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  size_t n_strings = tessera_trace_n_strings (build->trace);
  Naming naming = { .build = build,
                    .id_of_string = malloc ((n_strings + 1) * sizeof (uint32_t)),
                    .counts = { NULL, 16 },
                    .cursor = { .build = build } };
  TesseraStatus status = TESSERA_NO_MEMORY;

  while (naming.counts.n_counts < 2 * (plan->n_slots + plan->n_placeless))
    naming.counts.n_counts *= 2;
  naming.counts.counts = calloc (naming.counts.n_counts, sizeof *naming.counts.counts);
  if (naming.id_of_string && naming.counts.counts &&
      name_table_init (&naming.names, n_strings + build->structure->n_phases))
    {
      memset (naming.id_of_string, 0xff, (n_strings + 1) * sizeof (uint32_t));
      status = name_all (&naming);
      close_sections (plan);
    }
  free (naming.id_of_string);
  free (naming.names.ids);
  free (naming.counts.counts);
  return status;
}
