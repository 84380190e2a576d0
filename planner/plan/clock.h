/*
 * When the positions of a plan are, by the clock of its trace: for a run that does the
 * repeating step twice (start, step, step, end). The second is as long as the first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/run.h"

typedef struct
{
  int64_t *at_ns; /* [n_positions]: never falls; NULL: the trace has no clock */
  uint32_t n_positions;
} TesseraPlanClock;

TESSERA_MUST_USE TesseraStatus tessera_plan_clock_init (TesseraPlanClock *clock,
                                                        const TesseraRun *run);
void tessera_plan_clock_clear (TesseraPlanClock *clock); /* frees; a zeroed one is fine */

/* From position @from to position @to, or TESSERA_NO_SLACK where there is no clock. */
int64_t
tessera_plan_clock_between (const TesseraPlanClock *clock, uint32_t from, uint32_t to);
/* The first position from @from on that has the slack of db/plan.h behind it; at most
 * n_positions. */
uint32_t tessera_plan_clock_slack_after (const TesseraPlanClock *clock, uint32_t from);
