/*
 * What the files of the caching allocator share.
 *
 * A chain is what the driver gave in one piece: a cudaMalloc segment, or the reservation
 * of an expandable one. Its blocks are linked in address order and cover it without gaps.
 * A block is free, pending or live, mapped or not, and belongs to one pool for good.
 * Invariants, checked by tests/allocator/check.c:
 *   - free mapped blocks are in their pool's `free` tree, free unmapped ones in
 *     `unmapped`; live and pending ones, and no others, are in `table` by address;
 *   - two neighbours that are both free and equally mapped do not exist;
 *   - the four byte counters equal the sums over the blocks.
 *
 * Host memory is taken before anything changes (see tessera_caching_prepare), so that a
 * failure half way cannot happen.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/caching.h"
#include "allocator/caching-replay.h"
#include "allocator/table.h"
#include "allocator/tree.h"

/* More than one request can ever make: a reservation and the rest of a mapping for each
 * attempt, a segment, the rest of a split. */
#define TESSERA_CACHING_BLOCKS_PER_CALL 8

typedef struct CachingBlock CachingBlock;
typedef struct CachingChain CachingChain;

/* Free blocks of one size class of one pool. */
typedef struct
{
  TesseraTree free;     /* by (stream handle, size, age of the segment or 0, address) */
  TesseraTree unmapped; /* by (stream handle, 0, 0, address) */
  uint64_t n_searches;  /* the clock of garbage collection */
  uint32_t index;       /* of the pool pair */
  bool is_small;
} CachingPool;

typedef struct
{
  CachingPool of_size[2]; /* large, small */
  bool is_unused;         /* released by its users: a flush takes its segments */
} CachingPoolPair;

struct CachingBlock
{
  TesseraTreeNode node; /* must be first; in one of the pool's trees while free */
  uint64_t addr;
  uint64_t size_bytes;
  uint64_t requested_bytes;
  uint64_t searches_at_insert;
  CachingBlock *previous, *next; /* neighbours in the chain */
  CachingBlock *link;            /* list of blocks about to be unmapped, or spare */
  CachingPool *pool;
  CachingChain *chain;
  uint32_t stream;
  uint8_t state; /* TesseraBlockState */
  bool is_mapped;
};

struct CachingChain
{
  uint64_t addr;
  uint64_t size_bytes;
  uint64_t page_bytes; /* 0: a cudaMalloc segment, not expandable */
  uint64_t number;     /* the older the lower; a reservation is as old as its first map */
  CachingBlock *first;
  CachingChain *previous, *next; /* all chains, oldest first */
};

typedef struct CachingSlabChunk CachingSlabChunk;

struct TesseraCaching
{
  TesseraSettings settings;
  TesseraRules rules;
  uint64_t limit_bytes;
  uint64_t kept_bytes; /* by the device, for others */
  TesseraDevice *device;
  TesseraObserver observer;
  TesseraCachingStats stats;

  uint64_t *stream_handles; /* [n_streams]; a stream beyond: its own index */
  size_t n_streams;
  CachingPoolPair **pools; /* [n_pools]; NULL where never used */
  size_t n_pools;
  CachingChain *first_chain, *last_chain;
  uint64_t n_numbered; /* chains that ever had memory */
  TesseraTable table;  /* live and pending blocks by address */

  CachingSlabChunk *chunks;
  CachingBlock *spare; /* by link */
  size_t n_spare;
  bool is_routed;
  bool has_started; /* a request was served: seeding is over */
};

typedef struct
{
  uint64_t size_bytes; /* rounded */
  uint32_t stream;
  CachingPool *pool;
} CachingRequest;

/* pool.c: streams, pools and the trees of free blocks */
uint64_t tessera_caching_stream_handle (const TesseraCaching *caching, uint32_t stream);
TESSERA_MUST_USE TesseraStatus tessera_caching_get_pool (TesseraCaching *caching,
                                                         uint32_t pool,
                                                         bool is_small,
                                                         CachingPool **out_pool);
TesseraTreeKey tessera_caching_key_of (const TesseraCaching *caching,
                                       const CachingBlock *block);
/* Whether PyTorch counts this free block as an inactive split: it could not go back to
 * the driver alone. */
bool tessera_caching_is_inactive_split (const CachingBlock *block);
void tessera_caching_insert (TesseraCaching *caching, CachingBlock *block);
void tessera_caching_remove (TesseraCaching *caching, CachingBlock *block);
/* The free block that serves the request, or NULL; search also counts and takes it. */
CachingBlock *tessera_caching_candidate (TesseraCaching *caching,
                                         const CachingRequest *request);
CachingBlock *tessera_caching_search (TesseraCaching *caching,
                                      const CachingRequest *request);
