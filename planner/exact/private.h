/*
 * What the files of the exact search share. See planner/exact.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/exact.h"

#include <glib.h>

/* ---- a core: items whose places have to be searched for, with what the search looks up.
 * Time is cut into sections as in pack/problem.c: two items share a moment exactly when
 * they share a section. Heights are in units, the greatest common divisor of all sizes.
 * Read-only once made. ---- */

typedef struct
{
  uint64_t size;         /* units */
  uint32_t begin, end;   /* sections [begin, end) */
  uint32_t begin2, end2; /* the earlier life; begin2 == end2: none */
  uint32_t source;       /* index into the caller's items */
} TesseraCoreItem;

typedef struct
{
  TesseraCoreItem *items; /* ascending first section */
  uint32_t n_items;
  uint32_t n_sections;
  uint64_t capacity;       /* units */
  uint32_t *members_begin; /* [n_sections + 1] into members */
  uint32_t *members;       /* items alive in a section */
  uint32_t *near_begin;    /* [n_items + 1] into near */
  uint32_t *near;          /* items that share a section with an item */
  uint64_t *load;          /* [n_sections]: units */
} TesseraCore;

static inline uint32_t
tessera_core_first_section (const TesseraCoreItem *item)
{
  return item->begin2 < item->end2 ? item->begin2 : item->begin;
}

static inline bool
tessera_core_items_meet (const TesseraCoreItem *a, const TesseraCoreItem *b)
{
  return (a->begin < b->end && b->begin < a->end) ||
         (a->begin2 < b->end && b->begin < a->end2) ||
         (a->begin < b->end2 && b->begin2 < a->end) ||
         (a->begin2 < b->end2 && b->begin2 < a->end2);
}

/*
 * tessera_core_cut:
 * @items: (array length=n_items): lives in the caller's time, brought to sections
 *
 * Sorts the items by first section. Returns: how many sections there are.
 */
uint32_t tessera_core_cut (TesseraCoreItem *items, uint32_t n_items);
/* @items: (array length=n_items): brought to sections, in order; copied. Returns: NULL
 * where the core is too large to be looked at. */
TesseraCore *tessera_core_new (const TesseraCoreItem *items,
                               uint32_t n_items,
                               uint32_t n_sections,
                               uint64_t capacity);
void tessera_core_free (TesseraCore *core); /* NULL is fine */

/* ---- what is easy, taken out of a problem: what remains are cores. Over and over:
 * sections no longer needed go; an item that is alive in all sections goes to the bottom,
 * and the capacity shrinks by it (whoever lies below it may as well lie on it); an item so
 * small, with so few neighbours, that wherever those are a place is left for it, goes
 * last; parts that share no section are problems of their own. ---- */

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
  TesseraCoreItem *whole;    /* [n_items] by source, in the caller's time */
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

void tessera_reduction_init (TesseraReduction *reduction,
                             const TesseraItem *items,
                             uint32_t n_items,
                             uint64_t unit_bytes);
void tessera_reduction_clear (TesseraReduction *reduction);
/* Fills cores, easy and places as far as they are known. When @work_budget is
 * spent, what remains is left whole. */
void tessera_reduction_run (TesseraReduction *reduction,
                            uint64_t capacity,
                            uint64_t work_budget);
/* Places the easy ones, once all cores are. */
void tessera_reduction_finish (TesseraReduction *reduction);

/* ---- where a search stands: what is placed, how low the others can still get, and a way
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
 * it ends).
 *
 * A state is refused when the waiting items of one section, taken in order of floors and
 * each put as low as floor and those before it let it, end above the capacity: no order
 * of them ends lower.
 *
 * Changes go to a trail, and undoing is walking it back.
 * ---- */

typedef struct
{
  uint64_t *where;
  uint64_t before;
} TesseraTrailEntry;

typedef struct
{
  const TesseraCore *core;
  uint64_t *floors;   /* [n_items]; the offset once it is placed */
  uint64_t *placed;   /* [n_items]: 0 or 1 */
  uint64_t *blocked;  /* [n_items]: 0, or put off: what gets in its way is below this */
  uint64_t n_blocked; /* items that wait for that */
  uint64_t *level;   /* [n_sections]: lowest floor of those that wait; UINT64_MAX: none */
  uint64_t *reach;   /* [n_sections]: what the refusal came to */
  uint64_t *weights; /* [n_sections]: grows where states are refused; never undone */
  uint32_t *in_order; /* members of sections, nearly ascending floors */
  TesseraTrailEntry *trail;
  size_t n_trail, trail_capacity;
  bool has_changed;  /* some floor or duty */
  uint32_t *touched; /* sections to look at again */
  uint32_t n_touched;
  uint8_t *is_touched; /* [n_sections] */
  uint64_t work;
} TesseraExactState;

void tessera_exact_state_init (TesseraExactState *state, const TesseraCore *core);
void tessera_exact_state_clear (TesseraExactState *state);

/* Before anything is placed. All of these: false when the state is refused, to be undone.
 */
TESSERA_MUST_USE bool tessera_exact_state_start (TesseraExactState *state);
TESSERA_MUST_USE bool tessera_exact_state_place (TesseraExactState *state, uint32_t item);
TESSERA_MUST_USE bool tessera_exact_state_put_off (TesseraExactState *state,
                                                   uint32_t item);

/* Tells whether the item is at the bottom of its valley. */
bool tessera_exact_state_is_lowest (const TesseraExactState *state, uint32_t item);

/* Back to when the trail was so long. */
void tessera_exact_state_undo (TesseraExactState *state, size_t n_trail);

/* ---- one walk down the tree of decisions, by one rule, as far as its share of work goes.
 * A node picks a valley and in it the item that comes first in the order, and asks
 * whether it lies at its floor: first yes, then no. Rules and orders change how soon the
 * end comes, not the answer. ---- */

typedef enum
{
  TESSERA_VALLEY_TROUBLE,  /* where states were refused most often */
  TESSERA_VALLEY_LEFTMOST, /* earliest in time */
  TESSERA_VALLEY_TIGHT,    /* where the least room is left */
  TESSERA_VALLEY_LOWEST,   /* lowest floor */
  TESSERA_N_VALLEY_RULES
} TesseraValleyRule;

typedef struct
{
  TesseraExactState *state;
  const uint32_t *ranks; /* [n_items]: lower comes first */
  const TesseraProgress *progress;
  GArray *frames;       /* decisions in force */
  uint64_t n_decisions; /* over all walks */
  uint64_t work_budget; /* of all walks: no more after this */
  uint64_t next_report;
} TesseraDescent;

void tessera_descent_init (TesseraDescent *descent);
void tessera_descent_clear (TesseraDescent *descent);

/*
 * tessera_descent_walk:
 * @share: decisions that it may take
 *
 * With TESSERA_EXACT_FITS the state holds the layout; else it is back where it started.
 *
 * Returns: TESSERA_OK or TESSERA_CANCELLED.
 */
TESSERA_MUST_USE TesseraStatus tessera_descent_walk (TesseraDescent *descent,
                                                     TesseraValleyRule rule,
                                                     uint64_t share,
                                                     TesseraExactAnswer *out_answer);
