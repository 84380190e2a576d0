/*
 * A core, searched by several rules and orders in turn.
 *
 * Which order is good nobody knows beforehand: one needs a thousand decisions, another
 * does not end. So each combination of valley rule and order gets a small share of work,
 * then all get a larger one, with orders that are shaken a little. What was learned
 * stays: where in time states are refused, and which states lead nowhere.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/exact/descent.h"

/*
 * tessera_exact_race:
 * @work_budget: for this core
 * @floors: (array length=core->n_items): filled where it fits: places, in units
 * @result: answer is set; counts are added to
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY or TESSERA_CANCELLED.
 */
TESSERA_MUST_USE TesseraStatus tessera_exact_race (const TesseraCore *core,
                                                   const TesseraExactOptions *options,
                                                   uint64_t work_budget,
                                                   uint64_t *floors,
                                                   TesseraExactResult *result);
