/*
 * The orders of a plan for every length: which packings to take them from, and for which range
 * each is used.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/follow/lengths/instance.h"
#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/private.h"

enum
{
  UNSEEN = 40, /* parameters besides the observed, up to the most */
  POINTS = TESSERA_FIT_STEPS + UNSEEN,
  PACKED = 16 /* ... of which so many are packed for */
};

/* Another order is worth its place in the file where it is better by this. */
#define WORTH 0.001

typedef struct
{
  TesseraParameters parameters;
  uint64_t heights[PACKED];
} Point;

typedef struct
{
  TesseraLengthsBuild *build;
  uint32_t *swept; /* [n_swept] slots */
  uint64_t *block_bytes, *tops;
  uint64_t *floors;     /* [n_slots] of the step that makes what one step makes */
  bool is_first;        /* orders for that step are looked for */
  bool in_spare;        /* orders for what takes turns in spare places are looked for */
  Point points[POINTS]; /* by tokens */
  size_t n_points;
  TesseraOrder orders[PACKED];
  size_t n_orders;
  bool splits; /* small and large blocks have zones of their own */
} Orders;

/* ---- The parameters that orders are measured at ---- */

static int
by_tokens (const void *a, const void *b)
{
  const TesseraParameters *x = &((const Point *) a)->parameters;
  const TesseraParameters *y = &((const Point *) b)->parameters;

  if (tessera_parameters_tokens (x) != tessera_parameters_tokens (y))
    return tessera_parameters_tokens (x) < tessera_parameters_tokens (y) ? -1 : 1;
  return (x->length > y->length) - (x->length < y->length);
}

/* The @i-th of @n lengths from @least to @most. */
static uint64_t
between (uint64_t least, uint64_t most, uint64_t i, uint64_t n)
{
  return least + (most - least) * (2 * i + 1) / (2 * n);
}

/* The shortest and the smallest batch that were seen; what the plan is for, if more. */
static void
add_observed (Orders *orders, TesseraParameters *least, TesseraParameters *most)
{
  const TesseraLengths *out = orders->build->out;
  uint32_t n = out->n_observed < TESSERA_FIT_STEPS ? out->n_observed : TESSERA_FIT_STEPS;

  *least = out->observed[0];
  *most = out->most;
  for (uint32_t i = 0; i < n; i++)
    {
      const TesseraParameters *at = &out->observed[i];

      orders->points[orders->n_points++] = (Point){ .parameters = *at };
      least->batch = at->batch < least->batch ? at->batch : least->batch;
      least->length = at->length < least->length ? at->length : least->length;
    }
  if (most->batch < least->batch || most->length < least->length)
    *most = *least;
}

/* From the least to the longest, each batch in turn. */
static void
add_unseen (Orders *orders, const TesseraParameters *least, const TesseraParameters *most)
{
  for (uint64_t i = 0; i < UNSEEN; i++)
    orders->points[orders->n_points++].parameters = (TesseraParameters){
      .batch = least->batch + i % (most->batch - least->batch + 1),
      .length = between (least->length, most->length, i, UNSEEN),
    };
}

/* The observed, and others from half the shortest to the longest. */
static void
choose_points (Orders *orders)
{
  TesseraParameters least, most;

  add_observed (orders, &least, &most);
  least.length = (least.length + 1) / 2;
  add_unseen (orders, &least, &most);
  qsort (orders->points, orders->n_points, sizeof *orders->points, by_tokens);
}

/* ---- Which orders the plan holds, and for which range ---- */

static uint64_t
least_height (const Orders *orders, const Point *point)
{
  uint64_t least = UINT64_MAX;

  for (size_t k = 0; k < orders->n_orders; k++)
    least = MIN (least, point->heights[k]);
  return least;
}

/* The end of the points from @from on for which the order is good enough. */
static size_t
end_of_range (const Orders *orders, size_t order, size_t from)
{
  size_t to = from;

  for (; to < orders->n_points; to++)
    {
      const Point *point = &orders->points[to];
      double least = (double) least_height (orders, point);

      if ((double) point->heights[order] > least * (1 + WORTH))
        break;
    }
  return to;
}

