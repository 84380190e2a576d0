/*
 * The methods of the packer, and what they share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/trees.h"

#include <stdatomic.h>

/* ---- what attempts, in several threads, have to know of each other. The outcome does
 * not depend on who is faster: an attempt is given up only when it can no longer be the
 * one that wins (it stands higher than one that is finished, or one of lower number is
 * low enough) or when the person said stop. */

typedef struct
{
  _Atomic uint64_t best_height_bytes; /* of the finished ones; UINT64_MAX: none */
  _Atomic uint32_t reached;           /* lowest number that is low enough */
  _Atomic bool cancelled;
} TesseraPackShared;

typedef struct
{
  TesseraPackShared *shared;
  uint32_t number; /* of the attempt */
} TesseraPackWatch;

/* How many placements pass between two looks at the watch. */
#define TESSERA_LOOK_EVERY 256

/* Tells whether an attempt that stands @height_bytes high can still win. */
static inline bool
tessera_pack_watch_goes_on (const TesseraPackWatch *watch, uint64_t height_bytes)
{
  TesseraPackShared *shared = watch->shared;
  return height_bytes <=
             atomic_load_explicit (&shared->best_height_bytes, memory_order_relaxed) &&
         atomic_load_explicit (&shared->reached, memory_order_relaxed) >= watch->number &&
         !atomic_load_explicit (&shared->cancelled, memory_order_relaxed);
}

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

typedef struct
{
  double keys[TESSERA_ORDER_MAX_KEYS]; /* descending */
  uint32_t item;
  uint32_t source; /* settles ties: as the caller had them */
} TesseraOrderEntry;

/* Fills @order with the positions of all items; @entries is room for n_items. */
void tessera_order_items (const TesseraPackProblem *problem,
                          const TesseraOrderKey keys[TESSERA_ORDER_MAX_KEYS],
                          TesseraOrderEntry *entries,
                          uint32_t *order);

/* ---- placed items in the order of their addresses, and the gaps between them as one
 * more item would find them. Sorted by offset in chunks of some dozen; each chunk knows
 * the sections that its entries touch at all, so that a question skips chunks that cannot
 * matter. A question walks upwards over the entries alive together with the item and
 * stops at the first gap: it costs the entries met on the way. */

#define TESSERA_PLACED_CHUNK 64
#define TESSERA_PLACED_BLOCKED UINT32_MAX

typedef struct
{
  uint64_t offset, top; /* [offset, top) */
  uint32_t begin, end;  /* first life */
  uint32_t item;        /* or TESSERA_PLACED_BLOCKED, which everybody meets */
} TesseraPlacedEntry;

/* What a question looks at first lies close together, the entries elsewhere. */
typedef struct
{
  uint64_t lowest;     /* offset of its first entry */
  uint64_t in, apart;  /* sets that some entry is in, is apart from */
  uint32_t begin, end; /* every entry's lives lie within */
  uint32_t n_entries;
  uint32_t place; /* its entries: [place * TESSERA_PLACED_CHUNK] and on */
} TesseraPlacedChunk;

typedef struct
{
  const TesseraPackProblem *problem;
  bool is_by_life;            /* who meets whom is told by first lives alone */
  TesseraPlacedChunk *chunks; /* ascending */
  TesseraPlacedEntry *entries;
  uint32_t n_chunks, n_places; /* a place is used once */
} TesseraPlaced;

/* @n_items: the most that are put there. */
void tessera_placed_init (TesseraPlaced *placed,
                          const TesseraPackProblem *problem,
                          size_t n_items);
void tessera_placed_clear (TesseraPlaced *placed); /* frees; a zeroed one is fine */
/* Only what problem->blocked holds lies there. */
void tessera_placed_empty (TesseraPlaced *placed);
/* The lowest offset from @from_bytes on at which the item fits. */
uint64_t
tessera_placed_fit (const TesseraPlaced *placed, uint32_t item, uint64_t from_bytes);
void tessera_placed_put (TesseraPlaced *placed, uint32_t item, uint64_t offset);

/* ---- the rule of the lowest reachable offset (lowest.c) ---- */

typedef struct
{
  const TesseraPackProblem *problem;
  TesseraWindows windows; /* of what lies already */
  TesseraFinder finder;   /* those that wait */
  uint32_t *ranks;        /* [n_items] scratch */
} TesseraLowest;

/* Whether the rule is for this problem: one zone, nothing blocked but the bottom and above
 * what all need, and not too much that is placed before all others. */
bool tessera_lowest_is_for (const TesseraPackProblem *problem);
void tessera_lowest_init (TesseraLowest *lowest, const TesseraPackProblem *problem);
void tessera_lowest_clear (TesseraLowest *lowest); /* frees; a zeroed one is fine */

/*
 * tessera_lowest_place:
 * @order: items by rank: settles ties
 * @offsets: (array): by item: of those that come first (tessera_pack_is_first()); all of
 *   them when done
 * @out_height_bytes: set when done
 *
 * Returns: false when the watch said stop, or what is blocked is in the way.
 */
TESSERA_MUST_USE bool tessera_lowest_place (TesseraLowest *lowest,
                                            const uint32_t *order,
                                            const TesseraPackWatch *watch,
                                            uint64_t *offsets,
                                            uint64_t *out_height_bytes);

/* ---- sweeps: first fit or best fit in order of time, class after class (sweep.c) ---- */

