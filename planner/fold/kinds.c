/*
 * Kinds of step in a trace: see units.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/fold/private.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "planner/structure/private.h"

enum
{
  KEPT_UNITS = 4,      /* what is kept for good goes through so many, or to the end */
  STEPS_AT_MOST = 4096 /* more of them: the last ones are looked at */
};

void
tessera_unit_measure (const TesseraTrace *trace, TesseraUnit *unit)
{
  unit->digest = TESSERA_FNV_BASIS;
  unit->n_requests = 0;
  for (uint32_t i = unit->begin; i < unit->end; i++)
    if (tessera_unit_asks (&trace->events[i]))
      {
        unit->digest = tessera_mix (unit->digest, tessera_unit_token (&trace->events[i]));
        unit->n_requests++;
      }
}

/* Positions: the start, the unit that stands for each kind, the end. */
void
tessera_units_lay_out (TesseraUnits *units)
{
  uint32_t position = units->begin;

  for (uint32_t k = 0; k < units->n_kinds; k++)
    {
      TesseraStepKind *kind = &units->kinds[k];
      const TesseraUnit *unit = &units->units[kind->unit];
      uint32_t n = 0;

      kind->begin = position;
      kind->end = position += unit->end - unit->begin;
      free (kind->requests);
      kind->requests = g_new (uint32_t, kind->n_requests + 1u);
      for (uint32_t e = unit->begin; e < unit->end; e++)
        if (tessera_units_plan (units, e))
          kind->requests[n++] = e;
    }
  units->first_end = position;
  units->n_positions = units->limit - units->end + position;
}

/* Counts the requests of its kind before each event. */
static void
place_events (TesseraUnits *units)
{
  g_autofree uint32_t *places = g_new (uint32_t, units->end - units->begin + 1u);

  units->place_of = g_new0 (uint32_t, units->end - units->begin + 1u);
  for (uint32_t i = 0; i < units->n_units; i++)
    {
      const TesseraUnit *unit = &units->units[i];
      uint32_t n = 0;

      if (unit->kind == TESSERA_NONE)
        continue;
      const TesseraUnit *host = &units->units[units->kinds[unit->kind].unit];

      (void) tessera_embed (units, host, unit, places);
      places[unit->n_requests] = host->n_requests;
      for (uint32_t e = unit->begin; e < unit->end; e++)
        {
          units->place_of[e - units->begin] = places[n];
          n += tessera_unit_asks (&units->trace->events[e]);
        }
    }
}

/* Are most of the steps looked at of some kind? */
static bool
is_worth_it (const TesseraKindSearch *search)
{
  uint32_t n_steps = 0, n_folded = 0;

  for (uint32_t i = 0; i < search->n_all; i++)
    n_steps += search->all[i].is_step;
  for (uint32_t i = search->first; i < search->end; i++)
    n_folded += search->all[i].is_step && search->all[i].kind != TESSERA_NONE;
  return 2 * n_folded >= n_steps;
}

static void
keep_window (TesseraKindSearch *search)
{
  TesseraUnits *units = search->units;

  units->n_units = search->end - search->first;
  units->units =
      g_memdup2 (search->all + search->first, units->n_units * sizeof *units->units);
  units->begin = units->units[0].begin;
  units->end = units->units[units->n_units - 1].end;
  for (uint32_t k = 0; k < units->n_kinds; k++)
    units->kinds[k].unit -= search->first;
  tessera_units_lay_out (units);
  place_events (units);
}

static void
search_clear (TesseraKindSearch *search)
{
  free (search->all);
  free (search->hosts);
  tessera_habits_clear (&search->habits);
}

/* Steps that the search folds: none where that is not worth it. */
static uint32_t
count_folded (const TesseraKindSearch *search)
{
  uint32_t n_folded = 0;

  if (search->first >= search->end || search->units->n_kinds < search->least_kinds ||
      !is_worth_it (search))
    return 0;
  for (uint32_t i = search->first; i < search->end; i++)
    n_folded += search->all[i].is_step && search->all[i].kind != TESSERA_NONE;
  return n_folded;
}

