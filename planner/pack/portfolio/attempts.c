/*
 * What an attempt of a round is. See attempts.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio/attempts.h"

#include "planner/pack/sweep/outward.h"

static const char *
name_of_rule (const TesseraRule *rule)
{
  if (rule->fit == TESSERA_SWEEP_OWN_PLACE)
    return rule->is_backward ? "each size in its own places, backward"
                             : "each size in its own places";
  static const char *const names[2][2][2] = {
    { { "first fit in order of time", "best fit in order of time" },
      { "first fit in order of time, backward", "best fit in order of time, backward" } },
    { { "first fit in order of time, class after class",
        "best fit in order of time, class after class" },
      { "first fit in order of time, class after class, backward",
        "best fit in order of time, class after class, backward" } },
  };
  return names[rule->n_life_cuts + rule->n_size_cuts > 0][rule->is_backward]
              [rule->fit == TESSERA_SWEEP_BEST_FIT];
}

static bool
attempt_rule (TesseraPortfolio *portfolio,
              TesseraDesk *desk,
              TesseraRule rule,
              TesseraFinished *attempt)
{
  const TesseraPackWatch watch = { &portfolio->shared, attempt->number };
  if (!portfolio->scope.has_sweeps)
    return false;
  attempt->name = name_of_rule (&rule);
  return tessera_attempt_sweep (desk, &rule,
                                tessera_scope_looks_of_sweep (&portfolio->scope), &watch,
                                &attempt->height_bytes);
}

/* The rules of own places are followed by these. */
static bool
attempt_outward (TesseraPortfolio *portfolio, TesseraDesk *desk, TesseraFinished *attempt)
{
  const TesseraPackWatch watch = { &portfolio->shared, attempt->number };
  attempt->name = "outward from the peak, in order of time";
  return tessera_outward_is_for (portfolio->problem) &&
         tessera_sweep_outward (&desk->sweep, attempt->number - TESSERA_N_OWN_RULES,
                                tessera_scope_looks_of_sweep (&portfolio->scope), &watch,
                                desk->order, desk->offsets, &attempt->height_bytes);
}

static TesseraRule
nth_rule (const TesseraPortfolio *portfolio, uint32_t number)
{
  return tessera_rule_nth (portfolio->problem, portfolio->longest_events, number);
}

/* A candidate of the portfolio, or one of the first rules, which stand among them. */
static bool
attempt_candidate (TesseraPortfolio *portfolio,
                   TesseraDesk *desk,
                   TesseraFinished *attempt)
{
  const TesseraPackWatch watch = { &portfolio->shared, attempt->number };
  uint32_t before = tessera_scope_n_before_rules (&portfolio->scope),
           n_rules = tessera_scope_n_first_rules (&portfolio->scope);
  uint32_t number = attempt->number;
  if (number >= before && number < before + n_rules)
    return attempt_rule (portfolio, desk, nth_rule (portfolio, number - before), attempt);
  const TesseraCandidate *candidate =
      tessera_candidate_nth (number < before ? number : number - n_rules);
  if (!tessera_scope_tries (&portfolio->scope, candidate))
    return false;
  attempt->name = candidate->name;
  tessera_order_items (portfolio->problem, candidate->keys, desk->entries, desk->order);
  return tessera_attempt (desk, candidate->placement, &watch, &attempt->height_bytes);
}

/* Some attempts of a chain, at less than the best of the rounds before. */
static bool
attempt_chain (TesseraPortfolio *portfolio, TesseraDesk *desk, TesseraFinished *attempt)
{
  const TesseraPackWatch watch = { &portfolio->shared, attempt->number };
  attempt->name = "lowest offset next; what is in trouble moves forward";
  return tessera_chain_try (&portfolio->chains[attempt->number], desk,
                            portfolio->best.height_bytes - 1, portfolio->n_tries, &watch,
                            &attempt->height_bytes);
}

bool
tessera_portfolio_attempt (TesseraPortfolio *portfolio,
                           TesseraDesk *desk,
                           TesseraFinished *attempt)
{
  switch (portfolio->round)
    {
    case TESSERA_ROUND_CANDIDATES:
      return attempt_candidate (portfolio, desk, attempt);
    case TESSERA_ROUND_OWN_RULES:
      if (attempt->number >= TESSERA_N_OWN_RULES)
        return attempt_outward (portfolio, desk, attempt);
      return attempt_rule (
          portfolio, desk,
          tessera_rule_own_nth (portfolio->problem, &portfolio->cuts, attempt->number),
          attempt);
    case TESSERA_ROUND_DRAWN_RULES:
      return attempt_rule (
          portfolio, desk,
          nth_rule (portfolio,
                    tessera_scope_n_first_rules (&portfolio->scope) + attempt->number),
          attempt);
    case TESSERA_ROUND_CHAINS:
      return attempt_chain (portfolio, desk, attempt);
    }
  return false;
}
