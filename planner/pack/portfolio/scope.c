/*
 * What is tried of a problem. See scope.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio/scope.h"

#include "planner/pack/fit/chain.h"

/* With several owners the lowest reachable offset has no windows to go by, which costs
 * some twenty times as much (a tenth of a second at 3,000 items), and more the larger. */
#define MAX_ITEMS_OF_OWNERS 4096
/* The first is had up to here all the same: made-up shards end at what closed ranges
 * force, where fits in order of time are 1 % above (250,000 items, some four seconds). */
#define MAX_ITEMS_OF_MANY_OWNERS 262144
#define COST_OF_OWNERS 16

/* Before a sweep those with two lives, or held to something, go onto the shelf one after
 * the other: more of them cost too much. */
#define MAX_ITEMS_BEFORE_SWEEPS 16384

/* Where sweeps are had: up to so many items everything else comes before them, as it
 * costs next to nothing; above, the first rules come after the first candidate, and what
 * walks over neighbours is left out, chains as well; above the next, the first rules come
 * first and only the first candidate is tried beside them (experts with recomputation,
 * 364,000 items: 0.8 % lower than any sweep, for a second); and above the last only
 * sweeps are: the lowest offset takes seconds by then, and some hundred bytes an item. */
#define MAX_ITEMS_OF_SMALL 4096
#define MAX_ITEMS_OF_MIDDLE 12288
#define MAX_ITEMS_OF_LARGE 49152
#define MAX_ITEMS_OF_HUGE 524288
/* A best fit at a million items may take a second: most wait until something better than
 * the first is known, and are given up early. */
#define N_RULES_OF_HUGE 1
#define N_LATE_RULES_OF_HUGE 4

/* Packing anew around the peak takes some 50 ns a look: a fifth of a second for the
 * default budget, a twentieth where the rest takes less than a second. */
#define REPACK_LOOKS_A_UNIT 4
#define REPACK_TIMES_OF_OWNERS 4

/* Where a layout of before is known of few items, orders that follow it come next to the
 * first ones, and chains after them are worth more than the rest. */
#define N_ORDERS_OF_HINTED 8
/* Of previews, chains that begin elsewhere get further with the same work. */
#define N_CHAINS_OF_ROUGH 3

/* Of previews of many items where something is held: the next order reaches the bound
 * more often than all rules together, in a third of the time. */
#define N_BEFORE_RULES_OF_ROUGH 2

/* What one sweep may spend on looking ahead (sweep.h). */
#define LOOKS_OF_A_SWEEP (UINT64_C (1) << 22)
#define LOOKS_AN_ITEM 8
#define LOOKS_PART_OF_LARGE 2 /* above MAX_ITEMS_OF_LARGE: half of that */

bool
tessera_scope_can_sweep (const TesseraPackProblem *problem, size_t n_before)
{
  return !problem->has_zones && problem->n_owners == 1 &&
         n_before <= MAX_ITEMS_BEFORE_SWEEPS;
}

/* More are left to the other placements. @is_simple: by size, the one that wins yet. */
static size_t
most_items (const TesseraScope *scope, TesseraPlacement placement, bool is_simple)
{
  size_t most_to_fit = scope->fit_at_most;
  const bool has_owners = scope->problem->n_owners > 1;

  if (scope->has_sweeps && most_to_fit > MAX_ITEMS_OF_MIDDLE && !is_simple)
    most_to_fit = MAX_ITEMS_OF_MIDDLE;
  switch (placement)
    {
    case TESSERA_PLACE_FIRST_FIT:
      return most_to_fit;
    case TESSERA_PLACE_BEST_FIT: /* never won with owners, walks all the way up */
      return has_owners && most_to_fit > MAX_ITEMS_OF_OWNERS ? MAX_ITEMS_OF_OWNERS
                                                             : most_to_fit;
    case TESSERA_PLACE_LOWEST:
      if (!tessera_fixed_is_for (scope->problem))
        return 0;
      return has_owners ? MAX_ITEMS_OF_OWNERS : SIZE_MAX;
    case TESSERA_PLACE_SKYLINE:
      break;
    }
  return SIZE_MAX;
}

/* Of the first candidate. */
static size_t
most_lowest (const TesseraScope *scope)
{
  return scope->problem->n_owners > 1 && scope->problem->limits == NULL
             ? MAX_ITEMS_OF_MANY_OWNERS
             : most_items (scope, TESSERA_PLACE_LOWEST, false);
}

bool
tessera_scope_has_orders (const TesseraScope *scope)
{
  return !scope->has_sweeps || scope->problem->n_items <= MAX_ITEMS_OF_HUGE;
}

uint32_t
tessera_scope_n_first_rules (const TesseraScope *scope)
{
  size_t n_items = scope->problem->n_items;
  if (!scope->has_sweeps || n_items <= MAX_ITEMS_OF_SMALL)
    return 0;
  return n_items <= MAX_ITEMS_OF_HUGE ? TESSERA_N_FIRST_RULES : N_RULES_OF_HUGE;
}

uint32_t
tessera_scope_n_late_rules (const TesseraScope *scope)
{
  return scope->has_sweeps && scope->problem->n_items > MAX_ITEMS_OF_HUGE
             ? N_LATE_RULES_OF_HUGE
             : 0;
}

uint32_t
tessera_scope_n_before_rules (const TesseraScope *scope)
{
  if (scope->is_rough && scope->problem->limits != NULL &&
      scope->problem->n_items <= MAX_ITEMS_OF_LARGE)
    return N_BEFORE_RULES_OF_ROUGH;
  return scope->problem->n_items <= MAX_ITEMS_OF_LARGE ? 1 : 0;
}

