/*
 * The groups of zones of a packing: see groups.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/groups.h"

#include "planner/pack/limits/apart.h"
#include "planner/pack/few.h"
#include "planner/pack/hints.h"
#include "planner/pack/refine.h"

#include <stdlib.h>
#include <string.h>

/* A search that gets somewhere has so many times the half of it. */
#define TIMES_SEARCHED 5

/* Gaps of so small a part of the slack, among all groups, are not worth who would lie
 * across their ends. */
#define GAPS_PART 2

/* Of a preview: what is a smaller part of the whole nobody sees. */
#define LITTLE_PART 8192

/* Of a group; of the whole that is. */
void
tessera_pack_call_tell (void *user, const TesseraNews *news)
{
  const TesseraPackCall *call = user;
  TesseraNews whole = *news;
  bool is_stacked = call->highest_pin_bytes == 0;
  uint64_t below_bytes = is_stacked ? call->packing.height_bytes : 0;
  if (news->height_bytes != 0)
    whole.height_bytes += below_bytes + call->base_bytes;
  if (call->n_left > 0)
    whole.height_bytes = 0;
  if (!is_stacked && whole.height_bytes != 0 &&
      whole.height_bytes < call->packing.height_bytes)
    whole.height_bytes = call->packing.height_bytes;
  whole.bound_bytes =
      is_stacked ? call->packing.proven_bound_bytes + call->base_bytes + news->bound_bytes
                 : call->packing.bound_bytes;
  if (whole.bound_bytes < call->packing.bound_bytes)
    whole.bound_bytes = call->packing.bound_bytes;
  call->listener->tell (call->listener->user, &whole);
}

static size_t
group_begin (const TesseraPackCall *call, size_t group)
{
  return group == 0 ? 0 : call->zones.ends[group - 1];
}

/* Of the items of a group up to @end. */
static TesseraStatus
find_load (const TesseraPackCall *call,
           size_t group,
           size_t end,
           uint64_t *out_load_bytes)
{
  *out_load_bytes = call->loads[group];
  return end == call->zones.ends[group]
             ? TESSERA_OK
             : tessera_pack_zones_load (&call->zones, call->items,
                                        group_begin (call, group), end, out_load_bytes);
}

static TesseraStatus
copy_blocked (const TesseraPackCall *call, TesseraPackProblem *problem)
{
  const size_t n_bytes = call->n_blocked * sizeof *problem->blocked;
  problem->blocked = malloc (n_bytes + 1);
  if (problem->blocked == NULL)
    return TESSERA_NO_MEMORY;
  memcpy (problem->blocked, call->blocked, n_bytes);
  problem->n_blocked = call->n_blocked;
  return TESSERA_OK;
}

/* Tells the problem what is not to be had, and what that makes of its bound. @end: of the
 * items of the group that it is of. */
static TesseraStatus
set_limits (TesseraPackCall *call, size_t group, size_t end, TesseraPackProblem *problem)
{
  const uint64_t apart_bytes = tessera_pack_apart_bound (problem);
  uint64_t load_bytes, pin_bytes = 0;
  TesseraStatus status = find_load (call, group, end, &load_bytes);
  if (status != TESSERA_OK)
    return status;
  if (problem->bound_bytes < load_bytes - problem->base_bytes)
    problem->bound_bytes = load_bytes - problem->base_bytes;
  if (problem->bound_bytes < apart_bytes)
    problem->bound_bytes = apart_bytes;
  if (call->highest_pin_bytes == 0)
    return TESSERA_OK;
  status = copy_blocked (call, problem);
  if (status != TESSERA_OK)
    return status;
  problem->is_whole_pool = true;
  problem->bound_bytes =
      tessera_pack_least_height (problem->blocked, problem->n_blocked, load_bytes);
  if (problem->bound_bytes < apart_bytes)
    problem->bound_bytes = apart_bytes;
  for (size_t i = 0; i < problem->n_items; i++)
    if (problem->limits[i].pinned_bytes != TESSERA_PACK_NOT_PINNED &&
        problem->limits[i].pinned_bytes + problem->items[i].size_bytes > pin_bytes)
      pin_bytes = problem->limits[i].pinned_bytes + problem->items[i].size_bytes;
  problem->least_bytes = problem->bound_bytes;
  if (pin_bytes > problem->bound_bytes)
    problem->bound_bytes = pin_bytes;
  return TESSERA_OK;
}

