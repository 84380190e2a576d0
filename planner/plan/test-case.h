/*
 * A trace with its plan, for tests: made, laid out as a run would have it, and judged.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/planner.h"
#include "planner/test-traces.h"

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraPlan *plan;
} PlanCase;

extern const TesseraPlanOptions plan_all_steps;

/* Takes @trace over; without a plan. */
PlanCase plan_case_look (TesseraTrace *trace);
/* Must go well, and be checked. */
PlanCase plan_case_new (TesseraTrace *trace, const TesseraPlanOptions *options);
void plan_case_clear (PlanCase *c);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PlanCase, plan_case_clear)
/* Whether two slots have an address in common. */
bool plan_case_shares (const TesseraSlot *a, const TesseraSlot *b);
/* No two blocks that live together share an address, nor do any that the rule of streams
 * keeps apart. Steps by index: which repeat. */
void plan_case_check (const PlanCase *c, uint32_t first_step, uint32_t n_steps);