CachingBlock *tessera_caching_lowest (TesseraCaching *caching,
                                      TesseraTree *tree,
                                      uint32_t stream,
                                      uint64_t size_bytes);
void tessera_caching_count_search (TesseraCaching *caching, CachingPool *pool);
bool tessera_caching_is_collecting (const TesseraCaching *caching);

static inline bool
tessera_caching_is_split (const CachingBlock *block)
{
  return block->previous != NULL || block->next != NULL;
}

static inline CachingBlock *
tessera_caching_block_of (TesseraTreeNode *node)
{
  return (CachingBlock *) node;
}

static inline CachingBlock *
tessera_caching_after (CachingBlock *block)
{
  return tessera_caching_block_of (tessera_tree_next (&block->node));
}

static inline CachingBlock *
tessera_caching_first_free (const CachingPool *pool)
{
  return tessera_caching_block_of (tessera_tree_first (&pool->free));
}

/* block.c: blocks and chains */
/* Sees to it that the next @n_blocks blocks can be made and one be registered. */
TESSERA_MUST_USE TesseraStatus tessera_caching_prepare (TesseraCaching *caching,
                                                        size_t n_blocks);
/* A block that the caller links in; takes a spare one. */
CachingBlock *tessera_caching_take_block (TesseraCaching *caching,
                                          CachingPool *pool,
                                          uint32_t stream,
                                          uint64_t addr,
                                          uint64_t size_bytes);
void tessera_caching_drop_block (TesseraCaching *caching, CachingBlock *block);
void tessera_caching_drop_all_blocks (TesseraCaching *caching);
/* Cuts @block, which is in no tree, at @size_bytes. Returns: the new upper part. */
CachingBlock *
tessera_caching_cut (TesseraCaching *caching, CachingBlock *block, uint64_t size_bytes);
/* Joins @block, which is in no tree, with its free neighbours of the same kind. */
void tessera_caching_merge (TesseraCaching *caching, CachingBlock *block);
TESSERA_MUST_USE TesseraStatus tessera_caching_add_chain (TesseraCaching *caching,
                                                          CachingChain **out_chain);
void tessera_caching_drop_chain (TesseraCaching *caching, CachingChain *chain);
/* Its first memory has come: it is younger than all others. */
void tessera_caching_number_chain (TesseraCaching *caching, CachingChain *chain);
/* The driver gave this part of @block's chain, or has it back: counts and tells that. */
void tessera_caching_note_memory (TesseraCaching *caching,
                                  const CachingBlock *block,
                                  uint64_t addr,
                                  uint64_t size_bytes,
                                  bool has_come);
void tessera_caching_count_active (TesseraCaching *caching, const CachingBlock *block);

/* segment.c, expand.c: memory from the device. All of these return
 * TESSERA_OUT_OF_DEVICE where the device (or the limit) refused. */
TESSERA_MUST_USE TesseraStatus tessera_caching_obtain (TesseraCaching *caching,
                                                       const CachingRequest *request,
                                                       CachingBlock **out_block);
TESSERA_MUST_USE TesseraStatus tessera_caching_expand (TesseraCaching *caching,
                                                       const CachingRequest *request,
                                                       CachingBlock **out_block);
/* What tessera_caching_expand() would map. */
uint64_t tessera_caching_measure_growth (TesseraCaching *caching,
                                         const CachingRequest *request);
/* The block from which an expandable segment would grow for this request, or NULL. */
CachingBlock *tessera_caching_find_room (TesseraCaching *caching,
                                         const CachingRequest *request);
bool tessera_caching_is_within_limit (const TesseraCaching *caching,
                                      const CachingRequest *request);
/* @block is free and mapped; its whole pages go back. */
TESSERA_MUST_USE TesseraStatus tessera_caching_unmap (TesseraCaching *caching,
                                                      CachingBlock *block);

/* release.c: memory back to the device */
TESSERA_MUST_USE TesseraStatus tessera_caching_release_cached (TesseraCaching *caching);
bool tessera_caching_release_available (TesseraCaching *caching,
                                        const CachingRequest *request);
void tessera_caching_collect_garbage (TesseraCaching *caching);
CachingBlock *tessera_caching_next_whole (CachingBlock *block);
/* @block is free; if it is the whole of a cudaMalloc segment, that goes back. */
void tessera_caching_release_whole (TesseraCaching *caching, CachingBlock *block);

/* caching.c: with @is_known_miss the search is left out */
TESSERA_MUST_USE TesseraStatus tessera_caching_serve (TesseraCaching *caching,
                                                      uint64_t size_bytes,
                                                      uint32_t stream,
                                                      uint32_t pool,
                                                      bool is_known_miss,
                                                      TesseraGrant *out_grant);
