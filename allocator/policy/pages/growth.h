/*
 * A plan's pool that grows to what each step needs, and gives the rest back when memory
 * is short.
 *
 * Only its end moves, in whole pages, so what lies in it stays where it is. The guard
 * knows exactly the memory that is there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy/pages/pages.h"
#include "allocator/policy/pages/refusal.h"

typedef struct
{
  TesseraPages *pages;
  TesseraGuard *guard;
  TesseraCaching *beside; /* serves what the plan does not: its cache is given back first;
                             or NULL */
  TesseraRefusal *refusal;
  uint64_t limit_bytes; /* for both together; 0: none */
  uint64_t step_bytes;  /* what the step under way was planned with */
  bool may_flush;       /* the cache */
} TesseraGrowth;

/* Sees to it that the pool has so many bytes. Returns: false: it has not, and is as it
 * was. */
bool tessera_growth_reach (TesseraGrowth *growth, uint64_t height_bytes);
/* What neither the step under way nor anybody else needs at the pool's end. Returns:
 * bytes given back. */
uint64_t tessera_growth_give_back (TesseraGrowth *growth);
/* The lowest place that the guard would grant, in a pool made higher for it if need be:
 * for steps that nobody planned. Looks at every piece. Returns: whether there is one. */
bool tessera_growth_find (TesseraGrowth *growth,
                          const TesseraGuardRequest *request,
                          uint64_t *out_offset_bytes);
/* The same above all that the step under way was planned with: for what its plan has no
 * place for. */
bool tessera_growth_find_above (TesseraGrowth *growth,
                                const TesseraGuardRequest *request,
                                uint64_t *out_offset_bytes);
