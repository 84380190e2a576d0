/*
 * All lives of a problem in order of time. See times.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/sweep/times.h"

#include "db/sort.h"

#include <stdlib.h>
#include <string.h>

typedef uint32_t (*SectionOf) (const TesseraPackProblem *problem, uint32_t life);

/* Sorts lives by where they begin or end: counts, then puts each in its place. */
static void
sort_lives (const TesseraTimes *times,
            SectionOf section_of,
            const TesseraKeyed *lives,
            uint32_t *counts,
            uint32_t *sorted)
{
  const TesseraPackProblem *problem = times->problem;
  uint32_t sum = 0;
  memset (counts, 0, ((size_t) problem->n_sections + 1) * sizeof *counts);
  for (uint32_t i = 0; i < times->n_lives; i++)
    counts[section_of (problem, lives[i].value)]++;
  for (uint32_t s = 0; s <= problem->n_sections; s++)
    {
      uint32_t n = counts[s];
      counts[s] = sum;
      sum += n;
    }
  for (uint32_t i = 0; i < times->n_lives; i++)
    sorted[counts[section_of (problem, lives[i].value)]++] = lives[i].value;
}

/* Lives as the caller had the items. */
static TesseraStatus
list_lives (TesseraTimes *times, TesseraKeyed *lives)
{
  const TesseraPackProblem *problem = times->problem;
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      const uint64_t key = (uint64_t) item->source * 2;
      lives[times->n_lives++] = (TesseraKeyed){ key, i * 2 };
      if (item->lives.begin2 < item->lives.end2)
        lives[times->n_lives++] = (TesseraKeyed){ key + 1, i * 2 + 1 };
    }
  return tessera_sort_keyed (lives, times->n_lives);
}

/* Sorts the lives, as the caller had them, by the moments of their ends: many end in one
 * section, and backward it tells who goes first. Second lives come before the others. */
static TesseraStatus
sort_by_moments (const TesseraTimes *times, TesseraKeyed *lives)
{
  const TesseraPackProblem *problem = times->problem;
  for (uint32_t i = 0; i < times->n_lives; i++)
    lives[i].key = lives[i].value & 1 ? 0 : problem->items[lives[i].value / 2].end_event;
  return tessera_sort_keyed (lives, times->n_lives);
}

TesseraStatus
tessera_times_init (TesseraTimes *times, const TesseraPackProblem *problem)
{
  size_t n_lives = problem->n_items * (problem->has_second ? 2 : 1);
  TesseraKeyed *lives = malloc (n_lives * sizeof *lives);
  uint32_t *counts = malloc (((size_t) problem->n_sections + 1) * sizeof *counts);
  *times = (TesseraTimes){ .problem = problem };
  times->by_begin = malloc (n_lives * sizeof *times->by_begin);
  times->by_end = malloc (n_lives * sizeof *times->by_end);
  TesseraStatus status = TESSERA_NO_MEMORY;
  if (lives != NULL && counts != NULL && times->by_begin != NULL && times->by_end != NULL)
    status = list_lives (times, lives);
  if (status == TESSERA_OK)
    {
      sort_lives (times, tessera_life_begin, lives, counts, times->by_begin);
      status = sort_by_moments (times, lives);
    }
  if (status == TESSERA_OK)
    sort_lives (times, tessera_life_end, lives, counts, times->by_end);
  free (lives);
  free (counts);
  if (status != TESSERA_OK)
    tessera_times_clear (times);
  return status;
}

void
tessera_times_clear (TesseraTimes *times)
{
  free (times->by_begin);
  free (times->by_end);
  *times = (TesseraTimes){ 0 };
}
