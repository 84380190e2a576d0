/*
 * The orders of a plan for every length: which packings to take them from, and for which
 * range each is used.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/orders/orders.h"

#include <stdlib.h>

#include "allocator/follow/lengths/instance.h"
#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/orders/lay-out.h"
#include "planner/lengths/orders/refused.h"
#include "planner/pack/first-fit.h"

enum
{
  /* Of so many slots at most orders are compared with first fit by size at each point, of
   * more at those that were seen: it takes as long as a packing. */
  FEW_SLOTS = 1024,
  /* Outside of what was seen a packing is worth its time where orders are above the bound
   * by more than this part of it. */
  OUTSIDE_PART = 100
};

/* Another order is worth its place in the file where it is better by this. */
#define WORTH_AN_ORDER 0.001

/* The height that an order gives at the point; UINT64_MAX: no sizes there. */
static uint64_t
measure (const TesseraOrders *orders,
         const TesseraOrder *order,
         const TesseraOrdersPoint *point)
{
  const TesseraLengths *out = orders->build->out;

  if (!tessera_sweep_sizes (out, &point->parameters, orders->block_bytes))
    return UINT64_MAX;
  return orders->is_first ? tessera_sweep_above (out, order, orders->block_bytes,
                                                 orders->floors, orders->tops)
                          : tessera_sweep (out, order, orders->block_bytes, orders->tops);
}

/* Which points an order is for: [from, to). */
typedef struct
{
  size_t from, to;
} Span;

/* The points of those, and, so that an order holds between two of them as well, the one
 * before. Returns: how many. */
static size_t
list_span (const TesseraOrders *orders, Span span, TesseraParameters *out_at)
{
  size_t n = 0;

  for (size_t i = 0; i < span.to; i++)
    {
      if (orders->points[i].is_outside)
        continue;
      if (i < span.from)
        n = 0;
      out_at[n++] = orders->points[i].parameters;
    }
  return n;
}

/* For how long small and large are closed to each other at those. TESSERA_INVALID:
 * classes vary in too many ways. */
static TesseraStatus
find_closed (TesseraOrders *orders, Span span)
{
  TesseraParameters at[TESSERA_ORDERS_POINTS];
  size_t n = list_span (orders, span, at);
  bool is_for;
  TesseraStatus status =
      tessera_closed_find (orders->build->out, at, n, orders->closed, &is_for);

  return status == TESSERA_OK && !is_for ? TESSERA_INVALID : status;
}

/* What the order of a packing at the @point-th is for: all, or, where small and large
 * follow each other, the lengths from there on. Of two lengths each step has the lowest
 * order, so each is for all. */
static Span
span_from (const TesseraOrders *orders, size_t point)
{
  bool is_for_all = !orders->passes || orders->build->out->most.second > 0;
  size_t from = 0;

  for (size_t i = 0; i < point && !is_for_all; i++)
    if (!orders->points[i].is_outside)
      from = point;
  return (Span){ from, orders->n_points };
}

/* Whether small and large follow each other in the @k-th order of the plan. */
static bool
is_passing (const TesseraOrders *orders, uint32_t k)
{
  return orders->is_passing[orders->chosen_from[k]];
}

/* Each step that was measured and has an order in which small and large follow each
 * other, once more, by who knows nothing of this. */
static TesseraStatus
check_passing (const TesseraOrders *orders, TesseraError *error)
{
  const TesseraLengths *out = orders->build->out;
  TesseraParameters at[TESSERA_ORDERS_POINTS];
  size_t n = 0;
  TesseraLaw law;

  for (size_t i = 0; i < orders->n_points; i++)
    {
      const TesseraParameters *of = &orders->points[i].parameters;
      const TesseraOrder *order;

      if (orders->points[i].is_outside ||
          !tessera_sweep_sizes (out, of, orders->block_bytes))
        continue;
      tessera_sweep_by (out, of, false, orders->block_bytes, NULL, orders->tops, &order);
      if (order && is_passing (orders, (uint32_t) (order - out->orders)))
        at[n++] = *of;
    }
  return tessera_check_lengths_sizes (out, at, n, &law, error);
}

