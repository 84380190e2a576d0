/*
 * The orders of a plan for every length: which packings to take them from, and for which
 * range each is used.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/follow/lengths/instance.h"
#include "allocator/follow/lengths/sweep.h"
#include "planner/laws/fit/fit.h"
#include "planner/lengths/orders/lay-out.h"
#include "planner/lengths/orders/refused.h"

enum
{
  N_TRIED = 10,                   /* parameters that are packed for */
  N_TRIED_OF_TWO = 20,            /* ... where there are two lengths */
  MAX_TRIED = 2 * N_TRIED_OF_TWO, /* in zones, and with ranges that pass */
  N_UNSEEN = 40, /* parameters that orders are measured at besides the observed */
  STRIDE = 17,   /* without a divisor in common with that */
  MAX_POINTS = TESSERA_FIT_STEPS + N_UNSEEN
};

/* Another order is worth its place in the file where it is better by this. */
#define WORTH_AN_ORDER 0.001

typedef struct
{
  TesseraParameters parameters;
  uint64_t heights[MAX_TRIED];
} Point;

typedef struct
{
  TesseraLengthsBuild *build;
  uint32_t *swept; /* [n_swept] slots */
  uint64_t *block_bytes, *tops;
  uint64_t *floors;         /* [n_slots] of the step that makes what one step makes */
  bool is_first;            /* orders for that step are looked for */
  Point points[MAX_POINTS]; /* by tokens */
  size_t n_points;
  TesseraOrder orders[MAX_TRIED];
  size_t n_orders;
  TesseraClosed *closed; /* [n_slots] */
  bool passes; /* small and large may follow each other, once they are open; else they are
                  kept apart in zones, where they are at all */
  bool is_passing[MAX_TRIED];    /* of the orders */
  size_t chosen_from[MAX_TRIED]; /* which of them those of the plan were */
} Orders;

static int
by_tokens (const void *a, const void *b)
{
  const TesseraParameters *x = &((const Point *) a)->parameters;
  const TesseraParameters *y = &((const Point *) b)->parameters;

  if (tessera_parameters_tokens (x) != tessera_parameters_tokens (y))
    return tessera_parameters_tokens (x) < tessera_parameters_tokens (y) ? -1 : 1;
  return (x->length > y->length) - (x->length < y->length);
}

/* The @i-th of N_UNSEEN lengths from @least to @most. */
static uint64_t
between (uint64_t least, uint64_t most, uint64_t i)
{
  return least + (most - least) * (2 * i + 1) / (2 * N_UNSEEN);
}

/* The observed, and others from half the shortest to the longest, each batch in turn. Of
 * two lengths each of one meets another of the other, all over the box. */
static void
choose_points (Orders *orders)
{
  const TesseraLengths *out = orders->build->out;
  TesseraParameters least = out->observed[0], most = out->most;
  uint64_t n_batches;
  uint32_t n = out->n_observed < TESSERA_FIT_STEPS ? out->n_observed : TESSERA_FIT_STEPS;

  for (uint32_t i = 0; i < n; i++)
    {
      orders->points[orders->n_points++].parameters = out->observed[i];
      if (out->observed[i].batch < least.batch)
        least.batch = out->observed[i].batch;
      if (out->observed[i].length < least.length)
        least.length = out->observed[i].length;
      if (out->observed[i].second < least.second)
        least.second = out->observed[i].second;
    }
  if (most.batch < least.batch || most.length < least.length ||
      most.second < least.second)
    most = least;
  least.length = (least.length + 1) / 2;
  least.second = (least.second + 1) / 2;
  n_batches = most.batch - least.batch + 1;
  for (uint64_t i = 0; i < N_UNSEEN; i++)
    orders->points[orders->n_points++].parameters = (TesseraParameters){
      .batch = least.batch + i % n_batches,
      .length = between (least.length, most.length, i),
      .second = between (least.second, most.second, i * STRIDE % N_UNSEEN),
    };
  qsort (orders->points, orders->n_points, sizeof *orders->points, by_tokens);
}

