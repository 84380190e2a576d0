/*
 * Places that blocks of one size leave to each other.
 *
 * Where an item has gone the next of its size goes:
 * the place that was left last comes first, as on a stack. Whether it is still free is
 * for the caller to see; one that is not is forgotten.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

#define TESSERA_NO_ITEM UINT32_MAX

typedef struct
{
  uint32_t *of_item; /* [n_items] */
  uint32_t n_sizes;
} TesseraSizes;

TESSERA_MUST_USE TesseraStatus tessera_sizes_init (TesseraSizes *sizes,
                                                   const TesseraPackProblem *problem);
void tessera_sizes_clear (TesseraSizes *sizes); /* frees; a zeroed one is fine */

typedef struct
{
  const TesseraSizes *sizes;
  uint32_t *last;   /* [n_sizes] item that went last, or TESSERA_NO_ITEM */
  uint32_t *before; /* [n_items] the one that went before it */
} TesseraLeft;

TESSERA_MUST_USE TesseraStatus tessera_left_init (TesseraLeft *left,
                                                  const TesseraSizes *sizes,
                                                  size_t n_items);
void tessera_left_clear (TesseraLeft *left); /* frees; a zeroed one is fine */
void tessera_left_reset (TesseraLeft *left); /* nobody has gone */
/* The item has gone; at most once each. */
void tessera_left_push (TesseraLeft *left, uint32_t item);
/* Returns: who of the size of @item went last, and forgets it, or TESSERA_NO_ITEM. */
uint32_t tessera_left_pop (TesseraLeft *left, uint32_t item);
