/*
 * What the occupancy map keeps: see history.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/history.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"

/* ---- Pieces: ranges of one history each, cut and joined ---- */

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
  piece->next = pieces->spare;
  pieces->spare = piece;
  pieces->n_spare++;
}

static TesseraPiece *
take_spare (TesseraPieces *pieces)
{
  TesseraPiece *piece = pieces->spare;

  pieces->spare = piece->next;
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
  return offset_bytes < pieces->height_bytes
             ? (TesseraPiece *) tessera_tree_below (
                   &pieces->tree, (TesseraTreeKey){ .major = offset_bytes + 1 })
             : NULL;
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

/* ---- What streams asked for ---- */

/* Kept is only what a question needs: of each kind of request (stream, pool, small or
 * large) the sizes that no later one undercuts, which ascend with time. A question is a
 * binary search, a request costs its own removal later. */

typedef struct
{
  uint64_t at;
  uint64_t block_bytes;
} Request;

typedef struct
{
  Request *requests; /* ascending in both */
  size_t n_requests, cap_requests;
} Kind;

/* Never 0: that is no key of the table. Pools have 16 bits. */
static uint64_t
key_of (uint32_t stream, uint32_t pool, bool is_small)
{
  return ((uint64_t) stream << 18 | (uint64_t) pool << 2 | (uint64_t) is_small << 1) + 1;
}

void
tessera_evidence_clear (TesseraTable *kinds)
{
  for (size_t i = 0; i < kinds->n_slots; i++)
    if (kinds->slots[i].addr != 0)
      {
        Kind *kind = kinds->slots[i].value;

        free (kind->requests);
        free (kind);
      }
  tessera_table_clear (kinds);
}

static Kind *
add_kind (TesseraTable *kinds, uint64_t key)
{
  Kind *kind = calloc (1, sizeof *kind);

  if (kind == NULL || tessera_table_reserve (kinds) != TESSERA_OK)
    {
      free (kind);
      return NULL;
    }
  tessera_table_add (kinds, key, kind);
  return kind;
}

TesseraStatus
tessera_evidence_note (TesseraTable *kinds,
                       uint32_t stream,
                       uint32_t pool,
                       bool is_small,
                       uint64_t block_bytes,
                       uint64_t now)
{
  uint64_t key = key_of (stream, pool, is_small);
  Kind *kind = tessera_table_get (kinds, key);

  if (kind == NULL)
    kind = add_kind (kinds, key);
  if (kind == NULL ||
      !TESSERA_RESERVE (kind->requests, kind->cap_requests, kind->n_requests + 1))
    return TESSERA_NO_MEMORY;
  while (kind->n_requests > 0 &&
         kind->requests[kind->n_requests - 1].block_bytes >= block_bytes)
    kind->n_requests--;
  kind->requests[kind->n_requests++] = (Request){ now, block_bytes };
  return TESSERA_OK;
}

uint64_t
tessera_evidence_least (const TesseraTable *kinds,
                        uint32_t stream,
                        uint32_t pool,
                        bool is_small,
                        uint64_t since)
{
  const Kind *kind = tessera_table_get (kinds, key_of (stream, pool, is_small));
  size_t low = 0;
  size_t high;

  if (kind == NULL)
    return UINT64_MAX;
  high = kind->n_requests;
  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (kind->requests[middle].at <= since)
        low = middle + 1;
      else
        high = middle;
    }
  return low < kind->n_requests ? kind->requests[low].block_bytes : UINT64_MAX;
}

/* ---- What streams wait for ---- */

void
tessera_barriers_clear (TesseraBarriers *barriers)
{
  free (barriers->behind);
  *barriers = (TesseraBarriers){ 0 };
}

static void
forget (TesseraBarriers *barriers, size_t at)
{
  barriers->n_last--;
  memmove (&barriers->last[at], &barriers->last[at + 1],
           (barriers->n_last - at) * sizeof barriers->last[0]);
}

bool
tessera_barriers_hear (TesseraBarriers *barriers, TesseraLastFree *out_free)
{
  pthread_t self = pthread_self ();

  for (size_t i = 0; i < barriers->n_last; i++)
    if (pthread_equal (barriers->last[i].thread, self))
      {
        *out_free = barriers->last[i];
        forget (barriers, i);
        return true;
      }
  return false;
}

bool
tessera_barriers_hear_all (TesseraBarriers *barriers, TesseraLastFree *out_free)
{
  if (barriers->n_last == 0)
    return false;
  *out_free = barriers->last[--barriers->n_last];
  return true;
}

void
tessera_barriers_free (TesseraBarriers *barriers, const TesseraLastFree *freed)
{
  if (barriers->n_last == TESSERA_MOST_FREEING)
    forget (barriers, 0);
  barriers->last[barriers->n_last] = *freed;
  barriers->last[barriers->n_last++].thread = pthread_self ();
}

void
tessera_barriers_set (TesseraBarriers *barriers, uint32_t stream, uint64_t moment)
{
  if (!TESSERA_RESERVE (barriers->behind, barriers->cap_behind, (size_t) stream + 1))
    return;
  while (barriers->n_behind <= stream)
    barriers->behind[barriers->n_behind++] = 0;
  barriers->behind[stream] = moment;
}
