/*
 * Exact packing: does a layout of at most this height exist?
 *
 * The answer is a layout, or a proof that there is none (the search ended), or that the
 * work was not enough to know. For hard cores of some hundred items that no rule packs;
 * what the portfolio of pack.h packs to the bound needs no proof. The ideas (sections,
 * lowest places, canonical layouts, refusal by section) are MiniMalloc's (ASPLOS '23);
 * how this search differs stands in exact/private.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"

typedef enum
{
  TESSERA_EXACT_UNKNOWN,   /* the budget is spent */
  TESSERA_EXACT_FITS,      /* and here is how */
  TESSERA_EXACT_IMPOSSIBLE /* proven: no layout of this height exists */
} TesseraExactAnswer;

typedef struct
{
  uint64_t capacity_bytes;
  uint64_t work_budget; /* units (an item looked at, a few ns); 0: default. Never seconds:
                           answer and layout are pure functions of items, capacity and
                           budget */
  uint32_t turn;        /* which of its ways the search tries first: asked again with
                           another, it does not do the same again */
  const TesseraProgress *progress;
} TesseraExactOptions;

typedef struct
{
  TesseraExactAnswer answer;
  uint64_t n_decisions; /* items placed or put off, over all restarts */
  uint64_t work;        /* units spent */
} TesseraExactResult;

/* The greatest common divisor of all sizes: lowest offsets, and heights that matter, are
 * multiples of it. @n_items: at least 1. */
uint64_t tessera_exact_unit (const TesseraItem *items, size_t n_items);

/*
 * tessera_exact_search:
 * @items: of which sizes and lives count; what they are held to does not
 * @offsets: (array length=n_items): filled where the answer is TESSERA_EXACT_FITS, else
 *   left as it was
 *
 * Works in the calling thread alone.
 *
 * Returns: TESSERA_OK whatever the answer, TESSERA_INVALID or TESSERA_CANCELLED.
 */
TESSERA_MUST_USE TesseraStatus tessera_exact_search (const TesseraItem *items,
                                                     size_t n_items,
                                                     const TesseraExactOptions *options,
                                                     uint64_t *offsets,
                                                     TesseraExactResult *out_result);