/* The height that an order gives at the point; UINT64_MAX: no sizes there. */
static uint64_t
measure (const Orders *orders, const TesseraOrder *order, const Point *point)
{
  const TesseraLengths *out = orders->build->out;

  if (!tessera_sweep_sizes (out, &point->parameters, orders->block_bytes))
    return UINT64_MAX;
  return orders->is_first ? tessera_sweep_above (out, order, orders->block_bytes,
                                                 orders->floors, orders->tops)
                          : tessera_sweep (out, order, orders->block_bytes, orders->tops);
}

/* For how long small and large are closed to each other at the @from-th point and all
 * behind it: the order is for these. So that it holds between two points as well, at the
 * one before, too. TESSERA_INVALID: classes vary in too many ways. */
static TesseraStatus
find_closed (Orders *orders, size_t from)
{
  TesseraParameters at[MAX_POINTS];
  size_t begin = from > 0 ? from - 1 : 0;
  TesseraStatus status;
  bool is_for;

  for (size_t i = begin; i < orders->n_points; i++)
    at[i] = orders->points[i].parameters;
  status = tessera_closed_find (orders->build->out, at + begin, orders->n_points - begin,
                                orders->closed, &is_for);
  return status == TESSERA_OK && !is_for ? TESSERA_INVALID : status;
}

/* Whether small and large follow each other in the @k-th order of the plan. */
static bool
is_passing (const Orders *orders, uint32_t k)
{
  return orders->is_passing[orders->chosen_from[k]];
}

/* Each step that was measured and has an order in which small and large follow each
 * other, once more, by who knows nothing of this. */
static TesseraStatus
check_passing (const Orders *orders, TesseraError *error)
{
  const TesseraLengths *out = orders->build->out;
  TesseraParameters at[MAX_POINTS];
  size_t n = 0;
  TesseraLaw law;

  for (size_t i = 0; i < orders->n_points; i++)
    {
      const TesseraParameters *of = &orders->points[i].parameters;
      const TesseraOrder *order;

      if (!tessera_sweep_sizes (out, of, orders->block_bytes))
        continue;
      tessera_sweep_by (out, of, false, orders->block_bytes, NULL, orders->tops, &order);
      if (order && is_passing (orders, (uint32_t) (order - out->orders)))
        at[n++] = *of;
    }
  return tessera_check_lengths_sizes (out, at, n, &law, error);
}

/* The order of a packing for the @point-th parameters. TESSERA_INVALID: no sizes there.
 */
static TesseraStatus
add_order (Orders *orders, size_t point)
{
  const TesseraLengths *out = orders->build->out;
  TesseraLaidOut *laid_out = calloc ((size_t) out->n_swept + 1, sizeof *laid_out);
  TesseraOrder *order = &orders->orders[orders->n_orders];
  const TesseraLayOutWay way = {
    .is_first = orders->is_first,
    .has_zones = !orders->is_first && !orders->passes &&
                 tessera_lengths_splits_sizes (orders->build),
    .closed = orders->passes ? orders->closed : NULL,
  };
  /* Of two lengths each step has the lowest order, so each is for all. */
  size_t from = orders->passes && out->most.second == 0 ? point : 0;
  uint32_t n_low = 0;
  TesseraStatus status = laid_out ? TESSERA_OK : TESSERA_NO_MEMORY;

  if (status == TESSERA_OK &&
      !tessera_sweep_sizes (out, &orders->points[point].parameters, orders->block_bytes))
    status = TESSERA_INVALID;
  if (status == TESSERA_OK && orders->passes)
    status = find_closed (orders, from);
  if (status == TESSERA_OK)
    status = tessera_lengths_lay_out (orders->build, orders->swept, &way,
                                      orders->block_bytes, laid_out, &n_low);
  if (status == TESSERA_OK)
    status = tessera_order_from_layout (laid_out, out->n_swept, out->n_slots, order);
  free (laid_out);
  if (status != TESSERA_OK)
    return status;
  orders->is_passing[orders->n_orders++] = orders->passes;
  order->is_first = orders->is_first;
  order->n_low = n_low;
  for (uint32_t i = 0; i < out->n_swept; i++)
    {
      order->slots[i] = orders->swept[order->slots[i]];
      order->laws[i] = out->slots[order->slots[i]].law;
    }
  for (size_t i = 0; i < orders->n_points; i++)
    orders->points[i].heights[orders->n_orders - 1] =
        i < from ? UINT64_MAX : measure (orders, order, &orders->points[i]);
  return TESSERA_OK;
}

