/*
 * Who is alive together with whom. See around.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/repack/around.h"

#include <stdlib.h>

#define MIN_SPACING 256

/* A walk through time: who is alive now. */
typedef struct
{
  const TesseraTimes *times;
  uint32_t *now;      /* [n_now] lives */
  uint32_t *position; /* [n_items] in now, of an item that is alive */
  uint32_t n_now, n_ended;
} Walk;

/* Everybody who ends by @section goes. */
static void
end_until (Walk *walk, uint32_t section)
{
  const TesseraTimes *times = walk->times;
  for (; walk->n_ended < times->n_lives; walk->n_ended++)
    {
      uint32_t life = times->by_end[walk->n_ended];
      if (tessera_life_end (times->problem, life) > section)
        return;
      uint32_t at = walk->position[life / 2];
      walk->now[at] = walk->now[--walk->n_now];
      walk->position[walk->now[at] / 2] = at;
    }
}

static void
fill_lists (TesseraAround *around, Walk *walk)
{
  const TesseraTimes *times = around->times;
  uint32_t n_alive = 0;
  for (uint32_t k = 0; k < times->n_lives; k++)
    {
      uint32_t life = times->by_begin[k];
      end_until (walk, tessera_life_begin (times->problem, life));
      if (k % around->spacing == 0)
        {
          for (uint32_t i = 0; i < walk->n_now; i++)
            around->alive[n_alive++] = walk->now[i];
          around->ends[around->n_lists++] = n_alive;
        }
      walk->position[life / 2] = walk->n_now;
      walk->now[walk->n_now++] = life;
    }
}

TesseraStatus
tessera_around_init (TesseraAround *around, const TesseraTimes *times)
{
  const TesseraPackProblem *problem = times->problem;
  uint32_t most = MIN_SPACING;
  for (size_t i = 0; i < problem->n_items; i++)
    if (problem->items[i].contention > most)
      most = problem->items[i].contention;
  size_t n_lists = times->n_lives / most + 1;
  *around = (TesseraAround){
    .times = times,
    .spacing = most,
    .alive = malloc (n_lists * most * sizeof *around->alive),
    .ends = malloc (n_lists * sizeof *around->ends),
  };
  Walk walk = { .times = times,
                .now = malloc ((size_t) most * sizeof *walk.now),
                .position = malloc ((problem->n_items + 1) * sizeof *walk.position) };
  TesseraStatus status = TESSERA_NO_MEMORY;
  if (around->alive != NULL && around->ends != NULL && walk.now != NULL &&
      walk.position != NULL)
    {
      fill_lists (around, &walk);
      status = TESSERA_OK;
    }
  else
    tessera_around_clear (around);
  free (walk.now);
  free (walk.position);
  return status;
}

void
tessera_around_clear (TesseraAround *around)
{
  free (around->alive);
  free (around->ends);
  *around = (TesseraAround){ 0 };
}

/* How many lives begin before @section. */
static uint32_t
count_before (const TesseraTimes *times, uint32_t section)
{
  uint32_t low = 0, high = times->n_lives;
  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;
      if (tessera_life_begin (times->problem, times->by_begin[middle]) < section)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

size_t
tessera_around_list (const TesseraAround *around,
                     uint32_t begin,
                     uint32_t end,
                     size_t max_lives,
                     uint32_t *lives,
                     uint64_t *looks)
{
  const TesseraTimes *times = around->times;
  uint32_t n_before = count_before (times, begin);
  uint32_t list = n_before > 0 ? (n_before - 1) / around->spacing : 0;
  size_t n = 0;
  for (uint32_t i = list > 0 ? around->ends[list - 1] : 0; i < around->ends[list]; i++)
    {
      ++*looks;
      if (tessera_life_end (times->problem, around->alive[i]) <= begin)
        continue;
      if (n == max_lives)
        return SIZE_MAX;
      lives[n++] = around->alive[i];
    }
  for (uint32_t k = list * around->spacing; k < times->n_lives; k++)
    {
      uint32_t life = times->by_begin[k];
      if (tessera_life_begin (times->problem, life) >= end)
        break;
      ++*looks;
      if (tessera_life_end (times->problem, life) <= begin)
        continue;
      if (n == max_lives)
        return SIZE_MAX;
      lives[n++] = life;
    }
  return n;
}
