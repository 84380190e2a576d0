/*
 * When the positions of a plan are. See clock.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/clock.h"

#include <stdlib.h>

/* Damaged traces have any times. */
static int64_t
minus (int64_t a, int64_t b)
{
  int64_t difference;

  if (__builtin_sub_overflow (a, b, &difference))
    return a > b ? INT64_MAX : -INT64_MAX;
  return difference;
}

static int64_t
plus (int64_t a, int64_t b)
{
  int64_t sum;

  if (__builtin_add_overflow (a, b, &sum))
    return a > 0 ? INT64_MAX : -INT64_MAX;
  return sum;
}

/* The event behind an unrolled position, and what its time is moved by. */
static uint32_t
event_of (const TesseraRun *run, uint32_t position, int64_t *out_shift_ns)
{
  const TesseraEvent *events = run->trace->events;
  uint32_t period = run->step_end - run->step_begin;
  uint32_t step_end = run->step_end < run->trace->n_events
                          ? run->step_end
                          : (uint32_t) run->trace->n_events - 1;

  *out_shift_ns = 0;
  if (!run->repeats || position < run->step_end)
    return position;
  *out_shift_ns = minus (events[step_end].at_ns, events[run->step_begin].at_ns);
  if (position < run->step_end + period)
    return position - period;
  position += run->last_end - run->step_end - period;
  if (run->last_end < run->trace->n_events)
    *out_shift_ns =
        plus (*out_shift_ns, minus (events[step_end].at_ns, events[run->last_end].at_ns));
  return position;
}

TesseraStatus
tessera_plan_clock_init (TesseraPlanClock *clock, const TesseraRun *run)
{
  uint32_t n_events = (uint32_t) run->trace->n_events;
  int64_t latest = -INT64_MAX;

  clock->n_positions = run->n_positions + (run->step_end - run->step_begin);
  clock->at_ns = NULL;
  if (!run->trace->has_time || n_events == 0)
    return TESSERA_OK;
  clock->at_ns = malloc (((size_t) clock->n_positions + 1) * sizeof *clock->at_ns);
  if (!clock->at_ns)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i <= clock->n_positions; i++)
    {
      int64_t shift_ns;
      uint32_t event = event_of (run, i, &shift_ns);
      int64_t at_ns = run->trace->events[event < n_events ? event : n_events - 1].at_ns;

      at_ns = plus (at_ns, shift_ns);
      latest = at_ns > latest ? at_ns : latest;
      clock->at_ns[i] = latest;
    }
  return TESSERA_OK;
}

void
tessera_plan_clock_clear (TesseraPlanClock *clock)
{
  free (clock->at_ns);
  *clock = (TesseraPlanClock){ 0 };
}

static uint32_t
within (const TesseraPlanClock *clock, uint32_t position)
{
  return position < clock->n_positions ? position : clock->n_positions;
}

int64_t
tessera_plan_clock_between (const TesseraPlanClock *clock, uint32_t from, uint32_t to)
{
  if (!clock->at_ns)
    return TESSERA_NO_SLACK;
  return minus (clock->at_ns[within (clock, to)], clock->at_ns[within (clock, from)]);
}

uint32_t
tessera_plan_clock_slack_after (const TesseraPlanClock *clock, uint32_t from)
{
  uint32_t low = within (clock, from), high = clock->n_positions;

  if (!clock->at_ns)
    return high - low > TESSERA_SLACK_REQUESTS ? low + TESSERA_SLACK_REQUESTS : high;
  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;

      if (tessera_plan_clock_between (clock, from, middle) < TESSERA_SLACK_NS)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}