/* The least height at the point that any order gives. */
static uint64_t
least_height (const Orders *orders, const Point *point)
{
  uint64_t least = UINT64_MAX;

  for (size_t k = 0; k < orders->n_orders; k++)
    least = point->heights[k] < least ? point->heights[k] : least;
  return least;
}

/* How much worse than the best the order is at its worst. */
static double
worst_of (const Orders *orders, size_t order, size_t from, size_t to)
{
  double worst = 1;

  for (size_t i = from; i < to; i++)
    {
      double ratio = (double) orders->points[i].heights[order] /
                     (double) least_height (orders, &orders->points[i]);

      worst = ratio > worst ? ratio : worst;
    }
  return worst;
}

static size_t
best_order (const Orders *orders, size_t from, size_t to)
{
  size_t best = 0;

  for (size_t k = 1; k < orders->n_orders; k++)
    if (worst_of (orders, k, from, to) < worst_of (orders, best, from, to))
      best = k;
  return best;
}

/* Ranges of points, as long as one order is good enough for all of each. A range begins
 * beyond the last point of the one before. */
static void
choose_orders (Orders *orders)
{
  TesseraLengths *out = orders->build->out;
  bool is_used[MAX_TRIED] = { false };
  size_t all = best_order (orders, 0, orders->n_points), from = 0;

  while (from < orders->n_points)
    {
      size_t to = orders->n_points, best = all;

      if (worst_of (orders, all, from, to) > 1 + WORTH_AN_ORDER)
        for (to = from + 1, best = best_order (orders, from, to); to < orders->n_points;
             to++)
          {
            size_t next = best_order (orders, from, to + 1);

            if (worst_of (orders, next, from, to + 1) > 1 + WORTH_AN_ORDER)
              break;
            best = next;
          }
      if (is_used[best])
        best = all; /* an order is one row of the file: not worth a copy */
      if (!is_used[best])
        {
          orders->chosen_from[out->n_orders] = best;
          out->orders[out->n_orders] = orders->orders[best];
          out->orders[out->n_orders++].from_tokens =
              from == 0
                  ? 0
                  : tessera_parameters_tokens (&orders->points[from - 1].parameters) + 1;
          is_used[best] = true;
          memset (&orders->orders[best], 0, sizeof orders->orders[best]);
        }
      from = to;
    }
}

/* How much worse than the best of all the best of those chosen is at its worst; with
 * @more among them. */
static double
worst_with (const Orders *orders, const bool *is_chosen, size_t more)
{
  double worst = 1;

  for (size_t i = 0; i < orders->n_points; i++)
    {
      const Point *point = &orders->points[i];
      uint64_t least = point->heights[more];

      for (size_t k = 0; k < orders->n_orders; k++)
        if (is_chosen[k] && point->heights[k] < least)
          least = point->heights[k];
      if ((double) least > worst * (double) least_height (orders, point))
        worst = (double) least / (double) least_height (orders, point);
    }
  return worst;
}

/* Of two lengths: what helps most, until the rest would help by too little. Each step has
 * the lowest of them. */
