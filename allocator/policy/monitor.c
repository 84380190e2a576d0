/*
 * The plan monitor: by what misses, whether a plan was made for the run that follows it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/planned.h"

enum
{
  /* Shorter stretches count with the next: fewer requests, or a smaller share of the
     pool asked for in less than so many steps. */
  LEAST_REQUESTS = 64,
  LEAST_SHARE = 8,
  ENOUGH_STEPS = 4,
  MISFIT_PERCENT = 10, /* of the bytes asked for */
  SETUP_PERCENT = 75,  /* ... before the first step */
  EARLY_PERCENT = 50,  /* ... of an unfinished stretch, from this share of the pool on */
  EARLY_SHARE = 2,
  /* ... of a plan for the same batches alone, as soon as a stretch is long enough: other
     batches come in every step, and each that is served holds more beside the pool. */
  EXACT_PERCENT = 25,
  MISFITS_EXACT = 1,
  MISFITS_AT_FIRST = 2,
  MISFITS_LATER = 8,
  MISFITS_UNMARKED = 4
};

/* @n_before: requests before the first step. The model is made there, and fits whatever
 * the batch. */
static void
init (TesseraMonitor *monitor, uint64_t n_before, uint64_t n_step, uint64_t height_bytes)
{
  *monitor = (TesseraMonitor){ .step_requests =
                                   n_step > LEAST_REQUESTS ? n_step : LEAST_REQUESTS,
                               .enough_bytes = height_bytes / LEAST_SHARE,
                               .early_bytes = UINT64_MAX };
  monitor->window_requests = n_before + monitor->step_requests;
}

void
tessera_monitor_init (TesseraMonitor *monitor, const TesseraPlan *plan)
{
  uint64_t n_before = 0, n_step = 0;
  bool has_step = false;

  for (size_t i = 0; i < plan->n_sections; i++)
    if (plan->sections[i].kind != TESSERA_SECTION_REPEATS)
      n_before += has_step ? 0 : plan->sections[i].n_slots;
    else
      {
        n_step = plan->sections[i].n_slots > n_step ? plan->sections[i].n_slots : n_step;
        has_step = true;
      }
  init (monitor, n_before, has_step ? n_step : plan->n_slots, plan->height_bytes);
  monitor->is_exact = plan->followable == TESSERA_FOLLOWABLE_SAME_BATCHES;
}

void
tessera_monitor_init_lengths (TesseraMonitor *monitor,
                              const TesseraLengths *lengths,
                              uint64_t height_bytes)
{
  init (monitor, lengths->n_start, lengths->n_slots, height_bytes);
}

static bool
misses_percent (const TesseraHitCount *count, uint64_t percent)
{
  return count->missed_bytes > count->asked_bytes / 100 * percent;
}

static void
add (TesseraHitCount *sum, const TesseraHitCount *count)
{
  sum->n_requests += count->n_requests;
  sum->n_misses += count->n_misses;
  sum->asked_bytes += count->asked_bytes;
  sum->missed_bytes += count->missed_bytes;
}

static bool
is_enough (const TesseraMonitor *monitor)
{
  return monitor->now.n_requests >= LEAST_REQUESTS &&
         (monitor->now.asked_bytes >= monitor->enough_bytes ||
          monitor->now.n_requests >= ENOUGH_STEPS * monitor->step_requests);
}

/* The stretch under way ends. Returns: how many in a row misfit. */
static uint32_t
end_stretch (TesseraMonitor *monitor, uint64_t percent)
{
  if (misses_percent (&monitor->now, percent))
    {
      monitor->n_misfits++;
      add (&monitor->misfit, &monitor->now);
    }
  else
    {
      monitor->n_misfits = 0;
      monitor->misfit = (TesseraHitCount){ 0 };
    }
  monitor->now = (TesseraHitCount){ 0 };
  return monitor->n_misfits;
}

/* That a model is made as planned says nothing of the steps. */
static void
end_setup (TesseraMonitor *monitor)
{
  monitor->has_marks = true;
  monitor->window_requests = UINT64_MAX;
  monitor->n_misfits = 0;
  monitor->misfit = (TesseraHitCount){ 0 };
  if (is_enough (monitor) && !monitor->was_fit)
    end_stretch (monitor, SETUP_PERCENT);
  monitor->was_fit = false;
  monitor->now = (TesseraHitCount){ 0 };
}

static bool
is_misfit (const TesseraMonitor *monitor)
{
  return monitor->n_misfits >= (uint32_t) (monitor->was_fit    ? MISFITS_LATER
                                           : monitor->is_exact ? MISFITS_EXACT
                                                               : MISFITS_AT_FIRST);
}

/* The stretch that begins may be looked at early where it decides about a plan that never
 * fitted: the sooner it is declined, the less is held beside it. */
static void
begin_stretch (TesseraMonitor *monitor)
{
  monitor->early_bytes = monitor->was_fit    ? UINT64_MAX
                         : monitor->is_exact ? monitor->enough_bytes
                         : monitor->n_misfits + 1 >= MISFITS_AT_FIRST
                             ? monitor->enough_bytes * LEAST_SHARE / EARLY_SHARE
                             : UINT64_MAX;
}

bool
tessera_monitor_mark (TesseraMonitor *monitor)
{
  if (!monitor->has_marks)
    end_setup (monitor);
  else if (is_enough (monitor) && end_stretch (monitor, MISFIT_PERCENT) == 0)
    monitor->was_fit = true;
  begin_stretch (monitor);
  return is_misfit (monitor);
}

bool
tessera_monitor_doubts (const TesseraMonitor *monitor)
{
  return monitor->n_misfits > 0 ||
         (misses_percent (&monitor->now, MISFIT_PERCENT) &&
          monitor->now.missed_bytes > monitor->enough_bytes / 100 * MISFIT_PERCENT);
}

static bool
look_early (TesseraMonitor *monitor)
{
  uint64_t percent = monitor->is_exact ? EXACT_PERCENT : EARLY_PERCENT;

  if (!is_enough (monitor))
    return false;
  monitor->early_bytes *= 2;
  if (!misses_percent (&monitor->now, percent))
    return false;
  end_stretch (monitor, percent);
  return is_misfit (monitor);
}

bool
tessera_monitor_look (TesseraMonitor *monitor)
{
  if (monitor->has_marks)
    return look_early (monitor);
  monitor->window_requests = monitor->step_requests;
  if (end_stretch (monitor, MISFIT_PERCENT) == 0)
    monitor->was_fit = true;
  return !monitor->was_fit && monitor->n_misfits >= MISFITS_UNMARKED;
}
