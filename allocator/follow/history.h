/*
 * What the occupancy map keeps: pieces of the pool with their history, what streams asked
 * for since, and what they wait for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pthread.h>

#include "allocator/caching.h"
#include "allocator/table.h"
#include "allocator/tree.h"
#include "db/status.h"

/* ---- Pieces ---- */

/* The pieces of a plan's pool: ranges of one history each, that cover it without gaps.
 *
 * A search tree by place; look-ups cost O(log n). Pieces come from a stock, so that
 * cutting never fails once room was prepared. */

#define TESSERA_RECENT_PIECES 16384 /* 2^14 that are found without the tree */

typedef struct TesseraPiece TesseraPiece;

/* [node.key.major, end_bytes) of the pool. */
struct TesseraPiece
{
  TesseraTreeNode node;          /* must be first */
  TesseraPiece *previous, *next; /* by place; spare: next */
  uint64_t end_bytes;
  uint64_t size_bytes;  /* asked for by the block here, or the last one */
  uint64_t block_bytes; /* what that takes; 0: never used */
  uint64_t done_at;     /* free: when the last one was done */
  uint64_t covered_at;  /* not live: the first barrier that covers its uses */
  uint32_t stream;
  uint16_t pool;
  uint8_t state;      /* TesseraBlockState */
  bool is_inside : 1; /* of a block that begins in a piece before */
  bool is_closed : 1; /* free, and no memory lies there */
};
_Static_assert(sizeof (TesseraPiece) == 128, "a piece is two cache lines");

typedef struct
{
  TesseraTree tree;
  uint64_t height_bytes; /* of the pool */
  struct TesseraPieceChunk *chunks;
  TesseraPiece *spare;
  size_t n_spare;
  TesseraPiece *recent[TESSERA_RECENT_PIECES]; /* taken last, by a hash of their begins */
} TesseraPieces;

/* One piece that nobody used yet. TESSERA_NO_MEMORY: nothing to clear. */
TESSERA_MUST_USE TesseraStatus tessera_pieces_init (TesseraPieces *pieces,
                                                    uint64_t height_bytes);
void tessera_pieces_clear (TesseraPieces *pieces);
/* Room for two tessera_pieces_cut_out(): what is given back while a request is served
 * leaves room for the request. False: no memory. */
TESSERA_MUST_USE bool tessera_pieces_prepare (TesseraPieces *pieces);

/* The piece that holds the byte at @offset_bytes; NULL where that lies behind the pool. */
TesseraPiece *tessera_pieces_at (const TesseraPieces *pieces, uint64_t offset_bytes);
/* Cuts [begin_bytes, end_bytes) out, which lies in @first to @last: what they reach
 * beyond it keeps its history in pieces of its own. Returns: the first piece of it. */
TesseraPiece *tessera_pieces_cut_out (TesseraPieces *pieces,
                                      TesseraPiece *first,
                                      TesseraPiece *last,
                                      uint64_t begin_bytes,
                                      uint64_t end_bytes);
/* One piece up to @end_bytes, where another one ends, of the history of @first. */
void tessera_pieces_join (TesseraPieces *pieces, TesseraPiece *first, uint64_t end_bytes);
/* Whether the tree is whole and the pieces cover the pool, each byte once. */
TESSERA_MUST_USE bool tessera_pieces_check (const TesseraPieces *pieces);

static inline uint64_t
tessera_piece_begin (const TesseraPiece *piece)
{
  return piece->node.key.major;
}

static inline TesseraPiece **
tessera_pieces_recent (TesseraPieces *pieces, uint64_t begin_bytes)
{
  uint64_t hash = begin_bytes / 512 * UINT64_C (0x9e3779b97f4a7c15);

  return &pieces->recent[hash >> 50];
}

static inline void
tessera_pieces_remember (TesseraPieces *pieces, TesseraPiece *piece)
{
  *tessera_pieces_recent (pieces, tessera_piece_begin (piece)) = piece;
}

