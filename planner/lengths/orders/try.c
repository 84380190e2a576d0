/*
 * The packings that the orders of a plan for every length are taken from: see orders.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/orders/orders.h"

#include <stdlib.h>

#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/orders/lay-out.h"

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

/* The order of a packing for the @point-th parameters. None where there are no sizes. */
static TesseraStatus
add_order (TesseraOrders *orders, size_t point)
{
  const TesseraLengths *out = orders->build->out;
  TesseraLaidOut *laid_out = calloc ((size_t) out->n_swept + 1, sizeof *laid_out);
  const TesseraLayOutWay way = { .is_first = orders->is_first,
                                 .has_zones = orders->splits };
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
 * @splits. TESSERA_INVALID: no sizes there. */
static TesseraStatus
find_bound (const TesseraOrders *orders, size_t point, bool splits, uint64_t *out_bytes)
{
  const TesseraLengths *out = orders->build->out;
  TesseraStatus status;

  if (!tessera_sweep_sizes (out, &orders->points[point].parameters, orders->block_bytes))
    return TESSERA_INVALID;
  status = tessera_lengths_bound (orders->build, orders->swept, splits,
                                  orders->block_bytes, out_bytes);
  *out_bytes += out->fixed_bytes;
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

      status = add_order (orders, inside[at]);
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
      status = find_bound (orders, i, orders->splits, &orders->points[i].bound_bytes);
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
      status = add_order (orders, worst);
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
      status = find_bound (orders, i, splits, &bytes);
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
  return status == TESSERA_OK && !orders->is_first ? try_further (orders) : status;
}
