/*
 * All lives of a problem in order of time. See times.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/sweep/times.h"

#include <stdlib.h>
#include <string.h>

typedef uint32_t (*SectionOf) (const TesseraPackProblem *problem, uint32_t life);

/* Sorts lives by where they begin or end: counts, then puts each in its place. */
static void
sort_lives (const TesseraTimes *times,
            SectionOf section_of,
            const uint64_t *keys,
            uint32_t *counts,
            uint32_t *sorted)
{
  const TesseraPackProblem *problem = times->problem;
  uint32_t sum = 0;
  memset (counts, 0, ((size_t) problem->n_sections + 1) * sizeof *counts);
  for (uint32_t i = 0; i < times->n_lives; i++)
    counts[section_of (problem, (uint32_t) keys[i])]++;
  for (uint32_t s = 0; s <= problem->n_sections; s++)
    {
      uint32_t n = counts[s];
      counts[s] = sum;
      sum += n;
    }
  for (uint32_t i = 0; i < times->n_lives; i++)
    sorted[counts[section_of (problem, (uint32_t) keys[i])]++] = (uint32_t) keys[i];
}

static int
compare_keys (const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* Lives as the caller had the items: its number above, the life below. */
static void
list_lives (TesseraTimes *times, uint64_t *keys)
{
  const TesseraPackProblem *problem = times->problem;
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      keys[times->n_lives++] = (uint64_t) item->source << 32 | i * 2;
      if (item->lives.begin2 < item->lives.end2)
        keys[times->n_lives++] = (uint64_t) item->source << 32 | (i * 2 + 1);
    }
  qsort (keys, times->n_lives, sizeof *keys, compare_keys);
}

/* Sorts the lives, as the caller had them, by the moments of their ends: many end in one
 * section, and backward it tells who goes first. Second lives come before the others. */
static void
sort_by_moments (TesseraTimes *times, uint64_t *keys)
{
  const TesseraPackProblem *problem = times->problem;
  uint32_t *lives = times->by_end; /* filled later */
  for (uint32_t i = 0; i < times->n_lives; i++)
    {
      uint32_t life = (uint32_t) keys[i];
      uint64_t moment = life & 1 ? 0 : problem->items[life / 2].end_event;
      lives[i] = life;
      keys[i] = moment << 32 | i;
    }
  qsort (keys, times->n_lives, sizeof *keys, compare_keys);
  for (uint32_t i = 0; i < times->n_lives; i++)
    keys[i] = lives[(uint32_t) keys[i]];
}

TesseraStatus
tessera_times_init (TesseraTimes *times, const TesseraPackProblem *problem)
{
  size_t n_lives = problem->n_items * (problem->has_second ? 2 : 1);
  uint64_t *keys = malloc (n_lives * sizeof *keys);
  uint32_t *counts = malloc (((size_t) problem->n_sections + 1) * sizeof *counts);
  *times = (TesseraTimes){ .problem = problem };
  times->by_begin = malloc (n_lives * sizeof *times->by_begin);
  times->by_end = malloc (n_lives * sizeof *times->by_end);
  TesseraStatus status = TESSERA_NO_MEMORY;
  if (keys != NULL && counts != NULL && times->by_begin != NULL && times->by_end != NULL)
    {
      list_lives (times, keys);
      sort_lives (times, tessera_life_begin, keys, counts, times->by_begin);
      sort_by_moments (times, keys);
      sort_lives (times, tessera_life_end, keys, counts, times->by_end);
      status = TESSERA_OK;
    }
  free (keys);
  free (counts);
  if (status == TESSERA_OK)
    status = tessera_sizes_init (&times->sizes, problem);
  if (status != TESSERA_OK)
    tessera_times_clear (times);
  return status;
}

void
tessera_times_clear (TesseraTimes *times)
{
  free (times->by_begin);
  free (times->by_end);
  tessera_sizes_clear (&times->sizes);
  *times = (TesseraTimes){ 0 };
}
