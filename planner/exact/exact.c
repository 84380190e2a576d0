/*
 * Exact packing: the whole. See planner/exact.h.
 *
 * Sizes become units of their greatest common divisor, what is easy is taken out
 * (reduce.h), each core is searched (race.h), small ones first; one core without a layout
 * is a proof for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/exact.h"

#include "planner/exact/race.h"
#include "planner/exact/reduce.h"

#include <stdlib.h>
#include <string.h>

/* About a second. */
#define DEFAULT_WORK_BUDGET (UINT64_C (1) << 29)

/* Cores of more are not looked at: pairs of items are. */
#define MAX_ITEMS_OF_CORE 4096

/* The sum of all sizes has to fit into 63 bits: the capacity is never taken for larger,
 * and nothing is looked at that ends above both together. */
static TesseraStatus
validate (const TesseraExactItem *items, size_t n_items, uint64_t *sum_bytes)
{
  *sum_bytes = 0;
  if (n_items > UINT32_MAX / 8)
    return TESSERA_INVALID;
  for (size_t i = 0; i < n_items; i++)
    {
      const TesseraExactItem *item = &items[i];
      bool has_second = item->begin2 != item->end2;
      if (item->size_bytes == 0 || item->begin >= item->end ||
          (has_second && (item->begin2 >= item->end2 || item->end2 > item->begin)) ||
          __builtin_add_overflow (*sum_bytes, item->size_bytes, sum_bytes) ||
          *sum_bytes > INT64_MAX)
        return TESSERA_INVALID;
    }
  return TESSERA_OK;
}

static uint64_t
common_divisor (const TesseraExactItem *items, size_t n_items)
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
  TesseraCore *core = NULL;
  result->answer = TESSERA_EXACT_UNKNOWN;
  if (part->n_items > MAX_ITEMS_OF_CORE)
    return TESSERA_OK;
  result->work += (uint64_t) part->n_items * part->n_items / 4;
  TesseraStatus status = tessera_core_new (&reduction->items[part->first], part->n_items,
                                           part->n_sections, part->capacity, &core);
  if (status != TESSERA_OK)
    return status == TESSERA_REFUSED ? TESSERA_OK : status;
  uint64_t *floors = calloc (part->n_items, sizeof *floors);
  status = floors == NULL
               ? TESSERA_NO_MEMORY
               : tessera_exact_race (core, options, work_budget, floors, result);
  if (status == TESSERA_OK && result->answer == TESSERA_EXACT_FITS)
    for (uint32_t i = 0; i < part->n_items; i++)
      reduction->places[core->items[i].source] = part->base + floors[i];
  free (floors);
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
      result->n_in_core += reduction->cores[k].n_items;
      status = search_core (reduction, &reduction->cores[k], options,
                            left / (reduction->n_cores - k), result);
      if (result->answer != TESSERA_EXACT_FITS)
        answer = result->answer;
    }
  result->answer = answer;
  return status;
}

TesseraStatus
tessera_exact_search (const TesseraExactItem *items,
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
  uint64_t unit_bytes = common_divisor (items, n_items);
  uint64_t capacity_bytes =
      options->capacity_bytes < sum_bytes ? options->capacity_bytes : sum_bytes;
  uint64_t work_budget =
      options->work_budget != 0 ? options->work_budget : DEFAULT_WORK_BUDGET;
  status = tessera_reduction_init (&reduction, items, (uint32_t) n_items, unit_bytes);
  if (status != TESSERA_OK)
    return status;
  status =
      tessera_reduction_run (&reduction, capacity_bytes / unit_bytes,
                             options->without & TESSERA_EXACT_NO_CORES ? 0 : work_budget);
  result.work = reduction.work;
  if (status == TESSERA_OK)
    status = search_cores (&reduction, options, work_budget, &result);
  if (status == TESSERA_OK && result.answer == TESSERA_EXACT_FITS)
    status = tessera_reduction_finish (&reduction, items);
  if (status == TESSERA_OK && result.answer == TESSERA_EXACT_FITS)
    for (size_t i = 0; i < n_items; i++)
      offsets[i] = reduction.places[i] * unit_bytes;
  if (status == TESSERA_OK)
    *out_result = result;
  tessera_reduction_clear (&reduction);
  return status;
}