/* Its slots and laws are those of the plan; its heights are measured. */
static void
take_in (TesseraOrders *orders, uint32_t n_low, Span span)
{
  const TesseraLengths *out = orders->build->out;
  TesseraOrder *order = &orders->orders[orders->n_orders];

  order->is_first = orders->is_first;
  order->n_low = n_low;
  for (uint32_t i = 0; i < out->n_swept; i++)
    {
      order->slots[i] = orders->swept[order->slots[i]];
      order->laws[i] = out->slots[order->slots[i]].law;
    }
  for (size_t i = 0; i < orders->n_points; i++)
    orders->points[i].heights[orders->n_orders] =
        i >= span.from && i < span.to ? measure (orders, order, &orders->points[i])
                                      : UINT64_MAX;
  orders->is_passing[orders->n_orders++] = orders->passes;
}

/* The order of a packing for the @point-th parameters, or of first fit by size there.
 * None where there are no sizes. */
static TesseraStatus
add_order (TesseraOrders *orders, size_t point, Span span, bool is_first_fit)
{
  const TesseraLengths *out = orders->build->out;
  TesseraLaidOut *laid_out = calloc ((size_t) out->n_swept + 1, sizeof *laid_out);
  const TesseraLayOutWay way = {
    .is_first = orders->is_first,
    .has_zones = !orders->is_first && !orders->passes &&
                 tessera_lengths_splits_sizes (orders->build),
    .is_first_fit = is_first_fit,
    .closed = orders->passes ? orders->closed : NULL,
  };
  uint32_t n_low = 0;
  TesseraStatus status = laid_out ? TESSERA_OK : TESSERA_NO_MEMORY;

  if (status == TESSERA_OK &&
      !tessera_sweep_sizes (out, &orders->points[point].parameters, orders->block_bytes))
    status = TESSERA_INVALID;
  if (status == TESSERA_OK && orders->passes)
    status = find_closed (orders, span);
  if (status == TESSERA_OK)
    status = tessera_lengths_lay_out (orders->build, orders->swept, &way,
                                      orders->block_bytes, laid_out, &n_low);
  if (status == TESSERA_OK)
    status = tessera_order_from_layout (laid_out, out->n_swept, out->n_slots,
                                        &orders->orders[orders->n_orders]);
  if (status == TESSERA_OK)
    take_in (orders, n_low, span);
  free (laid_out);
  return status == TESSERA_INVALID ? TESSERA_OK : status;
}

/* What no layout at the @point-th is below; where @out_first_fit_bytes is not NULL, the
 * height of first fit by size as well. TESSERA_INVALID: no sizes there. */
static TesseraStatus
find_limits (const TesseraOrders *orders,
             size_t point,
             uint64_t *out_bound_bytes,
             uint64_t *out_first_fit_bytes)
{
  const TesseraLengths *out = orders->build->out;
  const TesseraLayOutWay way = { .has_zones =
                                     tessera_lengths_splits_sizes (orders->build),
                                 .are_zones_of_sizes = orders->passes };
  TesseraStatus status;

  if (!tessera_sweep_sizes (out, &orders->points[point].parameters, orders->block_bytes))
    return TESSERA_INVALID;
  status =
      tessera_lengths_first_fit (orders->build, orders->swept, &way, orders->block_bytes,
                                 out_bound_bytes, out_first_fit_bytes);
  *out_bound_bytes += out->fixed_bytes;
  if (out_first_fit_bytes)
    *out_first_fit_bytes += out->fixed_bytes;
  return status;
}

/* Whether some order that is likely to be chosen at the point is above that height. */
static bool
is_above (const TesseraOrders *orders, const TesseraOrdersPoint *point, uint64_t height)
{
  double enough = (double) tessera_orders_least (orders, point) * (1 + WORTH_AN_ORDER);

  for (size_t k = 0; k < orders->n_orders; k++)
    if (point->heights[k] > height && (double) point->heights[k] <= enough)
      return true;
  return false;
}

