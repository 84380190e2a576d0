/*
 * Dynamic blocks of a trace, each with the place at which it is asked for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

typedef struct
{
  TesseraRoom like; /* of its place; but for the range */
  uint32_t step;
  uint32_t block; /* in planner order */
} TesseraGuest;

typedef struct
{
  TesseraGuest *guests; /* by place */
  size_t n_guests;
} TesseraGuests;
