/*
 * Packing: the whole, zone by zone. See pack.h.
 *
 * Zones share nothing, so each is packed by itself and put on top of the one before. The
 * sources of the methods: MiniMalloc (ASPLOS '23) for sections, the lowest reachable
 * offset and the refusal at a capacity; Sekiyama et al. 2018 (arXiv 1804.10001) for the
 * skyline; first fit by size is what STAlloc (EuroSys '26) comes to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack.h"

#include "planner/pack/limits/apart.h"
#include "planner/pack/first-fit.h"
#include "planner/pack/groups.h"
#include "planner/pack/spread.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A walk over neighbours costs the square of the number of items; above this those
 * in other orders than that of time are left out (at 30,000 items one takes about a
 * quarter of a second). */
#define MAX_ITEMS_TO_FIT 32768

/* What improving may cost when the caller does not say: about a second of one
 * processor. */
#define DEFAULT_WORK_BUDGET (UINT64_C (1) << 20)

/* More threads than this have nothing to do: the portfolio is not longer. */
#define MAX_THREADS 16

/* Of so many items a fourth of the looks at a glance finds the same bases (spread.h); of
 * more it costs little beside the rest. */
#define FEW_AT_A_GLANCE 4096
#define PART_OF_GLANCE 4

/* More owners than this would take too much room for their skylines. */
#define MAX_OWNERS 256

/* The life lies within one of the wide ones. */
static bool
is_covered (const TesseraItem *item, uint32_t begin, uint32_t end)
{
  return begin >= end || (item->wide_begin <= begin && end <= item->wide_end) ||
         (item->wide_begin2 <= begin && end <= item->wide_end2);
}

