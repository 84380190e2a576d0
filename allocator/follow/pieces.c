/*
 * Ranges of one history each, cut and joined.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/pieces.h"

#include <stdlib.h>

enum
{
  CHUNK_PIECES = 256,
  MAX_PIECES_TAKEN = 4 /* by two joins, the rests before and after each */
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
  piece->end_bytes = 0;
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
  TesseraPiece *first;

  *pieces = (TesseraPieces){ .height_bytes = height_bytes };
  if (!tessera_pieces_prepare (pieces))
    return TESSERA_NO_MEMORY;
  if (height_bytes == 0)
    return TESSERA_OK;
  first = take_spare (pieces);
  *first = (TesseraPiece){ .end_bytes = height_bytes, .state = TESSERA_BLOCK_FREE };
  tessera_tree_insert (&pieces->tree, &first->node, (TesseraTreeKey){ 0 });
  return TESSERA_OK;
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
  rest->previous = piece;
  if (rest->next != NULL)
    rest->next->previous = rest;
  piece->next = rest;
  piece->end_bytes = offset_bytes;
  tessera_tree_insert (&pieces->tree, &rest->node,
                       (TesseraTreeKey){ .major = offset_bytes });
  return rest;
}

TesseraPiece *
tessera_pieces_cut_out (TesseraPieces *pieces,
                        TesseraPiece *first,
                        TesseraPiece *last,
                        uint64_t begin_bytes,
                        uint64_t end_bytes)
{
  if (last->end_bytes > end_bytes)
    cut (pieces, last, end_bytes);
  if (tessera_piece_begin (first) < begin_bytes)
    first = cut (pieces, first, begin_bytes);
  return first;
}

void
tessera_pieces_join (TesseraPieces *pieces, TesseraPiece *first, uint64_t end_bytes)
{
  while (first->end_bytes < end_bytes)
    {
      TesseraPiece *piece = first->next;

      first->end_bytes = piece->end_bytes;
      first->next = piece->next;
      if (piece->next != NULL)
        piece->next->previous = first;
      tessera_tree_remove (&pieces->tree, &piece->node);
      put_spare (pieces, piece);
    }
}

bool
tessera_pieces_check (const TesseraPieces *pieces)
{
  uint64_t end_bytes = 0;

  if (!tessera_tree_check (&pieces->tree))
    return false;
  for (const TesseraPiece *piece = tessera_pieces_first (pieces), *before = NULL;
       piece != NULL; before = piece, piece = piece->next)
    {
      if (tessera_piece_begin (piece) != end_bytes || piece->end_bytes <= end_bytes ||
          piece->previous != before ||
          piece != (TesseraPiece *) (before != NULL ? tessera_tree_next (&before->node)
                                                    : tessera_tree_first (&pieces->tree)))
        return false;
      end_bytes = piece->end_bytes;
    }
  return end_bytes == pieces->height_bytes;
}