static void
choose_for_two (Orders *orders)
{
  TesseraLengths *out = orders->build->out;
  bool is_chosen[MAX_TRIED] = { false };
  size_t best;

  do
    {
      best = 0;
      for (size_t k = 1; k < orders->n_orders; k++)
        if (worst_with (orders, is_chosen, k) < worst_with (orders, is_chosen, best))
          best = k;
      is_chosen[best] = true;
    }
  while (worst_with (orders, is_chosen, best) > 1 + WORTH_AN_ORDER);
  for (size_t k = 0; k < orders->n_orders; k++)
    if (is_chosen[k])
      {
        orders->chosen_from[out->n_orders] = k;
        out->orders[out->n_orders++] = orders->orders[k];
        memset (&orders->orders[k], 0, sizeof orders->orders[k]);
      }
}

static void
choose (Orders *orders)
{
  if (orders->build->out->most.second > 0)
    choose_for_two (orders);
  else
    choose_orders (orders);
}

static TesseraStatus
try_orders (Orders *orders)
{
  TesseraStatus status = TESSERA_OK;
  size_t most = orders->build->out->most.second > 0 ? N_TRIED_OF_TWO : N_TRIED;
  size_t n = orders->n_points < most ? orders->n_points : most;

  for (size_t i = 0; i < n && status == TESSERA_OK; i++)
    {
      /* Spread over the points, the first and last among them. */
      size_t at = n > 1 ? i * (orders->n_points - 1) / (n - 1) : 0;

      status = add_order (orders, at);
      if (status == TESSERA_INVALID)
        status = TESSERA_OK;
    }
  return status == TESSERA_OK && orders->n_orders == 0 ? TESSERA_INVALID : status;
}

static void
forget_orders (Orders *orders)
{
  for (size_t k = 0; k < orders->n_orders; k++)
    tessera_order_clear (&orders->orders[k]);
  orders->n_orders = 0;
}

/* The steps that were seen, and back again: what the guard of a run would refuse. */
static TesseraStatus
measure_refused (const Orders *orders, uint64_t *out_bytes)
{
  const TesseraLengths *out = orders->build->out;
  uint32_t n = out->n_observed;
  TesseraParameters *at = malloc ((2 * (size_t) n + 1) * sizeof *at);
  TesseraStatus status = TESSERA_NO_MEMORY;

  for (uint32_t i = 0; at && i < n; i++)
    at[i] = at[2 * n - 1 - i] = out->observed[i];
  if (at)
    status = tessera_lengths_refused (out, at, 2 * (size_t) n, out_bytes);
  free (at);
  return status;
}

/* Gives what was chosen back. */
static void
take_back (Orders *orders)
{
  TesseraLengths *out = orders->build->out;

  for (; out->n_orders > 0; out->n_orders--)
    {
      orders->orders[orders->chosen_from[out->n_orders - 1]] =
          out->orders[out->n_orders - 1];
      memset (&out->orders[out->n_orders - 1], 0, sizeof *out->orders);
    }
}

/* The same with orders in which small and large follow each other, once they are open.
 * That is of steps of one length: where another one comes next, what lies where is
 * another as well. So these are taken only where a run of the steps that were seen would
 * have no more refused. */
static TesseraStatus
try_passing (Orders *orders, TesseraError *error)
{
  size_t n_zoned = orders->n_orders;
  uint64_t zoned_bytes = 0, bytes = 0;
  TesseraStatus status = measure_refused (orders, &zoned_bytes);

  take_back (orders);
  orders->passes = true;
  if (status == TESSERA_OK)
    status = try_orders (orders);
  orders->passes = false;
  if (status != TESSERA_OK)
    return status;
  choose (orders);
  status = check_passing (orders, error);
  if (status == TESSERA_OK)
    status = measure_refused (orders, &bytes);
  if (status != TESSERA_OK || bytes <= zoned_bytes)
    return status;
  take_back (orders);
  while (orders->n_orders > n_zoned)
    tessera_order_clear (&orders->orders[--orders->n_orders]);
  choose (orders);
  return TESSERA_OK;
}

