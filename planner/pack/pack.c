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

#include "planner/pack/portfolio.h"

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

#define STRATEGY_NOTHING_TO_DO "stacked: all live always"

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

/* A height never exceeds the sum of all sizes, and that has to fit into 63 bits. */
static TesseraStatus
validate (const TesseraItem *items, size_t n_items)
{
  uint64_t sum_bytes = 0;
  if (n_items > UINT32_MAX / 4)
    return TESSERA_INVALID;
  for (size_t i = 0; i < n_items; i++)
    if (!item_is_valid (&items[i]) ||
        __builtin_add_overflow (sum_bytes, items[i].size_bytes, &sum_bytes) ||
        sum_bytes > INT64_MAX)
      return TESSERA_INVALID;
  return TESSERA_OK;
}

typedef struct
{
  uint32_t zone, item;
} Member;

static int
compare_members (const void *a, const void *b)
{
  const Member *x = a, *y = b;
  if (x->zone != y->zone)
    return x->zone < y->zone ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

/* The items sorted by zone; ends[z] is where the z-th zone ends. */
typedef struct
{
  uint32_t *items;
  size_t *ends;
  size_t n_zones;
} Zones;

static void
zones_clear (Zones *zones)
{
  free (zones->items);
  free (zones->ends);
}

static TesseraStatus
zones_init (Zones *zones, const TesseraItem *items, size_t n_items)
{
  Member *members = calloc (n_items, sizeof *members);
  zones->items = calloc (n_items, sizeof *zones->items);
  zones->ends = calloc (n_items, sizeof *zones->ends);
  if (members == NULL || zones->items == NULL || zones->ends == NULL)
    {
      free (members);
      return TESSERA_NO_MEMORY;
    }
  for (size_t i = 0; i < n_items; i++)
    members[i] = (Member){ items[i].zone, (uint32_t) i };
  qsort (members, n_items, sizeof *members, compare_members);
  for (size_t i = 0; i < n_items; i++)
    {
      zones->items[i] = members[i].item;
      if (i + 1 == n_items || members[i + 1].zone != members[i].zone)
        zones->ends[zones->n_zones++] = i + 1;
    }
  free (members);
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
      if (options->work_budget != 0)
        result.work_budget = options->work_budget;
      if (options->fit_at_most != 0)
        result.fit_at_most = options->fit_at_most;
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

/* Packs one zone on top of packing->height_bytes. */
static TesseraStatus
pack_zone (const TesseraItem *items,
           const uint32_t *members,
           size_t n_members,
           const TesseraPortfolioOptions *options,
           uint64_t *offsets,
           TesseraPacking *packing,
           uint64_t *highest_zone_bytes)
{
  TesseraPackProblem *problem = NULL;
  uint64_t *places = NULL, height_bytes = 0;
  const char *strategy = STRATEGY_NOTHING_TO_DO;
  TesseraStatus status =
      tessera_pack_problem_new (items, members, n_members, offsets, &problem);
  if (status != TESSERA_OK)
    return status;
  if (problem->n_items > 0)
    {
      places = calloc (problem->n_items, sizeof *places);
      status = places == NULL ? TESSERA_NO_MEMORY
                              : tessera_portfolio_run (problem, options, places,
                                                       &height_bytes, &strategy);
    }
  if (status == TESSERA_OK)
    {
      for (size_t i = 0; i < problem->n_items; i++)
        offsets[problem->items[i].source] = problem->base_bytes + places[i];
      for (size_t i = 0; i < n_members; i++)
        offsets[members[i]] += packing->height_bytes;
      height_bytes += problem->base_bytes;
      packing->height_bytes += height_bytes;
      packing->bound_bytes += problem->base_bytes + problem->bound_bytes;
      if (height_bytes > *highest_zone_bytes)
        {
          *highest_zone_bytes = height_bytes;
          packing->strategy = strategy;
        }
    }
  free (places);
  tessera_pack_problem_free (problem);
  return status;
}

TesseraStatus
tessera_pack (const TesseraItem *items,
              size_t n_items,
              const TesseraPackOptions *options,
              uint64_t *offsets,
              TesseraPacking *out_packing)
{
  *out_packing = (TesseraPacking){ .strategy = STRATEGY_NOTHING_TO_DO };
  TesseraStatus status = validate (items, n_items);
  if (status != TESSERA_OK || n_items == 0)
    return status;
  const TesseraPortfolioOptions options_of_all = portfolio_options (options);
  TesseraPortfolioOptions zone_options = options_of_all;
  TesseraPacking packing = *out_packing;
  uint64_t highest_zone_bytes = 0;
  Zones zones = { 0 };
  status = zones_init (&zones, items, n_items);
  for (size_t z = 0, begin = 0; z < zones.n_zones && status == TESSERA_OK; z++)
    {
      size_t n_members = zones.ends[z] - begin;
      zone_options.work_budget = part_of (options_of_all.work_budget, n_members, n_items);
      zone_options.fraction_begin = (double) begin / (double) n_items;
      zone_options.fraction_end = (double) zones.ends[z] / (double) n_items;
      status = pack_zone (items, &zones.items[begin], zones.ends[z] - begin,
                          &zone_options, offsets, &packing, &highest_zone_bytes);
      begin = zones.ends[z];
    }
  zones_clear (&zones);
  if (status == TESSERA_OK && !tessera_progress (zone_options.progress, 1))
    status = TESSERA_CANCELLED;
  if (status == TESSERA_OK)
    *out_packing = packing;
  return status;
}

TesseraStatus
tessera_pack_bound (const TesseraItem *items, size_t n_items, uint64_t *out_bound_bytes)
{
  *out_bound_bytes = 0;
  TesseraStatus status = validate (items, n_items);
  if (status != TESSERA_OK || n_items == 0)
    return status;
  Zones zones = { 0 };
  uint64_t bound_bytes = 0;
  uint64_t *offsets = calloc (n_items, sizeof *offsets);
  status = offsets == NULL ? TESSERA_NO_MEMORY : zones_init (&zones, items, n_items);
  for (size_t z = 0, begin = 0; z < zones.n_zones && status == TESSERA_OK; z++)
    {
      TesseraPackProblem *problem;
      status = tessera_pack_problem_new (items, &zones.items[begin],
                                         zones.ends[z] - begin, offsets, &problem);
      if (status == TESSERA_OK)
        bound_bytes += problem->base_bytes + problem->bound_bytes;
      tessera_pack_problem_free (problem);
      begin = zones.ends[z];
    }
  free (offsets);
  zones_clear (&zones);
  if (status == TESSERA_OK)
    *out_bound_bytes = bound_bytes;
  return status;
}
