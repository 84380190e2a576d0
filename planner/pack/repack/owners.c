/*
 * Packing anew around the peak where there are several owners. See owners.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/repack/owners.h"

#include <stdlib.h>

/* Two that overlap become one: nobody is alive twice. */
static TesseraPackLives
joined (TesseraPackLives lives)
{
  if (lives.begin2 >= lives.end2 || lives.end2 < lives.begin || lives.end < lives.begin2)
    return lives;
  return (TesseraPackLives){
    .begin = lives.begin < lives.begin2 ? lives.begin : lives.begin2,
    .end = lives.end > lives.end2 ? lives.end : lives.end2,
    .begin2 = UINT32_MAX,
  };
}

/* Lives and wide ones change places: see repack.c. */
static void
swap_lives (TesseraPackProblem *seen)
{
  for (size_t i = 0; i < seen->n_items; i++)
    {
      TesseraPackItem *item = &seen->items[i];
      TesseraPackLives own = item->lives;
      item->lives = joined (item->wide);
      item->wide = own;
      seen->has_second |= item->lives.begin2 < item->lives.end2;
    }
}

/* How many others see at once, at most in the life of each: at most in any section. */
static TesseraStatus
count_seen (TesseraPackProblem *seen)
{
  uint32_t *change = calloc ((size_t) seen->n_sections + 1, sizeof *change);
  uint32_t n_alive = 0, most = 0;
  if (change == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < seen->n_items; i++)
    {
      const TesseraPackLives *lives = &seen->items[i].lives;
      const uint32_t times[2][2] = { { lives->begin, lives->end },
                                     { lives->begin2, lives->end2 } };
      for (int k = 0; k < 2; k++)
        if (times[k][0] < times[k][1])
          {
            change[times[k][0]]++;
            change[times[k][1]]--;
          }
    }
  for (uint32_t s = 0; s < seen->n_sections; s++)
    {
      n_alive += change[s];
      most = n_alive > most ? n_alive : most;
    }
  for (size_t i = 0; i < seen->n_items; i++)
    seen->items[i].contention = most;
  free (change);
  return TESSERA_OK;
}

/* The problem as others see it, and its lives in order of time. */
typedef struct
{
  TesseraPackProblem problem;
  TesseraTimes times;
} Seen;

static void
seen_clear (Seen *seen)
{
  tessera_times_clear (&seen->times);
  free (seen->problem.items);
}

/* Clear it in any case. */
static TesseraStatus
seen_init (Seen *seen, const TesseraPackProblem *problem)
{
  *seen = (Seen){ .problem = *problem };
  seen->problem.items = malloc (problem->n_items * sizeof *seen->problem.items);
  if (seen->problem.items == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < problem->n_items; i++)
    seen->problem.items[i] = problem->items[i];
  swap_lives (&seen->problem);
  TesseraStatus status = count_seen (&seen->problem);
  return status == TESSERA_OK ? tessera_times_init (&seen->times, &seen->problem)
                              : status;
}

TesseraStatus
tessera_repack_owners (const TesseraPackProblem *problem,
                       const TesseraRepackOptions *options,
                       uint64_t *offsets,
                       uint64_t *height_bytes)
{
  Seen seen;
  if (*height_bytes <= problem->bound_bytes || options->looks == 0)
    return TESSERA_OK;
  TesseraStatus status = seen_init (&seen, problem);
  if (status == TESSERA_OK)
    status = tessera_repack (&seen.times, options, offsets, height_bytes);
  seen_clear (&seen);
  return status;
}

TesseraStatus
tessera_repair_owners (const TesseraPackProblem *problem,
                       const TesseraRepairOptions *options,
                       uint64_t *offsets,
                       uint64_t *height_bytes)
{
  Seen seen;
  TesseraStatus status = seen_init (&seen, problem);
  if (status == TESSERA_OK)
    status = tessera_repair (problem, &seen.times, options, offsets, height_bytes);
  seen_clear (&seen);
  return status;
}
