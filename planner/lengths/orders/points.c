/*
 * The parameters that the orders of a plan for every length are measured at: see
 * orders.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/orders/orders.h"

enum
{
  /* Without a divisor in common with TESSERA_ORDERS_UNSEEN_OF_TWO. Found by trying all:
   * with these no two points lie close to each other, of all or of each eighth one. */
  STRIDE = 293,
  BATCH_STRIDE = 31,
  N_CORNERS = 8
};

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
  orders->points[orders->n_points++] =
      (TesseraOrdersPoint){ .parameters = *at, .first_fit_bytes = UINT64_MAX };
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
      least->second = at->second < least->second ? at->second : least->second;
    }
  if (most->batch < least->batch || most->length < least->length ||
      most->second < least->second)
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

/* Where slots of two lengths are as large to each other as they can be. */
static void
add_corners (TesseraOrders *orders,
             const TesseraParameters *least,
             const TesseraParameters *most)
{
  for (size_t i = 0; i < N_CORNERS; i++)
    if (i % 2 == 0 || most->batch > least->batch)
      add (orders, &(TesseraParameters){ i & 1 ? most->batch : least->batch,
                                         i & 2 ? most->length : least->length,
                                         i & 4 ? most->second : least->second });
}

/* Lengths that are a multiple, as programs that pad have, and more that are none. */
static void
round_some (const TesseraOrders *orders, TesseraParameters *at, uint64_t i)
{
  uint64_t first = tessera_sweep_multiple (orders->build->out, false);
  uint64_t second = tessera_sweep_multiple (orders->build->out, true);

  if (i % 8 < 2 && at->length >= first)
    at->length -= at->length % first;
  if (i % 8 % 2 == 0 && i % 8 < 4 && at->second >= second)
    at->second -= at->second % second;
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

/* The @i-th of TESSERA_ORDERS_UNSEEN_OF_TWO lengths, more of them short: what is alive
 * when a step is highest changes there within a few. */
static uint64_t
among_short (uint64_t least, uint64_t most, uint64_t i)
{
  return least + (between (least, most, i, TESSERA_ORDERS_UNSEEN_OF_TWO) - least) *
                     (2 * i + 1) / (2 * TESSERA_ORDERS_UNSEEN_OF_TWO);
}

/* All over the box: a lattice, in which each of one length meets another of the other,
 * and another batch. */
static void
add_unseen_of_two (TesseraOrders *orders,
                   const TesseraParameters *least,
                   const TesseraParameters *most)
{
  const uint64_t n = TESSERA_ORDERS_UNSEEN_OF_TWO;

  for (uint64_t i = 0; i < n; i++)
    {
      TesseraParameters at = {
        .batch =
            least->batch + (most->batch - least->batch + 1) * (i * BATCH_STRIDE % n) / n,
        .length = among_short (least->length, most->length, i),
        .second = among_short (least->second, most->second, i * STRIDE % n),
      };

      round_some (orders, &at, i);
      add (orders, &at);
    }
}

/* The observed, and others from half the shortest to the longest. Of one length some that
 * are shorter or longer than that as well, of two the corners of the box. */
void
tessera_orders_choose_points (TesseraOrders *orders)
{
  TesseraParameters least, most;

  add_observed (orders, &least, &most);
  if (most.second == 0)
    add_all_outside (orders, &least, &most);
  least.length = (least.length + 1) / 2;
  least.second = (least.second + 1) / 2;
  if (most.second > 0)
    {
      add_corners (orders, &least, &most);
      add_unseen_of_two (orders, &least, &most);
    }
  else
    add_unseen (orders, &least, &most);
  qsort (orders->points, orders->n_points, sizeof *orders->points, by_tokens);
}