/* The piece that begins there, if it is still remembered; or NULL. A spare one ends at 0,
 * all others are in the tree. */
static inline TesseraPiece *
tessera_pieces_recall (const TesseraPieces *pieces, uint64_t begin_bytes)
{
  TesseraPiece *piece = *tessera_pieces_recent ((TesseraPieces *) pieces, begin_bytes);

  return piece != NULL && tessera_piece_begin (piece) == begin_bytes &&
                 piece->end_bytes != 0
             ? piece
             : NULL;
}

/* The lowest, or NULL. */
static inline TesseraPiece *
tessera_pieces_first (const TesseraPieces *pieces)
{
  return (TesseraPiece *) tessera_tree_first (&pieces->tree);
}

/* ---- What streams asked for ---- */

/* What each stream has asked for since a moment: evidence that the program has ordered its
 * work by then, since PyTorch could have served the request from a block freed before. */

/* Of a zeroed table; all zeros after it. */
void tessera_evidence_clear (TesseraTable *kinds);
/* A request at the moment @now, which never goes back. TESSERA_NO_MEMORY: nothing
 * changed. */
TESSERA_MUST_USE TesseraStatus tessera_evidence_note (TesseraTable *kinds,
                                                      uint32_t stream,
                                                      uint32_t pool,
                                                      bool is_small,
                                                      uint64_t block_bytes,
                                                      uint64_t now);
/* The smallest block asked for after @since, UINT64_MAX: none was. */
uint64_t tessera_evidence_least (const TesseraTable *kinds,
                                 uint32_t stream,
                                 uint32_t pool,
                                 bool is_small,
                                 uint64_t since);

/* ---- What streams wait for ---- */

/* What streams wait for, and from when on a barrier covers what was freed.
 *
 * A barrier lets a stream's later work wait, on the device, for all that the process gave
 * to any stream before (TesseraDevice.order()). It covers the uses of a block that was
 * freed before it, whatever streams they were on, but for one thing: a program may free a
 * block and only then launch what still uses it. That launch comes before the freeing
 * thread's next call of the allocator, so a barrier covers a free from that call on, or
 * from the program's next mark on, a step's or a phase's (reference: the contract at the head of PyTorch's
 * CUDACachingAllocator.cpp).
 *
 * Moments count calls of the allocator. */

enum
{
  TESSERA_MOST_FREEING = 256 /* threads whose last call was a free, in one step; of more,
                                some frees are never covered */
};

/* The block that a thread freed last, and was not heard of since. */
typedef struct
{
  pthread_t thread;
  uint64_t freed_at;
  uint64_t begin_bytes, end_bytes; /* of the pool */
} TesseraLastFree;

typedef struct
{
  TesseraLastFree last[TESSERA_MOST_FREEING];
  size_t n_last;
  uint64_t *behind; /* [n_behind] by stream: the moment of its last barrier; 0: none */
  size_t n_behind, cap_behind;
} TesseraBarriers;

void tessera_barriers_clear (TesseraBarriers *barriers);

/* The calling thread is back in the allocator. Returns: whether it had freed something
 * that nothing covered until now. */
bool tessera_barriers_hear (TesseraBarriers *barriers, TesseraLastFree *out_free);
/* As if every thread were back: takes one, in any order. */
bool tessera_barriers_hear_all (TesseraBarriers *barriers, TesseraLastFree *out_free);
/* The calling thread frees something. */
void tessera_barriers_free (TesseraBarriers *barriers, const TesseraLastFree *freed);

/* The stream waits for all from before the moment. Without memory it is forgotten. */
void tessera_barriers_set (TesseraBarriers *barriers, uint32_t stream, uint64_t moment);

static inline uint64_t
tessera_barriers_of (const TesseraBarriers *barriers, uint32_t stream)
{
  return stream < barriers->n_behind ? barriers->behind[stream] : 0;
}
