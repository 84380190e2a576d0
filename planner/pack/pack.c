/*
 * Packing: the whole, zone by zone. See pack.h.
 *
 * Zones share nothing, so each is packed by itself and put on top of the one before; where
 * something is pinned, into what the zones before it leave of the pool. The sources of the methods: MiniMalloc (ASPLOS '23) for sections, the lowest reachable
 * offset and the refusal at a capacity; Sekiyama et al. 2018 (arXiv 1804.10001) for the
 * skyline; first fit by size is what STAlloc (EuroSys '26) comes to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack.h"

#include "planner/pack/hints.h"
#include "planner/pack/limits/apart.h"
#include "planner/pack/portfolio/portfolio.h"
#include "planner/pack/zones.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What improving may cost when the caller does not say: about a second of one
 * processor. */
#define DEFAULT_WORK_BUDGET (UINT64_C (1) << 20)

/* Of a preview: some fiftieth of a second. */
#define PREVIEW_WORK_BUDGET (UINT64_C (1) << 15)

/* More threads than this have nothing to do: there are hardly more attempts. */
#define MAX_THREADS 16

/* A zone of few blocks gets more than its share of the work, since it can be hard. */
#define LEAST_PART 4

#define NOTHING_TO_DO "stacked: all live always"

static bool
item_is_valid (const TesseraItem *item)
{
  return item->size_bytes > 0 && item->begin < item->end &&
         (item->begin2 == item->end2 ||
          (item->begin2 < item->end2 && item->end2 <= item->begin));
}

static TesseraStatus
validate (const TesseraItem *items, size_t n_items)
{
  uint64_t sum_bytes = 0, pinned_bytes = 0;
  if (n_items > UINT32_MAX / 4)
    return TESSERA_INVALID;
  for (size_t i = 0; i < n_items; i++)
    {
      const TesseraItem *item = &items[i];
      uint64_t distance = item->body != 0 ? item->body_offset_bytes : 0;
      if (item->is_pinned != 0 && item->pinned_bytes > pinned_bytes)
        pinned_bytes = item->pinned_bytes;
      if (!item_is_valid (item) ||
          __builtin_add_overflow (sum_bytes, item->size_bytes, &sum_bytes) ||
          __builtin_add_overflow (sum_bytes, distance, &sum_bytes) ||
          sum_bytes > TESSERA_PACK_MOST_BYTES ||
          pinned_bytes > TESSERA_PACK_MOST_BYTES - sum_bytes)
        return TESSERA_INVALID;
    }
  return TESSERA_OK;
}

/* One call: what it was asked, and how far it has come. */
typedef struct
{
  const TesseraItem *items;
  const uint64_t *former;
  TesseraPackLimit *limits; /* NULL: nobody is held to anything */
  uint64_t highest_pin_bytes;
  TesseraPackZones zones;
  uint64_t *loads; /* [n_groups] peaks of the zones of each, summed; pins left out */
  TesseraPackRange *blocked; /* where something is pinned: what the group in work can't
                                have */
  size_t n_blocked;
  uint64_t *offsets;
  TesseraPacking packing;
  uint64_t highest_group_bytes; /* whose strategy is told */
  bool has_stopped;
  const TesseraListener *listener; /* the caller's */
  uint64_t base_bytes;             /* of the group in work, that live always */
  uint64_t n_left;                 /* groups after it: nobody knows their height yet */
  uint64_t most_bytes;             /* see TesseraPackOptions */
} Call;

