/*
 * One zone's packing problem, brought to its shortest form, and what its buffers are held
 * to.
 *
 * Time is cut into sections: a new one starts where something is born after something
 * died. Two buffers share a moment exactly when they share a section, so nothing is lost,
 * and everything later works on section numbers. Buffers that are alive in all sections
 * share no address with anybody: they are stacked at the bottom once and for all, and
 * what remains starts above them (base_bytes).
 *
 * Used by the packer only, in any thread; read-only once made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/sort.h"
#include "planner/pack.h"

#include <glib.h>

/* A height never exceeds the highest pinned end and, above it, all items and bodies one
 * on top of the other. That has to stay below 2^60: sums of such must not wrap. */
#define TESSERA_PACK_MOST_BYTES ((UINT64_C (1) << 60) - 1)
#define TESSERA_PACK_NOT_PINNED UINT64_MAX
#define TESSERA_PACK_NO_BODY UINT32_MAX
/* No place: of a hint, of an item that waits for one. */
#define TESSERA_NOWHERE UINT64_MAX

typedef struct
{
  uint32_t begin, end;   /* sections [begin, end) */
  uint32_t begin2, end2; /* second life; (UINT32_MAX, 0) where there is none */
} TesseraPackLives;

typedef struct
{
  TesseraPackLives lives;
  uint64_t size_bytes;
  uint64_t life_events; /* of both lives together, in the caller's time */
  uint64_t load_bytes;  /* largest load at any moment of its life */
  uint32_t contention;  /* largest number of items alive at any moment of its life */
  uint32_t source;      /* index into the caller's items */
  uint32_t end_event;   /* of the first life, in the caller's time */
  uint8_t prefer_low;
} TesseraPackItem;

/* What one item is held to. See pack.h for what it means. */
typedef struct
{
  uint64_t pinned_bytes; /* or TESSERA_PACK_NOT_PINNED */
  uint64_t in, apart;    /* sets */
  uint64_t body_offset_bytes;
  uint32_t body; /* 0, 1, 2 ... or TESSERA_PACK_NO_BODY */
  uint32_t zone;
} TesseraPackLimit;

/* Addresses that are not to be had. */
typedef struct
{
  uint64_t begin_bytes, end_bytes;
} TesseraPackRange;