/* In order of time a fit walks over those alive only: of a large problem that sweeps are
 * not for it is the one that can be paid for. A small one has it by birth. */
bool
tessera_scope_is_hinted (const TesseraScope *scope)
{
  return scope->is_brief && scope->problem->former != NULL && !scope->problem->has_zones;
}

/* At a glance two orders of few items tell as much as all, of many the rules do. */
static bool
is_for_glance (const TesseraScope *scope, const TesseraCandidate *candidate)
{
  TesseraOrderKey first = candidate->keys[0];
  if (!tessera_scope_is_small (scope))
    return !scope->has_sweeps;
  if (scope->problem->n_items > scope->fit_at_most)
    return true;
  return candidate->placement == TESSERA_PLACE_FIRST_FIT &&
         (first == TESSERA_BY_FORMER || first == TESSERA_BY_LOAD);
}

/* Of a preview of many items what is ever lower than the rules. */
static bool
is_for_many (const TesseraScope *scope, const TesseraCandidate *candidate)
{
  TesseraOrderKey first = candidate->keys[0];
  if (scope->problem->limits == NULL)
    return candidate->placement == TESSERA_PLACE_LOWEST && first == TESSERA_BY_LOAD;
  if (candidate->placement == TESSERA_PLACE_FIRST_FIT)
    return first == TESSERA_BY_SIZE2_WIDE || first == TESSERA_BY_SIZE4_WIDE ||
           first == TESSERA_BY_FORMER;
  return candidate->placement == TESSERA_PLACE_LOWEST &&
         (first == TESSERA_BY_LOAD || first == TESSERA_BY_AREA ||
          first == TESSERA_BY_SIZE);
}

/* Of a preview what chains do not come to sooner. */
static bool
is_for_hinted (const TesseraScope *scope, const TesseraCandidate *candidate)
{
  TesseraOrderKey first = candidate->keys[0];
  if (!scope->is_rough)
    return first == TESSERA_BY_FORMER ||
           candidate <= tessera_candidate_nth (N_ORDERS_OF_HINTED);
  return (first == TESSERA_BY_FORMER || first == TESSERA_BY_LOAD) &&
         (candidate->placement == TESSERA_PLACE_LOWEST ||
          candidate->placement == TESSERA_PLACE_FIRST_FIT);
}

bool
tessera_scope_tries (const TesseraScope *scope, const TesseraCandidate *candidate)
{
  const size_t n_items = scope->problem->n_items;

  if (!tessera_scope_has_orders (scope) ||
      (scope->has_sweeps && n_items > MAX_ITEMS_OF_LARGE &&
       candidate != tessera_candidate_nth (0)))
    return false;
  if (scope->is_glance && tessera_scope_is_hinted (scope) &&
      !is_for_glance (scope, candidate))
    return false;
  if (candidate == tessera_candidate_nth (0))
    return n_items <= most_lowest (scope);
  if (candidate->keys[0] == TESSERA_BY_FORMER && scope->problem->former == NULL)
    return false;
  if (tessera_scope_is_hinted (scope) && tessera_scope_is_small (scope) &&
      !is_for_hinted (scope, candidate))
    return false;
  if (tessera_scope_is_hinted (scope) && scope->is_rough && scope->has_sweeps &&
      !tessera_scope_is_small (scope) && !is_for_many (scope, candidate))
    return false;
  return candidate->keys[0] == TESSERA_BY_TIME
             ? !scope->has_sweeps && n_items > scope->fit_at_most
             : n_items <= most_items (scope, candidate->placement,
                                      candidate->keys[0] == TESSERA_BY_SIZE);
}

bool
tessera_scope_is_small (const TesseraScope *scope)
{
  return scope->problem->n_items <= MAX_ITEMS_OF_SMALL;
}

bool
tessera_scope_has_chains (const TesseraScope *scope)
{
  size_t n_items = scope->problem->n_items;
  return (!scope->has_sweeps || n_items <= MAX_ITEMS_OF_MIDDLE) &&
         n_items <= most_items (scope, TESSERA_PLACE_LOWEST, false);
}

uint32_t
tessera_scope_n_chains (const TesseraScope *scope)
{
  return tessera_scope_is_hinted (scope) && scope->is_rough ? N_CHAINS_OF_ROUGH
                                                            : TESSERA_N_CHAINS;
}

uint64_t
tessera_scope_cost_of_owners (const TesseraScope *scope)
{
  return scope->problem->n_owners > 1 ? COST_OF_OWNERS : 1;
}

uint64_t
tessera_scope_looks_of_sweep (const TesseraScope *scope)
{
  uint64_t looks = LOOKS_OF_A_SWEEP + LOOKS_AN_ITEM * scope->problem->n_items;
  return scope->problem->n_items > MAX_ITEMS_OF_LARGE ? looks / LOOKS_PART_OF_LARGE
                                                      : looks;
}

uint64_t
tessera_scope_looks_of_repack (const TesseraScope *scope, uint64_t work_budget)
{
  uint64_t a_unit = tessera_scope_is_small (scope) ? 1 : REPACK_LOOKS_A_UNIT;
  /* Neither chains nor sweeps: this is all that improves. */
  if (scope->problem->n_owners > 1 && !tessera_scope_has_chains (scope))
    a_unit *= REPACK_TIMES_OF_OWNERS;
  return work_budget < UINT64_MAX / a_unit ? work_budget * a_unit : UINT64_MAX;
}
