/*
 * Packing: offsets for rectangles of fixed lifetime, smallest height.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

typedef struct
{
  uint64_t size_bytes;   /* > 0, a multiple of the alignment */
  uint32_t begin, end;   /* alive over [begin, end), end > begin */
  uint32_t begin2, end2; /* and again over this one, earlier; begin2 == end2: not */
  uint32_t zone;         /* items of different zones never share an address (streams) */
  /* Where ranges pass between owners (streams) only some time after an end: for items of
   * other owners this one is alive over [wide_begin, wide_end) and [wide_begin2,
   * wide_end2), which hold the lives above; all 0: no difference. */
  uint32_t owner; /* small numbers: 0, 1, 2 ... */
  uint32_t wide_begin, wide_end;
  uint32_t wide_begin2, wide_end2;
  uint8_t prefer_low; /* persistent: at the bottom where heights are equal */
} TesseraItem;

typedef struct
{
  uint32_t n_threads;   /* 0: one per processor */
  uint64_t work_budget; /* units (placements tried); 0: default. Never seconds: the result
                           is a pure function of items and options */
  size_t fit_at_most;   /* problems of more items are fitted in order of time only; 0:
                           default */
  const TesseraProgress *progress;
} TesseraPackOptions;

typedef struct
{
  uint64_t height_bytes;
  uint64_t bound_bytes; /* of the load, zones summed where they may not share */
  const char *strategy; /* static text: the order and placement that won */
} TesseraPacking;

/*
 * tessera_pack:
 * @offsets: (array length=n_items): filled on success
 *
 * Tries a portfolio of orders and placements; the lowest-numbered one that reaches the
 * bound wins, else the best height, ties to the lower number. Sources in pack.c.
 */
TESSERA_MUST_USE TesseraStatus tessera_pack (const TesseraItem *items,
                                             size_t n_items,
                                             const TesseraPackOptions *options,
                                             uint64_t *offsets,
                                             TesseraPacking *out_packing);
/* The largest load over time (zones packed apart: the sum of their peaks). */
TESSERA_MUST_USE TesseraStatus tessera_pack_bound (const TesseraItem *items,
                                                   size_t n_items,
                                                   uint64_t *out_bound_bytes);
