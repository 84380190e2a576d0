/*
 * Orders of items: by up to four measures, ties as the caller had them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

#define TESSERA_ORDER_MAX_KEYS 4

typedef enum
{
  TESSERA_BY_END_OF_LIST, /* no further measure */
  TESSERA_BY_PREFERENCE,  /* prefer_low first */
  TESSERA_BY_CONTENTION,  /* most neighbours first */
  TESSERA_BY_LOAD,        /* in the most loaded section first */
  TESSERA_BY_LIFE,        /* longest first */
  TESSERA_BY_AREA,        /* largest size * life first */
  TESSERA_BY_SIZE,        /* largest first */
  TESSERA_BY_TIME         /* the earliest of all its lives first */
} TesseraOrderKey;

/* Room for sorting, one per thread. */
typedef struct
{
  double keys[TESSERA_ORDER_MAX_KEYS];
  uint32_t item;
  uint32_t source; /* settles ties: as the caller had them */
} TesseraOrderEntry;

/* Fills @order with the positions of all items; @entries is scratch of n_items. */
void tessera_order_items (const TesseraPackProblem *problem,
                          const TesseraOrderKey keys[TESSERA_ORDER_MAX_KEYS],
                          TesseraOrderEntry *entries,
                          uint32_t *order);
/* The same for keys that the caller has filled in; largest first. */
void
tessera_order_entries (TesseraOrderEntry *entries, size_t n_entries, uint32_t *order);
