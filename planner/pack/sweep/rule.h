/*
 * Rules for sweeps: which class comes first, which way, which fit.
 *
 * Items are cut into long-lived and short-lived ones. Those with two lives, and those
 * held to something, come before both.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/sweep/sweep.h"

/* Items before all sweeps, long lives, short lives. */
#define TESSERA_RULE_N_CLASSES 3
#define TESSERA_N_RULES 20

typedef struct
{
  uint64_t longest_short_events; /* longer lives come first; 0: all lives are long */
  bool is_backward;
  TesseraSweepFit fit;
} TesseraRule;

/* Tells whether the item comes before all sweeps. */
static inline bool
tessera_rule_is_first (const TesseraPackProblem *problem, uint32_t i)
{
  const TesseraPackLives *lives = &problem->items[i].lives;
  return lives->begin2 < lives->end2 || tessera_pack_is_held (problem, i);
}

/* @longest_events: the longest life of the problem. @number: below TESSERA_N_RULES */
TesseraRule tessera_rule_nth (uint64_t longest_events, uint32_t number);

/*
 * tessera_rule_order:
 * @order: (array): items by class, in a class in the order of the sweep
 * @ends: where in @order each class ends; some may be empty
 */
void tessera_rule_order (const TesseraRule *rule,
                         const TesseraTimes *times,
                         uint32_t *order,
                         uint32_t ends[TESSERA_RULE_N_CLASSES]);
