/*
 * The pieces of a plan's pool: ranges of one history each, that cover it without gaps.
 *
 * A search tree by place; look-ups cost O(log n). Pieces come from a stock, so that
 * cutting never fails once room was prepared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/caching.h"
#include "allocator/tree.h"

#define TESSERA_RECENT_PIECES 16384 /* 2^14 that are found without the tree */

typedef struct TesseraPiece TesseraPiece;

/* [node.key.major, end_bytes) of the pool. */
struct TesseraPiece
{
  TesseraTreeNode node;          /* must be first */
  TesseraPiece *previous, *next; /* by place */
  uint64_t end_bytes;
  uint64_t size_bytes;  /* asked for by the block here; 0 when free */
  uint64_t block_bytes; /* of the block here, or the last one; 0: never used */
  uint64_t torch_bytes; /* ... as large as PyTorch would have made it */
  uint64_t done_at;     /* free: when the last one was done */
  uint64_t covered_at;  /* not live: the first barrier that covers its uses */
  uint32_t stream, pool;
  TesseraBlockState state;
  bool is_inside;     /* of a block that begins in a piece before */
  bool is_closed;     /* free, and no memory lies there */
  TesseraPiece *link; /* spare */
};

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

/* The piece that holds the byte at @offset_bytes, which must lie in the pool. */
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
