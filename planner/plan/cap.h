/*
 * A plan under a cap: fewer slots, until the pool is no higher.
 *
 * Blocks lose their slots until the load is nowhere above what is left for it: at the
 * first moment at which it is, of those alive the one with the least bytes x lifetime.
 * What the packing takes above the load is taken off in the next round, so a few rounds
 * do. What edits hold (pins, apart, together) keeps its slots. Where a strip of addresses
 * that is cut out of the layout (below) loses little more, it goes instead, and that is
 * the end of it.
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

/* What loses its slots. */
typedef struct
{
  size_t n_requests;
  double weight; /* bytes x lifetime of all */
} TesseraCapLoss;

/* How a layout loses slots (into build->left_out), and how it is made again. */
typedef struct
{
  void (*leave_out) (TesseraPlanBuild *build,
                     void *user,
                     uint64_t most_bytes,
                     TesseraCapLoss *out_loss);
  TesseraStatus (*lay_out) (TesseraPlanBuild *build, void *user);
  bool has_strips; /* may lose a strip of addresses instead (below) */
} TesseraCapWays;

extern const TesseraCapWays tessera_cap_of_one_kind;

/* Lays out again and again with fewer slots until the plan is no higher than the cap that
 * an edit sets. */
TESSERA_MUST_USE TesseraStatus tessera_build_under_cap (TesseraPlanBuild *build,
                                                        const TesseraCapWays *ways,
                                                        void *user);

/*
 * A strip cut out of a layout: a plan under a cap without packing anything.
 *
 * A range of addresses as high as the layout is too high is taken out: who lies in it, if
 * only in part, loses its slot, and all above it comes down by as much. What is left
 * shares no address that it did not share before, whatever law it was laid out by. Among
 * all such ranges there is often one that few blocks lie in.
 *
 * Example: height 10, cap 8, so the strip is 2 high. A lies at 0..6, B at 6..7, C at
 * 7..10, at another time D at 6..9. A strip at 6 loses B, C and D; one at 8 C and D only.
 */
typedef struct TesseraStrip TesseraStrip;

/*
 * tessera_strip_find:
 *
 * Remembers all it needs: the layout may be made anew then.
 *
 * Returns: (transfer full) (nullable): of the layout of @build the strip that loses least
 * bytes x lifetime; NULL where there is none: what is pinned, or takes turns, lies in the
 * way, or something is kept together
 */
TesseraStrip *tessera_strip_find (const TesseraPlanBuild *build, uint64_t cap_bytes);
/* (nullable) */
void tessera_strip_free (TesseraStrip *strip);

/* Bytes x lifetime of what is lost. */
double tessera_strip_weight (const TesseraStrip *strip);

/*
 * tessera_strip_take:
 * @out_is_taken: false where what is left has other slots than before; then what is left
 *   out is as it was, and has to be laid out anew
 *
 * Lays out what the strip leaves, lower than that where packing it anew is. Slots that
 * were left out since it was found come back.
 *
 * Returns: TESSERA_OK, or what laying out fails with
 */
TESSERA_MUST_USE TesseraStatus tessera_strip_take (TesseraPlanBuild *build,
                                                   const TesseraStrip *strip,
                                                   bool *out_is_taken);
