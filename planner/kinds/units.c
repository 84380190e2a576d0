/*
 * Kinds of step in a trace: see units.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/kinds/units.h"

#include <stdlib.h>
#include <string.h>

#include "planner/kept.h"
#include "planner/kinds/embed.h"
#include "planner/run/habits.h"
#include "planner/structure/private.h"

enum
{
  LEAST_UNITS = 2,     /* of a kind */
  GUEST_SHARE = 2,     /* a guest has one of so many of its host's requests at least */
  NARROWINGS = 64,     /* of the window, until the rest is given up */
  KEPT_UNITS = 4,      /* what is kept for good goes through so many, or to the end */
  STEPS_AT_MOST = 4096 /* more of them: the last ones are looked at */
};

typedef struct
{
  TesseraUnits *units;
  TesseraUnit *all;
  uint32_t n_all;
  uint32_t first, end; /* of the window among @all */
  TesseraKindHost *hosts;
  uint32_t n_hosts;
  uint64_t apart[NARROWINGS]; /* digests of units that are nobody's guests */
  uint32_t n_apart;
  TesseraHabits habits; /* what units may keep; none: nothing */
  bool has_leaks;       /* something larger is, or would be where none may */
} Search;

static void
measure (const TesseraTrace *trace, TesseraUnit *unit)
{
  unit->digest = TESSERA_FNV_BASIS;
  unit->n_requests = 0;
  unit->kind = TESSERA_NONE;
  for (uint32_t i = unit->begin; i < unit->end; i++)
    if (tessera_unit_asks (&trace->events[i]))
      {
        unit->digest = tessera_mix (unit->digest, tessera_unit_token (&trace->events[i]));
        unit->n_requests++;
      }
}

/* A stretch without requests belongs to what comes before it. */
static void
add (Search *search, uint32_t begin, uint32_t end, bool is_step)
{
  TesseraUnit *unit = &search->all[search->n_all];

  if (begin >= end)
    return;
  *unit = (TesseraUnit){ .begin = begin, .end = end, .is_step = is_step };
  measure (search->units->trace, unit);
  if (unit->n_requests > 0 || search->n_all == 0)
    search->n_all++;
  else
    search->all[search->n_all - 1].end = end;
}

static TesseraStatus
list_units (Search *search, const TesseraStructure *structure, uint32_t from, uint32_t to)
{
  const TesseraStep *steps = structure->steps;

  search->all = malloc ((2 * (size_t) (to - from + 1) + 1) * sizeof *search->all);
  if (!search->all)
    return TESSERA_NO_MEMORY;
  for (uint32_t k = from; k <= to; k++)
    {
      add (search, steps[k].begin_index, steps[k].end_index, true);
      if (k < to)
        add (search, steps[k].end_index, steps[k + 1].begin_index, false);
    }
  search->end = search->n_all;
  return TESSERA_OK;
}

static int
compare_hosts (const void *a, const void *b)
{
  const TesseraKindHost *x = a, *y = b;

  if (x->n_requests != y->n_requests)
    return x->n_requests > y->n_requests ? -1 : 1;
  return (x->unit > y->unit) - (x->unit < y->unit);
}

/* One host for each sequence of requests in the window, the longest first. */
static TesseraStatus
list_hosts (Search *search)
{
  TesseraKindHost *hosts =
      realloc (search->hosts, (search->n_all + 1) * sizeof *search->hosts);

  if (!hosts)
    return TESSERA_NO_MEMORY;
  search->hosts = hosts;
  search->n_hosts = 0;
  for (uint32_t i = search->first; i < search->end; i++)
    {
      const TesseraUnit *unit = &search->all[i];
      uint32_t k = 0;

      while (k < search->n_hosts &&
             (hosts[k].digest != unit->digest || hosts[k].n_requests != unit->n_requests))
        k++;
      if (k == search->n_hosts)
        hosts[search->n_hosts++] = (TesseraKindHost){ .digest = unit->digest,
                                                      .n_requests = unit->n_requests,
                                                      .begin = unit->begin,
                                                      .end = unit->end,
                                                      .unit = i,
                                                      .host = TESSERA_NONE };
      hosts[k].n_alike++;
      hosts[k].n_units++;
    }
  qsort (hosts, search->n_hosts, sizeof *hosts, compare_hosts);
  return TESSERA_OK;
}

