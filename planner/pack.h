/*
 * Packing: offsets for rectangles of fixed lifetime, smallest height.
 *
 * An item may be held to something, and most are to nothing:
 *
 *   pinned   it lies where the caller says and nowhere else. The others go around.
 *   in, apart  sets. Two items never share an address, whenever they live, when one is in
 *            a set that the other keeps apart from.
 *   body     items of one body keep their distances: each lies at a base that the packer
 *            chooses and all of them share, plus its own distance. In time they are items
 *            like any other, and others may lie between them. A pinned one pins them all.
 *
 * Zones lie on top of each other, in the order of their numbers. Where something is
 * pinned, which is an address of the whole pool, they can't be moved as a whole any more:
 * then each zone goes, from the bottom up, where no zone before it lies and no other is
 * pinned. Zones that share a body are placed together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

typedef struct
{
  uint64_t size_bytes;   /* > 0, a multiple of the alignment */
  uint32_t begin, end;   /* alive over [begin, end), end > begin */
  uint32_t begin2, end2; /* and again over this one, earlier; begin2 == end2: not */
  uint32_t zone;         /* items of different zones never share an address (streams) */
  uint8_t prefer_low;    /* persistent: at the bottom where heights are equal */
  uint8_t is_pinned;
  uint64_t pinned_bytes; /* its offset, of the whole pool; a multiple of the alignment */
  uint64_t in, apart;    /* sets, a bit each: apart[i] & in[k] != 0 keeps i and k apart */
  uint32_t body;         /* 1, 2 ...; 0: none */
  uint64_t
      body_offset_bytes; /* above the base of its body; a multiple of the alignment */
} TesseraItem;

/* Whether size and lives are as said above. */
static inline bool
tessera_item_is_valid (const TesseraItem *item)
{
  return item->size_bytes > 0 && item->begin < item->end &&
         (item->begin2 == item->end2 ||
          (item->begin2 < item->end2 && item->end2 <= item->begin));
}

static inline bool
tessera_item_is_held (const TesseraItem *item)
{
  return item->is_pinned || item->in != 0 || item->apart != 0 || item->body != 0;
}

/* Whether their sets keep them apart, whenever they live. */
static inline bool
tessera_items_are_apart (const TesseraItem *a, const TesseraItem *b)
{
  return ((a->in & b->apart) | (b->in & a->apart)) != 0;
}

/* Whether both are alive at some moment. */
static inline bool
tessera_items_meet (const TesseraItem *a, const TesseraItem *b)
{
  return (a->begin < b->end && b->begin < a->end) ||
         (a->begin2 < b->end && b->begin < a->end2) ||
         (a->begin < b->end2 && b->begin2 < a->end) ||
         (a->begin2 < b->end2 && b->begin2 < a->end2);
}

/* What is known while the packer works. */
typedef struct
{
  uint64_t height_bytes; /* of the best layout so far; 0: none yet */
  uint64_t bound_bytes;  /* no layout is lower, as far as is proven */
  const char *doing;     /* static text: "trying orders", "searching exactly" ... */
} TesseraNews;

/* Hears of it in the thread that called the packer, as often as its progress does, and
 * before that. */
typedef struct
{
  void (*tell) (void *user, const TesseraNews *news);
  void *user;
} TesseraListener;

typedef struct
{
  uint64_t work_budget; /* units (placements tried); 0: default. Never seconds: the result
                           is a pure function of items and options */
  const uint64_t *former; /* (nullable) (array length=n_items): where the items lay in a
                             layout before, UINT64_MAX: nowhere. It is repaired first */
  bool is_preview;        /* @former is repaired, orders are tried, little is searched */
  const TesseraProgress *progress;
  bool keeps_best; /* where @progress says stop, what is known then is the answer, not
                      TESSERA_CANCELLED: is_cut_short. Once it says stop it has to stay
                      with it */
  const TesseraListener *listener; /* (nullable) */
} TesseraPackOptions;

typedef struct
{
  uint64_t height_bytes;
  uint64_t bound_bytes; /* of the load, zones summed where they may not share; not below
                           the highest pinned end */
  uint64_t proven_bound_bytes; /* no layout is lower: bound_bytes, or more where the exact
                                  search proved so */
  const char *strategy;        /* static text: the order and placement that won */
  bool is_optimal;             /* the height is the proven bound */
  bool is_cut_short;           /* stopped before its end, see keeps_best */
  uint32_t conflict[2]; /* of TESSERA_REFUSED: two items that can't both have their way,
                           in ascending order, or twice the same */
} TesseraPacking;

/*
 * tessera_pack:
 * @offsets: (array length=n_items): filled on success
 *
 * Tries a portfolio of orders and placements; the lowest-numbered one that reaches the
 * bound wins, else the best height, ties to the lower number. Sources in pack.c.
 *
 * Returns: TESSERA_OK; TESSERA_CANCELLED unless keeps_best;
 * TESSERA_INVALID for items that are none, or sums beyond 60 bits; TESSERA_REFUSED where
 * what is pinned overlaps, lies apart from its body or begins below 0, or where the
 * distances of a body make two of its items overlap: out_packing->conflict tells which.
 */
TESSERA_MUST_USE TesseraStatus tessera_pack (const TesseraItem *items,
                                             size_t n_items,
                                             const TesseraPackOptions *options,
                                             uint64_t *offsets,
                                             TesseraPacking *out_packing);
/* The largest load over time (zones packed apart: the sum of their peaks), or the highest
 * pinned end. Fails as above. */
TESSERA_MUST_USE TesseraStatus tessera_pack_bound (const TesseraItem *items,
                                                   size_t n_items,
                                                   uint64_t *out_bound_bytes);
