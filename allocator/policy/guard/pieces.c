/*
 * Ranges of one history each, cut and joined.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/guard/pieces.h"

#include <stdlib.h>

enum
{
  CHUNK_PIECES = 256,
  MAX_PIECES_TAKEN = 5 /* by two joins, the rests before and after each; what the pool
                          grows by */
};

typedef struct TesseraPieceChunk Chunk;
struct TesseraPieceChunk
{
  Chunk *next;
  TesseraPiece pieces[CHUNK_PIECES];
};

static void
put_spare (TesseraPieces *pieces, TesseraPiece *piece)
{
  piece->link = pieces->spare;
  pieces->spare = piece;
  pieces->n_spare++;
}

static TesseraPiece *
take_spare (TesseraPieces *pieces)
{
  TesseraPiece *piece = pieces->spare;

  pieces->spare = piece->link;
  pieces->n_spare--;
  return piece;
}

bool
tessera_pieces_prepare (TesseraPieces *pieces)
{
  Chunk *chunk;

  if (pieces->n_spare >= MAX_PIECES_TAKEN)
    return true;
  chunk = calloc (1, sizeof *chunk);
  if (chunk == NULL)
    return false;
  chunk->next = pieces->chunks;
  pieces->chunks = chunk;
  for (size_t i = 0; i < CHUNK_PIECES; i++)
    put_spare (pieces, &chunk->pieces[i]);
  return true;
}

TesseraStatus
tessera_pieces_init (TesseraPieces *pieces, uint64_t height_bytes)
{
  *pieces = (TesseraPieces){ 0 };
  if (!tessera_pieces_prepare (pieces))
    return TESSERA_NO_MEMORY;
  tessera_pieces_grow (pieces, height_bytes);
  return TESSERA_OK;
}

void
tessera_pieces_grow (TesseraPieces *pieces, uint64_t height_bytes)
{
  TesseraPiece *more;

  if (height_bytes <= pieces->height_bytes)
    return;
  more = take_spare (pieces);
  *more = (TesseraPiece){ .end_bytes = height_bytes, .state = TESSERA_BLOCK_FREE };
  tessera_tree_insert (&pieces->tree, &more->node,
                       (TesseraTreeKey){ .major = pieces->height_bytes });
  pieces->height_bytes = height_bytes;
}

void
tessera_pieces_shrink (TesseraPieces *pieces, uint64_t height_bytes)
{
  while (pieces->height_bytes > height_bytes)
    {
      TesseraPiece *last = tessera_pieces_at (pieces, pieces->height_bytes - 1);

      pieces->height_bytes = tessera_piece_begin (last);
      if (pieces->height_bytes < height_bytes)
        pieces->height_bytes = last->end_bytes = height_bytes;
      else
        {
          tessera_tree_remove (&pieces->tree, &last->node);
          put_spare (pieces, last);
        }
    }
}

void
tessera_pieces_clear (TesseraPieces *pieces)
{
  while (pieces->chunks != NULL)
    {
      Chunk *next = pieces->chunks->next;

      free (pieces->chunks);
      pieces->chunks = next;
    }
  *pieces = (TesseraPieces){ 0 };
}

TesseraPiece *
tessera_pieces_at (const TesseraPieces *pieces, uint64_t offset_bytes)
{
  return (TesseraPiece *) tessera_tree_below (
      &pieces->tree, (TesseraTreeKey){ .major = offset_bytes + 1 });
}

/* Cuts @piece at @offset_bytes inside it. Returns: the rest, of the same history. */
static TesseraPiece *
cut (TesseraPieces *pieces, TesseraPiece *piece, uint64_t offset_bytes)
{
  TesseraPiece *rest = take_spare (pieces);

  *rest = *piece;
  piece->end_bytes = offset_bytes;
  tessera_tree_insert (&pieces->tree, &rest->node,
                       (TesseraTreeKey){ .major = offset_bytes });
  return rest;
}

TesseraPiece *
tessera_pieces_join (TesseraPieces *pieces,
                     TesseraPiece *first,
                     TesseraPiece *last,
                     uint64_t begin_bytes,
                     uint64_t end_bytes)
{
  if (last->end_bytes > end_bytes)
    cut (pieces, last, end_bytes);
  if (tessera_piece_begin (first) < begin_bytes)
    first = cut (pieces, first, begin_bytes);
  while (first->end_bytes < end_bytes)
    {
      TesseraPiece *piece = tessera_piece_next (first);

      first->end_bytes = piece->end_bytes;
      tessera_tree_remove (&pieces->tree, &piece->node);
      put_spare (pieces, piece);
    }
  return first;
}

bool
tessera_pieces_check (const TesseraPieces *pieces)
{
  uint64_t end_bytes = 0;

  if (!tessera_tree_check (&pieces->tree))
    return false;
  for (const TesseraPiece *piece = tessera_pieces_first (pieces); piece != NULL;
       piece = tessera_piece_next (piece))
    {
      if (tessera_piece_begin (piece) != end_bytes || piece->end_bytes <= end_bytes)
        return false;
      end_bytes = piece->end_bytes;
    }
  return end_bytes == pieces->height_bytes;
}
