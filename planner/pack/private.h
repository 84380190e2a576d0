/*
 * What the files of the packer share with each other, and nobody else.
 *
 * A packing problem is one zone's, brought to its shortest form. Time is cut into
 * sections: a new one starts where something is born after something died. Two buffers
 * share a moment exactly when they share a section, so nothing is lost, and everything
 * later works on section numbers. Buffers that are alive in all sections share no address
 * with anybody: they are stacked at the bottom once and for all, and what remains starts
 * above them (base_bytes).
 *
 * Its packing: attempts first, each an order of items and a way to place them (attempt.c,
 * lowest.c, sweep.c, one after the other in portfolio.c); the first that reaches the bound
 * ends it. Then rounds of ejection and of the exact search (improve.c, eject.c) while there
 * is work left. Each goes on from the best layout so far and keeps what is lower, and the
 * budget only says before which part the work ends: more work makes a longer run of the
 * same, and never ends higher.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/gaps.h"
#include "planner/memory.h"
#include "planner/pack.h"

/* A height never exceeds the highest pinned end and, above it, all items and bodies one
 * on top of the other. That has to stay below 2^60: sums of such must not wrap. */
#define TESSERA_PACK_MOST_BYTES ((UINT64_C (1) << 60) - 1)
#define TESSERA_PACK_NO_ITEM UINT32_MAX
/* No place: of a hint, of an item that waits for one. */
#define TESSERA_NOWHERE UINT64_MAX

typedef struct
{
  uint32_t begin, end;   /* sections [begin, end) */
  uint32_t begin2, end2; /* second life; (UINT32_MAX, 0) where there is none */
} TesseraPackLives;

static inline bool
tessera_pack_lives_meet (const TesseraPackLives *a, const TesseraPackLives *b)
{
  return (a->begin < b->end && b->begin < a->end) ||
         (a->begin2 < b->end && b->begin < a->end2) ||
         (a->begin < b->end2 && b->begin2 < a->end) ||
         (a->begin2 < b->end2 && b->begin2 < a->end2);
}

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
  TesseraItem *limits;  /* [n_items] what each is held to; its times are the caller's */
  uint32_t *body_items; /* items by body */
  uint32_t *body_ends;  /* [n_bodies + 1] body b is [body_ends[b - 1], body_ends[b]) */
  uint32_t n_bodies;
  bool has_zones; /* some items are of different zones */
  bool has_sets;  /* some item is in a set, or apart from one */
  GArray *room;   /* of TesseraGap: what is not blocked at all times. All is not, until
                     the caller takes from it */
} TesseraPackProblem;

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
  return problem->limits != NULL && problem->limits[i].is_pinned;
}

/* 1, 2 ...; 0: the item is of none. */
static inline uint32_t
tessera_pack_body (const TesseraPackProblem *problem, uint32_t i)
{
  return problem->limits != NULL ? problem->limits[i].body : 0;
}

/* The blocked addresses below the @k-th gap: none, or all from the gap before. */
static inline TesseraGap
tessera_pack_blocked (const TesseraPackProblem *problem, guint k)
{
  const TesseraGap *room = &g_array_index (problem->room, TesseraGap, k);
  return (TesseraGap){ k > 0 ? room[-1].end : 0, room->begin };
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
  return problem->limits != NULL && tessera_item_is_held (&problem->limits[i]);
}

/* Tells whether two items may not share an address: some moment lies in lives of both, or
 * what they are held to keeps them apart. @i and @k are positions in problem->items. */
bool tessera_pack_meet (const TesseraPackProblem *problem, uint32_t i, uint32_t k);
/* What they are held to keeps them apart, whenever they live. */
bool tessera_pack_limits_meet (const TesseraItem *a, const TesseraItem *b);

/* The highest end of a layout; what is pinned, where it has to lie, does not count. */
uint64_t tessera_pack_height (const TesseraPackProblem *problem, const uint64_t *offsets);

