/*
 * A plan under a cap: fewer slots, until the pool is no higher.
 *
 * Blocks lose their slots until the load is nowhere above what is left for it: at the
 * first moment at which it is, of those alive the one with the least bytes x lifetime.
 * What the packing takes above the load is taken off in the next round, so a few rounds
 * do. What edits hold (pins, apart, together) keeps its slots.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/plan/build.h"

typedef struct
{
  uint64_t size_bytes;
  double weight; /* 0; becomes bytes x lifetime of all its lives */
  bool stays;    /* held by an edit, or a spare's */
  bool is_gone;  /* is told */
} TesseraCapItem;

/* One life of an item, [begin, end) in positions. Zones that share no address have shares
 * of the cap of their own. */
typedef struct
{
  uint64_t zone;
  uint32_t begin, end, item;
} TesseraCapLife;

/* Marks items so that the load of what stays is at most @most_bytes, as far as it goes.
 * Sorts @lives.  */
void tessera_cap_choose (TesseraCapItem *items,
                         TesseraCapLife *lives,
                         size_t n_lives,
                         uint64_t most_bytes);

/* How a layout loses slots (into build->left_out), and how it is made again. */
typedef struct
{
  size_t (*leave_out) (TesseraPlanBuild *build, void *user, uint64_t most_bytes);
  TesseraStatus (*lay_out) (TesseraPlanBuild *build, void *user);
} TesseraCapWays;

extern const TesseraCapWays tessera_cap_of_one_kind;

/* Lays out again and again with fewer slots until the plan is no higher than the cap that
 * an edit sets. */
TESSERA_MUST_USE TesseraStatus tessera_build_under_cap (TesseraPlanBuild *build,
                                                        const TesseraCapWays *ways,
                                                        void *user);
