/*
 * How low an item can go. See reach.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/reach.h"

#include <stdlib.h>
#include <string.h>

TesseraStatus
tessera_reach_init (TesseraReach *reach, const TesseraPackProblem *problem)
{
  reach->problem = problem;
  if (problem->limits != NULL)
    reach->tops = calloc (1, sizeof *reach->tops);
  if ((problem->limits == NULL || reach->tops != NULL) &&
      tessera_skyline_init (&reach->skyline, problem->n_sections) == TESSERA_OK)
    return TESSERA_OK;
  tessera_reach_clear (reach);
  return TESSERA_NO_MEMORY;
}

void
tessera_reach_clear (TesseraReach *reach)
{
  tessera_skyline_clear (&reach->skyline);
  free (reach->tops);
  memset (reach, 0, sizeof *reach);
}

void
tessera_reach_flatten (TesseraReach *reach)
{
  if (reach->tops != NULL)
    memset (reach->tops, 0, sizeof *reach->tops);
  tessera_skyline_flatten (&reach->skyline);
}

static uint64_t
highest_over (const TesseraSkyline *skyline, const TesseraPackLives *lives)
{
  uint64_t first = tessera_skyline_highest (skyline, lives->begin, lives->end);
  uint64_t second = tessera_skyline_highest (skyline, lives->begin2, lives->end2);
  return first > second ? first : second;
}

static void
raise_over (TesseraSkyline *skyline, const TesseraPackLives *lives, uint64_t top)
{
  tessera_skyline_raise (skyline, lives->begin, lives->end, top);
  tessera_skyline_raise (skyline, lives->begin2, lives->end2, top);
}

static uint64_t
highest_of (const uint64_t tops[64], uint64_t sets)
{
  uint64_t highest = 0;
  for (; sets != 0; sets &= sets - 1)
    if (tops[__builtin_ctzll (sets)] > highest)
      highest = tops[__builtin_ctzll (sets)];
  return highest;
}

static void
raise_sets (uint64_t tops[64], uint64_t sets, uint64_t top)
{
  for (; sets != 0; sets &= sets - 1)
    if (tops[__builtin_ctzll (sets)] < top)
      tops[__builtin_ctzll (sets)] = top;
}

static const TesseraPackLimit *
limit_of (const TesseraReach *reach, const TesseraPackItem *item)
{
  return &reach->problem->limits[item - reach->problem->items];
}

/* The top of what may not share an address with the item, whenever it lives. */
static uint64_t
limit_floor (const TesseraReach *reach, const TesseraPackItem *item)
{
  const TesseraPackLimit *limit = limit_of (reach, item);
  const TesseraReachTops *tops = reach->tops;
  uint64_t in = highest_of (tops->apart, limit->in);
  uint64_t apart = highest_of (tops->in, limit->apart);
  uint64_t zone = tops->zones[limit->zone == tops->zone ? 1 : 0];
  uint64_t sets = in > apart ? in : apart;
  return sets > zone ? sets : zone;
}

static void
raise_limits (TesseraReach *reach, const TesseraPackItem *item, uint64_t top)
{
  const TesseraPackLimit *limit = limit_of (reach, item);
  TesseraReachTops *tops = reach->tops;
  raise_sets (tops->in, limit->in, top);
  raise_sets (tops->apart, limit->apart, top);
  uint64_t *zone = &tops->zones[limit->zone == tops->zone ? 0 : 1];
  *zone = top > *zone ? top : *zone;
  if (tops->zones[1] <= tops->zones[0])
    return;
  tops->zone = limit->zone;
  tops->zones[1] = tops->zones[0];
  tops->zones[0] = top;
}

uint64_t
tessera_reach_floor (const TesseraReach *reach, const TesseraPackItem *item)
{
  uint64_t life = highest_over (&reach->skyline, &item->lives);
  if (reach->tops == NULL)
    return life;
  uint64_t limit = limit_floor (reach, item);
  return life > limit ? life : limit;
}

void
tessera_reach_raise (TesseraReach *reach, const TesseraPackItem *item, uint64_t top)
{
  if (reach->tops != NULL)
    raise_limits (reach, item, top);
  raise_over (&reach->skyline, &item->lives, top);
}