/* What a unit keeps, all in all, is small beside the most that is alive. */
static bool
is_kept_small (const TesseraUnits *units, uint64_t peak_bytes, bool folds_else)
{
  for (uint32_t k = 0; k < units->n_kinds; k++)
    if (units->kinds[k].kept_bytes > tessera_kept_most (peak_bytes, folds_else))
      return false;
  return true;
}

/* What several units keep for good. What only one does is no habit: a batch that waits
 * for the step behind a guest, or is there when the trace ends. */
static void
find_habits (TesseraKindSearch *search, uint64_t most_bytes)
{
  g_autofree TesseraHabitRange *ranges = g_new (TesseraHabitRange, search->n_all + 1u);
  uint32_t n = 0;

  for (; n + 1 < search->n_all; n++)
    {
      uint32_t last = n + KEPT_UNITS < search->n_all ? n + KEPT_UNITS : search->n_all - 1;

      ranges[n] = (TesseraHabitRange){ search->all[n].begin, search->all[n].end,
                                       search->all[last].end };
    }
  tessera_habits_init (&search->habits, search->units->trace, search->units->blocks,
                       ranges, n, n, most_bytes);
}

/* Looks again, with what may be kept; takes it where more than @n_folded steps fold.
 * Returns: whether it did. */
static bool
take_keeping (TesseraUnits *units,
              const TesseraStructure *structure,
              uint32_t from,
              uint32_t to,
              uint32_t least_kinds,
              uint32_t n_folded)
{
  uint32_t second = from < to ? from + 1 : to;
  uint64_t peak_bytes =
      tessera_blocks_bound (units->blocks, structure->steps[from].begin_index,
                            structure->steps[second].end_index, NULL);
  TesseraUnits keeping = *units;
  TesseraKindSearch search = { .units = &keeping, .least_kinds = least_kinds };
  bool takes = false;

  keeping.n_kinds = 0;
  tessera_kind_window_init (&search, structure, from, to);
  find_habits (&search, tessera_kept_most (peak_bytes, n_folded > 0));
  if (tessera_habits_are_any (&search.habits))
    tessera_kind_window_narrow (&search);
  if (tessera_habits_are_any (&search.habits) && count_folded (&search) > n_folded)
    {
      keep_window (&search);
      tessera_units_find_kept (&keeping);
      takes = is_kept_small (&keeping, peak_bytes, n_folded > 0);
    }
  else
    keeping.n_kinds = 0;
  search_clear (&search);
  if (takes)
    *units = keeping;
  else
    tessera_units_clear (&keeping);
  return takes;
}

void
tessera_units_init (TesseraUnits *units,
                    const TesseraTrace *trace,
                    const TesseraBlocks *blocks,
                    const TesseraStructure *structure,
                    uint32_t from,
                    uint32_t to,
                    uint32_t limit,
                    uint32_t least_kinds)
{
  TesseraKindSearch search = { .units = units,
                               .least_kinds = least_kinds,
                               .habits = { .trace = trace, .blocks = blocks } };
  uint32_t n_folded;

  *units = (TesseraUnits){ .trace = trace, .blocks = blocks, .limit = limit };
  if (to - from >= STEPS_AT_MOST)
    from = to - STEPS_AT_MOST + 1;
  tessera_kind_window_init (&search, structure, from, to);
  tessera_kind_window_narrow (&search);
  n_folded = count_folded (&search);
  if (!search.has_leaks ||
      !take_keeping (units, structure, from, to, least_kinds, n_folded))
    {
      if (n_folded > 0)
        keep_window (&search);
      else
        units->n_kinds = 0;
    }
  search_clear (&search);
}

