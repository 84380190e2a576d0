/*
 * Packing anew around the peak: ejection chains (Glover 1996; guided ejection search,
 * Nagata and Bräysy 2009).
 *
 * What sticks out above a target is taken out and put back below it, the heaviest first:
 * where what is in its way weighs least, which then goes and waits in its turn. What has
 * had to go before weighs more each time, so that nobody turns in circles for long. When
 * nobody waits any more the target becomes the height, and a lower one is tried; when
 * that takes too long, one half as far away.
 *
 * Example: a block of 2 at offset 4 ends; one of 1 has come to lie on it, at 6, and one
 * of 3 on that, at 7: height 10, of a load of 8. The one of 3 is taken out and put at 4,
 * where only the small one is in its way; that waits, and goes to 7.
 *
 * What items are held to (pack.h) holds here too: who is pinned never goes, a body goes
 * and comes as one, and sets keep apart. What is pinned, and ranges that are not to be
 * had, cost more than all else; who can't do without them has no place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/trees.h"

typedef struct
{
  uint64_t looks; /* at items and ranges, that may be spent: some 50 ns each */
  const TesseraProgress *progress;
  double fraction; /* for @progress, which says when to stop */
} TesseraRepackOptions;

/* Two that may not share an address: one that looks for a place, one that has it. */
typedef struct
{
  uint32_t item, other;
} TesseraMeeting;

/* Where a range begins and ends that costs something to be met. */
typedef struct
{
  TesseraKeyed *lows, *highs; /* address, number of the range */
  uint64_t *costs;            /* by range; all of them fit into 64 bits */
  size_t n;
} TesseraEdges;

/*
 * tessera_cheapest_offset:
 * @edges: sorted on return
 * @limit_bytes: the highest offset that is asked about
 *
 * Returns: the lowest of the offsets in [0, limit] at which the ranges met cost least in
 * all. O(n log n).
 */
uint64_t tessera_cheapest_offset (TesseraEdges *edges,
                                  uint64_t size_bytes,
                                  uint64_t limit_bytes,
                                  uint64_t *out_cost);

/* A layout in work. */
typedef struct
{
  const TesseraPackProblem *problem;
  const TesseraRepackOptions *options;
  TesseraBoxes boxes;
  uint32_t *weights; /* [n_items] 1 .. 2^20: like the root of size x life */
  uint32_t *waiting; /* [n_waiting] a heap: the heaviest first, then the lowest number */
  size_t n_waiting;
  uint64_t *offsets; /* [n_items] or TESSERA_NOWHERE */
  uint16_t *n_gone;  /* [n_items] how often it has had to go */
  uint32_t *in_sets; /* [n_in_sets] items that sets keep apart from others */
  uint32_t n_in_sets;
  size_t max_around, max_meetings; /* that are looked at of one */
  uint32_t *around;                /* the item in hand */
  TesseraMeeting *meetings;
  TesseraEdges edges;
  uint64_t looks; /* spent */
  bool is_cancelled;
} TesseraEjection;

/* Of a problem without zones. Nobody lies anywhere. */
void tessera_ejection_init (TesseraEjection *ejection,
                            const TesseraPackProblem *problem,
                            const TesseraRepackOptions *options);
void tessera_ejection_clear (TesseraEjection *ejection);
/* Nobody waits, and nobody has had to go: before another target. */
void tessera_ejection_begin (TesseraEjection *ejection);
/* It waits from now on, with all of its body. Must not be pinned, nor wait. */
void tessera_ejection_take_out (TesseraEjection *ejection, uint32_t item);
/* All that sticks out, unless it is pinned. */
void tessera_ejection_take_out_above (TesseraEjection *ejection, uint64_t target_bytes);
/* Whoever is in the way of a pinned item, which lies where it belongs, goes. Returns:
 * false where too many are met. */
bool tessera_ejection_make_way (TesseraEjection *ejection, uint32_t item);
/* Until nobody waits. Returns: true when all lie below the target; false when the looks
 * are spent, or nothing gets better for an eighth of them (a third where items are many),
 * or somebody has no place. */
bool tessera_ejection_reach (TesseraEjection *ejection, uint64_t target_bytes);

/*
 * tessera_repack:
 * @problem: without zones
 * @offsets: (array): by item; none two overlap. Never worse on return
 * @height_bytes: of @offsets
 *
 * Returns: TESSERA_OK or TESSERA_CANCELLED; @offsets and @height_bytes hold the best in
 * any case. A pure function of its arguments but for a cancel.
 */
TESSERA_MUST_USE TesseraStatus tessera_repack (const TesseraPackProblem *problem,
                                               const TesseraRepackOptions *options,
                                               uint64_t *offsets,
                                               uint64_t *height_bytes);

/*
 * tessera_repair:
 * @problem: without zones; its hints tell where all lay in the layout before
 * @offsets: (array): set where something lower was found
 * @height_bytes: what is to be beaten, UINT64_MAX: nothing; that of @offsets where
 *   something lower was found
 *
 * A layout made for the problem as it was is repaired for the problem as it is. Everybody
 * begins where it lay. Whoever lies in the way of what is held now (pins first), or where
 * another lies already, or was not there before, waits and is put back by ejection
 * chains: below the height of before, and where that takes too long below some more. Then
 * the height is lowered as far as the looks go.
 *
 * Example: A (size 4, at 0), B (2, at 4) and C (1, at 6) are alive together, and B is
 * pinned to 0 now. A is in its way and waits; at 2 it has only C to push, which goes to 6
 * again: A 2..6, C 6..7, as high as before.
 *
 * Returns: TESSERA_OK or TESSERA_CANCELLED. A pure function of its arguments but for a
 * cancel.
 */
TESSERA_MUST_USE TesseraStatus tessera_repair (const TesseraPackProblem *problem,
                                               const TesseraRepackOptions *options,
                                               uint64_t *offsets,
                                               uint64_t *height_bytes);