static bool
is_apart (const Search *search, const TesseraKindHost *guest)
{
  for (uint32_t i = 0; i < search->n_apart; i++)
    if (search->apart[i] == guest->digest)
      return true;
  return false;
}

/* Guests go to the shortest host that has all of their requests in order. */
static TesseraStatus
find_guests (Search *search)
{
  for (uint32_t g = 0; g < search->n_hosts; g++)
    for (uint32_t h = g; h-- > 0 && search->hosts[g].host == TESSERA_NONE;)
      {
        TesseraKindHost *guest = &search->hosts[g], *host = &search->hosts[h];
        bool fits = false;
        TesseraStatus status = TESSERA_OK;

        if (host->host == TESSERA_NONE && host->n_alike >= LEAST_UNITS &&
            !is_apart (search, guest) &&
            guest->n_requests >= host->n_requests / GUEST_SHARE)
          status = tessera_embed (search->units->trace, search->units->blocks, host,
                                  guest, NULL, &fits);
        if (status != TESSERA_OK)
          return status;
        if (fits)
          {
            guest->host = h;
            host->n_units += guest->n_units;
          }
      }
  return TESSERA_OK;
}

static TesseraKindHost *
host_of (const Search *search, const TesseraUnit *unit)
{
  for (uint32_t k = 0; k < search->n_hosts; k++)
    {
      TesseraKindHost *host = &search->hosts[k];

      if (host->digest == unit->digest && host->n_requests == unit->n_requests)
        return host->host == TESSERA_NONE ? host : &search->hosts[host->host];
    }
  return NULL;
}

/* Of too many kinds the one that is least work is taken for rare. */
static void
forget_least (Search *search)
{
  TesseraKindHost *least = NULL;

  for (uint32_t k = 0; k < search->n_hosts; k++)
    {
      TesseraKindHost *host = &search->hosts[k];

      if (host->is_common &&
          (least == NULL || (uint64_t) host->n_units * host->n_requests <
                                (uint64_t) least->n_units * least->n_requests))
        least = host;
    }
  if (least != NULL)
    least->is_common = false;
}

/* Numbers the kinds by the units that stand for them. */
static void
number_kinds (Search *search)
{
  TesseraUnits *units = search->units;
  uint32_t n_common = 0;

  for (uint32_t k = 0; k < search->n_hosts; k++)
    {
      TesseraKindHost *host = &search->hosts[k];

      host->is_common = host->host == TESSERA_NONE && host->n_units >= LEAST_UNITS;
      n_common += host->is_common;
    }
  for (; n_common > TESSERA_MAX_KINDS; n_common--)
    forget_least (search);
  units->n_kinds = 0;
  for (uint32_t k = 0; k < search->n_hosts; k++)
    search->hosts[k].kind = TESSERA_NONE;
  for (uint32_t i = search->first; i < search->end; i++)
    {
      TesseraKindHost *host = host_of (search, &search->all[i]);

      if (host->is_common && host->unit == i)
        {
          units->kinds[units->n_kinds] =
              (TesseraStepKind){ .unit = i, .n_requests = host->n_requests };
          host->kind = units->n_kinds++;
        }
    }
  for (uint32_t i = search->first; i < search->end; i++)
    {
      search->all[i].kind = host_of (search, &search->all[i])->kind;
      if (search->all[i].kind != TESSERA_NONE)
        units->kinds[search->all[i].kind].n_units++;
    }
}

/* The last unit that keeps something over a whole later one of its kind, and not for
 * good, or TESSERA_NONE; that one in *@out_later. */