/* Of a group; of the whole that is. */
static void
tell_of_whole (void *user, const TesseraNews *news)
{
  const Call *call = user;
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
group_begin (const Call *call, size_t group)
{
  return group == 0 ? 0 : call->zones.ends[group - 1];
}

/* Of the items of a group up to @end. */
static TesseraStatus
find_load (const Call *call, size_t group, size_t end, uint64_t *out_load_bytes)
{
  *out_load_bytes = call->loads[group];
  return end == call->zones.ends[group]
             ? TESSERA_OK
             : tessera_pack_zones_load (&call->zones, call->items,
                                        group_begin (call, group), end, out_load_bytes);
}

static TesseraStatus
copy_blocked (const Call *call, TesseraPackProblem *problem)
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
set_limits (Call *call, size_t group, size_t end, TesseraPackProblem *problem)
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
note_places (Call *call,
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

/* Pins above all that a zone takes: in nobody's way there, but a method that is content
 * with their height would spread up to them, below the zones to come. They go to the end
 * of their group, *@out_n_above; the last group is in nobody's way. */
static TesseraStatus
find_above (Call *call, size_t group, size_t *out_n_above)
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
note_above (Call *call, size_t group, size_t n_above, uint64_t height_bytes)
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
pack_part (Call *call,
           size_t group,
           size_t n_above,
           const TesseraPortfolioOptions *options,
           bool *out_is_noted)
{
  size_t begin = group_begin (call, group), end = call->zones.ends[group] - n_above;
  TesseraPackProblem *problem = NULL;
  uint64_t *places = NULL, height_bytes = 0;
  const char *strategy = NOTHING_TO_DO;
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
  if (status == TESSERA_OK && call->former != NULL)
    status = tessera_pack_hints_find (problem, call->former);
  if (status == TESSERA_OK && problem->n_items > 0)
    {
      places = calloc (problem->n_items, sizeof *places);
      status = places == NULL ? TESSERA_NO_MEMORY
                              : tessera_portfolio_run (problem, options, places,
                                                       &height_bytes, &strategy);
    }
  *out_is_noted = status == TESSERA_OK && note_above (call, group, n_above, height_bytes);
  if (*out_is_noted)
    note_places (call, group, problem, places, height_bytes, strategy);
  free (places);
  tessera_pack_problem_free (problem);
  return status;
}

/* The next group, on top of what there is, or, where something is pinned, in the whole
 * pool. */
static TesseraStatus
pack_group (Call *call, size_t group, const TesseraPortfolioOptions *options)
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

static TesseraPortfolioOptions
portfolio_options (const TesseraPackOptions *options)
{
  TesseraPortfolioOptions result = { .work_budget = DEFAULT_WORK_BUDGET };
  if (options != NULL)
    {
      result.n_threads = options->n_threads;
      result.progress = options->progress;
      result.listener = options->listener;
      result.is_preview = options->is_preview;
      if (options->is_preview)
        result.work_budget = PREVIEW_WORK_BUDGET;
      else if (options->work_budget != 0)
        result.work_budget = options->work_budget;
    }
  if (result.n_threads == 0)
    {
      long n_processors = sysconf (_SC_NPROCESSORS_ONLN);
      result.n_threads = n_processors > 0 ? (uint32_t) n_processors : 1;
    }
  if (result.n_threads > MAX_THREADS)
    result.n_threads = MAX_THREADS;
  return result;
}

static uint64_t
part_of (uint64_t whole, size_t part, size_t parts)
{
  return (uint64_t) ((double) whole * (double) part / (double) parts);
}

/* Repairs, and what packs anew, tell nothing while they work. */
static void
tell_end (const Call *call)
{
  const TesseraNews news = { .height_bytes = call->packing.height_bytes,
                             .bound_bytes = call->packing.proven_bound_bytes,
                             .doing = "packed" };
  if (call->listener != NULL)
    call->listener->tell (call->listener->user, &news);
}

/* Of each group; the bound is all of them. */
static TesseraStatus
find_loads (Call *call)
{
  TesseraStatus status = TESSERA_OK;
  call->loads = malloc (call->zones.n_groups * sizeof *call->loads);
  if (call->loads == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t g = 0, begin = 0; g < call->zones.n_groups && status == TESSERA_OK;
       begin = call->zones.ends[g++])
    {
      status = tessera_pack_zones_load (&call->zones, call->items, begin,
                                        call->zones.ends[g], &call->loads[g]);
      call->packing.bound_bytes += call->loads[g];
    }
  return status;
}

/* Limits, zones, bound. */
static TesseraStatus
call_init (Call *call, const TesseraItem *items, size_t n_items)
{
  *call = (Call){ .items = items, .packing = { .strategy = NOTHING_TO_DO } };
  TesseraStatus status = validate (items, n_items);
  if (status != TESSERA_OK || n_items == 0)
    return status;
  status =
      tessera_pack_limits_new (items, n_items, &call->limits, call->packing.conflict);
  if (status != TESSERA_OK)
    return status;
  call->highest_pin_bytes = tessera_pack_highest_pin (items, call->limits, n_items);
  status = tessera_pack_zones_init (&call->zones, items, call->limits, n_items);
  if (status == TESSERA_OK)
    status = find_loads (call);
  if (call->packing.bound_bytes < call->highest_pin_bytes)
    call->packing.bound_bytes = call->highest_pin_bytes;
  return status;
}

static void
call_clear (Call *call)
{
  tessera_pack_zones_clear (&call->zones);
  free (call->limits);
  free (call->loads);
}

static TesseraStatus
pack_groups (Call *call, size_t n_items, const TesseraPortfolioOptions *options)
{
  TesseraStatus status = TESSERA_OK;
  for (size_t g = 0, begin = 0; g < call->zones.n_groups && status == TESSERA_OK; g++)
    {
      TesseraPortfolioOptions group_options = *options;
      size_t end = call->zones.ends[g];
      group_options.work_budget = part_of (options->work_budget, end - begin, n_items);
      if (group_options.work_budget < options->work_budget / LEAST_PART)
        group_options.work_budget = options->work_budget / LEAST_PART;
      group_options.fraction_begin = (double) begin / (double) n_items;
      group_options.fraction_end = (double) end / (double) n_items;
      status = pack_group (call, g, &group_options);
      begin = end;
    }
  return status;
}

TesseraStatus
tessera_pack (const TesseraItem *items,
              size_t n_items,
              const TesseraPackOptions *options,
              uint64_t *offsets,
              TesseraPacking *out_packing)
{
  Call call;
  TesseraStatus status = call_init (&call, items, n_items);
  *out_packing =
      (TesseraPacking){ .strategy = NOTHING_TO_DO, .is_optimal = n_items == 0 };
  if (status == TESSERA_REFUSED)
    memcpy (out_packing->conflict, call.packing.conflict, sizeof call.packing.conflict);
  if (status != TESSERA_OK || n_items == 0)
    goto out;
  TesseraPortfolioOptions options_of_all = portfolio_options (options);
  const TesseraListener listener = { tell_of_whole, &call };
  call.offsets = offsets;
  call.listener = options_of_all.listener;
  if (call.listener != NULL)
    options_of_all.listener = &listener;
  if (options != NULL && options->keeps_best)
    options_of_all.stopped = &call.has_stopped;
  call.most_bytes = options != NULL ? options->most_bytes : 0;
  call.former = options != NULL ? options->former : NULL;
  status = pack_groups (&call, n_items, &options_of_all);
  if (call.packing.proven_bound_bytes < call.packing.bound_bytes)
    call.packing.proven_bound_bytes = call.packing.bound_bytes;
  if (status == TESSERA_OK && !tessera_progress (options_of_all.progress, 1) &&
      options_of_all.stopped == NULL)
    status = TESSERA_CANCELLED;
  if (status == TESSERA_OK)
    {
      call.packing.is_optimal =
          call.packing.height_bytes == call.packing.proven_bound_bytes;
      call.packing.is_cut_short = call.has_stopped;
      *out_packing = call.packing;
      tell_end (&call);
    }
out:
  call_clear (&call);
  return status;
}

TesseraStatus
tessera_pack_bound (const TesseraItem *items, size_t n_items, uint64_t *out_bound_bytes)
{
  Call call;
  TesseraStatus status = call_init (&call, items, n_items);
  *out_bound_bytes = status == TESSERA_OK ? call.packing.bound_bytes : 0;
  call_clear (&call);
  return status;
}
