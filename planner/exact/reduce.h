/*
 * What is easy, taken out of a problem: what remains are cores.
 *
 * Over and over: sections no longer needed go; an item that is alive in all sections goes
 * to the bottom, and the capacity shrinks by it (whoever lies below it may as well lie on
 * it); an item so small, with so few neighbours, that wherever those are a place is left
 * for it, goes last; parts that share no section are problems of their own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/exact/core.h"

typedef struct
{
  uint32_t first, n_items; /* of the reduction's items */
  uint32_t n_sections;     /* cores only */
  uint64_t base, capacity; /* units: offsets [base, base + capacity) */
} TesseraReducedPart;

typedef struct
{
  TesseraCoreItem *items; /* [n_items], permuted: a part's stand together */
  uint32_t n_items;
  uint64_t unit_bytes;
  uint64_t *places;          /* [n_items] by source: units; UINT64_MAX: not placed */
  TesseraReducedPart *parts; /* [2 * n_items]: still to be looked at */
  uint32_t n_parts;
  TesseraReducedPart *cores; /* [n_items] */
  uint32_t n_cores;
  TesseraReducedPart
      *easy; /* [n_items]: first is the source; to be placed from the end */
  uint32_t n_easy;
  uint64_t *sums; /* [4 * (n_items * 4 + 1)]: room to count in */
  uint64_t work;
  bool is_impossible; /* a section's load is above the capacity */
} TesseraReduction;

/* All NULL and zero after a failure. */
TESSERA_MUST_USE TesseraStatus tessera_reduction_init (TesseraReduction *reduction,
                                                       const TesseraExactItem *items,
                                                       uint32_t n_items,
                                                       uint64_t unit_bytes);
void tessera_reduction_clear (TesseraReduction *reduction);

/* Fills cores, easy and places as far as they are known. When @work_budget is
 * spent, what remains is left whole. */
TESSERA_MUST_USE TesseraStatus tessera_reduction_run (TesseraReduction *reduction,
                                                      uint64_t capacity,
                                                      uint64_t work_budget);

/* Places the easy ones, once all cores are. */
TESSERA_MUST_USE TesseraStatus tessera_reduction_finish (TesseraReduction *reduction,
                                                         const TesseraExactItem *items);
