/*
 * Outward from the peak. See outward.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/sweep/outward.h"

bool
tessera_outward_is_for (const TesseraPackProblem *problem)
{
  return !problem->has_second && problem->limits == NULL;
}

/* The first section of the highest load. */
static uint32_t
find_peak (const TesseraTimes *times)
{
  const TesseraPackProblem *problem = times->problem;
  uint64_t load_bytes = 0, highest_bytes = 0;
  uint32_t peak = 0, n_ended = 0;
  for (uint32_t k = 0; k < times->n_lives; k++)
    {
      uint32_t begin = tessera_life_begin (problem, times->by_begin[k]);
      for (; tessera_life_end (problem, times->by_end[n_ended]) <= begin; n_ended++)
        load_bytes -= problem->items[times->by_end[n_ended] / 2].size_bytes;
      load_bytes += problem->items[times->by_begin[k] / 2].size_bytes;
      if (load_bytes > highest_bytes)
        {
          highest_bytes = load_bytes;
          peak = begin;
        }
    }
  return peak;
}

/* Those alive at the peak, one on top of the other: first born at the bottom, or last to
 * die. */
static void
stack (TesseraSweep *sweep,
       uint32_t peak,
       bool is_by_death,
       uint64_t *offsets,
       uint64_t *height_bytes)
{
  const TesseraTimes *times = sweep->times;
  for (uint32_t k = 0; k < times->n_lives; k++)
    {
      uint32_t life =
          is_by_death ? times->by_end[times->n_lives - 1 - k] : times->by_begin[k];
      if (tessera_life_begin (times->problem, life) > peak ||
          tessera_life_end (times->problem, life) <= peak)
        continue;
      offsets[life / 2] = *height_bytes;
      *height_bytes += times->problem->items[life / 2].size_bytes;
      tessera_sweep_note (sweep, life / 2);
    }
}

/* Fills @order with those on one side of the peak, the nearest first. */
static size_t
list_side (const TesseraTimes *times, uint32_t peak, bool is_before, uint32_t *order)
{
  size_t n = 0;
  for (uint32_t k = 0; k < times->n_lives; k++)
    {
      uint32_t life =
          is_before ? times->by_end[times->n_lives - 1 - k] : times->by_begin[k];
      if (is_before ? tessera_life_end (times->problem, life) <= peak
                    : tessera_life_begin (times->problem, life) > peak)
        order[n++] = life / 2;
    }
  return n;
}

bool
tessera_sweep_outward (TesseraSweep *sweep,
                       uint32_t number,
                       uint64_t looks,
                       const TesseraPackWatch *watch,
                       uint32_t *order,
                       uint64_t *offsets,
                       uint64_t *height_bytes)
{
  const TesseraSweepFit fit =
      number % 2 == 0 ? TESSERA_SWEEP_BEST_FIT : TESSERA_SWEEP_FIRST_FIT;
  uint32_t peak = find_peak (sweep->times);
  *height_bytes = 0;
  tessera_sweep_begin (sweep, false, looks);
  stack (sweep, peak, number / 2 == 1, offsets, height_bytes);
  for (int side = 0; side < 2; side++)
    {
      size_t n = list_side (sweep->times, peak, side == 1, order);
      sweep->is_backward = side == 1;
      if (!tessera_sweep_class (sweep, order, n, fit, 0, watch, offsets, height_bytes))
        return false;
    }
  return true;
}
