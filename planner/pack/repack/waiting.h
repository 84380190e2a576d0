/*
 * Items that wait for a place, the heaviest first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

typedef struct
{
  uint32_t *weights; /* [n_items] 1 .. 2^20: like the root of size x life */
  uint32_t *heap;    /* [n_waiting] of [n_items] */
  size_t n_waiting;
} TesseraWaitingItems;

TESSERA_MUST_USE TesseraStatus tessera_waiting_init (TesseraWaitingItems *waiting,
                                                     const TesseraPackProblem *problem);
void
tessera_waiting_clear (TesseraWaitingItems *waiting); /* frees; a zeroed one is fine */
void tessera_waiting_empty (TesseraWaitingItems *waiting);
/* Must not be waiting yet. */
void tessera_waiting_push (TesseraWaitingItems *waiting, uint32_t item);
/* The heaviest; of equal ones the one of the lowest number. Somebody must be waiting. */
uint32_t tessera_waiting_pop (TesseraWaitingItems *waiting);
