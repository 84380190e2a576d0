/*
 * What the files that find the orders of a plan for every length share, and nobody else:
 * the orders that were tried, and the parameters that they are measured at.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/lengths/build.h"

enum
{
  TESSERA_ORDERS_UNSEEN = 40,  /* parameters besides the observed, up to the most */
  TESSERA_ORDERS_OUTSIDE = 16, /* shorter and longer ones than a plan is likely to meet */
  TESSERA_ORDERS_POINTS =
      TESSERA_FIT_STEPS + TESSERA_ORDERS_UNSEEN + TESSERA_ORDERS_OUTSIDE,
  TESSERA_ORDERS_SPREAD = 10,  /* points that are packed for in any case */
  TESSERA_ORDERS_FURTHER = 16, /* ... and where orders are highest above the bound */
  TESSERA_ORDERS_TRIED = TESSERA_ORDERS_SPREAD + TESSERA_ORDERS_FURTHER
};

/* Another order is worth its place in the file where it is better by this. */
#define TESSERA_ORDERS_WORTH 0.001

typedef struct
{
  TesseraParameters parameters;
  bool is_observed;
  bool is_outside;
  uint64_t bound_bytes; /* no layout of those that are tried is below; 0: nobody looked */
  bool is_packed;       /* an order was tried that is for this point */
  uint64_t heights[TESSERA_ORDERS_TRIED];
} TesseraOrdersPoint;

typedef struct
{
  TesseraLengthsBuild *build;
  uint32_t *swept; /* [n_swept] slots */
  uint64_t *block_bytes, *tops;
  uint64_t *floors; /* [n_slots] of the step that makes what one step makes */
  bool is_first;    /* orders for that step are looked for */
  TesseraOrdersPoint points[TESSERA_ORDERS_POINTS]; /* by tokens */
  size_t n_points;
  TesseraOrder orders[TESSERA_ORDERS_TRIED];
  size_t n_orders;
  bool splits; /* small and large blocks have zones of their own */
  size_t chosen_from[TESSERA_ORDERS_POINTS]; /* which of them those of the plan are */
} TesseraOrders;

/* The parameters that orders are measured at. */
void tessera_orders_choose_points (TesseraOrders *orders);
/* Whether they do. TESSERA_OK or TESSERA_NO_MEMORY */
TESSERA_MUST_USE TesseraStatus tessera_orders_split (TesseraOrders *orders);
/* Tries orders: adds them, and their heights at the points. TESSERA_OK,
 * TESSERA_NO_MEMORY, TESSERA_CANCELLED or TESSERA_INVALID: there are no sizes anywhere.
 */
TESSERA_MUST_USE TesseraStatus tessera_orders_try (TesseraOrders *orders);
/* Adds to the plan's orders those that serve best, and where. TESSERA_OK or
 * TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_orders_choose (TesseraOrders *orders);
/* The least height at the point that any order gives. */
uint64_t tessera_orders_least (const TesseraOrders *orders,
                               const TesseraOrdersPoint *point);