/* Adds a copy of what was tried to the orders of the plan. */
static void
add_chosen (Orders *orders, size_t tried, uint64_t from_tokens)
{
  TesseraLengths *out = orders->build->out;
  TesseraOrder *order = &out->orders[out->n_orders++];
  size_t n_bytes = ((size_t) out->n_swept + 1) * sizeof *order->slots;

  *order = orders->orders[tried];
  order->slots = g_memdup2 (order->slots, n_bytes);
  order->laws = g_memdup2 (order->laws, n_bytes);
  order->first_edge = g_memdup2 (order->first_edge, n_bytes);
  order->below =
      g_memdup2 (order->below, ((size_t) order->n_edges + 1) * sizeof *order->below);
  order->from_tokens = from_tokens;
}

static uint64_t
tokens_of (const Orders *orders, size_t point)
{
  return tessera_parameters_tokens (&orders->points[point].parameters);
}

/* From the shortest on the order that serves furthest. A range begins beyond the last point
 * of the one before, and none ends between points of as many tokens. */
static void
choose_ranges (Orders *orders)
{
  size_t from = 0;

  while (from < orders->n_points)
    {
      size_t best = 0, to = from;

      for (size_t k = 0; k < orders->n_orders; k++)
        {
          size_t end = end_of_range (orders, k, from);

          if (end > to)
            {
              best = k;
              to = end;
            }
        }
      add_chosen (orders, best, from == 0 ? 0 : tokens_of (orders, from - 1) + 1);
      while (to < orders->n_points &&
             tokens_of (orders, to) == tokens_of (orders, to - 1))
        to++;
      from = to;
    }
}

/* ---- The packings that orders are taken from ---- */

/* Small and large blocks have zones of their own where that costs no more than this part
 * of the largest step (planner/plan/pack.c). */
#define COSTLY_ZONES_PART 256

/* The height that an order gives at the point; UINT64_MAX: no sizes there. */
static uint64_t
measure (const Orders *orders, const TesseraOrder *order, const Point *point)
{
  const TesseraLengths *out = orders->build->out;

  if (!tessera_sweep_sizes (out, &point->parameters, orders->block_bytes))
    return UINT64_MAX;
  return tessera_sweep (out, order, orders->block_bytes,
                        orders->is_first ? orders->floors : NULL, orders->tops);
}

/* Its slots and laws are those of the plan; its heights are measured. */
static void
take_in (Orders *orders, uint32_t n_low)
{
  const TesseraLengths *out = orders->build->out;
  TesseraOrder *order = &orders->orders[orders->n_orders];

  order->is_first = orders->is_first;
  order->in_spare = orders->in_spare;
  order->n_low = n_low;
  for (uint32_t i = 0; i < out->n_swept; i++)
    {
      order->slots[i] = orders->swept[order->slots[i]];
      order->laws[i] = out->slots[order->slots[i]].law;
    }
  for (size_t i = 0; i < orders->n_points; i++)
    orders->points[i].heights[orders->n_orders] =
        measure (orders, order, &orders->points[i]);
  orders->n_orders++;
}

/* The order of a packing for the @point-th parameters. None where there are no sizes. */
static TesseraStatus
add_order (Orders *orders, size_t point)
{
  const TesseraLengths *out = orders->build->out;
  g_autofree TesseraLaidOut *laid_out = g_new (TesseraLaidOut, (size_t) out->n_swept + 1);
  const TesseraLayOutWay way = { .is_first = orders->is_first,
                                 .in_spare = orders->in_spare,
                                 .has_zones = orders->splits };
  uint32_t n_low;
  TesseraStatus status;

  if (!tessera_sweep_sizes (out, &orders->points[point].parameters, orders->block_bytes))
    return TESSERA_OK;
  status = tessera_lengths_lay_out (orders->build, orders->swept, &way,
                                    orders->block_bytes, laid_out, &n_low);
  if (status != TESSERA_OK)
    return status == TESSERA_INVALID ? TESSERA_OK : status;
  tessera_order_from_layout (laid_out, out->n_swept, &orders->orders[orders->n_orders]);
  take_in (orders, n_low);
  return TESSERA_OK;
}

/* Spread over the points, the first and last among them. */
static TesseraStatus
try_packings (Orders *orders)
{
  TesseraStatus status = TESSERA_OK;
  size_t n = MIN (orders->n_points, (size_t) PACKED);

  for (size_t i = 0; i < n && status == TESSERA_OK; i++)
    status = add_order (orders, n > 1 ? i * (orders->n_points - 1) / (n - 1) : 0);
  return status == TESSERA_OK && orders->n_orders == 0 ? TESSERA_INVALID : status;
}

