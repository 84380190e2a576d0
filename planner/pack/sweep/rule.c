/*
 * Rules for sweeps. See rule.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/sweep/rule.h"

#include <string.h>

/* Cuts between long and short, in parts of the longest life. */
static const double cuts[] = { 0, 0.015, 0.05, 0.004, 0.001 };
#define N_WAYS 4 /* first and best fit, forward and backward */
_Static_assert(sizeof cuts / sizeof *cuts * N_WAYS == TESSERA_N_RULES,
               "one rule for each cut and way");

TesseraRule
tessera_rule_nth (uint64_t longest_events, uint32_t number)
{
  return (TesseraRule){
    .longest_short_events = (uint64_t) (cuts[number / N_WAYS] * (double) longest_events),
    .is_backward = number % N_WAYS >= 2,
    .fit = number % 2 == 0 ? TESSERA_SWEEP_FIRST_FIT : TESSERA_SWEEP_BEST_FIT,
  };
}

static uint32_t
class_of (const TesseraRule *rule, const TesseraPackProblem *problem, uint32_t i)
{
  if (tessera_rule_is_first (problem, i))
    return 0;
  return problem->items[i].life_events > rule->longest_short_events ? 1 : 2;
}

void
tessera_rule_order (const TesseraRule *rule,
                    const TesseraTimes *times,
                    uint32_t *order,
                    uint32_t ends[TESSERA_RULE_N_CLASSES])
{
  const TesseraPackProblem *problem = times->problem;
  memset (ends, 0, TESSERA_RULE_N_CLASSES * sizeof *ends);
  for (uint32_t i = 0; i < problem->n_items; i++)
    ends[class_of (rule, problem, i)]++;
  for (uint32_t c = 0, sum = 0; c < TESSERA_RULE_N_CLASSES; c++)
    {
      uint32_t n = ends[c];
      ends[c] = sum;
      sum += n;
    }
  for (uint32_t k = 0; k < times->n_lives; k++)
    {
      uint32_t life =
          rule->is_backward ? times->by_end[times->n_lives - 1 - k] : times->by_begin[k];
      if (life % 2 == 0) /* each item once, at its first life */
        order[ends[class_of (rule, problem, life / 2)]++] = life / 2;
    }
}
