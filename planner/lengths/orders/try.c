/*
 * The packings that the orders of a plan for every length are taken from: see orders.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/orders/orders.h"

#include <stdlib.h>

#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/orders/lay-out.h"

enum
{
  /* Of so many slots at most orders are compared with first fit by size at each point, of
   * more at those that were seen: it takes as long as a packing. */
  FEW_SLOTS = 1024,
  /* Outside of what was seen a packing is worth its time where orders are above the bound
   * by more than this part of it. */
  OUTSIDE_PART = 100
};

/* A packing more is worth its time where every order is above what no layout is below by
 * more than this part of it. */
#define WORTH_A_PACKING 0.003
/* Of two lengths, where ranges may pass between small and large only if they could at any
 * lengths, packings are dear and no lower as a rule. */
#define WORTH_A_DEAR_PACKING 0.01

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

/* The points of those that the plan is for, and, so that an order holds between two of
 * them as well, the one before. Returns: how many. */
static size_t
list_span (const TesseraOrders *orders, Span span, TesseraParameters *out_at)
{
  size_t n = 0;

  for (size_t i = 0; i < span.to; i++)
    {
      if (orders->points[i].is_longer)
        continue;
      if (i < span.from)
        n = 0;
      out_at[n++] = orders->points[i].parameters;
    }
  return n;
}

/* For how long small and large are closed to each other at those: of two lengths always
 * the same. TESSERA_INVALID: classes vary in too many ways. */
static TesseraStatus
find_closed (TesseraOrders *orders, Span span)
{
  TesseraParameters at[TESSERA_ORDERS_POINTS];
  size_t n = list_span (orders, span, at);
  bool is_for = true;
  TesseraStatus status = TESSERA_OK;

  if (!orders->is_closed_found)
    status = tessera_closed_find (orders->build->out, at, n, orders->closed, &is_for);
  orders->is_closed_found =
      status == TESSERA_OK && is_for && orders->build->out->most.second > 0;
  return status == TESSERA_OK && !is_for ? TESSERA_INVALID : status;
}

/* What the order of a packing at the @point-th is for: all, or, where small and large
 * follow each other, the lengths from there on. Of two lengths each step has the lowest
 * order, so each is for all. */
static Span
span_from (const TesseraOrders *orders, size_t point)
{
  bool is_for_all = !orders->passes || orders->build->out->most.second > 0;

  return (Span){ is_for_all ? 0 : point, orders->n_points };
}

typedef enum
{
  A_PACKING,
  FIRST_FIT,         /* by size */
  FIRST_FIT_IN_ZONES /* ... where small and large may follow each other: those that are
                        small at the point below all others */
} Way;

/* Whether small and large follow each other. */
static bool
do_pass (const TesseraOrders *orders, Way way)
{
  return orders->passes && way != FIRST_FIT_IN_ZONES;
}

/* Its slots and laws are those of the plan; its heights are measured. */
static void
take_in (TesseraOrders *orders, Way way, uint32_t n_low, Span span)
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
  orders->is_passing[orders->n_orders++] = do_pass (orders, way);
}

/* The order of a packing for the @point-th parameters, or of first fit by size there.
 * None where there are no sizes. */
static TesseraStatus
add_order (TesseraOrders *orders, size_t point, Span span, Way way)
{
  const TesseraLengths *out = orders->build->out;
  TesseraLaidOut *laid_out = calloc ((size_t) out->n_swept + 1, sizeof *laid_out);
  const TesseraLayOutWay lay_out = {
    .is_first = orders->is_first,
    .has_zones = !orders->is_first && !do_pass (orders, way) &&
                 tessera_lengths_splits_sizes (orders->build),
    .are_zones_of_sizes = way == FIRST_FIT_IN_ZONES,
    .is_first_fit = way != A_PACKING,
    .closed = do_pass (orders, way) ? orders->closed : NULL,
  };
  uint32_t n_low = 0;
  TesseraStatus status = laid_out ? TESSERA_OK : TESSERA_NO_MEMORY;

  if (status == TESSERA_OK &&
      !tessera_sweep_sizes (out, &orders->points[point].parameters, orders->block_bytes))
    status = TESSERA_INVALID;
  if (status == TESSERA_OK && do_pass (orders, way))
    status = find_closed (orders, span);
  if (status == TESSERA_OK)
    status = tessera_lengths_lay_out (orders->build, orders->swept, &lay_out,
                                      orders->block_bytes, laid_out, &n_low);
  if (status == TESSERA_OK)
    status = tessera_order_from_layout (laid_out, out->n_swept, out->n_slots,
                                        &orders->orders[orders->n_orders]);
  if (status == TESSERA_OK)
    take_in (orders, way, n_low, span);
  orders->points[point].is_packed = true;
  free (laid_out);
  return status == TESSERA_INVALID ? TESSERA_OK : status;
}

/* What no layout at the @point-th is below, of one that keeps small and large apart where
 * @splits; where @out_first_fit_bytes is not NULL, the height of first fit by size as
 * well. TESSERA_INVALID: no sizes there. */