/*
 * tessera_pack_problem_new:
 * @items: which have been validated, and settled as below
 * @members: indices of the items that belong to the zone
 * @offsets: (array) (nullable): receives the places of those that live always, which are
 *   taken out; where something is pinned, or NULL was given, none is
 */
TesseraPackProblem *tessera_pack_problem_new (const TesseraItem *items,
                                              const uint32_t *members,
                                              size_t n_members,
                                              uint64_t *offsets);
void tessera_pack_problem_free (TesseraPackProblem *problem); /* NULL is fine */

/* The largest load of the members over time. */
uint64_t
tessera_pack_load (const TesseraItem *items, const uint32_t *members, size_t n_members);

/*
 * tessera_pack_settle_limits:
 * @items: (array length=n_items): which have been validated
 * @conflict: set when refused
 *
 * Numbers the bodies without gaps, lets a pin hold for all of its body, whose items are of
 * none from then on, and makes sure that what is fixed can be: then the rest can always be
 * placed, higher up if need be. Returns: TESSERA_OK or TESSERA_REFUSED.
 */
TESSERA_MUST_USE TesseraStatus tessera_pack_settle_limits (TesseraItem *items,
                                                           size_t n_items,
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

/* ---- orders of items: by up to four measures, ties as the caller had them ---- */

#define TESSERA_ORDER_MAX_KEYS 4

typedef enum
{
  TESSERA_BY_END_OF_LIST, /* no further measure */
  TESSERA_BY_PREFERENCE,  /* prefer_low first */
  TESSERA_BY_CONTENTION,  /* most neighbours first */
  TESSERA_BY_LOAD,        /* in the most loaded section first */
  TESSERA_BY_LIFE,        /* longest first */
  TESSERA_BY_AREA,        /* largest size * life first */
  TESSERA_BY_SIZE         /* largest first */
} TesseraOrderKey;

/* Fills @order with the positions of all items. */
void tessera_order_items (const TesseraPackProblem *problem,
                          const TesseraOrderKey keys[TESSERA_ORDER_MAX_KEYS],
                          uint32_t *order);

/* ---- placed items in the order of their addresses, and the gaps between them as one
 * more item would find them. Sorted by offset in chunks of some dozen; each chunk knows
 * the sections that its entries touch at all, so that a question skips chunks that cannot
 * matter. A question walks upwards over the entries alive together with the item and
 * stops at the first gap: it costs the entries met on the way. ---- */

#define TESSERA_PLACED_CHUNK 64
#define TESSERA_PLACED_BLOCKED UINT32_MAX

typedef struct
{
  uint64_t offset, top; /* [offset, top) */
  TesseraPackLives lives;
  uint32_t item; /* or TESSERA_PLACED_BLOCKED, which everybody meets */
} TesseraPlacedEntry;

/* What a question looks at first lies close together, the entries elsewhere. */
typedef struct
{
  uint64_t lowest, top; /* offset of its first entry, highest top of all */
  uint64_t in, apart;   /* sets that some entry is in, is apart from */
  uint32_t begin, end;  /* every entry's lives lie within */
  uint32_t n_entries;
  uint32_t place; /* its entries: [place * TESSERA_PLACED_CHUNK] and on */
} TesseraPlacedChunk;

typedef struct
{
  const TesseraPackProblem *problem;
  TesseraPlacedChunk *chunks; /* ascending */
  TesseraPlacedEntry *entries;
  uint32_t n_chunks, n_places; /* a place is used once */
} TesseraPlaced;

/* @n_items: the most that are put there. */
void tessera_placed_init (TesseraPlaced *placed,
                          const TesseraPackProblem *problem,
                          size_t n_items);
void tessera_placed_clear (TesseraPlaced *placed); /* frees; a zeroed one is fine */
/* Only what is blocked lies there. */
void tessera_placed_empty (TesseraPlaced *placed);
/* The lowest offset from @from_bytes on at which the item fits. */
uint64_t
tessera_placed_fit (const TesseraPlaced *placed, uint32_t item, uint64_t from_bytes);
void tessera_placed_put (TesseraPlaced *placed, uint32_t item, uint64_t offset);

/* ---- the rule of the lowest reachable offset (lowest.c) ---- */

typedef struct TesseraLowest TesseraLowest;

/* Returns: NULL where the rule is not for this problem: it has zones, something between
 * the bottom and what all need is blocked, or too much is placed before all others. */
TesseraLowest *tessera_lowest_new (const TesseraPackProblem *problem);
void tessera_lowest_free (TesseraLowest *lowest); /* NULL is fine */

/*
 * tessera_lowest_place:
 * @order: items by rank: settles ties
 * @below_bytes: an attempt that comes to stand so high is given up
 * @offsets: (array): by item: of those that come first (tessera_pack_is_first()); all of
 *   them when done
 * @out_height_bytes: set when done
 *
 * Returns: false when it was given up, or what is blocked is in the way.
 */
TESSERA_MUST_USE bool tessera_lowest_place (TesseraLowest *lowest,
                                            const uint32_t *order,
                                            uint64_t below_bytes,
                                            uint64_t *offsets,
                                            uint64_t *out_height_bytes);

/* ---- sweeps: first fit or best fit in order of time, class after class (sweep.c) ---- */

/* Which class comes first, which way, which fit. Items are cut into long-lived and
 * short-lived ones. Those with two lives, and those held to something, come before both. */
typedef struct
{
  uint64_t longest_short_events; /* longer lives come first; 0: all lives are long */
  bool is_backward;
  bool is_best_fit; /* smallest gap that takes it, the lowest of these; else the lowest */
} TesseraRule;

#define TESSERA_RULE_N_CLASSES 3

typedef struct TesseraSweep TesseraSweep;

TesseraSweep *tessera_sweep_new (const TesseraPackProblem *problem);
void tessera_sweep_free (TesseraSweep *sweep); /* NULL is fine */

/*
 * tessera_rule_order:
 * @sweep: goes the way of the rule from now on
 * @order: (array): items by class, in a class in the order of the sweep
 * @ends: where in @order each class ends; some may be empty
 */
void tessera_rule_order (const TesseraRule *rule,
                         TesseraSweep *sweep,
                         uint32_t *order,
                         uint32_t ends[TESSERA_RULE_N_CLASSES]);

/* ---- attempts (attempt.c). Items that are held to something, or have two lives, come
 * first where all else is placed by rules that know one life and nothing else: what is
 * pinned where it belongs, then each in turn by first fit, a body in one move. ---- */

static inline bool
tessera_pack_is_first (const TesseraPackProblem *problem, uint32_t i)
{
  return tessera_pack_has_second (&problem->items[i]) ||
         tessera_pack_is_held (problem, i);
}

/* How many placements pass between two looks at how high an attempt stands. */
#define TESSERA_LOOK_EVERY 256

/* What attempts need, one after another. */
typedef struct
{
  const TesseraPackProblem *problem;
  uint32_t *order;
  uint64_t *offsets;   /* by item, of the last attempt */
  uint8_t *bodies_put; /* [n_bodies + 1] of the attempt in progress */
  TesseraPlaced placed;
  TesseraLowest *lowest; /* NULL: that rule is not for the problem */
  TesseraSweep *sweep;   /* NULL: there are no sweeps */
} TesseraWorkspace;

/* Without sweeps: those are the caller's to ask for. */
void tessera_workspace_init (TesseraWorkspace *workspace,
                             const TesseraPackProblem *problem);
void tessera_workspace_clear (TesseraWorkspace *workspace);

/* Places those that come first, in the order that stands in the workspace. Returns: their
 * height. */
uint64_t tessera_attempt_first (TesseraWorkspace *workspace);
/* Places all items in the order that stands in the workspace. Returns: false when it was
 * given up at @below_bytes; else workspace->offsets and *out_height_bytes are set. */
TESSERA_MUST_USE bool tessera_attempt_first_fit (TesseraWorkspace *workspace,
                                                 uint64_t below_bytes,
                                                 uint64_t *out_height_bytes);
/* The same at the lowest reachable offset. */
TESSERA_MUST_USE bool tessera_attempt_lowest (TesseraWorkspace *workspace,
                                              uint64_t below_bytes,
                                              uint64_t *out_height_bytes);
/* The same by a sweep (sweep.c). @looks: at lives of earlier classes, that it may spend. */
TESSERA_MUST_USE bool tessera_attempt_sweep (TesseraWorkspace *workspace,
                                             const TesseraRule *rule,
                                             uint64_t looks,
                                             uint64_t below_bytes,
                                             uint64_t *out_height_bytes);
/* Repairs a layout made for the problem as it was (problem->hints): whoever lies free
 * where it lay stays, and the others go where they fit, in the order that stands in the
 * workspace: @held_first: what is held before those that stay, else after them. */
void tessera_attempt_former (TesseraWorkspace *workspace,
                             bool held_first,
                             uint64_t *out_height_bytes);

/* ---- all of it, for one problem ---- */

typedef struct
{
  TesseraPackOptions asked; /* of this problem alone, with nothing left to default */
  double fraction_begin;    /* which part of the whole this problem is */
  double fraction_end;
  bool
      has_stopped; /* told to stop, with keeps_best: the best layout so far is the answer,
                       and where there is none, the first that is found */
} TesseraPackJob;

/* So much of the way is done, for people, when all attempts have been made. */
#define TESSERA_PACK_ORDERS_FRACTION 0.25

/* A layout and how it was found. */
typedef struct
{
  uint64_t height_bytes; /* UINT64_MAX: none */
  const char *strategy;  /* static text */
  uint64_t *offsets;     /* [n_items] */
} TesseraPackLayout;

/* Asks whether to go on, and notes it. @done: a part of the job. */
bool tessera_pack_goes_on (TesseraPackJob *job, double done);
/* TESSERA_CANCELLED where the job has stopped and the best is not kept. */
TESSERA_MUST_USE TesseraStatus tessera_pack_status (const TesseraPackJob *job);

/* Tells what is known, and asks whether to go on. @done: a part of the job. Returns:
 * TESSERA_OK or, without keeps_best, TESSERA_CANCELLED. */
TESSERA_MUST_USE TesseraStatus tessera_pack_report (TesseraPackJob *job,
                                                    const TesseraPackProblem *problem,
                                                    uint64_t height_bytes,
                                                    const char *doing,
                                                    double done);

/*
 * tessera_pack_problem:
 * @problem: its bound is raised where the exact search proves a higher one
 * @offsets: (array): by item of @problem, above base_bytes
 * @out_strategy: static text
 *
 * Returns: as above.
 */
TESSERA_MUST_USE TesseraStatus tessera_pack_problem (TesseraPackProblem *problem,
                                                     TesseraPackJob *job,
                                                     uint64_t *offsets,
                                                     const char **out_strategy);

/*
 * tessera_eject:
 * @looks: at other items, that may be spent: some 50 ns each
 * @progress: (nullable): asked every few milliseconds; where it says no, the lowest layout
 *   so far is kept
 * @offsets: (array): by item; none two overlap. Never worse on return
 * @height_bytes: of @offsets, above the bound
 *
 * Packs anew around the peak. Returns: whether the height is lower.
 */
bool tessera_eject (const TesseraPackProblem *problem,
                    uint64_t looks,
                    const TesseraProgress *progress,
                    uint64_t *offsets,
                    uint64_t *height_bytes);

/* Ejection and the exact search, in rounds. @best: replaced by what is lower. Returns: as
 * above. */
TESSERA_MUST_USE TesseraStatus tessera_pack_improve (TesseraPackProblem *problem,
                                                     TesseraPackJob *job,
                                                     TesseraPackLayout *best);
