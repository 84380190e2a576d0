/*
 * Phase names and ordinals of a plan's slots and unplanned requests: how a run will know
 * which is which.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"
#include "planner/structure/private.h"

/* The events in order, with the stretch (1, 2 ...) that each request lies in. */
typedef struct
{
  const TesseraPlanBuild *build;
  uint32_t event;
  uint32_t stretch;
  uint32_t phase, step; /* of the last request */
  uint32_t next_step;
} Cursor;

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

/* What naming looks up and counts, request after request. */
typedef struct
{
  TesseraPlanBuild *build;
  GHashTable *names;  /* ids of the plan's names */
  GHashTable *counts; /* of requests in the stretch, by digests of size and stream */
  uint32_t stretch;
  Cursor cursor;
} Naming;

/* Of the request that the cursor has reached, among those of its size and stream. */
static uint32_t
next_ordinal (Naming *naming, const TesseraBlock *block)
{
  gpointer key = GSIZE_TO_POINTER (
      tessera_mix (tessera_mix (TESSERA_FNV_BASIS, block->block_bytes), block->stream));
  uint32_t n;

  if (naming->stretch != naming->cursor.stretch)
    g_hash_table_remove_all (naming->counts);
  naming->stretch = naming->cursor.stretch;
  n = GPOINTER_TO_UINT (g_hash_table_lookup (naming->counts, key));
  g_hash_table_insert (naming->counts, key, GUINT_TO_POINTER (n + 1));
  return n;
}

/* The plan's id of a name, added where it is new. */
static uint32_t
phase_id (Naming *naming, const char *name)
{
  TesseraPlan *plan = naming->build->plan;
  size_t n = plan->n_strings;
  gpointer id;

  if (g_hash_table_lookup_extended (naming->names, name, NULL, &id))
    return GPOINTER_TO_UINT (id);
  if ((n & (n - 1)) == 0)
    plan->strings = g_renew (char *, plan->strings, n ? 2 * n : 1);
  plan->strings[n] = g_strdup (name);
  g_hash_table_insert (naming->names, plan->strings[n], GUINT_TO_POINTER (n));
  plan->n_strings++;
  return (uint32_t) n;
}

/* The phase of the block's birth, and its ordinal unless it is no request's. */
static void
name_block (Naming *naming,
            uint32_t index,
            bool is_request,
            uint32_t *out_phase,
            uint32_t *out_ordinal)
{
  const TesseraPlanBuild *build = naming->build;
  const TesseraBlock *block = &build->blocks->blocks[index];
  const TesseraPhase *phase = block->born_phase != TESSERA_NONE
                                  ? &build->structure->phases[block->born_phase]
                                  : NULL;

  if (is_request && !(block->flags & TESSERA_AT_START))
    {
      cursor_reach (&naming->cursor, block->born_index);
      *out_ordinal = next_ordinal (naming, block);
    }
  if (phase && (phase->label || phase->name != TESSERA_NONE))
    *out_phase = phase_id (naming, tessera_phase_name (build->trace, phase));
}

/* The unplanned requests from *@next on that come before the slot. */
static void
name_unplanned (Naming *naming, size_t slot, size_t *next)
{
  TesseraPlan *plan = naming->build->plan;

  for (; *next < plan->n_unplanned && plan->unplanned[*next].before <= slot; ++*next)
    {
      TesseraUnplanned *unplanned = &plan->unplanned[*next];

      name_block (naming, unplanned->block, true, &unplanned->phase, &unplanned->ordinal);
    }
}

/* Slots and unplanned requests, in the order in which they are asked for. */
static void
name_all (Naming *naming)
{
  TesseraPlanBuild *build = naming->build;
  TesseraPlan *plan = build->plan;
  size_t next = 0;

  for (size_t i = 0; i < plan->n_slots; i++)
    {
      TesseraSlot *slot = &plan->slots[i];

      name_unplanned (naming, i, &next);
      name_block (naming, slot->block, !tessera_build_is_spare (build, i), &slot->phase,
                  &slot->ordinal);
    }
  name_unplanned (naming, plan->n_slots, &next);
}

/* No unplanned request comes behind the slots of its section that are asked for: those
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
      for (; next < plan->n_unplanned && plan->unplanned[next].section == s; next++)
        if (plan->unplanned[next].before > end)
          plan->unplanned[next].before = end;
    }
}

void
tessera_build_names (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) counts = g_hash_table_new (NULL, NULL);
  Naming naming = { build, names, counts, 0, { .build = build } };

  name_all (&naming);
  close_sections (plan);
}