static TesseraStatus
find_limits (const TesseraOrders *orders,
             size_t point,
             bool splits,
             uint64_t *out_bound_bytes,
             uint64_t *out_first_fit_bytes)
{
  const TesseraLengths *out = orders->build->out;
  const TesseraLayOutWay way = { .has_zones = splits && tessera_lengths_splits_sizes (
                                                            orders->build),
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
  double enough =
      (double) tessera_orders_least (orders, point) * (1 + TESSERA_ORDERS_WORTH);

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
 * large follow each other, a packing that is for this point alone before that. */
static TesseraStatus
try_lower (TesseraOrders *orders, size_t point, uint64_t bound_bytes)
{
  const TesseraOrdersPoint *of = &orders->points[point];
  Span span = span_from (orders, point), alone = span_alone (orders, point);
  TesseraStatus status = TESSERA_OK;
  uint64_t least = tessera_orders_least (orders, of);

  if (least > of->first_fit_bytes ||
      (of->is_outside && least > bound_bytes + bound_bytes / OUTSIDE_PART))
    status = add_order (orders, point, span, A_PACKING);
  if (status == TESSERA_OK && tessera_orders_least (orders, of) > of->first_fit_bytes &&
      orders->passes && of->parameters.second == 0)
    status = add_order (orders, point, alone, A_PACKING);
  if (status == TESSERA_OK && tessera_orders_least (orders, of) > of->first_fit_bytes)
    status = add_order (orders, point, orders->passes ? alone : span,
                        orders->passes ? FIRST_FIT_IN_ZONES : FIRST_FIT);
  return status;
}

/* Whether what first fit comes to there is to be known. */
static bool
counts_first_fit (const TesseraOrders *orders, const TesseraOrdersPoint *point)
{
  return point->is_observed ||
         (orders->build->out->n_swept <= FEW_SLOTS && point->parameters.second == 0);
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
      uint64_t bound_bytes, first_fit_bytes;

      if ((point->is_longer && orders->passes) ||
          (!point->is_observed && point->parameters.second > 0) ||
          tessera_orders_least (orders, point) == UINT64_MAX)
        continue;
      status = find_limits (orders, i, true, &bound_bytes, NULL);
      if (status != TESSERA_OK)
        break;
      /* First fit is no lower than that, which some order comes to. */
      first_fit_bytes = point->is_observed ? bound_bytes : UINT64_MAX;
      if (is_above (orders, point, bound_bytes) && counts_first_fit (orders, point))
        status = find_limits (orders, i, true, &bound_bytes, &first_fit_bytes);
      if (first_fit_bytes < point->first_fit_bytes)
        point->first_fit_bytes = first_fit_bytes;
      if (status == TESSERA_OK && is_above (orders, point, bound_bytes))
        status = try_lower (orders, i, bound_bytes);
    }
  return status;
}

/* Spread over the points but those outside, the first and last among them. */
static TesseraStatus
try_spread (TesseraOrders *orders)
{
  TesseraStatus status = TESSERA_OK;
  size_t inside[TESSERA_ORDERS_POINTS], n_inside = 0, n;

  for (size_t i = 0; i < orders->n_points; i++)
    if (!orders->points[i].is_outside)
      inside[n_inside++] = i;
  n = n_inside < TESSERA_ORDERS_SPREAD ? n_inside : TESSERA_ORDERS_SPREAD;
  for (size_t i = 0; i < n && status == TESSERA_OK; i++)
    {
      size_t at = n > 1 ? i * (n_inside - 1) / (n - 1) : 0;

      status = add_order (orders, inside[at], span_from (orders, inside[at]), A_PACKING);
    }
  return status;
}

/* How far the lowest order at the point is above what no layout is below, as a part of
 * it. */
static double
part_above (const TesseraOrders *orders, const TesseraOrdersPoint *point)
{
  uint64_t least = tessera_orders_least (orders, point);

  return least == UINT64_MAX || point->bound_bytes == 0
             ? 0
             : (double) least / (double) point->bound_bytes - 1;
}

/* The point where that is most, of those that nothing was packed for; n_points: it is
 * little at all of them. */
static size_t
worst_point (const TesseraOrders *orders)
{
  bool is_dear = orders->passes && orders->build->out->most.second > 0;
  double most = is_dear ? WORTH_A_DEAR_PACKING : WORTH_A_PACKING;
  size_t worst = orders->n_points;

  for (size_t i = 0; i < orders->n_points; i++)
    {
      const TesseraOrdersPoint *point = &orders->points[i];

      if (point->is_outside || point->is_packed || part_above (orders, point) <= most)
        continue;
      most = part_above (orders, point);
      worst = i;
    }
  return worst;
}

/* What no layout is below at each point. */
static TesseraStatus
find_bounds (TesseraOrders *orders)
{
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < orders->n_points && status == TESSERA_OK; i++)
    {
      status =
          find_limits (orders, i, !orders->passes, &orders->points[i].bound_bytes, NULL);
      if (status == TESSERA_INVALID)
        {
          orders->points[i].bound_bytes = 0;
          status = TESSERA_OK;
        }
    }
  return status;
}

/* One after the other where all orders so far are worst: what helps at one point helps at
 * those around it. */
static TesseraStatus
try_further (TesseraOrders *orders)
{
  TesseraStatus status = find_bounds (orders);

  for (size_t n = 0; n < TESSERA_ORDERS_FURTHER && status == TESSERA_OK; n++)
    {
      size_t worst = worst_point (orders);

      if (worst == orders->n_points)
        break;
      status = add_order (orders, worst, span_from (orders, worst), A_PACKING);
    }
  return status;
}

TesseraStatus
tessera_orders_try (TesseraOrders *orders)
{
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < orders->n_points; i++)
    orders->points[i].is_packed = false;
  if (!orders->passes || orders->build->out->most.second == 0)
    status = try_spread (orders);
  if (status == TESSERA_OK && orders->n_orders == 0)
    return TESSERA_INVALID;
  if (status == TESSERA_OK && !orders->is_first)
    status = try_further (orders);
  return status == TESSERA_OK && !orders->is_first ? try_below_first_fit (orders)
                                                   : status;
}
