/*
 * What the attempts of a portfolio, in several threads, have to know of each other.
 *
 * The outcome does not depend on who is faster: an attempt is given up only when it can
 * no longer be the one that wins (it stands higher than one that is finished, or one of
 * lower number is low enough) or when the person said stop.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

#include <stdatomic.h>

typedef struct
{
  _Atomic uint64_t best_height_bytes; /* of the finished ones; UINT64_MAX: none */
  _Atomic uint32_t reached;           /* lowest number that is low enough */
  _Atomic bool cancelled;
} TesseraPackShared;

typedef struct
{
  TesseraPackShared *shared;
  uint32_t number; /* of the attempt */
} TesseraPackWatch;

/* Tells whether an attempt that stands @height_bytes high can still win. */
static inline bool
tessera_pack_watch_goes_on (const TesseraPackWatch *watch, uint64_t height_bytes)
{
  TesseraPackShared *shared = watch->shared;
  return height_bytes <=
             atomic_load_explicit (&shared->best_height_bytes, memory_order_relaxed) &&
         atomic_load_explicit (&shared->reached, memory_order_relaxed) >= watch->number &&
         !atomic_load_explicit (&shared->cancelled, memory_order_relaxed);
}
