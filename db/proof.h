/*
 * What is proven about a plan's height.
 *
 * "Optimal" is said of a plan only where no layout of its slots is lower, which is the
 * case where its height is a bound that holds for all of them: the load bound, the sum of
 * loads that are kept apart, or what the exact search found nothing below
 * (planner/exact.h). It is so of what the plan is held to as well: its streams kept apart
 * or not, its edits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

/* The highest bound that is proven, bytes; never below bound_bytes. */
uint64_t tessera_plan_proven_bound (const TesseraPlan *plan);

/* The one bound that is shown: what is proven for @plan, but where edits may force it, or
 * where PyTorch does with a smaller device (@pytorch_bytes; 0: not known), since a plan may be
 * held to more than a layout is; never below @load_bound_bytes, what is alive at most.
 * @plan: (nullable) */
uint64_t tessera_plan_shown_bound (const TesseraPlan *plan,
                                   uint64_t load_bound_bytes,
                                   uint64_t pytorch_bytes);

/* false: not known. */
bool tessera_plan_is_optimal (const TesseraPlan *plan);

/* How far the height is above what is proven: 0.01 is one percent. */
double tessera_plan_gap (const TesseraPlan *plan);

/* "optimal (proven)" or "within 1.25 % of the proven bound", what edits make of it:
 * "optimal with its edits (proven), 85.16 GiB above the load bound", and how the plan was
 * cut short where it was: "...; cut short after 2 s" */
void tessera_plan_describe_proof (const TesseraPlan *plan, char *text, size_t n_text);
