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
/* Small and large blocks have zones of their own where that costs no more than this part
 * of the largest step (planner/plan/places.c). */
#define DEAR_ZONES_PART 256

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

/* Its slots and laws are those of the plan; its heights are measured. */
static void
take_in (TesseraOrders *orders, uint32_t n_low)
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
        measure (orders, order, &orders->points[i]);
  orders->n_orders++;
}

/* The order of a packing for the @point-th parameters, or of first fit by size there.
 * None where there are no sizes. */
static TesseraStatus
add_order (TesseraOrders *orders, size_t point, bool is_first_fit)
{
  const TesseraLengths *out = orders->build->out;
  TesseraLaidOut *laid_out = calloc ((size_t) out->n_swept + 1, sizeof *laid_out);
  const TesseraLayOutWay way = { .is_first = orders->is_first,
                                 .has_zones = orders->splits,
                                 .is_first_fit = is_first_fit };
  uint32_t n_low = 0;
  TesseraStatus status = laid_out ? TESSERA_OK : TESSERA_NO_MEMORY;

  if (status == TESSERA_OK &&
      !tessera_sweep_sizes (out, &orders->points[point].parameters, orders->block_bytes))
    status = TESSERA_INVALID;
  if (status == TESSERA_OK)
    status = tessera_lengths_lay_out (orders->build, orders->swept, &way,
                                      orders->block_bytes, laid_out, &n_low);
  if (status == TESSERA_OK)
    status = tessera_order_from_layout (laid_out, out->n_swept, out->n_slots,
                                        &orders->orders[orders->n_orders]);
  if (status == TESSERA_OK)
    take_in (orders, n_low);
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
  const TesseraLayOutWay way = { .has_zones = splits };
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

/* A packing at the point, and if that is not low enough first fit itself. */
static TesseraStatus
try_lower (TesseraOrders *orders, size_t point, uint64_t bound_bytes)
{
  const TesseraOrdersPoint *of = &orders->points[point];
  TesseraStatus status = TESSERA_OK;
  uint64_t least = tessera_orders_least (orders, of);

  if (least > of->first_fit_bytes ||
      (of->is_outside && least > bound_bytes + bound_bytes / OUTSIDE_PART))
    status = add_order (orders, point, false);
  if (status == TESSERA_OK && tessera_orders_least (orders, of) > of->first_fit_bytes)
    status = add_order (orders, point, true);
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

      if ((!point->is_observed && point->parameters.second > 0) ||
          tessera_orders_least (orders, point) == UINT64_MAX)
        continue;
      status = find_limits (orders, i, orders->splits, &bound_bytes, NULL);
      if (status != TESSERA_OK)
        break;
      /* First fit is no lower than that, which some order comes to. */
      first_fit_bytes = point->is_observed ? bound_bytes : UINT64_MAX;
      if (is_above (orders, point, bound_bytes) && counts_first_fit (orders, point))
        status = find_limits (orders, i, orders->splits, &bound_bytes, &first_fit_bytes);
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

      status = add_order (orders, inside[at], false);
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
  double most = WORTH_A_PACKING;
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
          find_limits (orders, i, orders->splits, &orders->points[i].bound_bytes, NULL);
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
      status = add_order (orders, worst, false);
    }
  return status;
}

/* What the largest of the steps that were seen takes, whatever the layout. */
static TesseraStatus
largest_bound (const TesseraOrders *orders, bool splits, uint64_t *out_bytes)
{
  TesseraStatus status = TESSERA_OK;

  *out_bytes = 0;
  for (size_t i = 0; i < orders->n_points && status == TESSERA_OK; i++)
    {
      uint64_t bytes = 0;

      if (!orders->points[i].is_observed)
        continue;
      status = find_limits (orders, i, splits, &bytes, NULL);
      if (status == TESSERA_OK && bytes > *out_bytes)
        *out_bytes = bytes;
      if (status == TESSERA_INVALID)
        status = TESSERA_OK;
    }
  return status;
}

TesseraStatus
tessera_orders_split (TesseraOrders *orders)
{
  const TesseraLengthsBuild *build = orders->build;
  uint64_t apart_bytes = 0, together_bytes = 0;
  TesseraStatus status = TESSERA_OK;

  orders->splits = tessera_lengths_splits_sizes (build);
  if (!orders->splits || build->trace->n_streams > 1)
    return TESSERA_OK;
  status = largest_bound (orders, true, &apart_bytes);
  if (status == TESSERA_OK)
    status = largest_bound (orders, false, &together_bytes);
  orders->splits = apart_bytes - together_bytes <= apart_bytes / DEAR_ZONES_PART;
  return status;
}

TesseraStatus
tessera_orders_try (TesseraOrders *orders)
{
  TesseraStatus status;

  for (size_t i = 0; i < orders->n_points; i++)
    orders->points[i].is_packed = false;
  status = try_spread (orders);
  if (status == TESSERA_OK && orders->n_orders == 0)
    return TESSERA_INVALID;
  if (status == TESSERA_OK && !orders->is_first)
    status = try_further (orders);
  return status == TESSERA_OK && !orders->is_first ? try_below_first_fit (orders)
                                                   : status;
}
