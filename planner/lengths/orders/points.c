/*
 * The parameters that the orders of a plan for every length are measured at: see
 * orders.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/orders/orders.h"

static int
by_tokens (const void *a, const void *b)
{
  const TesseraParameters *x = &((const TesseraOrdersPoint *) a)->parameters;
  const TesseraParameters *y = &((const TesseraOrdersPoint *) b)->parameters;

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

static void
add (TesseraOrders *orders, const TesseraParameters *at)
{
  orders->points[orders->n_points++] = (TesseraOrdersPoint){ .parameters = *at };
}

/* The shortest and the smallest batch that were seen; what the plan is for, if more. */
static void
add_observed (TesseraOrders *orders, TesseraParameters *least, TesseraParameters *most)
{
  const TesseraLengths *out = orders->build->out;
  uint32_t n = out->n_observed < TESSERA_FIT_STEPS ? out->n_observed : TESSERA_FIT_STEPS;

  *least = out->observed[0];
  *most = out->most;
  for (uint32_t i = 0; i < n; i++)
    {
      const TesseraParameters *at = &out->observed[i];

      add (orders, at);
      orders->points[i].is_observed = true;
      least->batch = at->batch < least->batch ? at->batch : least->batch;
      least->length = at->length < least->length ? at->length : least->length;
    }
  if (most->batch < least->batch || most->length < least->length)
    *most = *least;
}

/* So many 32ths of the length, and that batch. */
static void
add_outside (TesseraOrders *orders, uint64_t length, uint64_t parts, uint64_t batch)
{
  TesseraParameters at = { .batch = batch };

  if (__builtin_mul_overflow (length, parts, &at.length))
    return;
  at.length = at.length < 32 ? 1 : at.length / 32;
  add (orders, &at);
  orders->points[orders->n_points - 1].is_outside = true;
}

/* Lengths below half the shortest and above the longest, of the smallest and the largest
 * batch. */
static void
add_all_outside (TesseraOrders *orders,
                 const TesseraParameters *least,
                 const TesseraParameters *most)
{
  static const uint8_t shorter[] = { 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1 };
  static const uint8_t longer[] = { 36, 40, 48, 64 };

  for (size_t i = 0; i < sizeof shorter; i++)
    add_outside (orders, least->length, shorter[i], i % 2 ? 1 : most->batch);
  for (size_t i = 0; i < sizeof longer; i++)
    add_outside (orders, most->length, longer[i], i % 2 ? 1 : most->batch);
  _Static_assert(sizeof shorter + sizeof longer == TESSERA_ORDERS_OUTSIDE,
                 "so many points there are room for");
}

/* From the least to the longest, each batch in turn. */
static void
add_unseen (TesseraOrders *orders,
            const TesseraParameters *least,
            const TesseraParameters *most)
{
  for (uint64_t i = 0; i < TESSERA_ORDERS_UNSEEN; i++)
    {
      const TesseraParameters at = {
        .batch = least->batch + i % (most->batch - least->batch + 1),
        .length = between (least->length, most->length, i, TESSERA_ORDERS_UNSEEN),
      };

      add (orders, &at);
    }
}

/* The observed, others from half the shortest to the longest, and some that are shorter or
 * longer than that. */
void
tessera_orders_choose_points (TesseraOrders *orders)
{
  TesseraParameters least, most;

  add_observed (orders, &least, &most);
  add_all_outside (orders, &least, &most);
  least.length = (least.length + 1) / 2;
  add_unseen (orders, &least, &most);
  qsort (orders->points, orders->n_points, sizeof *orders->points, by_tokens);
}