static bool
item_is_valid (const TesseraItem *item)
{
  if (item->size_bytes == 0 || item->begin >= item->end || item->owner >= MAX_OWNERS)
    return false;
  if (item->begin2 != item->end2 &&
      (item->begin2 >= item->end2 || item->end2 > item->begin))
    return false;
  if (item->wide_begin == item->wide_end)
    return item->wide_end == 0 && item->wide_begin2 == item->wide_end2;
  return item->wide_begin < item->wide_end && item->wide_begin2 <= item->wide_end2 &&
         is_covered (item, item->begin, item->end) &&
         is_covered (item, item->begin2, item->end2);
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

static TesseraPortfolioOptions
portfolio_options (const TesseraPackOptions *options)
{
  TesseraPortfolioOptions result = { .work_budget = DEFAULT_WORK_BUDGET,
                                     .fit_at_most = MAX_ITEMS_TO_FIT };
  if (options != NULL)
    {
      result.n_threads = options->n_threads;
      result.progress = options->progress;
      result.listener = options->listener;
      if (options->work_budget != 0)
        result.work_budget = options->work_budget;
      if (options->fit_at_most != 0)
        result.fit_at_most = options->fit_at_most;
      result.n_orders = options->n_orders;
      result.former = options->former;
      result.is_brief = options->is_brief;
      result.is_settled = options->is_settled;
      result.rough_part = options->rough_part;
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
tell_end (const TesseraPackCall *call)
{
  const TesseraNews news = { .height_bytes = call->packing.height_bytes,
                             .bound_bytes = call->packing.proven_bound_bytes,
                             .doing = "packed" };
  if (call->listener != NULL)
    call->listener->tell (call->listener->user, &news);
}

/* A pin makes its own zone hard, and perhaps the one it lies in. */
static uint64_t
count_hard (const TesseraPackCall *call)
{
  uint64_t n = 0;
  for (size_t g = 0, i = 0; g < call->zones.n_groups; g++)
    {
      bool has_pin = false;
      for (; i < call->zones.ends[g]; i++)
        has_pin = has_pin || (call->limits != NULL &&
                              call->limits[call->zones.items[i]].pinned_bytes !=
                                  TESSERA_PACK_NOT_PINNED);
      n += has_pin ? 2 : 0;
    }
  return n == 0 ? 1 : n < call->zones.n_groups ? n : call->zones.n_groups;
}

/* Of each group; the bound is all of them. */
static TesseraStatus
find_loads (TesseraPackCall *call)
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
call_init (TesseraPackCall *call, const TesseraItem *items, size_t n_items)
{
  *call = (TesseraPackCall){ .items = items,
                             .packing = { .strategy = TESSERA_STRATEGY_NOTHING_TO_DO } };
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
  call->load_bytes = call->packing.bound_bytes;
  if (call->packing.bound_bytes < call->highest_pin_bytes)
    call->packing.bound_bytes = call->highest_pin_bytes;
  return status;
}

static void
call_clear (TesseraPackCall *call)
{
  tessera_pack_zones_clear (&call->zones);
  free (call->limits);
  free (call->loads);
}

/* The portfolio's first fit by size is of those that do not live always: these lie below
 * all others. Among them, each where its size puts it, it can end lower. */
static TesseraStatus
try_first_fit (TesseraPackCall *call, size_t n_items)
{
  uint64_t height_bytes, *offsets = malloc (n_items * sizeof *offsets);
  TesseraStatus status =
      offsets == NULL
          ? TESSERA_NO_MEMORY
          : tessera_pack_first_fit (call->items, n_items, offsets, &height_bytes);
  if (status == TESSERA_OK && height_bytes < call->packing.height_bytes)
    {
      memcpy (call->offsets, offsets, n_items * sizeof *offsets);
      call->packing.height_bytes = height_bytes;
      call->packing.strategy = "first fit by size, of all";
    }
  free (offsets);
  return status;
}

static TesseraStatus
pack_all (const TesseraItem *items,
          size_t n_items,
          const TesseraPackOptions *options,
          uint64_t *offsets,
          TesseraPacking *out_packing)
{
  TesseraPackCall call;
  TesseraStatus status = call_init (&call, items, n_items);
  *out_packing = (TesseraPacking){ .strategy = TESSERA_STRATEGY_NOTHING_TO_DO,
                                   .is_optimal = n_items == 0 };
  if (status == TESSERA_REFUSED)
    memcpy (out_packing->conflict, call.packing.conflict, sizeof call.packing.conflict);
  if (status != TESSERA_OK || n_items == 0)
    goto out;
  TesseraPortfolioOptions options_of_all = portfolio_options (options);
  const TesseraListener listener = { tessera_pack_call_tell, &call };
  call.offsets = offsets;
  call.listener = options_of_all.listener;
  if (call.listener != NULL)
    options_of_all.listener = &listener;
  if (options != NULL && options->keeps_best)
    options_of_all.stopped = &call.has_stopped;
  if (options != NULL && options->is_glance)
    options_of_all.glance_part = n_items <= FEW_AT_A_GLANCE ? PART_OF_GLANCE : 1;
  call.most_bytes = options != NULL ? options->most_bytes : 0;
  if (options_of_all.rough_part != 0)
    call.slack_bytes = call.packing.bound_bytes / options_of_all.rough_part;
  options_of_all.hard_budget = options_of_all.work_budget / count_hard (&call);
  call.work_left = options_of_all.work_budget;
  for (size_t g = 0, begin = 0; g < call.zones.n_groups && status == TESSERA_OK; g++)
    {
      TesseraPortfolioOptions group_options = options_of_all;
      size_t end = call.zones.ends[g];
      group_options.work_budget =
          part_of (options_of_all.work_budget, end - begin, n_items);
      group_options.fraction_begin = (double) begin / (double) n_items;
      group_options.fraction_end = (double) end / (double) n_items;
      status = tessera_pack_group (&call, g, &group_options);
      begin = end;
    }
  if (call.packing.proven_bound_bytes < call.packing.bound_bytes)
    call.packing.proven_bound_bytes = call.packing.bound_bytes;
  if (status == TESSERA_OK && call.limits == NULL && options_of_all.former == NULL &&
      call.packing.height_bytes > call.packing.proven_bound_bytes &&
      n_items <= options_of_all.fit_at_most)
    status = try_first_fit (&call, n_items);
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
tessera_pack (const TesseraItem *items,
              size_t n_items,
              const TesseraPackOptions *options,
              uint64_t *offsets,
              TesseraPacking *out_packing)
{
  return options != NULL && options->former != NULL && options->is_brief && n_items > 0
             ? tessera_pack_spread (items, n_items, options, pack_all, offsets,
                                    out_packing)
             : pack_all (items, n_items, options, offsets, out_packing);
}

TesseraStatus
tessera_pack_bound (const TesseraItem *items, size_t n_items, uint64_t *out_bound_bytes)
{
  TesseraPackCall call;
  TesseraStatus status = call_init (&call, items, n_items);
  *out_bound_bytes = status == TESSERA_OK ? call.packing.bound_bytes : 0;
  call_clear (&call);
  return status;
}

TesseraStatus
tessera_pack_closed_bound (const TesseraItem *items,
                           size_t n_items,
                           uint64_t *out_bound_bytes)
{
  TesseraPackZones zones = { 0 };
  TesseraStatus status = validate (items, n_items);
  *out_bound_bytes = 0;
  if (status == TESSERA_OK && n_items > 0)
    status = tessera_pack_zones_init (&zones, items, NULL, n_items);
  for (size_t g = 0, begin = 0; g < zones.n_groups && status == TESSERA_OK; g++)
    {
      TesseraPackProblem *problem;
      status = tessera_pack_problem_new (items, NULL, &zones.items[begin],
                                         zones.ends[g] - begin, NULL, &problem);
      if (status != TESSERA_OK)
        break;
      *out_bound_bytes += problem->bound_bytes;
      tessera_pack_problem_free (problem);
      begin = zones.ends[g];
    }
  tessera_pack_zones_clear (&zones);
  return status;
}

static TesseraStatus
find_held_bound (const TesseraItem *items,
                 size_t n_items,
                 TesseraPackLimit *limits,
                 uint32_t *members,
                 uint64_t *out_bound_bytes)
{
  TesseraPackProblem *problem;
  uint64_t pin_bytes;
  tessera_pack_limits_fill (items, n_items, limits);
  for (uint32_t i = 0; i < n_items; i++)
    members[i] = i;
  TesseraStatus status =
      tessera_pack_problem_new (items, limits, members, n_items, NULL, &problem);
  if (status != TESSERA_OK)
    return status;
  *out_bound_bytes = tessera_pack_apart_bound (problem);
  pin_bytes = tessera_pack_highest_pin (items, limits, n_items);
  if (pin_bytes > *out_bound_bytes)
    *out_bound_bytes = pin_bytes;
  tessera_pack_problem_free (problem);
  return TESSERA_OK;
}

TesseraStatus
tessera_pack_held_bound (const TesseraItem *items,
                         size_t n_items,
                         uint64_t *out_bound_bytes)
{
  TesseraPackLimit *limits = malloc ((n_items + 1) * sizeof *limits);
  uint32_t *members = malloc ((n_items + 1) * sizeof *members);
  TesseraStatus status = validate (items, n_items);
  *out_bound_bytes = 0;
  if (limits == NULL || members == NULL)
    status = TESSERA_NO_MEMORY;
  if (status == TESSERA_OK && n_items > 0)
    status = find_held_bound (items, n_items, limits, members, out_bound_bytes);
  free (limits);
  free (members);
  return status;
}