static uint32_t
find_leak (const Search *search, uint32_t *out_later)
{
  const TesseraTrace *trace = search->units->trace;
  const TesseraBlocks *blocks = search->units->blocks;
  uint32_t later[TESSERA_MAX_KINDS]; /* the next unit of each kind */

  memset (later, 0xff, sizeof later);
  for (uint32_t i = search->end; i-- > search->first;)
    {
      const TesseraUnit *unit = &search->all[i];

      if (unit->kind == TESSERA_NONE)
        continue;
      *out_later = later[unit->kind];
      for (uint32_t e = unit->begin; *out_later != TESSERA_NONE && e < unit->end; e++)
        if (trace->events[e].action == TESSERA_ALLOC)
          {
            const TesseraBlock *block = &blocks->blocks[blocks->block_of_event[e]];

            if (block->died_index >= search->all[*out_later].end &&
                !tessera_habits_have (&search->habits, e))
              return i;
          }
      later[unit->kind] = i;
    }
  return TESSERA_NONE;
}

/* A guest that what its host keeps goes through, or the other way round, is of another
 * kind after all. Returns: whether it was one. */
static bool
part (Search *search, const TesseraUnit *unit)
{
  for (uint32_t k = 0; k < search->n_hosts; k++)
    if (search->hosts[k].digest == unit->digest &&
        search->hosts[k].host != TESSERA_NONE && search->n_apart < NARROWINGS)
      {
        search->apart[search->n_apart++] = unit->digest;
        return true;
      }
  return false;
}

/* Narrows the window to units of kinds that fold; an empty one: none do. */
static TesseraStatus
narrow (Search *search)
{
  const TesseraBlocks *blocks = search->units->blocks;
  bool has_blocks_before =
      blocks->n_blocks > 0 && (blocks->blocks[0].flags & TESSERA_AT_START) != 0;

  for (int i = 0; i < NARROWINGS; i++)
    {
      uint32_t first = search->first, end = search->end, leak, later;
      TesseraStatus status = list_hosts (search);

      if (status == TESSERA_OK)
        status = find_guests (search);
      if (status != TESSERA_OK)
        return status;
      number_kinds (search);
      while (first < end && (search->all[first].kind == TESSERA_NONE ||
                             (search->all[first].begin == 0 && has_blocks_before)))
        first++;
      while (end > first && search->all[end - 1].kind == TESSERA_NONE)
        end--;
      leak = find_leak (search, &later);
      search->has_leaks = search->has_leaks || leak != TESSERA_NONE;
      if (leak != TESSERA_NONE && leak >= first &&
          (part (search, &search->all[later]) || part (search, &search->all[leak])))
        continue;
      if (leak != TESSERA_NONE && leak >= first)
        first = leak + 1;
      if (first >= end)
        break;
      if (first == search->first && end == search->end)
        return TESSERA_OK;
      search->first = first;
      search->end = end;
    }
  search->first = search->end;
  return TESSERA_OK;
}

/* Positions: the start, the unit that stands for each kind, the end. */
static TesseraStatus
lay_out (TesseraUnits *units)
{
  uint32_t position = units->begin;

  for (uint32_t k = 0; k < units->n_kinds; k++)
    {
      TesseraStepKind *kind = &units->kinds[k];
      const TesseraUnit *unit = &units->units[kind->unit];
      uint32_t n = 0;

      kind->begin = position;
      kind->end = position += unit->end - unit->begin;
      kind->requests = malloc ((kind->n_requests + 1) * sizeof *kind->requests);
      if (!kind->requests)
        return TESSERA_NO_MEMORY;
      for (uint32_t e = unit->begin; e < unit->end; e++)
        if (tessera_unit_asks (&units->trace->events[e]))
          kind->requests[n++] = e;
    }
  units->first_end = position;
  units->n_positions = units->limit - units->end + position;
  return TESSERA_OK;
}

static TesseraKindHost
make_host (const TesseraUnit *unit)
{
  return (TesseraKindHost){ .digest = unit->digest,
                            .n_requests = unit->n_requests,
                            .begin = unit->begin,
                            .end = unit->end };
}

