/*
 * Rules for sweeps. See rule.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/sweep/rule.h"

#include "planner/pack/random.h"

#include <string.h>

/* Cuts of the first rules, in parts of the longest life. */
static const double first_cuts[] = { 0, 0.015, 0.05, 0.004, 0.001 };
#define N_WAYS 4 /* first and best fit, forward and backward */
_Static_assert(sizeof first_cuts / sizeof *first_cuts * N_WAYS == TESSERA_N_FIRST_RULES,
               "one rule for each cut and way");

/* Drawn cuts are evenly spread over the logarithm: so many halvings below the whole. The
 * longest life and half of it, or the bound and a thirty-second of it, down to what is
 * hardly worth a class of its own. */
#define LIFE_HALVINGS_FROM 2.0
#define LIFE_HALVINGS_TO 12.5
#define SIZE_HALVINGS_FROM 5.0
#define SIZE_HALVINGS_TO 16.5

/* 2^-x for 0 <= x < 64, the same on every machine: exact halvings, and a straight line
 * between them. */
static double
halved (double whole, double halvings)
{
  uint32_t n_whole = (uint32_t) halvings;
  double rest = halvings - n_whole;
  return whole / (double) (UINT64_C (1) << n_whole) * (1 - rest / 2);
}

static uint64_t
draw_cut (uint64_t *state, uint64_t whole, double from, double to)
{
  return (uint64_t) halved ((double) whole,
                            from + (to - from) * tessera_random_fraction (state));
}

static uint32_t
draw_below (uint64_t *state, uint32_t n)
{
  return (uint32_t) (tessera_random_fraction (state) * n);
}

static TesseraRule
draw_rule (const TesseraPackProblem *problem, uint64_t longest_events, uint32_t number)
{
  uint64_t state = number;
  TesseraRule rule = { .n_life_cuts = 1 + draw_below (&state, TESSERA_RULE_MAX_CUTS),
                       .n_size_cuts = draw_below (&state, TESSERA_RULE_MAX_CUTS) };
  rule.life_first = draw_below (&state, 2) == 0;
  rule.is_backward = draw_below (&state, 2) == 0;
  rule.fit =
      draw_below (&state, 2) == 0 ? TESSERA_SWEEP_FIRST_FIT : TESSERA_SWEEP_BEST_FIT;
  for (uint32_t i = 0; i < rule.n_life_cuts; i++)
    rule.life_cuts[i] =
        draw_cut (&state, longest_events, LIFE_HALVINGS_FROM, LIFE_HALVINGS_TO);
  for (uint32_t i = 0; i < rule.n_size_cuts; i++)
    rule.size_cuts[i] =
        draw_cut (&state, problem->bound_bytes, SIZE_HALVINGS_FROM, SIZE_HALVINGS_TO);
  return rule;
}

TesseraRule
tessera_rule_nth (const TesseraPackProblem *problem,
                  uint64_t longest_events,
                  uint32_t number)
{
  if (number >= TESSERA_N_FIRST_RULES)
    return draw_rule (problem, longest_events, number);
  double cut = first_cuts[number / N_WAYS];
  return (TesseraRule){
    .n_life_cuts = cut > 0 ? 1 : 0,
    .life_cuts = { (uint64_t) (cut * (double) longest_events) },
    .life_first = true,
    .is_backward = number % N_WAYS >= 2,
    .fit = number % 2 == 0 ? TESSERA_SWEEP_FIRST_FIT : TESSERA_SWEEP_BEST_FIT,
  };
}

/* How high new ground is broken, above the bound in parts of it; the first: always, so
 * that nobody takes a place that another size has left. */
static const double grounds[] = { 1e3, 0.002, 0.004, 0.001, 0.003 };
#define N_OWN_WAYS 4 /* both cuts, forward and backward */
_Static_assert(sizeof grounds / sizeof *grounds * N_OWN_WAYS == TESSERA_N_OWN_RULES,
               "one rule for each ground and way");

TesseraRule
tessera_rule_own_nth (const TesseraPackProblem *problem,
                      const TesseraLifeCuts *cuts,
                      uint32_t number)
{
  double above_bytes = grounds[number / N_OWN_WAYS] * (double) problem->bound_bytes;
  uint64_t room_bytes = (uint64_t) INT64_MAX - problem->bound_bytes;
  return (TesseraRule){
    .n_life_cuts = 1,
    .life_cuts = { number % 4 < 2 ? cuts->break_events : cuts->share_events },
    .life_first = true,
    .is_backward = number % 2 == 1,
    .fit = TESSERA_SWEEP_OWN_PLACE,
    .ground_bytes =
        problem->bound_bytes +
        (above_bytes < (double) room_bytes / 2 ? (uint64_t) above_bytes : room_bytes / 2),
  };
}

/* 0 comes first. */
static uint32_t
class_of (const TesseraRule *rule, const TesseraPackProblem *problem, uint32_t i)
{
  const TesseraPackItem *item = &problem->items[i];
  const uint32_t n = TESSERA_RULE_MAX_CUTS + 1;
  uint32_t life = 0, size = 0;
  if (tessera_rule_is_first (problem, i))
    return 0;
  for (uint32_t k = 0; k < rule->n_life_cuts; k++)
    life += item->life_events <= rule->life_cuts[k] ? 1 : 0;
  for (uint32_t k = 0; k < rule->n_size_cuts; k++)
    size += item->size_bytes <= rule->size_cuts[k] ? 1 : 0;
  return 1 + (rule->life_first ? life * n + size : size * n + life);
}

void
tessera_rule_order (const TesseraRule *rule,
                    const TesseraTimes *times,
                    uint32_t *order,
                    uint32_t ends[TESSERA_RULE_MAX_CLASSES])
{
  const TesseraPackProblem *problem = times->problem;
  memset (ends, 0, TESSERA_RULE_MAX_CLASSES * sizeof *ends);
  for (uint32_t i = 0; i < problem->n_items; i++)
    ends[class_of (rule, problem, i)]++;
  for (uint32_t c = 0, sum = 0; c < TESSERA_RULE_MAX_CLASSES; c++)
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