/* Notes where the items of a group have come to lie: on top of what there is, or, where
 * something is pinned, in the whole pool. */
static void
note_places (TesseraPackCall *call,
             size_t group,
             const TesseraPackProblem *problem,
             const uint64_t *places,
             uint64_t height_bytes,
             const char *strategy)
{
  TesseraPacking *packing = &call->packing;
  bool is_stacked = call->highest_pin_bytes == 0;
  for (size_t i = 0; i < problem->n_items; i++)
    call->offsets[problem->items[i].source] = problem->base_bytes + places[i];
  if (is_stacked)
    packing->proven_bound_bytes += problem->base_bytes + problem->bound_bytes;
  else if (call->zones.n_groups == 1)
    packing->proven_bound_bytes = problem->bound_bytes;
  height_bytes += problem->base_bytes;
  for (size_t i = group == 0 ? 0 : call->zones.ends[group - 1];
       is_stacked && i < call->zones.ends[group]; i++)
    call->offsets[call->zones.items[i]] += packing->height_bytes;
  if (is_stacked)
    packing->height_bytes += height_bytes;
  else if (height_bytes > packing->height_bytes)
    packing->height_bytes = height_bytes;
  if (height_bytes > call->highest_group_bytes)
    {
      call->highest_group_bytes = height_bytes;
      packing->strategy = strategy;
    }
}

/* Part of the options: from share @begin of what is to be done to share @end. */
static TesseraPortfolioOptions
stretch_of (const TesseraPortfolioOptions *options, double begin, double end)
{
  TesseraPortfolioOptions stretch = *options;
  double whole = options->fraction_end - options->fraction_begin;
  stretch.fraction_begin = options->fraction_begin + begin * whole;
  stretch.fraction_end = options->fraction_begin + end * whole;
  return stretch;
}

/* The portfolio with all of the work: it begins anew, and where it was given a layout of
 * before it may take another way from there than it did with less. */
static TesseraStatus
improve (TesseraPackProblem *problem,
         const TesseraPortfolioOptions *options,
         uint64_t *places,
         uint64_t *height_bytes,
         const char **strategy)
{
  uint64_t *others = malloc (problem->n_items * sizeof *others), others_height_bytes = 0;
  const char *others_strategy = NULL;
  TesseraStatus status =
      others == NULL ? TESSERA_NO_MEMORY
                     : tessera_portfolio_run (problem, options, others,
                                              &others_height_bytes, &others_strategy);
  if (status == TESSERA_OK && others_height_bytes <= *height_bytes)
    {
      memcpy (places, others, problem->n_items * sizeof *places);
      *height_bytes = others_height_bytes;
      *strategy = others_strategy;
    }
  free (others);
  return status;
}

/* The portfolio. What its rules leave above the bound, and can be searched for exactly,
 * is. Where that gets somewhere it goes on, for it gets further than rules do; where it
 * does not, half as much work again was spent, and all of it goes into rules. */
static TesseraStatus
pack_problem (TesseraPackProblem *problem,
              const TesseraPortfolioOptions *options,
              uint64_t *places,
              uint64_t *height_bytes,
              const char **strategy)
{
  TesseraPortfolioOptions rules = stretch_of (options, 0, 0.1);
  TesseraPortfolioOptions search = stretch_of (options, 0.1, 1);
  TesseraPortfolioOptions rest = stretch_of (options, 0.3, 1);
  if (!tessera_pack_can_refine (problem) || (options->is_brief && problem->hints))
    {
      TesseraStatus only =
          tessera_portfolio_run (problem, options, places, height_bytes, strategy);
      if (only == TESSERA_OK && tessera_pack_is_few (problem))
        tessera_pack_few (problem, places, height_bytes, strategy);
      return only;
    }
  rules.work_budget = 0;
  search.work_budget = search.work_budget / 2 * TIMES_SEARCHED;
  TesseraStatus status =
      tessera_portfolio_run (problem, &rules, places, height_bytes, strategy);
  uint64_t rules_height_bytes = *height_bytes;
  if (status == TESSERA_OK && *height_bytes > problem->bound_bytes)
    status = tessera_pack_refine (problem, &search, places, height_bytes, strategy);
  if (status != TESSERA_OK || *height_bytes == problem->bound_bytes ||
      *height_bytes < rules_height_bytes ||
      (options->stopped != NULL && *options->stopped))
    return status;
  return improve (problem, &rest, places, height_bytes, strategy);
}

