/*
 * One attempt at a packing problem: an order of items and a way to place them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/fit/lowest.h"
#include "planner/pack/order.h"
#include "planner/pack/sweep/rule.h"
#include "planner/pack/fit/shelf.h"
#include "planner/pack/watch.h"

/* How many placements pass between two looks at the watch. */
#define TESSERA_LOOK_EVERY 256

typedef enum
{
  TESSERA_PLACE_FIRST_FIT, /* lowest gap that takes it */
  TESSERA_PLACE_LOWEST     /* lowest reachable offset next; the order settles ties */
} TesseraPlacement;

/* What kinds of attempts a desk is for: room for others is not made. */
typedef struct
{
  bool has_orders;           /* orders, the lowest offset */
  size_t n_on_shelf;         /* so many items are fitted in any order */
  const TesseraTimes *times; /* for sweeps; NULL: none */
} TesseraDeskParts;

/* Where those lie that come before all sweeps: forward or backward is all that they see
 * of a rule. */
typedef struct
{
  uint64_t *offsets; /* [n_items] in the order of their class; NULL: not known yet */
  uint64_t height_bytes;
} TesseraFirstPlaces;

#define TESSERA_N_FIRST_PLACES 2

/* What one thread needs to make attempts, one after another. */
typedef struct
{
  const TesseraPackProblem *problem;
  TesseraOrderEntry *entries;
  uint32_t *order;
  uint64_t *offsets;   /* by item, of the last attempt */
  uint8_t *bodies_put; /* [n_bodies] of the attempt in progress; NULL without limits */
  TesseraShelf shelf;
  TesseraLowest lowest;
  TesseraSweep sweep;
  TesseraFirstPlaces first[TESSERA_N_FIRST_PLACES];
  uint64_t *first_offsets; /* room for these */
  size_t n_first;
} TesseraDesk;

TESSERA_MUST_USE TesseraStatus tessera_desk_init (TesseraDesk *desk,
                                                  const TesseraPackProblem *problem,
                                                  const TesseraDeskParts *parts);
void tessera_desk_clear (TesseraDesk *desk); /* frees; a zeroed one is fine */

/*
 * tessera_attempt:
 *
 * Places all items in the order that stands in @desk; TESSERA_PLACE_LOWEST is for
 * problems without limits. Returns: false when the watch said stop; else desk->offsets
 * and *out_height_bytes are set.
 */
TESSERA_MUST_USE bool tessera_attempt (TesseraDesk *desk,
                                       TesseraPlacement placement,
                                       const TesseraPackWatch *watch,
                                       uint64_t *out_height_bytes);
/* The same by a sweep. @looks: what it may spend, see sweep.h. */
TESSERA_MUST_USE bool tessera_attempt_sweep (TesseraDesk *desk,
                                             const TesseraRule *rule,
                                             uint64_t looks,
                                             const TesseraPackWatch *watch,
                                             uint64_t *out_height_bytes);
/* First fit of a problem with limits. */
TESSERA_MUST_USE bool tessera_attempt_limits (TesseraDesk *desk,
                                              const TesseraPackWatch *watch,
                                              uint64_t *out_height_bytes);
/* The first @n_items of the order that stands in @desk, and all that is pinned, on an
 * empty shelf: what sweeps then go around. Raises *height_bytes. */
void tessera_attempt_first (TesseraDesk *desk, size_t n_items, uint64_t *height_bytes);
