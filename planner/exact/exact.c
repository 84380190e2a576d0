/*
 * Exact packing: the whole. See planner/exact.h.
 *
 * Sizes become units of their greatest common divisor, what is easy is taken out, each
 * core is searched, small ones first; one core without a layout is a proof for all.
 *
 * A core is searched by several rules and orders in turn. Which order is good nobody
 * knows beforehand: one needs a thousand decisions, another does not end. So each
 * combination of valley rule and order gets a small share of work, then all get a larger
 * one, with orders that are shaken a little. What was learned stays: where in time states
 * are refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/exact.h"

#include "planner/exact/private.h"

#include <stdlib.h>
#include <string.h>

/* About a second. */
#define DEFAULT_WORK_BUDGET (UINT64_C (1) << 29)

/* Cores of more are not looked at: pairs of items are. */
#define MAX_ITEMS_OF_CORE 4096

/* The sum of all sizes has to fit into 63 bits: the capacity is never taken for larger,
 * and nothing is looked at that ends above both together. */
static TesseraStatus
validate (const TesseraItem *items, size_t n_items, uint64_t *sum_bytes)
{
  *sum_bytes = 0;
  if (n_items > UINT32_MAX / 8)
    return TESSERA_INVALID;
  for (size_t i = 0; i < n_items; i++)
    if (!tessera_item_is_valid (&items[i]) ||
        __builtin_add_overflow (*sum_bytes, items[i].size_bytes, sum_bytes) ||
        *sum_bytes > INT64_MAX)
      return TESSERA_INVALID;
  return TESSERA_OK;
}

uint64_t
tessera_exact_unit (const TesseraItem *items, size_t n_items)
{
  uint64_t divisor = items[0].size_bytes;
  for (size_t i = 1; i < n_items; i++)
    for (uint64_t other = items[i].size_bytes; other != 0;)
      {
        uint64_t rest = divisor % other;
        divisor = other;
        other = rest;
      }
  return divisor;
}

/* Decisions that every combination gets in the first round, and times the items of the
 * core if that is more. Later rounds get more by a quarter each. */
#define FIRST_SHARE 2000
#define FIRST_SHARE_OF_ITEMS 4

typedef enum
{
  ORDER_LOAD_WIDTH, /* largest load of its life, then sections, then size */
  ORDER_AREA,       /* size x sections */
  ORDER_WIDTH,      /* sections, then size */
  ORDER_LOAD_AREA,  /* largest load of its life, then area */
  N_ORDERS
} Order;

#define N_WAYS (N_ORDERS * TESSERA_N_VALLEY_RULES)

typedef struct
{
  double keys[3]; /* descending */
  uint32_t item;
} Entry;

