/*
 * The rule of the lowest reachable offset.
 *
 * The floor of an item is the highest of the skyline over its life: the offset it would
 * get now. Next comes the item with the lowest floor, ties by rank. Lying there, it may
 * leave a hole below itself that nothing can fill any more; where a section could then
 * no longer hold all that is still to come under the capacity, the item has to wait.
 * When all wait, the capacity is raised by the least that lets one of them go on.
 *
 * Floors are not kept. What matters is the lowest window of the skyline: items that live
 * inside it have its height as floor and come next; if there are none, the window is
 * lifted. Items with two lives, which may lie in windows of different heights, wait in a
 * heap by a lower bound of their floor and are looked at when their turn seems to come.
 *
 * Cost: some O(log n) a placement, and a question to the finder for each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/fit/finder.h"
#include "planner/pack/fit/turns.h"
#include "planner/pack/fit/passing.h"
#include "planner/pack/reach.h"
#include "planner/pack/fit/tree.h"
#include "planner/pack/watch.h"
#include "planner/pack/windows.h"

typedef struct
{
  const TesseraPackProblem *problem;
  const uint32_t *order; /* items by rank, of the attempt in progress */
  TesseraReach reach;
  TesseraRoom room;
  uint64_t n_settled; /* floors found anew of those who take their turns */
  TesseraWindows windows;
  bool is_spent;        /* no item waits in a window */
  TesseraFinder finder; /* those with one life that wait */
  TesseraFixed fixed;
  uint32_t *ranks;       /* [n_items] scratch */
  TesseraTurns turns;    /* those whose floor is not that of one window */
  uint32_t *parked_next; /* [n_items] by rank */
  uint32_t *parked_head; /* [n_sections] ranks that wait for room there */
  uint64_t *parked_bits; /* bit s: parked_head[s] is not empty */
  size_t n_parked;
  uint32_t *deferred_head; /* [fixed.n_ranges] ranks that have no room below the range */
  uint64_t capacity_bytes;
  uint32_t n_raises; /* of the capacity */
  bool has_limit;    /* the capacity still holds anybody back */
} TesseraLowest;

TESSERA_MUST_USE TesseraStatus tessera_lowest_init (TesseraLowest *lowest,
                                                    const TesseraPackProblem *problem);
void tessera_lowest_clear (TesseraLowest *lowest); /* frees; a zeroed one is fine */

typedef enum
{
  TESSERA_LOWEST_DONE,
  TESSERA_LOWEST_STUCK,  /* all that are left wait for room */
  TESSERA_LOWEST_STOPPED /* the watch said so */
} TesseraLowestEnd;

/*
 * tessera_lowest_place:
 * @order: items by rank: settles ties
 * @capacity_bytes: at least the bound, and the highest end of what is fixed
 * @may_raise: raise the capacity rather than be stuck
 * @offsets: (array): by item; complete when done
 * @out_height_bytes: set when done
 */
TESSERA_MUST_USE TesseraLowestEnd tessera_lowest_place (TesseraLowest *lowest,
                                                        const uint32_t *order,
                                                        uint64_t capacity_bytes,
                                                        bool may_raise,
                                                        const TesseraPackWatch *watch,
                                                        uint64_t *offsets,
                                                        uint64_t *out_height_bytes);
/* After TESSERA_LOWEST_STUCK: fills @ranks with who waits; returns how many. */
size_t tessera_lowest_list_parked (const TesseraLowest *lowest, uint32_t *ranks);