/* Counts the requests of its kind before each event. */
static TesseraStatus
place_events (TesseraUnits *units)
{
  uint32_t *places;
  TesseraStatus status = TESSERA_OK;

  units->place_of = calloc (units->end - units->begin + 1, sizeof *units->place_of);
  places = malloc ((units->end - units->begin + 1) * sizeof *places);
  if (!units->place_of || !places)
    status = TESSERA_NO_MEMORY;
  for (uint32_t i = 0; status == TESSERA_OK && i < units->n_units; i++)
    {
      const TesseraUnit *unit = &units->units[i];
      uint32_t n = 0;
      bool fits;

      if (unit->kind == TESSERA_NONE)
        continue;
      const TesseraKindHost guest = make_host (unit);
      const TesseraKindHost host =
          make_host (&units->units[units->kinds[unit->kind].unit]);

      status = tessera_embed (units->trace, units->blocks, &host, &guest, places, &fits);
      places[unit->n_requests] = host.n_requests;
      for (uint32_t e = unit->begin; e < unit->end; e++)
        {
          units->place_of[e - units->begin] = places[n];
          n += tessera_unit_asks (&units->trace->events[e]);
        }
    }
  free (places);
  return status;
}

/* Are most of the steps looked at of some kind? */
static bool
is_worth_it (const Search *search)
{
  uint32_t n_steps = 0, n_folded = 0;

  for (uint32_t i = 0; i < search->n_all; i++)
    n_steps += search->all[i].is_step;
  for (uint32_t i = search->first; i < search->end; i++)
    n_folded += search->all[i].is_step && search->all[i].kind != TESSERA_NONE;
  return 2 * n_folded >= n_steps;
}

static TesseraStatus
keep_window (Search *search)
{
  TesseraUnits *units = search->units;
  TesseraStatus status;

  units->n_units = search->end - search->first;
  units->units = malloc ((units->n_units + 1) * sizeof *units->units);
  if (!units->units)
    return TESSERA_NO_MEMORY;
  memcpy (units->units, search->all + search->first,
          units->n_units * sizeof *units->units);
  units->begin = units->units[0].begin;
  units->end = units->units[units->n_units - 1].end;
  for (uint32_t k = 0; k < units->n_kinds; k++)
    units->kinds[k].unit -= search->first;
  status = lay_out (units);
  return status == TESSERA_OK ? place_events (units) : status;
}

static void
search_clear (Search *search)
{
  free (search->all);
  free (search->hosts);
  tessera_habits_clear (&search->habits);
}

