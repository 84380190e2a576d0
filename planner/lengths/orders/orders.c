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

      if (orders->points[i].is_longer ||
          !tessera_sweep_sizes (out, of, orders->block_bytes))
        continue;
      tessera_sweep_by (out, of, false, orders->block_bytes, NULL, orders->tops, &order);
      if (order && is_passing (orders, (uint32_t) (order - out->orders)))
        at[n++] = *of;
    }
  return tessera_check_lengths_sizes (out, at, n, &law, error);
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
    status = tessera_orders_try (orders);
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
              (double) tessera_orders_least (orders, point) * (1 + TESSERA_ORDERS_WORTH))
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
    status = tessera_orders_try (orders);
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
      status = tessera_orders_try (orders);
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