/* Whether small and large blocks are kept apart: of one stream where that costs little of
 * the largest step, whatever the layout. */
static bool
find_zones (const Orders *orders)
{
  const TesseraLengthsBuild *build = orders->build;
  uint64_t apart_bytes, mixed_bytes;

  if (tessera_lengths_base (build->out) < build->out->fixed_bytes)
    return false;
  if (!tessera_plan_splits_sizes (build->trace) || build->trace->n_streams > 1)
    return build->trace->n_streams > 1;
  if (!tessera_sweep_sizes (build->out, &build->out->most, orders->block_bytes))
    return false;
  apart_bytes = tessera_lengths_bound (build, orders->swept, true, orders->block_bytes);
  mixed_bytes = tessera_lengths_bound (build, orders->swept, false, orders->block_bytes);
  return apart_bytes - mixed_bytes <= apart_bytes / COSTLY_ZONES_PART;
}

/* ---- All of it ---- */

static void
forget_orders (Orders *orders)
{
  for (size_t k = 0; k < orders->n_orders; k++)
    tessera_order_clear (&orders->orders[k]);
  orders->n_orders = 0;
}

/* The same for steps whose slots that take turns lie in their spare places, where there are
 * such. */
static TesseraStatus
try_spare (Orders *orders)
{
  const TesseraLengths *out = orders->build->out;
  TesseraStatus status;

  if (tessera_lengths_base (out) == out->fixed_bytes)
    return TESSERA_OK;
  forget_orders (orders);
  orders->in_spare = true;
  status = try_packings (orders);
  if (status == TESSERA_OK)
    choose_ranges (orders);
  orders->in_spare = false;
  return status;
}

/* The same for the step that makes what one step makes, where there is such. */
static TesseraStatus
try_first (Orders *orders)
{
  const TesseraLengths *out = orders->build->out;
  g_autofree bool *is_there = g_new (bool, (size_t) out->n_slots + 1);
  TesseraStatus status;

  /* The state is there in all steps but one: parts are of the others. */
  for (uint32_t i = 0; i < out->n_slots; i++)
    is_there[i] = out->cut_phase && out->slots[i].is_once;
  if (!tessera_sweep_sizes (out, &out->most, orders->block_bytes) ||
      tessera_instance_base (out, orders->block_bytes, is_there) ==
          tessera_lengths_base (out))
    return TESSERA_OK;
  tessera_demand_memory (
      tessera_instance_floors (out, orders->block_bytes, is_there, orders->floors));
  forget_orders (orders);
  orders->is_first = true;
  status = try_packings (orders);
  if (status == TESSERA_OK)
    choose_ranges (orders);
  return status;
}

TesseraStatus
tessera_lengths_orders (TesseraLengthsBuild *build)
{
  TesseraLengths *out = build->out;
  g_autofree Orders *orders = g_new0 (Orders, 1);
  g_autofree uint32_t *swept = g_new (uint32_t, (size_t) out->n_swept + 1);
  g_autofree uint64_t *tops = g_new (uint64_t, (size_t) out->n_swept + 1);
  g_autofree uint64_t *block_bytes = g_new (uint64_t, (size_t) out->n_laws + 1);
  g_autofree uint64_t *floors = g_new (uint64_t, (size_t) out->n_slots + 1);
  uint32_t n = 0;
  TesseraStatus status;

  orders->build = build;
  orders->swept = swept;
  orders->tops = tops;
  orders->block_bytes = block_bytes;
  orders->floors = floors;
  out->orders = g_new0 (TesseraOrder, 3 * POINTS);
  for (uint32_t i = 0; i < out->n_slots; i++)
    if (out->slots[i].place == TESSERA_PLACE_SWEPT)
      swept[n++] = i;
  choose_points (orders);
  orders->splits = find_zones (orders);
  status = try_packings (orders);
  if (status == TESSERA_OK)
    {
      choose_ranges (orders);
      status = try_spare (orders);
    }
  if (status == TESSERA_OK)
    status = try_first (orders);
  forget_orders (orders);
  return status;
}
