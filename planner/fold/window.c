/*
 * The window of units that folds: see search.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/fold/search.h"

#include <stdlib.h>
#include <string.h>

/* A stretch without requests belongs to what comes before it. */
static void
add (TesseraKindSearch *search, uint32_t begin, uint32_t end, bool is_step)
{
  TesseraUnit *unit = &search->all[search->n_all];

  if (begin >= end)
    return;
  *unit = (TesseraUnit){ .begin = begin, .end = end, .is_step = is_step };
  unit->kind = TESSERA_NONE;
  tessera_unit_measure (search->units->trace, unit);
  if (unit->n_requests > 0 || search->n_all == 0)
    search->n_all++;
  else
    search->all[search->n_all - 1].end = end;
}

void
tessera_kind_window_init (TesseraKindSearch *search,
                          const TesseraStructure *structure,
                          uint32_t from,
                          uint32_t to)
{
  const TesseraStep *steps = structure->steps;

  search->all = g_new (TesseraUnit, 2 * (size_t) (to - from + 1) + 1);
  for (uint32_t k = from; k <= to; k++)
    {
      add (search, steps[k].begin_index, steps[k].end_index, true);
      if (k < to)
        add (search, steps[k].end_index, steps[k + 1].begin_index, false);
    }
  search->end = search->n_all;
}

/* The last unit that keeps something over a whole later one of its kind, and not for
 * good, or TESSERA_NONE; that one in *@out_later. */
static uint32_t
find_leak (const TesseraKindSearch *search, uint32_t *out_later)
{
  uint32_t later[TESSERA_MAX_KINDS]; /* the next unit of each kind */

  memset (later, 0xff, sizeof later);
  for (uint32_t i = search->end; i-- > search->first;)
    {
      const TesseraUnit *unit = &search->all[i];

      if (unit->kind == TESSERA_NONE)
        continue;
      *out_later = later[unit->kind];
      if (*out_later != TESSERA_NONE)
        {
          const TesseraHabitRange range = { unit->begin, unit->end,
                                            search->all[*out_later].end };

          if (tessera_habits_leak (&search->habits, search->units->trace,
                                   search->units->blocks, &range))
            return i;
        }
      later[unit->kind] = i;
    }
  return TESSERA_NONE;
}

void
tessera_kind_window_narrow (TesseraKindSearch *search)
{
  const TesseraBlocks *blocks = search->units->blocks;
  bool has_blocks_before =
      blocks->n_blocks > 0 && (blocks->blocks[0].flags & TESSERA_AT_START) != 0;

  for (int i = 0; i < TESSERA_NARROWINGS; i++)
    {
      uint32_t first = search->first, end = search->end, leak, later;

      tessera_kind_hosts_find (search);
      while (first < end && (search->all[first].kind == TESSERA_NONE ||
                             (search->all[first].begin == 0 && has_blocks_before)))
        first++;
      while (end > first && search->all[end - 1].kind == TESSERA_NONE)
        end--;
      leak = find_leak (search, &later);
      search->has_leaks = search->has_leaks || leak != TESSERA_NONE;
      if (leak != TESSERA_NONE && leak >= first &&
          (tessera_kind_hosts_part (search, &search->all[later]) ||
           tessera_kind_hosts_part (search, &search->all[leak])))
        continue;
      if (leak != TESSERA_NONE && leak >= first)
        first = leak + 1;
      if (first >= end)
        break;
      if (first == search->first && end == search->end)
        return;
      search->first = first;
      search->end = end;
    }
  search->first = search->end;
}
