/*
 * One zone's packing problem, brought to its shortest form.
 *
 * Time is cut into sections: a new one starts where something is born after something
 * died. Two items share a moment exactly when they share a section, so nothing is lost,
 * and everything later works on section numbers. Items that are alive in all sections
 * share no address with anybody: they are stacked at the bottom once and for all, and
 * what remains starts above them (base_bytes).
 *
 * Used by the packer only, in any thread; read-only once made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/limits/limits.h"

/* A height never exceeds the highest pinned end and, above it, all items and bodies one
 * on top of the other. That has to stay below 2^60: trees of free room (fit/tree.h) count
 * below 0 as well, an item of two lives twice, and sums of two such must not wrap. */
#define TESSERA_PACK_MOST_BYTES ((UINT64_C (1) << 60) - 1)

typedef struct
{
  uint32_t begin, end;   /* sections [begin, end) */
  uint32_t begin2, end2; /* second life; (UINT32_MAX, 0) where there is none */
} TesseraPackLives;

typedef struct
{
  TesseraPackLives lives;
  uint64_t curve; /* place of (begin, end) on a space-filling curve */
  uint64_t size_bytes;
  uint64_t life_events; /* of both lives together, in the caller's time */
  uint64_t load_bytes;  /* largest load at any moment of its life */
  uint32_t contention;  /* largest number of items alive at any moment of its life */
  uint32_t source;      /* index into the caller's items */
  uint32_t end_event;   /* of the first life, in the caller's time */
  uint8_t prefer_low;
} TesseraPackItem;

/* Addresses that are not to be had. */
typedef struct
{
  uint64_t begin_bytes, end_bytes;
} TesseraPackRange;

typedef struct
{
  TesseraPackItem *items; /* ascending curve */
  size_t n_items;
  uint32_t n_sections;
  uint64_t base_bytes;  /* taken below by items that live always */
  uint64_t bound_bytes; /* largest load of @items alone: base_bytes not counted */
  bool has_second;      /* some item has a second life */
  uint64_t *hints;      /* [n_items] where they lay in a layout before (hints.h), freed
                             with the rest; NULL: there is none */
  uint64_t least_bytes; /* of what is not pinned: no layout is lower around what is
                            blocked; 0: the bound */
  bool is_whole_pool;   /* offsets are of the pool, since something is pinned */

  /* NULL where nobody is held to anything: then there are no bodies and nothing is
   * blocked either. Methods that know nothing of limits are for such problems only. */
  TesseraPackLimit *limits; /* [n_items] */
  uint32_t *body_items;     /* items by body */
  uint32_t *body_ends;      /* [n_bodies] where in body_items each ends */
  uint32_t n_bodies;
  bool has_zones; /* some items are of different zones */
  bool has_sets;  /* some item is in a set, or apart from one */
  TesseraPackRange
      *blocked; /* ascending, apart; the caller sets it, freed with the rest */
  size_t n_blocked;
} TesseraPackProblem;

/* Both lives lie in [first section, last section). */
static inline uint32_t
tessera_pack_first_section (const TesseraPackItem *item)
{
  return item->lives.begin < item->lives.begin2 ? item->lives.begin : item->lives.begin2;
}

static inline uint32_t
tessera_pack_last_section (const TesseraPackItem *item)
{
  return item->lives.end > item->lives.end2 ? item->lives.end : item->lives.end2;
}

/* Tells whether some moment lies in lives of both. */
static inline bool
tessera_pack_lives_meet (const TesseraPackLives *a, const TesseraPackLives *b)
{
  return (a->begin < b->end && b->begin < a->end) ||
         (a->begin2 < b->end && b->begin < a->end2) ||
         (a->begin < b->end2 && b->begin2 < a->end) ||
         (a->begin2 < b->end2 && b->begin2 < a->end2);
}

/* Tells whether two items may not share an address. */
static inline bool
tessera_pack_items_meet (const TesseraPackItem *a, const TesseraPackItem *b)
{
  return tessera_pack_lives_meet (&a->lives, &b->lives);
}

/* The same, whatever keeps them apart. @i and @k are positions in problem->items. */
static inline bool
tessera_pack_meet (const TesseraPackProblem *problem, uint32_t i, uint32_t k)
{
  return tessera_pack_items_meet (&problem->items[i], &problem->items[k]) ||
         (problem->limits != NULL &&
          tessera_pack_limits_meet (&problem->limits[i], &problem->limits[k]));
}

/* The highest end of a layout of all items. */
static inline uint64_t
tessera_pack_height (const TesseraPackProblem *problem, const uint64_t *offsets)
{
  uint64_t height_bytes = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    if (offsets[i] + problem->items[i].size_bytes > height_bytes)
      height_bytes = offsets[i] + problem->items[i].size_bytes;
  return height_bytes;
}

/* Tells whether the item is held to something of its own. */
static inline bool
tessera_pack_is_held (const TesseraPackProblem *problem, uint32_t i)
{
  const TesseraPackLimit *limit = problem->limits != NULL ? &problem->limits[i] : NULL;
  return limit != NULL &&
         (limit->pinned_bytes != TESSERA_PACK_NOT_PINNED ||
          limit->body != TESSERA_PACK_NO_BODY || limit->in != 0 || limit->apart != 0);
}

/*
 * tessera_pack_problem_new:
 * @limits: (nullable): of all items, as limits.h makes them
 * @members: indices of the items that belong to the zone
 * @offsets: (array) (nullable): receives the places of those that live always, which are
 *   taken out; where something is pinned, or NULL was given, none is
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY; @items must have been validated.
 */
TESSERA_MUST_USE TesseraStatus
tessera_pack_problem_new (const TesseraItem *items,
                          const TesseraPackLimit *limits,
                          const uint32_t *members,
                          size_t n_members,
                          uint64_t *offsets,
                          TesseraPackProblem **out_problem);
void tessera_pack_problem_free (TesseraPackProblem *problem); /* NULL is fine */

/* The largest load of the members over time. Returns: TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_pack_load (const TesseraItem *items,
                                                  const uint32_t *members,
                                                  size_t n_members,
                                                  uint64_t *out_load_bytes);