/* The point, and those with as many tokens: no order is for some of these only. */
static Span
span_alone (const TesseraOrders *orders, size_t point)
{
  uint64_t tokens = tessera_parameters_tokens (&orders->points[point].parameters);
  Span span = { point, point + 1 };

  while (span.from > 0 &&
         tessera_parameters_tokens (&orders->points[span.from - 1].parameters) == tokens)
    span.from--;
  while (span.to < orders->n_points &&
         tessera_parameters_tokens (&orders->points[span.to].parameters) == tokens)
    span.to++;
  return span;
}

/* A packing at the point, and if that is not low enough first fit itself; where small and
 * large follow each other, a packing that is for this point alone. Of two lengths there
 * is no such: each order is for all. */
static TesseraStatus
try_lower (TesseraOrders *orders, size_t point, uint64_t bound_bytes)
{
  const TesseraOrdersPoint *of = &orders->points[point];
  Span span = span_from (orders, point);
  TesseraStatus status = TESSERA_OK;
  uint64_t least = tessera_orders_least (orders, of);

  if (least > of->first_fit_bytes ||
      (of->is_outside && least > bound_bytes + bound_bytes / OUTSIDE_PART))
    status = add_order (orders, point, span, false);
  if (status == TESSERA_OK && tessera_orders_least (orders, of) > of->first_fit_bytes &&
      !(orders->passes && of->parameters.second > 0))
    status = add_order (orders, point, orders->passes ? span_alone (orders, point) : span,
                        !orders->passes);
  return status;
}

/* Whether what first fit comes to there is to be known. */
static bool
counts_first_fit (const TesseraOrders *orders, const TesseraOrdersPoint *point)
{
  return point->is_observed || orders->build->out->n_swept <= FEW_SLOTS;
}

/* An order is from a packing at some other length: first fit by size at this one may lie
 * lower. At each length that was seen none is chosen that does not lie as low. */
static TesseraStatus
try_below_first_fit (TesseraOrders *orders)
{
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < orders->n_points && status == TESSERA_OK; i++)
    {
      TesseraOrdersPoint *point = &orders->points[i];
      uint64_t bound_bytes;

      point->first_fit_bytes = UINT64_MAX;
      if ((point->is_outside && orders->passes) ||
          tessera_orders_least (orders, point) == UINT64_MAX)
        continue;
      status = find_limits (orders, i, &bound_bytes, NULL);
      if (status != TESSERA_OK)
        break;
      /* First fit is no lower than that, which some order comes to. */
      if (point->is_observed)
        point->first_fit_bytes = bound_bytes;
      if (!is_above (orders, point, bound_bytes))
        continue;
      if (counts_first_fit (orders, point))
        status = find_limits (orders, i, &bound_bytes, &point->first_fit_bytes);
      if (status == TESSERA_OK)
        status = try_lower (orders, i, bound_bytes);
    }
  return status;
}

/* Spread over the points but those outside, the first and last among them. */
static TesseraStatus
try_spread (TesseraOrders *orders)
{
  TesseraStatus status = TESSERA_OK;
  size_t most = orders->build->out->most.second > 0 ? TESSERA_ORDERS_SPREAD_OF_TWO
                                                    : TESSERA_ORDERS_SPREAD;
  size_t inside[TESSERA_ORDERS_POINTS], n_inside = 0, n;

  for (size_t i = 0; i < orders->n_points; i++)
    if (!orders->points[i].is_outside)
      inside[n_inside++] = i;
  n = n_inside < most ? n_inside : most;
  for (size_t i = 0; i < n && status == TESSERA_OK; i++)
    {
      size_t at = n > 1 ? i * (n_inside - 1) / (n - 1) : 0;

      status = add_order (orders, inside[at], span_from (orders, inside[at]), false);
    }
  return status;
}

static TesseraStatus
try_orders (TesseraOrders *orders)
{
  TesseraStatus status = try_spread (orders);

  if (status == TESSERA_OK && orders->n_orders == 0)
    return TESSERA_INVALID;
  return status == TESSERA_OK && !orders->is_first ? try_below_first_fit (orders)
                                                   : status;
}

