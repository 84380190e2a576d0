/*
 * Where a search stands: what is placed, how low the others can still get, and a way
 * back.
 *
 * Every waiting item has a floor: the lowest offset that is left for it. An item whose
 * floor is no higher than those of all waiting items it meets is at the bottom of its
 * valley, and one question splits all layouts in two: is it placed at its floor?
 *
 *   place      what meets it gets a floor above its top
 *   put off    something that waits now has to get in its way: its offset is above one of
 *              those, so its floor is at least the lowest top that one of them can have
 *
 * The answer no is that strong because only canonical layouts are looked for: no item
 * could be taken out and put back lower. One exists where any does (move items down until
 * it ends). Of equal items the first lies lower; of two of equal lives, one right on top
 * of the other, the larger lies lower. All three hold in the layout of the smallest sum
 * of size^2 x offset, ties to the first, so they hold together.
 *
 * A state is refused when the waiting items of one section, taken in order of floors and
 * each put as low as floor and those before it let it, end above the capacity: no order
 * of them ends lower.
 *
 * Changes go to a trail, and undoing is walking it back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/exact/core.h"

typedef struct
{
  uint64_t *where;
  uint64_t before;
} TesseraTrailEntry;

typedef struct
{
  const TesseraCore *core;
  uint32_t without;   /* TESSERA_EXACT_NO_... */
  uint64_t *floors;   /* [n_items]; the offset once it is placed */
  uint64_t *placed;   /* [n_items]: 0 or 1 */
  uint64_t *blocked;  /* [n_items]: 0, or put off: what gets in its way is below this */
  uint64_t n_blocked; /* items that wait for that */
  uint64_t *under;    /* [n_items]: 1 + an item of its lives that was placed below it */
  uint64_t *level;   /* [n_sections]: lowest floor of those that wait; UINT64_MAX: none */
  uint64_t *reach;   /* [n_sections]: what the refusal came to */
  uint64_t *across;  /* [n_sections]: waiting ones over the border to the next section */
  uint64_t *weights; /* [n_sections]: grows where states are refused; never undone */
  uint32_t *in_order; /* members of sections, nearly ascending floors */
  TesseraTrailEntry *trail;
  size_t n_trail, trail_capacity;
  uint32_t *queue; /* items whose floor or duty changed */
  uint32_t n_queue;
  uint32_t *touched; /* sections to look at again */
  uint32_t n_touched;
  uint8_t *is_queued;  /* [n_items] */
  uint8_t *is_touched; /* [n_sections] */
  uint64_t work;
  bool no_memory; /* the state is of no use any more */
} TesseraExactState;

TESSERA_MUST_USE TesseraStatus tessera_exact_state_init (TesseraExactState *state,
                                                         const TesseraCore *core,
                                                         uint32_t without);
void tessera_exact_state_clear (TesseraExactState *state);

/* Before anything is placed. All of these: false when the state is refused (or
 * state->no_memory), to be undone. */
TESSERA_MUST_USE bool tessera_exact_state_start (TesseraExactState *state);
TESSERA_MUST_USE bool tessera_exact_state_place (TesseraExactState *state, uint32_t item);
TESSERA_MUST_USE bool tessera_exact_state_put_off (TesseraExactState *state,
                                                   uint32_t item);

/* Tells whether no canonical layout has the item at its floor. */
bool tessera_exact_state_is_dominated (const TesseraExactState *state, uint32_t item);

/* Tells whether the item is at the bottom of its valley. */
bool tessera_exact_state_is_lowest (const TesseraExactState *state, uint32_t item);

/* Back to when the trail was so long. */
void tessera_exact_state_undo (TesseraExactState *state, size_t n_trail);
