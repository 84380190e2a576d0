/*
 * How low an item can go: the highest of the skyline over its lives.
 *
 * What may not share an address whenever it lives (limits.h) counts by the top of each
 * set, and of the two highest zones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"
#include "planner/pack/fit/tree.h"

typedef struct
{
  uint64_t in[64], apart[64]; /* of the items in a set, of those apart from it */
  uint64_t zones[2];          /* of the highest zone; of all others */
  uint32_t zone;              /* which is the highest */
} TesseraReachTops;

typedef struct
{
  const TesseraPackProblem *problem;
  TesseraReachTops *tops; /* NULL where the problem has no limits */
  TesseraSkyline skyline;
} TesseraReach;

TESSERA_MUST_USE TesseraStatus tessera_reach_init (TesseraReach *reach,
                                                   const TesseraPackProblem *problem);
void tessera_reach_clear (TesseraReach *reach); /* frees; a zeroed one is fine */
void tessera_reach_flatten (TesseraReach *reach);
uint64_t tessera_reach_floor (const TesseraReach *reach, const TesseraPackItem *item);
/* The item was placed; it ends at @top. */
void tessera_reach_raise (TesseraReach *reach, const TesseraPackItem *item, uint64_t top);
