/*
 * Which waiting item of the best rank lives inside a range of sections?
 *
 * The items of a problem lie in the order of a space-filling curve through (begin, end),
 * so that neighbours in the array are neighbours in time. A binary tree over them knows
 * for each node the box of its items' begins and ends and the best rank that waits there:
 * a question skips nodes outside the range, takes nodes inside it as a whole, and tries
 * the better half first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

#define TESSERA_NO_RANK UINT32_MAX

typedef struct
{
  uint32_t first_begin, last_begin;
  uint32_t first_end, last_end;
} TesseraFinderBox;

typedef struct
{
  uint32_t n_leaves;       /* a power of two */
  TesseraFinderBox *boxes; /* [2 * n_leaves] */
  uint32_t *best;          /* [2 * n_leaves]: lowest rank below, or TESSERA_NO_RANK */
} TesseraFinder;

TESSERA_MUST_USE TesseraStatus tessera_finder_init (TesseraFinder *finder,
                                                    const TesseraPackProblem *problem);
void tessera_finder_clear (TesseraFinder *finder); /* frees; a zeroed one is fine */
/* Sets the ranks of all items at once. */
void tessera_finder_fill (TesseraFinder *finder, const uint32_t *ranks, size_t n_items);
/* @rank: TESSERA_NO_RANK: it does not wait any more. */
void tessera_finder_set (TesseraFinder *finder, uint32_t item, uint32_t rank);
/* The best rank among items that live inside [begin, end), or TESSERA_NO_RANK. */
uint32_t tessera_finder_best (const TesseraFinder *finder, uint32_t begin, uint32_t end);
