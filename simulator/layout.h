/*
 * Where everything lay, over the whole trace, under one policy: recorded or simulated.
 *
 * Plain arrays, read-only once made. This is what the canvases draw, what the verdict
 * explains and what the curves are taken from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/blocks.h"

#define TESSERA_NOWHERE UINT64_MAX

/* Memory the driver gave: a segment, pages of an expandable one, or a plan's pool. */
typedef struct
{
  uint64_t addr;
  uint64_t size_bytes;
  uint32_t born_index; /* from this event on ... */
  uint32_t died_index; /* ... up to this one, or n_events */
  uint16_t stream, pool;
  bool is_small;
  bool is_expandable; /* adjacent spans of equal stream and pool are one segment */
  bool is_plan_pool;  /* ... adjacent spans are one as well */
} TesseraSpan;

typedef struct
{
  uint32_t event_index;
  uint64_t size_bytes; /* rounded request */
  uint16_t stream, pool;
  uint64_t free_at_driver_bytes; /* TESSERA_NOWHERE: not known */
} TesseraOom;

/* Under a plan across streams: which blocks hold a block's bytes before and after it,
 * TESSERA_NONE: none do. Of several those of another stream count first; then of those
 * before the one whose memory became usable last, of those after the first. */
typedef struct
{
  uint32_t before, after;
  uint32_t n_waits; /* barriers made so that the block could have its place */
} TesseraLink;

/* Requests of stream @to whose memory a block of stream @from held before: hand-overs. Of one
 * stream they are those that had to wait, since side streams used that block. */
typedef struct
{
  uint16_t from, to; /* by first use */
  uint64_t n_handovers, n_waits;
} TesseraHandoverCount;

/* What waits for what, in one step. */
typedef struct
{
  TesseraHandoverCount *counts; /* by pair of streams, those that wait most often first */
  size_t n_counts;
  uint32_t step;    /* the one in the middle of the trace; TESSERA_NONE: there are none,
                       and all is counted */
  uint64_t n_waits; /* of all pairs */
} TesseraHandovers;

/* Values in force AFTER the event. */
typedef struct
{
  uint64_t *live_bytes;      /* asked for, not freed */
  uint64_t *allocated_bytes; /* block bytes, not freed */
  uint64_t *active_bytes;    /* and pending */
  uint64_t *reserved_bytes;
} TesseraCurves;

typedef enum
{
  TESSERA_LAYOUT_RECORDED,
  TESSERA_LAYOUT_NATIVE,
  TESSERA_LAYOUT_EXPANDABLE,
  TESSERA_LAYOUT_PLAN
} TesseraLayoutKind;

typedef struct
{
  TesseraLayoutKind kind;
  uint32_t n_events;
  size_t n_blocks;
  uint64_t *addr;        /* [n_blocks], or TESSERA_NOWHERE (request failed) */
  uint64_t *block_bytes; /* [n_blocks] what the block takes here */
  uint32_t *died_index;  /* [n_blocks] when its memory became usable again here */
  uint8_t *is_hit;       /* [n_blocks] a plan was followed, in simulation or by the run
                            itself: lies in the plan's pool; else NULL */
  uint8_t *is_left;      /* [n_blocks] the plan that is followed leaves it to the dynamic
                            allocator, on purpose; NULL: no plan was followed */
  TesseraLink *links;    /* [n_blocks] of a plan across streams that is followed in
                            simulation; else NULL */
  TesseraHandovers handovers; /* ... and of nothing else */
  TesseraSpan *spans;         /* by born_index */
  size_t n_spans;
  TesseraOom *ooms;
  size_t n_ooms;
  TesseraCurves curves; /* [n_events] each */
  uint64_t peak_live_bytes, peak_allocated_bytes, peak_active_bytes, peak_reserved_bytes;
  uint32_t peak_reserved_index; /* first event of it; with a plan's pool the fullest; of
                                   one that was there before the first event that of the
                                   run's own peak, where it is within 10 % */
  uint64_t n_hits, n_misses;    /* of requests; where is_hit is there */
  uint64_t n_barriers;          /* of a plan across streams: made in the run; the sum of
                                   n_waits */
  uint64_t n_planned_misses;    /* of the misses: is_left */
  uint64_t miss_bytes;          /* asked for by those that missed */
  uint64_t planned_miss_bytes;  /* ... by those of them that were planned */
  uint32_t declined_index;      /* from this event on no plan was followed any more, and
                                   nothing counts as a hit or a miss; 0: there was no such */
  uint64_t pool_addr;           /* where a plan's pool begins; 0: there is none */
  uint64_t pool_bytes;          /* of its addresses; as recorded only */
  uint64_t kept_bytes;          /* what would be reserved if nothing of the pool ever went
                                   back; simulated only */
  uint64_t n_retries;
  char note[256]; /* what this layout can't know, or "" */
} TesseraLayout;

void tessera_layout_free (TesseraLayout *layout);

/* Whether a block got its memory by a hand-over: *out_from is the stream that had it. False
 * for all where layout->links is NULL. */
bool tessera_layout_is_handover (const TesseraLayout *layout,
                                 const TesseraBlocks *blocks,
                                 uint32_t block,
                                 uint16_t *out_from);

/* Whose layout it is, for titles: "PyTorch", or "The planned run" where it was recorded
 * while a plan was followed. @layout may be NULL. */
const char *tessera_layout_owner (const TesseraLayout *layout);

/* Where the pool lay of the plan that a recorded run followed, as its trace tells
 * (docs/FORMAT.md); n_bytes 0: no plan was followed. */
typedef struct
{
  uint64_t addr;
  uint64_t n_bytes;
  uint32_t declined_index; /* as in TesseraLayout */
} TesseraRecordedPool;

/* What the trace's meta says, of the trace's device; nothing where it says no sense. */
TesseraRecordedPool tessera_recorded_pool (const TesseraTrace *trace);
bool tessera_pool_holds (TesseraRecordedPool pool, uint64_t addr);
/* Was the block asked for under the plan? Those of the start and those that failed were
 * not served, and those asked for after it was declined were not served by it. */
bool tessera_pool_was_asked (TesseraRecordedPool pool, const TesseraBlock *block);
/* ... and did it miss the plan: does it lie outside of the pool? */
bool tessera_pool_was_missed (TesseraRecordedPool pool, const TesseraBlock *block);
/* Whether that was planned: one of those that the plan leaves to the dynamic allocator. */
bool tessera_pool_was_left (const TesseraTrace *trace,
                            TesseraRecordedPool pool,
                            const TesseraBlock *block);
