/*
 * When planning is to stop. See stop.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/stop.h"

double
tessera_stop_seconds_left (const TesseraStop *stop)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return stop->time_limit_s - (double) (now.tv_sec - stop->begin.tv_sec) -
         (double) (now.tv_nsec - stop->begin.tv_nsec) * 1e-9;
}

static bool
time_is_up (const TesseraStop *stop)
{
  return stop->time_limit_s > 0 && tessera_stop_seconds_left (stop) <= 0;
}

static bool
report (void *user, double fraction)
{
  TesseraStop *stop = user;
  if (stop->cut == TESSERA_CUT_NOT && !tessera_progress (stop->asked, fraction))
    stop->cut = TESSERA_CUT_BY_PERSON;
  if (stop->cut == TESSERA_CUT_NOT && time_is_up (stop))
    stop->cut = TESSERA_CUT_BY_TIME;
  return stop->cut == TESSERA_CUT_NOT;
}

void
tessera_stop_init (TesseraStop *stop, const TesseraProgress *asked, double time_limit_s)
{
  *stop = (TesseraStop){ .asked = asked,
                         .progress = { report, stop },
                         .time_limit_s = time_limit_s };
  clock_gettime (CLOCK_MONOTONIC, &stop->begin);
}