/* What pins make of a layout of before. */
typedef struct
{
  bool has_pinned; /* somebody is pinned */
  bool has_left;   /* and not where the zone would lie: the rest may take less */
} Pinned;

static Pinned
look_at_pinned (const TesseraPackProblem *problem)
{
  Pinned pinned = { 0 };
  for (size_t i = 0; problem->limits != NULL && i < problem->n_items; i++)
    {
      uint64_t at_bytes = problem->limits[i].pinned_bytes;
      if (at_bytes == TESSERA_PACK_NOT_PINNED)
        continue;
      pinned.has_pinned = true;
      pinned.has_left |=
          at_bytes < problem->hint_low_bytes ||
          at_bytes + problem->items[i].size_bytes > problem->hint_top_bytes;
    }
  return pinned;
}

/* Of the group in hand: half of what is left, the last takes it all. Most end at what
 * they take at least, and leave it to those that don't. */
static uint64_t
slack_of (const TesseraPackCall *call)
{
  return call->n_left > 0 ? call->slack_bytes / 2 : call->slack_bytes;
}

/* What a group ended above, and not more: whoever is far above has not taken it from
 * others. */
static void
take_slack (TesseraPackCall *call, const TesseraPackProblem *problem, uint64_t height_bytes)
{
  uint64_t least_bytes = problem->settled_bytes > problem->bound_bytes
                             ? problem->settled_bytes
                             : problem->bound_bytes;
  uint64_t above_bytes = height_bytes > least_bytes ? height_bytes - least_bytes : 0;
  uint64_t most_bytes = slack_of (call);
  call->slack_bytes -= above_bytes < most_bytes ? above_bytes : most_bytes;
}

/* Takes the layout of before to where it would lie now, and says which height is low
 * enough (@has_left: somebody of the zone is pinned above it): that of before, where
 * nobody of the zone has left and nobody came between. */
static TesseraStatus
set_hints (const TesseraPackCall *call,
           const TesseraPortfolioOptions *options,
           TesseraPackProblem *problem,
           bool has_left,
           bool *out_is_hard)
{
  uint64_t slack_bytes = slack_of (call);
  *out_is_hard = false;
  if (options->former == NULL)
    return TESSERA_OK;
  problem->former = options->former;
  TesseraStatus status =
      tessera_pack_hints_find (problem, slack_bytes / GAPS_PART / call->zones.n_groups);
  const Pinned pinned = look_at_pinned (problem);
  *out_is_hard = problem->is_torn || pinned.has_pinned;
  problem->enough_bytes = problem->bound_bytes + slack_bytes;
  problem->little_bytes = options->rough_part != 0 ? call->load_bytes / LITTLE_PART : 0;
  if (options->is_settled && !problem->is_torn && !pinned.has_left && !has_left)
    problem->settled_bytes = problem->hint_top_bytes + slack_bytes;
  if (problem->settled_bytes > problem->enough_bytes)
    problem->enough_bytes = problem->settled_bytes;
  return status;
}

/* Pins above all that a zone takes: in nobody's way there, but a method that is content
 * with their height would spread up to them, below the zones to come. They go to the end
 * of their group, *@out_n_above; the last group is in nobody's way. */
static TesseraStatus
find_above (TesseraPackCall *call, size_t group, size_t *out_n_above)
{
  const size_t begin = group_begin (call, group), end = call->zones.ends[group];
  const uint32_t *items = call->zones.items;
  *out_n_above = 0;
  if (call->highest_pin_bytes == 0 || call->n_left == 0 ||
      call->items[items[begin]].zone != call->items[items[end - 1]].zone)
    return TESSERA_OK;
  const uint64_t height_bytes =
      tessera_pack_least_height (call->blocked, call->n_blocked, call->loads[group]);
  return tessera_pack_zones_put_above (&call->zones, call->limits, group, height_bytes,
                                       out_n_above);
}

