/*
 * Rules for sweeps: which class comes first, which way, which fit.
 *
 * Items are cut into classes by how long they live and how large they are. The first
 * rules cut at nothing or once; those after them are drawn, each from its number alone,
 * so that the same problem always sees the same rules.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/sweep/cuts.h"
#include "planner/pack/sweep/sweep.h"

#define TESSERA_RULE_MAX_CUTS 3
#define TESSERA_RULE_MAX_CLASSES                                                         \
  (1 + (TESSERA_RULE_MAX_CUTS + 1) * (TESSERA_RULE_MAX_CUTS + 1))
#define TESSERA_N_FIRST_RULES 20
#define TESSERA_N_OWN_RULES 20

typedef struct
{
  uint32_t n_life_cuts, n_size_cuts;
  uint64_t life_cuts[TESSERA_RULE_MAX_CUTS]; /* events; longer is another class */
  uint64_t size_cuts[TESSERA_RULE_MAX_CUTS]; /* bytes; larger is another class */
  bool life_first; /* long ones first, large ones of equal length; or the other way round
                    */
  bool is_backward;
  TesseraSweepFit fit;
  uint64_t ground_bytes; /* with TESSERA_SWEEP_OWN_PLACE, for the first class; the last
                            class is put where it fits best */
} TesseraRule;

/* Tells whether the item comes before all sweeps. */
static inline bool
tessera_rule_is_first (const TesseraPackProblem *problem, uint32_t i)
{
  const TesseraPackLives *lives = &problem->items[i].lives;
  return lives->begin2 < lives->end2 || tessera_pack_is_held (problem, i);
}

/* @longest_events: the longest life of the problem. */
TesseraRule tessera_rule_nth (const TesseraPackProblem *problem,
                              uint64_t longest_events,
                              uint32_t number);

/* The rules under which each size keeps to its own places: 0 .. TESSERA_N_OWN_RULES - 1.
 */
TesseraRule tessera_rule_own_nth (const TesseraPackProblem *problem,
                                  const TesseraLifeCuts *cuts,
                                  uint32_t number);

/*
 * tessera_rule_order:
 * @order: (array): items by class, in a class in the order of the sweep
 * @ends: (array length=TESSERA_RULE_MAX_CLASSES): where in @order each class ends, some
 *   may be empty; the first holds those with two lives and those held to something
 */
void tessera_rule_order (const TesseraRule *rule,
                         const TesseraTimes *times,
                         uint32_t *order,
                         uint32_t ends[TESSERA_RULE_MAX_CLASSES]);
