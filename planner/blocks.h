/*
 * Blocks with lifetimes, from the events of a trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

enum
{
  TESSERA_AT_START = 1,     /* alive before the first event */
  TESSERA_AT_END = 2,       /* alive after the last */
  TESSERA_FAILED = 4,       /* a request that failed: lives for its own event only */
  TESSERA_UNKNOWN_START = 8 /* freed in the trace, never allocated in it, and not in the
                               state at the start either: taken as alive from event 0,
                               unless the trace starts empty */
};

typedef struct
{
  uint64_t addr;        /* as recorded (CSV: made up) */
  uint64_t size_bytes;  /* as asked for; of a failed request: rounded */
  uint64_t block_bytes; /* size rounded up to the trace's alignment: the planner's size */
  uint32_t born_index;  /* event of its allocation; 0 when alive at the start */
  uint32_t freed_index; /* event of free_requested, or n_events: never; 0: before the
                           trace */
  uint32_t died_index;  /* event of free_completed, or n_events: never; > born_index */
  uint32_t stack;       /* of the allocation, or TESSERA_NONE */
  uint32_t died_stack;  /* of the free, or TESSERA_NONE */
  uint16_t stream, pool;
  uint16_t flags;
  uint8_t lifetime_class; /* TesseraClass; filled by tessera_classify() */
  uint32_t step;          /* index into steps in which it was born, or TESSERA_NONE */
  uint32_t born_phase;    /* index into phases (innermost), or TESSERA_NONE */
  uint32_t died_phase;
  uint32_t group; /* index into groups, or TESSERA_NONE */
} TesseraBlock;

typedef struct
{
  TesseraBlock *blocks; /* at the start (by address), then by born_index */
  size_t n_blocks;
  uint32_t n_events;
  uint32_t
      *block_of_event;  /* [n_events]: block that the event is about, or TESSERA_NONE */
  uint32_t *by_death;   /* [n_blocks]: indices of blocks, by died_index, then index */
  uint64_t n_orphans;   /* frees of addresses nobody holds: counted, left aside */
  uint64_t n_displaced; /* blocks whose end the trace lacks, found out when their address
                           was handed out again: they end at that event */
} TesseraBlocks;

/*
 * tessera_blocks_new:
 *
 * Pairs allocations with frees by address. What a damaged or truncated trace lacks is
 * made up for as the flags and counts say; no trace is refused.
 */
TesseraBlocks *tessera_blocks_new (const TesseraTrace *trace);
void tessera_blocks_free (TesseraBlocks *blocks); /* NULL is fine */

/* Fills by_death anew, which the caller owns, from died_index of all. */
void tessera_blocks_order_deaths (TesseraBlocks *blocks);

/* The first block born at or after event @index; n_blocks: none. */
uint32_t tessera_blocks_first_born (const TesseraBlocks *blocks, uint32_t index);

/* The load bound over [begin_index, end_index): the largest sum of block_bytes alive at
 * one moment (alive: [born, died)), and the first event where it is reached. */
uint64_t tessera_blocks_bound (const TesseraBlocks *blocks,
                               uint32_t begin_index,
                               uint32_t end_index,
                               uint32_t *out_at_index);
