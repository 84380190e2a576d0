/*
 * The state of the walk backwards: shared by start.c, which walks, and start-settle.c,
 * which writes down where it arrived.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/tree.h"
#include "recorder/import/snapshot.h"

typedef struct
{
  TesseraTreeNode node; /* first: a node is its item */
  uint64_t size_bytes;
  uint32_t stack;
  uint16_t stream;
  uint16_t pool;
  bool is_small;
  bool is_expandable;
} RewindSegment;

typedef struct
{
  TesseraTreeNode node;
  uint64_t size_bytes;  /* as asked for */
  uint64_t block_bytes; /* known ones */
  uint64_t upper;       /* unknown ones: nothing of theirs lies at or above */
  uint32_t stack;
  bool is_known;
  bool is_pending;
} RewindBlock;

/* Which pool an address of an expandable range was ever seen to serve. */
typedef struct
{
  TesseraTreeNode node;
  uint16_t pool;
  bool is_small;
} RewindKnown;

typedef struct
{
  TesseraTrace *trace;
  TesseraTree segments, blocks, known;
  bool needs_pools; /* some event does not say its pool, and there is more than one */
  uint64_t n_unknown_allocs, n_double_frees, n_outside, n_unknown_requests,
      n_unknown_segments, n_overlaps, n_size_differs, n_tails, n_open;
} Rewind;

static inline uint64_t
rewind_addr_of (const TesseraTreeNode *node)
{
  return node->key.major;
}

static inline TesseraTreeKey
rewind_key_of (uint64_t addr)
{
  return (TesseraTreeKey){ .major = addr };
}

static inline TesseraTreeNode *
rewind_at (const TesseraTree *tree, uint64_t addr)
{
  TesseraTreeNode *node = tessera_tree_at_least (tree, rewind_key_of (addr));

  return node != NULL && rewind_addr_of (node) == addr ? node : NULL;
}

/* The last node at or below @addr. */
static inline TesseraTreeNode *
rewind_floor_of (const TesseraTree *tree, uint64_t addr)
{
  return tessera_tree_below (tree, (TesseraTreeKey){ .major = addr, .middle = 1 });
}

static inline uint64_t
rewind_end_of (const RewindSegment *segment)
{
  return rewind_addr_of (&segment->node) + segment->size_bytes;
}

static inline RewindSegment *
rewind_segment_over (const Rewind *rewind, uint64_t addr)
{
  RewindSegment *segment = (RewindSegment *) rewind_floor_of (&rewind->segments, addr);

  return segment != NULL && addr < rewind_end_of (segment) ? segment : NULL;
}

/* Fills trace->start and the notes from what is left. */
TESSERA_MUST_USE TesseraStatus tessera_rewind_settle (Rewind *rewind);
