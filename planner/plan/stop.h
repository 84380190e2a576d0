/*
 * When planning is to stop before its end: a person said so, or its time is up.
 *
 * In one thread: the one that plans. Time is looked at where progress is reported, so a
 * plan may take somewhat longer than its limit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

#include <time.h>

typedef struct
{
  const TesseraProgress *asked; /* (nullable): the caller's */
  TesseraProgress progress;     /* asks both; once it said stop, it stays with it */
  double time_limit_s;          /* of CLOCK_MONOTONIC; 0: none */
  struct timespec begin;
  TesseraCut cut; /* who said stop */
} TesseraStop;

/* Begins now. @stop must stay where it is. */
void
tessera_stop_init (TesseraStop *stop, const TesseraProgress *asked, double time_limit_s);
/* Until its time is up; 0 or less: it is. Of one with a time limit. */
double tessera_stop_seconds_left (const TesseraStop *stop);
