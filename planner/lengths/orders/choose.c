/*
 * Which of the orders that were tried a plan for every length holds, and for which range
 * each is used: see orders.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "planner/lengths/orders/orders.h"

/* An order that is there already is worth a second place where it is better by this. */
#define WORTH_A_COPY 0.01

/* What an order loses where steps are unlikely counts for so much less. */
#define OUTSIDE_PART 10

uint64_t
tessera_orders_least (const TesseraOrders *orders, const TesseraOrdersPoint *point)
{
  uint64_t least = UINT64_MAX;

  for (size_t k = 0; k < orders->n_orders; k++)
    least = point->heights[k] < least ? point->heights[k] : least;
  return least;
}

/* How much worse than the best the order is at the point: 1 is no worse. */
static double
cost_at (const TesseraOrders *orders, size_t order, const TesseraOrdersPoint *point)
{
  double ratio =
      (double) point->heights[order] / (double) tessera_orders_least (orders, point);

  return point->is_outside ? 1 + (ratio - 1) / OUTSIDE_PART : ratio;
}

/* The same at its worst. */
static double
worst_of (const TesseraOrders *orders, size_t order, size_t from, size_t to)
{
  double worst = 1;

  for (size_t i = from; i < to; i++)
    {
      double cost = cost_at (orders, order, &orders->points[i]);

      worst = cost > worst ? cost : worst;
    }
  return worst;
}

static size_t
best_order (const TesseraOrders *orders, size_t from, size_t to)
{
  size_t best = 0;

  for (size_t k = 1; k < orders->n_orders; k++)
    if (worst_of (orders, k, from, to) < worst_of (orders, best, from, to))
      best = k;
  return best;
}

/* Adds a copy of what was tried to the orders of the plan. */
static TesseraStatus
add (TesseraOrders *orders, size_t tried, uint64_t from_tokens)
{
  TesseraLengths *out = orders->build->out;
  const TesseraOrder *from = &orders->orders[tried];
  TesseraOrder *order = &out->orders[out->n_orders];
  TesseraStatus status = tessera_order_init (order, out->n_swept, from->n_edges);

  if (status != TESSERA_OK)
    return status;
  memcpy (order->slots, from->slots, out->n_swept * sizeof *order->slots);
  memcpy (order->laws, from->laws, out->n_swept * sizeof *order->laws);
  memcpy (order->first_edge, from->first_edge,
          ((size_t) out->n_swept + 1) * sizeof *order->first_edge);
  memcpy (order->below, from->below, from->n_edges * sizeof *order->below);
  order->is_first = from->is_first;
  order->n_low = from->n_low;
  order->from_tokens = from_tokens;
  orders->chosen_from[out->n_orders++] = tried;
  return TESSERA_OK;
}

static uint64_t
tokens_of (const TesseraOrders *orders, size_t point)
{
  return tessera_parameters_tokens (&orders->points[point].parameters);
}

/* The first point behind those with as many tokens as the one before @to: no range ends
 * between these. */
static size_t
end_of_equal (const TesseraOrders *orders, size_t to)
{
  while (to < orders->n_points && tokens_of (orders, to) == tokens_of (orders, to - 1))
    to++;
  return to;
}

/* As far as one order is good enough from the point on; *@out_best is that order. */
static size_t
end_of_range (const TesseraOrders *orders, size_t from, size_t *out_best)
{
  size_t to = end_of_equal (orders, from + 1);

  *out_best = best_order (orders, from, to);
  while (to < orders->n_points)
    {
      size_t further = end_of_equal (orders, to + 1);
      size_t next = best_order (orders, from, further);

      if (worst_of (orders, next, from, further) > 1 + TESSERA_ORDERS_WORTH)
        break;
      *out_best = next;
      to = further;
    }
  return to;
}

/* Ranges of points, as long as one order is good enough for all of each. A range begins
 * beyond the last point of the one before. */
TesseraStatus
tessera_orders_choose (TesseraOrders *orders)
{
  TesseraLengths *out = orders->build->out;
  bool is_used[TESSERA_ORDERS_TRIED] = { false };
  size_t all = best_order (orders, 0, orders->n_points), from = 0;
  TesseraStatus status = TESSERA_OK;

  while (from < orders->n_points && status == TESSERA_OK)
    {
      size_t to = orders->n_points, best = all, last;

      if (worst_of (orders, all, from, to) > 1 + TESSERA_ORDERS_WORTH)
        to = end_of_range (orders, from, &best);
      last = from > 0 ? orders->chosen_from[out->n_orders - 1] : best;
      if (from == 0 || (best != last && !is_used[best]) ||
          worst_of (orders, last, from, to) > 1 + WORTH_A_COPY)
        status = add (orders, best, from == 0 ? 0 : tokens_of (orders, from - 1) + 1);
      is_used[best] = true;
      from = to;
    }
  return status;
}