/* Those lie where they are pinned, unless the rest has come to lie as high. */
static bool
note_above (TesseraPackCall *call, size_t group, size_t n_above, uint64_t height_bytes)
{
  const uint32_t *items = &call->zones.items[call->zones.ends[group] - n_above];
  for (size_t i = 0; i < n_above; i++)
    if (call->limits[items[i]].pinned_bytes < height_bytes)
      return false;
  for (size_t i = 0; i < n_above; i++)
    {
      uint64_t at_bytes = call->limits[items[i]].pinned_bytes;
      uint64_t top_bytes = at_bytes + call->items[items[i]].size_bytes;
      call->offsets[items[i]] = at_bytes;
      if (top_bytes > call->packing.height_bytes)
        call->packing.height_bytes = top_bytes;
    }
  return true;
}

/* Without the last @n_above of the group. *@out_is_noted: unless these are in the way. */
static TesseraStatus
pack_part (TesseraPackCall *call,
           size_t group,
           size_t n_above,
           const TesseraPortfolioOptions *options,
           bool *out_is_noted)
{
  size_t begin = group_begin (call, group), end = call->zones.ends[group] - n_above;
  TesseraPackProblem *problem = NULL;
  TesseraPortfolioOptions hard = *options;
  bool is_hard = false;
  uint64_t *places = NULL, height_bytes = 0, spent = 0;
  const char *strategy = TESSERA_STRATEGY_NOTHING_TO_DO;
  *out_is_noted = begin == end && note_above (call, group, n_above, 0);
  if (*out_is_noted)
    return TESSERA_OK;
  TesseraStatus status = tessera_pack_problem_new (
      call->items, call->limits, &call->zones.items[begin], end - begin,
      call->highest_pin_bytes == 0 ? call->offsets : NULL, &problem);
  if (status != TESSERA_OK)
    return status;
  call->base_bytes = problem->base_bytes;
  if (call->limits != NULL)
    status = set_limits (call, group, end, problem);
  if (status == TESSERA_OK && problem->is_whole_pool && call->most_bytes != 0 &&
      problem->bound_bytes >= call->most_bytes)
    status = TESSERA_REFUSED;
  if (status == TESSERA_OK)
    status = set_hints (call, options, problem, n_above > 0, &is_hard);
  if (is_hard && hard.work_budget < options->hard_budget)
    hard.work_budget = options->hard_budget;
  if (problem->little_bytes != 0)
    hard.work_budget = call->n_left > 0 ? call->work_left / 2 : call->work_left;
  hard.spent = &spent;
  if (status == TESSERA_OK && problem->n_items > 0)
    {
      places = calloc (problem->n_items, sizeof *places);
      status = places == NULL
                   ? TESSERA_NO_MEMORY
                   : pack_problem (problem, &hard, places, &height_bytes, &strategy);
    }
  *out_is_noted = status == TESSERA_OK && note_above (call, group, n_above, height_bytes);
  if (*out_is_noted)
    {
      note_places (call, group, problem, places, height_bytes, strategy);
      take_slack (call, problem, height_bytes);
      call->work_left -= spent < call->work_left ? spent : call->work_left;
    }
  free (places);
  tessera_pack_problem_free (problem);
  return status;
}

TesseraStatus
tessera_pack_group (TesseraPackCall *call, size_t group, const TesseraPortfolioOptions *options)
{
  size_t n_above;
  bool is_noted = false;
  call->n_left = call->zones.n_groups - group - 1;
  TesseraStatus status = TESSERA_OK;
  if (call->highest_pin_bytes != 0)
    status =
        tessera_pack_zones_block (&call->zones, call->items, call->limits, call->offsets,
                                  group, &call->blocked, &call->n_blocked);
  if (status == TESSERA_OK)
    status = find_above (call, group, &n_above);
  if (status == TESSERA_OK)
    status = pack_part (call, group, n_above, options, &is_noted);
  if (status == TESSERA_OK && !is_noted)
    status = pack_part (call, group, 0, options, &is_noted);
  free (call->blocked);
  call->blocked = NULL;
  return status;
}