/* Steps that the search folds: none where that is not worth it. */
static uint32_t
count_folded (const Search *search)
{
  uint32_t n_folded = 0;

  if (search->first >= search->end || search->units->n_kinds < 2 || !is_worth_it (search))
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
static TesseraStatus
find_habits (Search *search, uint64_t most_bytes)
{
  TesseraHabitRange *ranges = malloc (((size_t) search->n_all + 1) * sizeof *ranges);
  uint32_t n = 0;
  TesseraStatus status = TESSERA_NO_MEMORY;

  for (; ranges && n + 1 < search->n_all; n++)
    {
      uint32_t last = n + KEPT_UNITS < search->n_all ? n + KEPT_UNITS : search->n_all - 1;

      ranges[n] = (TesseraHabitRange){ search->all[n].begin, search->all[n].end,
                                       search->all[last].end };
    }
  if (ranges)
    status = tessera_habits_init (&search->habits, search->units->trace,
                                  search->units->blocks, ranges, n, most_bytes);
  free (ranges);
  return status;
}

/* Looks again, with what may be kept; takes it where more than @n_folded steps fold.
 * *@out_takes: whether it did. */
static TesseraStatus
take_keeping (TesseraUnits *units,
              const TesseraStructure *structure,
              uint32_t from,
              uint32_t to,
              uint32_t n_folded,
              bool *out_takes)
{
  uint32_t second = from < to ? from + 1 : to;
  uint64_t peak_bytes =
      tessera_blocks_bound (units->blocks, structure->steps[from].begin_index,
                            structure->steps[second].end_index, NULL);
  TesseraUnits keeping = *units;
  Search search = { .units = &keeping };
  TesseraStatus status = list_units (&search, structure, from, to);

  *out_takes = false;
  keeping.n_kinds = 0;
  if (status == TESSERA_OK)
    status = find_habits (&search, tessera_kept_most (peak_bytes, n_folded > 0));
  if (status == TESSERA_OK && search.habits.n_tokens > 0)
    status = narrow (&search);
  if (status == TESSERA_OK && search.habits.n_tokens > 0 &&
      count_folded (&search) > n_folded)
    {
      status = keep_window (&search);
      if (status == TESSERA_OK)
        status = tessera_units_find_kept (&keeping);
      *out_takes =
          status == TESSERA_OK && is_kept_small (&keeping, peak_bytes, n_folded > 0);
    }
  else
    keeping.n_kinds = 0;
  search_clear (&search);
  if (*out_takes)
    *units = keeping;
  else
    tessera_units_clear (&keeping);
  return status;
}

TesseraStatus
tessera_units_init (TesseraUnits *units,
                    const TesseraTrace *trace,
                    const TesseraBlocks *blocks,
                    const TesseraStructure *structure,
                    uint32_t from,
                    uint32_t to,
                    uint32_t limit)
{
  Search search = { .units = units };
  uint32_t n_folded = 0;
  bool takes = false;
  TesseraStatus status;

  *units = (TesseraUnits){ .trace = trace, .blocks = blocks, .limit = limit };
  if (to - from >= STEPS_AT_MOST)
    from = to - STEPS_AT_MOST + 1;
  status = list_units (&search, structure, from, to);
  if (status == TESSERA_OK)
    status = narrow (&search);
  if (status == TESSERA_OK)
    n_folded = count_folded (&search);
  if (status == TESSERA_OK && search.has_leaks)
    status = take_keeping (units, structure, from, to, n_folded, &takes);
  if (status == TESSERA_OK && !takes && n_folded > 0)
    status = keep_window (&search);
  else if (!takes)
    units->n_kinds = 0;
  search_clear (&search);
  if (status != TESSERA_OK)
    tessera_units_clear (units);
  return status;
}

void
tessera_units_clear (TesseraUnits *units)
{
  for (uint32_t k = 0; k < units->n_kinds; k++)
    {
      free (units->kinds[k].requests);
      free (units->kinds[k].is_kept);
    }
  free (units->units);
  free (units->place_of);
  *units = (TesseraUnits){ 0 };
}

/* Whether a unit of [@begin, @end) asks for all that @unit asks for. */
static bool
is_stood_for (const TesseraUnits *units,
              const TesseraUnit *unit,
              uint32_t begin,
              uint32_t end)
{
  for (uint32_t i = 0; i < units->n_units; i++)
    if (units->units[i].begin >= begin && units->units[i].end <= end &&
        units->units[i].kind == unit->kind &&
        units->units[i].n_requests >= unit->n_requests)
      return true;
  return false;
}

/* Of what it asks for itself, at the moment when most of that is alive. */
static uint64_t
own_load (const TesseraUnits *units, const TesseraUnit *unit)
{
  uint64_t load = 0, most = 0;

  for (uint32_t e = unit->begin; e < unit->end; e++)
    {
      uint32_t index = units->blocks->block_of_event[e];
      const TesseraBlock *block =
          index != TESSERA_NONE ? &units->blocks->blocks[index] : NULL;

      if (block && block->born_index == e)
        load += block->block_bytes;
      else if (block && block->born_index >= unit->begin && block->died_index == e)
        load -= block->block_bytes;
      most = load > most ? load : most;
    }
  return most;
}

uint64_t
tessera_units_load_beside (const TesseraUnits *units, uint32_t begin, uint32_t end)
{
  uint64_t most = 0;

  for (uint32_t i = 0; i < units->n_units; i++)
    {
      const TesseraUnit *unit = &units->units[i];
      uint64_t load;

      if (unit->kind == TESSERA_NONE || is_stood_for (units, unit, begin, end))
        continue;
      load = own_load (units, unit);
      most = load > most ? load : most;
    }
  return most;
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
