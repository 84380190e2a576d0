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

static void
forget_orders (TesseraOrders *orders)
{
  for (size_t k = 0; k < orders->n_orders; k++)
    tessera_order_clear (&orders->orders[k]);
  orders->n_orders = 0;
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
tessera_lengths_orders (TesseraLengthsBuild *build)
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
  out->orders = calloc (2 * TESSERA_ORDERS_POINTS, sizeof *out->orders);
  if (orders->swept && orders->tops && orders->block_bytes && orders->floors &&
      out->orders)
    {
      for (uint32_t i = 0; i < out->n_slots; i++)
        if (out->slots[i].place == TESSERA_PLACE_SWEPT)
          orders->swept[n++] = i;
      tessera_orders_choose_points (orders);
      status = tessera_orders_split (orders);
      if (status == TESSERA_OK)
        status = tessera_orders_try (orders);
      if (status == TESSERA_OK)
        status = tessera_orders_choose (orders);
      if (status == TESSERA_OK)
        status = try_first (orders);
    }
  forget_orders (orders);
  free (orders->swept);
  free (orders->tops);
  free (orders->block_bytes);
  free (orders->floors);
  free (orders);
  return status;
}