typedef struct
{
  TesseraPackItem *items; /* in order of begins, then ends */
  size_t n_items;
  uint32_t n_sections;
  uint64_t base_bytes;  /* taken below by items that live always */
  uint64_t bound_bytes; /* as low as is worth trying: the largest load of @items alone,
                           base_bytes not counted; around what is blocked and pinned */
  uint64_t least_bytes; /* no layout of what is not pinned is lower around what is
                            blocked; 0: the bound */
  bool has_second;      /* some item has a second life */
  uint64_t *hints; /* [n_items] where they lay in a layout before, TESSERA_NOWHERE; NULL:
                      there is none */

  /* NULL where none of them is held to anything: then there are no bodies either. */
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

/* Sorts, or ends the program where there is no memory for it, as GLib does. */
static inline void
tessera_pack_sort (TesseraKeyed *keyed, size_t n)
{
  if (tessera_sort_keyed (keyed, n) != TESSERA_OK)
    g_error ("no memory to sort %zu numbers", n);
}

static inline bool
tessera_pack_has_second (const TesseraPackItem *item)
{
  return item->lives.begin2 < item->lives.end2;
}

/* Both lives lie in [first section, last section). */
static inline uint32_t
tessera_pack_first_section (const TesseraPackItem *item)
{
  return MIN (item->lives.begin, item->lives.begin2);
}

static inline uint32_t
tessera_pack_last_section (const TesseraPackItem *item)
{
  return MAX (item->lives.end, item->lives.end2);
}

static inline bool
tessera_pack_is_pinned (const TesseraPackProblem *problem, uint32_t i)
{
  return problem->limits != NULL &&
         problem->limits[i].pinned_bytes != TESSERA_PACK_NOT_PINNED;
}

static inline uint32_t
tessera_pack_body (const TesseraPackProblem *problem, uint32_t i)
{
  return problem->limits != NULL ? problem->limits[i].body : TESSERA_PACK_NO_BODY;
}

static inline uint32_t
tessera_pack_body_begin (const TesseraPackProblem *problem, uint32_t body)
{
  return body > 0 ? problem->body_ends[body - 1] : 0;
}

/* No layout of what is not pinned is lower. */
static inline uint64_t
tessera_pack_least_height (const TesseraPackProblem *problem)
{
  return problem->least_bytes != 0 ? problem->least_bytes : problem->bound_bytes;
}

/* Tells whether the item is held to something of its own. */
static inline bool
tessera_pack_is_held (const TesseraPackProblem *problem, uint32_t i)
{
  const TesseraPackLimit *limit = problem->limits != NULL ? &problem->limits[i] : NULL;
  return limit != NULL &&
         (tessera_pack_is_pinned (problem, i) || limit->body != TESSERA_PACK_NO_BODY ||
          limit->in != 0 || limit->apart != 0);
}

/* Tells whether two items may not share an address: some moment lies in lives of both, or
 * what they are held to keeps them apart. @i and @k are positions in problem->items. */
bool tessera_pack_meet (const TesseraPackProblem *problem, uint32_t i, uint32_t k);
bool tessera_pack_lives_meet (const TesseraPackLives *a, const TesseraPackLives *b);
/* What they are held to keeps them apart, whenever they live. */
bool tessera_pack_limits_meet (const TesseraPackLimit *a, const TesseraPackLimit *b);

/* The highest end of a layout; what is pinned, where it has to lie, does not count. */
uint64_t tessera_pack_height (const TesseraPackProblem *problem, const uint64_t *offsets);

/*
 * tessera_pack_problem_new:
 * @limits: (nullable): of all items, as below
 * @members: indices of the items that belong to the zone, which have been validated
 * @offsets: (array) (nullable): receives the places of those that live always, which are
 *   taken out; where something is pinned, or NULL was given, none is
 */
TesseraPackProblem *tessera_pack_problem_new (const TesseraItem *items,
                                              const TesseraPackLimit *limits,
                                              const uint32_t *members,
                                              size_t n_members,
                                              uint64_t *offsets);
void tessera_pack_problem_free (TesseraPackProblem *problem); /* NULL is fine */

/* The largest load of the members over time. */
uint64_t
tessera_pack_load (const TesseraItem *items, const uint32_t *members, size_t n_members);

/*
 * tessera_pack_limits_new:
 * @out_limits: (array length=n_items): NULL where nobody is held to anything; to be freed
 * @conflict: set when refused
 *
 * Numbers the bodies without gaps, lets a pin hold for all of its body, and makes sure
 * that what is fixed can be: then the rest can always be placed, higher up if need be.
 * Returns: TESSERA_OK or TESSERA_REFUSED; @items have been validated.
 */
TESSERA_MUST_USE TesseraStatus tessera_pack_limits_new (const TesseraItem *items,
                                                        size_t n_items,
                                                        TesseraPackLimit **out_limits,
                                                        uint32_t conflict[2]);

/* A height that no layout is below, for no two items of a set that is apart from itself
 * share an address, however far apart they live; 0 where there is no such set. */
uint64_t tessera_pack_apart_bound (const TesseraPackProblem *problem);

/*
 * tessera_pack_find_hints:
 * @former: as in TesseraPackOptions
 *
 * Sets problem->hints. What is blocked must be known.
 *
 * Zones lie on top of each other. One that has to grow, or somebody pinned into the
 * middle of one, moves all above: what matters of a former layout is how the items of the
 * zone lay to each other. So addresses that none of them used are taken out of it, and it
 * is laid from the bottom of what is free now, around what is not to be had.
 *
 * Example: a zone lay at 4..10, and 6..7 is pinned by another now; below it are 5 used.
 * What lay at 4 comes to 5, what lay at 5 to 7. Who lay at 5..7 lies across what is
 * blocked, and has to look for another place.
 */
void tessera_pack_find_hints (TesseraPackProblem *problem, const uint64_t *former);