/* Whether orders of its own make the first step lower anywhere than the ones chosen. */
static bool
is_worth_first (const Orders *orders)
{
  const TesseraLengths *out = orders->build->out;

  for (size_t i = 0; i < orders->n_points; i++)
    {
      const Point *point = &orders->points[i];
      const TesseraOrder *order;
      uint64_t height = UINT64_MAX;

      if (tessera_sweep_sizes (out, &point->parameters, orders->block_bytes))
        height = tessera_sweep_by (out, &point->parameters, false, orders->block_bytes,
                                   orders->floors, orders->tops, &order);
      if (height != UINT64_MAX &&
          (double) height > (double) least_height (orders, point) * (1 + WORTH_AN_ORDER))
        return true;
    }
  return false;
}

/* The same for the step that makes what one step makes, where there is such. */
static TesseraStatus
try_first (Orders *orders)
{
  const TesseraLengths *out = orders->build->out;
  bool *is_there = calloc ((size_t) out->n_slots + 1, sizeof *is_there);
  TesseraStatus status = is_there ? TESSERA_OK : TESSERA_NO_MEMORY;

  /* The state is there in all steps but one: parts are of the others. */
  for (uint32_t i = 0; i < out->n_slots && status == TESSERA_OK; i++)
    is_there[i] = out->cut_phase && out->slots[i].is_once;
  if (status == TESSERA_OK &&
      (!tessera_sweep_sizes (out, &out->most, orders->block_bytes) ||
       tessera_instance_base (out, orders->block_bytes, is_there) == out->fixed_bytes))
    {
      free (is_there);
      return TESSERA_OK;
    }
  if (status == TESSERA_OK)
    status = tessera_instance_floors (out, orders->block_bytes, is_there, orders->floors);
  free (is_there);
  forget_orders (orders);
  orders->is_first = true;
  if (status == TESSERA_OK)
    status = try_orders (orders);
  if (status == TESSERA_OK && is_worth_first (orders))
    choose (orders);
  return status;
}

TesseraStatus
tessera_lengths_orders (TesseraLengthsBuild *build, TesseraError *error)
{
  TesseraLengths *out = build->out;
  Orders *orders = calloc (1, sizeof *orders);
  TesseraStatus status = TESSERA_NO_MEMORY;
  uint32_t n = 0;

  if (!orders)
    return status;
  orders->build = build;
  orders->swept = malloc (((size_t) out->n_swept + 1) * sizeof *orders->swept);
  orders->tops = malloc (((size_t) out->n_swept + 1) * sizeof *orders->tops);
  orders->block_bytes = malloc (((size_t) out->n_laws + 1) * sizeof *orders->block_bytes);
  orders->floors = malloc (((size_t) out->n_slots + 1) * sizeof *orders->floors);
  orders->closed = malloc (((size_t) out->n_slots + 1) * sizeof *orders->closed);
  out->orders = calloc (2 * MAX_TRIED, sizeof *out->orders);
  if (orders->swept && orders->tops && orders->block_bytes && orders->floors &&
      orders->closed && out->orders)
    {
      for (uint32_t i = 0; i < out->n_slots; i++)
        if (out->slots[i].place == TESSERA_PLACE_SWEPT)
          orders->swept[n++] = i;
      choose_points (orders);
      status = try_orders (orders);
      if (status == TESSERA_OK)
        choose (orders);
      if (status == TESSERA_OK && tessera_lengths_splits_sizes (build))
        status = try_passing (orders, error);
      if (status == TESSERA_OK)
        status = try_first (orders);
    }
  forget_orders (orders);
  free (orders->swept);
  free (orders->tops);
  free (orders->block_bytes);
  free (orders->floors);
  free (orders->closed);
  free (orders);
  return status;
}