static int
compare_entries (const void *a, const void *b)
{
  const Entry *x = a, *y = b;
  for (int k = 0; k < 3; k++)
    if (x->keys[k] != y->keys[k])
      return x->keys[k] > y->keys[k] ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

static uint64_t
largest_load (const TesseraCore *core, const TesseraCoreItem *item)
{
  uint64_t largest = 0;
  for (uint32_t s = item->begin; s < item->end; s++)
    largest = MAX (largest, core->load[s]);
  for (uint32_t s = item->begin2; s < item->end2; s++)
    largest = MAX (largest, core->load[s]);
  return largest;
}

static void
fill_entry (const TesseraCore *core, uint32_t item, Order order, Entry *entry)
{
  const TesseraCoreItem *it = &core->items[item];
  double size = (double) it->size;
  double width = (double) (it->end - it->begin) + (double) (it->end2 - it->begin2);
  double load = (double) largest_load (core, it);
  const double keys[N_ORDERS][3] = {
    { load, width, size },
    { size * width, size, 0 },
    { width, size, 0 },
    { load, size * width, 0 },
  };
  memcpy (entry->keys, keys[order], sizeof entry->keys);
  entry->item = item;
}

/* Splitmix64, for which any seed is good: the same everywhere. 0 <= result < 1. */
static double
random_fraction (uint64_t *state)
{
  uint64_t z = (*state += UINT64_C (0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
  return (double) ((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* @shaking: the largest part of its first key that an item may win or lose by chance. */
static void
make_ranks (const TesseraCore *core,
            Order order,
            double shaking,
            uint64_t *random_state,
            Entry *entries,
            uint32_t *ranks)
{
  for (uint32_t i = 0; i < core->n_items; i++)
    {
      fill_entry (core, i, order, &entries[i]);
      if (shaking > 0)
        entries[i].keys[0] *= 1 + shaking * (2 * random_fraction (random_state) - 1);
    }
  qsort (entries, core->n_items, sizeof *entries, compare_entries);
  for (uint32_t k = 0; k < core->n_items; k++)
    ranks[entries[k].item] = k;
}

/* Rounds of walks until one has the answer or the budget is spent. */
static TesseraStatus
run_rounds (TesseraDescent *descent,
            Entry *entries,
            uint32_t *ranks,
            uint64_t work_budget,
            uint32_t turn,
            TesseraExactResult *result)
{
  static const double shakings[] = { 0.1, 0.4 };
  TesseraExactState *state = descent->state;
  uint64_t random_state = turn;
  uint64_t share = (uint64_t) state->core->n_items * FIRST_SHARE_OF_ITEMS;
  share = share > FIRST_SHARE ? share : FIRST_SHARE;
  TesseraStatus status = TESSERA_OK;
  for (uint32_t round = 0; status == TESSERA_OK && state->work < work_budget; round++)
    {
      for (uint32_t i = 0; i < N_WAYS; i++)
        {
          uint32_t k = (i + turn) % N_WAYS;
          TesseraValleyRule rule = k % TESSERA_N_VALLEY_RULES;
          Order order = (k + k / TESSERA_N_VALLEY_RULES) % N_ORDERS;
          make_ranks (state->core, order, round == 0 ? 0 : shakings[round % 2],
                      &random_state, entries, ranks);
          status = tessera_descent_walk (descent, rule, share, &result->answer);
          if (status != TESSERA_OK || result->answer != TESSERA_EXACT_UNKNOWN)
            return status;
          if (state->work >= work_budget)
            break;
        }
      share += share / 4;
    }
  return status;
}

/* @floors: (array length=core->n_items): filled where it fits: places, in units. Counts
 * are added to @result. */
static TesseraStatus
race (const TesseraCore *core,
      const TesseraExactOptions *options,
      uint64_t work_budget,
      uint64_t *floors,
      TesseraExactResult *result)
{
  TesseraExactState state;
  Entry *entries = g_new (Entry, core->n_items);
  uint32_t *ranks = g_new (uint32_t, core->n_items);
  TesseraDescent descent = { .state = &state,
                             .ranks = ranks,
                             .progress = options->progress,
                             .work_budget = work_budget };
  TesseraStatus status = TESSERA_OK;
  tessera_exact_state_init (&state, core);
  tessera_descent_init (&descent);
  if (tessera_exact_state_start (&state))
    status = run_rounds (&descent, entries, ranks, work_budget, options->turn, result);
  else
    result->answer = TESSERA_EXACT_IMPOSSIBLE;
  if (status == TESSERA_OK && result->answer == TESSERA_EXACT_FITS)
    memcpy (floors, state.floors, core->n_items * sizeof *floors);
  result->n_decisions += descent.n_decisions;
  result->work += state.work;
  tessera_descent_clear (&descent);
  tessera_exact_state_clear (&state);
  g_free (entries);
  g_free (ranks);
  return status;
}

static int
compare_cores (const void *a, const void *b)
{
  const TesseraReducedPart *x = a, *y = b;
  if (x->n_items != y->n_items)
    return x->n_items < y->n_items ? -1 : 1;
  return x->first < y->first ? -1 : x->first > y->first;
}

static TesseraStatus
search_core (TesseraReduction *reduction,
             const TesseraReducedPart *part,
             const TesseraExactOptions *options,
             uint64_t work_budget,
             TesseraExactResult *result)
{
  result->answer = TESSERA_EXACT_UNKNOWN;
  if (part->n_items > MAX_ITEMS_OF_CORE)
    return TESSERA_OK;
  result->work += (uint64_t) part->n_items * part->n_items / 4;
  TesseraCore *core = tessera_core_new (&reduction->items[part->first], part->n_items,
                                        part->n_sections, part->capacity);
  if (core == NULL)
    return TESSERA_OK;
  uint64_t *floors = g_new (uint64_t, part->n_items);
  TesseraStatus status = race (core, options, work_budget, floors, result);
  if (status == TESSERA_OK && result->answer == TESSERA_EXACT_FITS)
    for (uint32_t i = 0; i < part->n_items; i++)
      reduction->places[core->items[i].source] = part->base + floors[i];
  g_free (floors);
  tessera_core_free (core);
  return status;
}

/* The answer of all cores: the worst that one of them gives. */
static TesseraStatus
search_cores (TesseraReduction *reduction,
              const TesseraExactOptions *options,
              uint64_t work_budget,
              TesseraExactResult *result)
{
  TesseraExactAnswer answer =
      reduction->is_impossible ? TESSERA_EXACT_IMPOSSIBLE : TESSERA_EXACT_FITS;
  qsort (reduction->cores, reduction->n_cores, sizeof *reduction->cores, compare_cores);
  TesseraStatus status = TESSERA_OK;
  for (uint32_t k = 0; k < reduction->n_cores && status == TESSERA_OK &&
                       answer != TESSERA_EXACT_IMPOSSIBLE;
       k++)
    {
      uint64_t left = result->work < work_budget ? work_budget - result->work : 0;
      status = search_core (reduction, &reduction->cores[k], options,
                            left / (reduction->n_cores - k), result);
      if (result->answer != TESSERA_EXACT_FITS)
        answer = result->answer;
    }
  result->answer = answer;
  return status;
}

TesseraStatus
tessera_exact_search (const TesseraItem *items,
                      size_t n_items,
                      const TesseraExactOptions *options,
                      uint64_t *offsets,
                      TesseraExactResult *out_result)
{
  TesseraReduction reduction;
  uint64_t sum_bytes;
  *out_result = (TesseraExactResult){ .answer = TESSERA_EXACT_UNKNOWN };
  TesseraStatus status = validate (items, n_items, &sum_bytes);
  if (status != TESSERA_OK)
    return status;
  TesseraExactResult result = { .answer = TESSERA_EXACT_FITS };
  if (n_items == 0)
    {
      *out_result = result;
      return TESSERA_OK;
    }
  const uint64_t unit_bytes = tessera_exact_unit (items, n_items);
  const uint64_t capacity_bytes = MIN (options->capacity_bytes, sum_bytes);
  const uint64_t work_budget =
      options->work_budget != 0 ? options->work_budget : DEFAULT_WORK_BUDGET;
  tessera_reduction_init (&reduction, items, (uint32_t) n_items, unit_bytes);
  tessera_reduction_run (&reduction, capacity_bytes / unit_bytes, work_budget);
  result.work = reduction.work;
  status = search_cores (&reduction, options, work_budget, &result);
  if (status == TESSERA_OK && result.answer == TESSERA_EXACT_FITS)
    {
      tessera_reduction_finish (&reduction);
      for (size_t i = 0; i < n_items; i++)
        offsets[i] = reduction.places[i] * unit_bytes;
    }
  if (status == TESSERA_OK)
    *out_result = result;
  tessera_reduction_clear (&reduction);
  return status;
}