/* All lives of a problem in order of time. A life is its item's number * 2, + 1 for the
 * second life. Read-only once made, for any thread. */
typedef struct
{
  const TesseraPackProblem *problem;
  uint32_t *by_begin, *by_end; /* [n_lives] in a section by moments of end, then and
                                  by begin as the caller had them */
  uint32_t n_lives;
} TesseraTimes;

void tessera_times_init (TesseraTimes *times, const TesseraPackProblem *problem);
void tessera_times_clear (TesseraTimes *times); /* frees; a zeroed one is fine */

typedef struct
{
  uint64_t begin, end; /* [begin, end) */
} TesseraGap;

/* The free ranges of an address space, as an allocator has them. Ranges that touch are
 * one, so there are few: dozens, where thousands of blocks are alive. */
typedef struct
{
  TesseraGap *gaps; /* ascending; the last has no end */
  uint32_t n;
} TesseraGaps;

typedef struct
{
  const TesseraTimes *times;
  uint32_t *later;    /* [n_lives] lives of those placed in classes before, by begin */
  uint8_t *is_placed; /* [n_items] */
  TesseraGaps gaps;
  GArray *taken;       /* of TesseraGap: what the item in hand has to go around */
  uint64_t looks_left; /* at lives of earlier classes; at 0 a class is given up */
  bool is_backward;
} TesseraSweep;

void tessera_sweep_init (TesseraSweep *sweep, const TesseraTimes *times);
void tessera_sweep_clear (TesseraSweep *sweep); /* frees; a zeroed one is fine */

typedef enum
{
  TESSERA_SWEEP_FIRST_FIT, /* lowest gap that takes it */
  TESSERA_SWEEP_BEST_FIT   /* smallest gap that takes it, the lowest of these */
} TesseraSweepFit;

/* Which class comes first, which way, which fit. Items are cut into long-lived and
 * short-lived ones. Those with two lives, and those held to something, come before both. */
typedef struct
{
  uint64_t longest_short_events; /* longer lives come first; 0: all lives are long */
  bool is_backward;
  TesseraSweepFit fit;
} TesseraRule;

#define TESSERA_RULE_N_CLASSES 3
#define TESSERA_N_RULES 20

/* @longest_events: the longest life of the problem. @number: below TESSERA_N_RULES */
TesseraRule tessera_rule_nth (uint64_t longest_events, uint32_t number);

/*
 * tessera_rule_order:
 * @order: (array): items by class, in a class in the order of the sweep
 * @ends: where in @order each class ends; some may be empty
 */
void tessera_rule_order (const TesseraRule *rule,
                         const TesseraTimes *times,
                         uint32_t *order,
                         uint32_t ends[TESSERA_RULE_N_CLASSES]);

/* ---- attempts: an order of items and a way to place them (attempt.c). Items that are
 * held to something, or have two lives, come first where all else is placed by rules that
 * know one life and nothing else: what is pinned where it belongs, then each in turn by
 * first fit, a body in one move. ---- */

static inline bool
tessera_pack_is_first (const TesseraPackProblem *problem, uint32_t i)
{
  return tessera_pack_has_second (&problem->items[i]) ||
         tessera_pack_is_held (problem, i);
}

/* A layout and how it was found. */
typedef struct
{
  uint64_t height_bytes; /* UINT64_MAX: none */
  const char *strategy;  /* static text */
  uint64_t *offsets;     /* [n_items] */
} TesseraPackLayout;

/* What one thread needs to make attempts, one after another. */
typedef struct
{
  const TesseraPackProblem *problem;
  TesseraOrderEntry *entries;
  uint32_t *order;
  uint64_t *offsets;   /* by item, of the last attempt */
  uint8_t *bodies_put; /* [n_bodies] of the attempt in progress */
  TesseraPlaced placed;
  TesseraLowest lowest;
  TesseraSweep sweep;
} TesseraWorkspace;

/* Room is made for what a problem can have: @has_orders: orders; @n_placed: so
 * many items are fitted in any order; @times: sweeps, NULL: none. */
void tessera_workspace_init (TesseraWorkspace *workspace,
                             const TesseraPackProblem *problem,
                             bool has_orders,
                             size_t n_placed,
                             const TesseraTimes *times);
void tessera_workspace_clear (TesseraWorkspace *workspace); /* a zeroed one is fine */

/* Places those that come first, in the order that stands in the workspace. Returns: their
 * height. */
uint64_t tessera_attempt_first (TesseraWorkspace *workspace);
/* Places all items in the order that stands in the workspace. Returns: false when the
 * watch said stop; else workspace->offsets and *out_height_bytes are set. */
TESSERA_MUST_USE bool tessera_attempt_first_fit (TesseraWorkspace *workspace,
                                                 const TesseraPackWatch *watch,
                                                 uint64_t *out_height_bytes);
/* The same at the lowest reachable offset. */
TESSERA_MUST_USE bool tessera_attempt_lowest (TesseraWorkspace *workspace,
                                              const TesseraPackWatch *watch,
                                              uint64_t *out_height_bytes);
/* The same by a sweep (sweep.c). @looks: at lives of earlier classes, that it may spend. */
TESSERA_MUST_USE bool tessera_attempt_sweep (TesseraWorkspace *workspace,
                                             const TesseraRule *rule,
                                             uint64_t looks,
                                             const TesseraPackWatch *watch,
                                             uint64_t *out_height_bytes);
