/*
 * Traces and plans for tests of db/: made up at random, and compared field by field.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "db/trace.h"

/* Every field takes odd values now and then; what @seed gives is always the same. */
TesseraTrace *test_trace_new (uint32_t seed, size_t n_events);
TesseraPlan *test_plan_new (uint32_t seed, size_t n_slots);
/* Of a part of a step, six requests: tokens, known at once and so in a fixed place; two
 * that are swept, one on the other; a loss that crosses; the optimizer's state; a
 * gradient. */
TesseraLengths *test_lengths_new (void);

/* Like one that a program left: blocks that live and die, a third of them for long. */
TesseraTrace *test_trace_new_plausible (uint32_t seed, size_t n_events);

void test_traces_assert_equal (const TesseraTrace *a, const TesseraTrace *b);
void test_plans_assert_equal (const TesseraPlan *a, const TesseraPlan *b);