void
tessera_units_clear (TesseraUnits *units)
{
  for (uint32_t k = 0; k < TESSERA_MAX_KINDS; k++)
    {
      free (units->kinds[k].requests);
      free (units->kinds[k].is_kept);
      free (units->kinds[k].alternates);
    }
  free (units->units);
  free (units->place_of);
  free (units->is_dynamic);
  *units = (TesseraUnits){ 0 };
}

uint32_t
tessera_units_at (const TesseraUnits *units, uint32_t event)
{
  uint32_t low = 0, high = units->n_units;

  while (low + 1 < high)
    {
      uint32_t middle = low + (high - low) / 2;

      if (units->units[middle].begin <= event)
        low = middle;
      else
        high = middle;
    }
  return low;
}

uint32_t
tessera_units_stands_for (const TesseraUnits *units, uint32_t block)
{
  const TesseraBlock *of = &units->blocks->blocks[block];
  const TesseraUnit *unit;
  const TesseraStepKind *kind;

  if (units->is_dynamic && units->is_dynamic[block])
    return TESSERA_NONE;
  if (of->flags & TESSERA_AT_START)
    return units->begin > 0 ? block : TESSERA_NONE;
  if (of->born_index < units->begin || of->born_index >= units->end)
    return of->born_index < units->limit ? block : TESSERA_NONE;
  unit = &units->units[tessera_units_at (units, of->born_index)];
  if (unit->kind == TESSERA_NONE)
    return TESSERA_NONE;
  kind = &units->kinds[unit->kind];
  return units->blocks
      ->block_of_event[kind->requests[units->place_of[of->born_index - units->begin]]];
}

uint32_t
tessera_units_twin (const TesseraUnits *units, uint32_t block)
{
  uint32_t born = units->blocks->blocks[block].born_index, unit, kind;

  if (units->n_alternating == 0 || born < units->begin || born >= units->end ||
      units->blocks->blocks[block].flags & TESSERA_AT_START)
    return TESSERA_NONE;
  unit = tessera_units_at (units, born);
  kind = tessera_units_kind (units, unit, true);
  return kind == TESSERA_NONE
             ? TESSERA_NONE
             : units->blocks->block_of_event
                   [units->kinds[kind].requests[units->place_of[born - units->begin]]];
}

/*
 * What units keep for good: see units.h and planner/fold.h.
 */

/* What the unit keeps until @until. */
static void
mark (const TesseraUnits *units, const TesseraUnit *unit, uint32_t until)
{
  const TesseraBlocks *blocks = units->blocks;
  uint8_t *is_kept = units->kinds[unit->kind].is_kept;

  for (uint32_t e = unit->begin; e < unit->end; e++)
    if (units->trace->events[e].action == TESSERA_ALLOC &&
        blocks->blocks[blocks->block_of_event[e]].died_index >= until)
      is_kept[units->place_of[e - units->begin]] = 1;
}

static void
sum_up (const TesseraUnits *units, TesseraStepKind *kind)
{
  const TesseraBlocks *blocks = units->blocks;

  for (uint32_t r = 0; r < kind->n_requests; r++)
    if (kind->is_kept[r])
      {
        kind->n_kept++;
        kind->kept_bytes +=
            blocks->blocks[blocks->block_of_event[kind->requests[r]]].block_bytes;
      }
}

void
tessera_units_find_kept (TesseraUnits *units)
{
  uint32_t later[TESSERA_MAX_KINDS]; /* the next unit of each kind */

  for (uint32_t k = 0; k < units->n_kinds; k++)
    units->kinds[k].is_kept = g_new0 (uint8_t, units->kinds[k].n_requests + 1u);
  memset (later, 0xff, sizeof later);
  for (uint32_t u = units->n_units; u-- > 0;)
    {
      const TesseraUnit *unit = &units->units[u];

      if (unit->kind == TESSERA_NONE)
        continue;
      if (later[unit->kind] != TESSERA_NONE)
        mark (units, unit, units->units[later[unit->kind]].end);
      later[unit->kind] = u;
    }
  for (uint32_t k = 0; k < units->n_kinds; k++)
    sum_up (units, &units->kinds[k]);
}