static void
forget_orders (TesseraOrders *orders)
{
  for (size_t k = 0; k < orders->n_orders; k++)
    tessera_order_clear (&orders->orders[k]);
  orders->n_orders = 0;
}

/* The steps that were seen, and back again: what the guard of a run would refuse. */
static TesseraStatus
measure_refused (const TesseraOrders *orders, uint64_t *out_bytes)
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

/* None is chosen any more. */
static void
take_back (TesseraOrders *orders)
{
  TesseraLengths *out = orders->build->out;

  while (out->n_orders > 0)
    tessera_order_clear (&out->orders[--out->n_orders]);
}

/* The same with orders in which small and large follow each other, once they are open.
 * That is of steps of one length: where another one comes next, what lies where is
 * another as well. So these are taken only where a run of the steps that were seen would
 * have no more refused. */
static TesseraStatus
try_passing (TesseraOrders *orders, TesseraError *error)
{
  size_t n_zoned = orders->n_orders;
  uint64_t zoned_bytes = 0, bytes = 0, first_fits[TESSERA_ORDERS_POINTS];
  TesseraStatus status = measure_refused (orders, &zoned_bytes);

  for (size_t i = 0; i < orders->n_points; i++)
    first_fits[i] = orders->points[i].first_fit_bytes;
  take_back (orders);
  orders->passes = true;
  if (status == TESSERA_OK)
    status = try_orders (orders);
  orders->passes = false;
  if (status != TESSERA_OK)
    return status;
  status = tessera_orders_choose (orders);
  if (status == TESSERA_OK)
    status = check_passing (orders, error);
  if (status == TESSERA_OK)
    status = measure_refused (orders, &bytes);
  if (status != TESSERA_OK || bytes <= zoned_bytes)
    return status;
  take_back (orders);
  while (orders->n_orders > n_zoned)
    tessera_order_clear (&orders->orders[--orders->n_orders]);
  for (size_t i = 0; i < orders->n_points; i++)
    orders->points[i].first_fit_bytes = first_fits[i];
  return tessera_orders_choose (orders);
}

/* Whether orders of its own make the first step lower anywhere than the ones chosen. */
static bool
is_worth_first (const TesseraOrders *orders)
{
  const TesseraLengths *out = orders->build->out;

  for (size_t i = 0; i < orders->n_points; i++)
    {
      const TesseraOrdersPoint *point = &orders->points[i];
      const TesseraOrder *order;
      uint64_t height = UINT64_MAX;

      if (!point->is_outside &&
          tessera_sweep_sizes (out, &point->parameters, orders->block_bytes))
        height = tessera_sweep_by (out, &point->parameters, false, orders->block_bytes,
                                   orders->floors, orders->tops, &order);
      if (height != UINT64_MAX &&
          (double) height >
              (double) tessera_orders_least (orders, point) * (1 + WORTH_AN_ORDER))
        return true;
    }
  return false;
}

/* The same for the step that makes what one step makes, where there is such. */
static TesseraStatus
try_first (TesseraOrders *orders)
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
    status = tessera_orders_choose (orders);
  return status;
}

TesseraStatus
tessera_lengths_orders (TesseraLengthsBuild *build, TesseraError *error)
{
  TesseraLengths *out = build->out;
  TesseraOrders *orders = calloc (1, sizeof *orders);
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
  out->orders = calloc (2 * TESSERA_ORDERS_POINTS, sizeof *out->orders);
  if (orders->swept && orders->tops && orders->block_bytes && orders->floors &&
      orders->closed && out->orders)
    {
      for (uint32_t i = 0; i < out->n_slots; i++)
        if (out->slots[i].place == TESSERA_PLACE_SWEPT)
          orders->swept[n++] = i;
      tessera_orders_choose_points (orders);
      status = try_orders (orders);
      if (status == TESSERA_OK)
        status = tessera_orders_choose (orders);
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
