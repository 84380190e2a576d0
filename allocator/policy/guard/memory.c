/*
 * The memory under a plan's pool: which of it nobody needs, what is closed since it went
 * back to the driver, and how high the pool is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/guard/private.h"

/* Pools have 16 bits. */
static bool
was_released (const TesseraGuard *guard, uint32_t pool)
{
  return (guard->released[pool / 64] >> pool % 64 & 1) != 0;
}

static bool
is_needed (const TesseraGuard *guard, const TesseraPiece *piece)
{
  return piece->state != TESSERA_BLOCK_FREE || piece->is_gone ||
         (piece->block_bytes != 0 && piece->pool != 0 &&
          !was_released (guard, piece->pool));
}

/* The whole pages of [begin_bytes, end_bytes). */
static bool
has_pages (const TesseraGuard *guard,
           uint64_t page_bytes,
           uint64_t *begin_bytes,
           uint64_t *end_bytes)
{
  uint64_t into_bytes = *begin_bytes % page_bytes;

  if (*begin_bytes >= *end_bytes ||
      (into_bytes != 0 && *end_bytes - *begin_bytes <= page_bytes - into_bytes))
    return false;
  *begin_bytes += into_bytes != 0 ? page_bytes - into_bytes : 0;
  if (*end_bytes < guard->pieces.height_bytes)
    *end_bytes -= *end_bytes % page_bytes;
  return *begin_bytes < *end_bytes;
}

bool
tessera_guard_next_unneeded (const TesseraGuard *guard,
                             uint64_t from_bytes,
                             uint64_t page_bytes,
                             uint64_t *out_begin_bytes,
                             uint64_t *out_end_bytes)
{
  const TesseraPiece *piece = from_bytes < guard->pieces.height_bytes
                                  ? tessera_pieces_at (&guard->pieces, from_bytes)
                                  : NULL;

  while (piece != NULL)
    {
      *out_begin_bytes = tessera_piece_begin (piece);
      if (*out_begin_bytes < from_bytes)
        *out_begin_bytes = from_bytes;
      *out_end_bytes = *out_begin_bytes;
      for (; piece != NULL && !is_needed (guard, piece);
           piece = tessera_piece_next (piece))
        *out_end_bytes = piece->end_bytes;
      if (has_pages (guard, page_bytes, out_begin_bytes, out_end_bytes))
        return true;
      if (piece != NULL)
        piece = tessera_piece_next (piece);
    }
  return false;
}

/* Returns: the range as one piece, or NULL where there is no memory; nothing changed
 * then. */
static TesseraPiece *
join_range (TesseraGuard *guard, uint64_t begin_bytes, uint64_t end_bytes)
{
  if (!tessera_pieces_prepare (&guard->pieces))
    return NULL;
  guard->recent = NULL; /* it may become a part of another */
  return tessera_pieces_join (
      &guard->pieces, tessera_pieces_at (&guard->pieces, begin_bytes),
      tessera_pieces_at (&guard->pieces, end_bytes - 1), begin_bytes, end_bytes);
}

TesseraStatus
tessera_guard_close (TesseraGuard *guard, uint64_t begin_bytes, uint64_t end_bytes)
{
  TesseraPiece *piece = join_range (guard, begin_bytes, end_bytes);

  if (piece == NULL)
    return TESSERA_NO_MEMORY;
  piece->is_gone = true;
  return TESSERA_OK;
}

TesseraStatus
tessera_guard_open (TesseraGuard *guard, uint64_t begin_bytes, uint64_t end_bytes)
{
  TesseraPiece *piece = join_range (guard, begin_bytes, end_bytes);

  if (piece == NULL)
    return TESSERA_NO_MEMORY;
  piece->is_gone = false;
  piece->size_bytes = piece->block_bytes = 0;
  return TESSERA_OK;
}

bool
tessera_guard_next_closed (const TesseraGuard *guard,
                           uint64_t from_bytes,
                           uint64_t *out_begin_bytes,
                           uint64_t *out_end_bytes)
{
  const TesseraPiece *piece = from_bytes < guard->pieces.height_bytes
                                  ? tessera_pieces_at (&guard->pieces, from_bytes)
                                  : NULL;

  while (piece != NULL && !piece->is_gone)
    piece = tessera_piece_next (piece);
  if (piece == NULL)
    return false;
  *out_begin_bytes = tessera_piece_begin (piece);
  if (*out_begin_bytes < from_bytes)
    *out_begin_bytes = from_bytes;
  *out_end_bytes = piece->end_bytes;
  return true;
}

TesseraStatus
tessera_guard_grow (TesseraGuard *guard, uint64_t height_bytes)
{
  if (!tessera_pieces_prepare (&guard->pieces))
    return TESSERA_NO_MEMORY;
  tessera_pieces_grow (&guard->pieces, height_bytes);
  return TESSERA_OK;
}

void
tessera_guard_shrink (TesseraGuard *guard, uint64_t height_bytes)
{
  guard->recent = NULL; /* it may be gone */
  tessera_pieces_shrink (&guard->pieces, height_bytes);
}

uint64_t
tessera_guard_needed (const TesseraGuard *guard)
{
  uint64_t height_bytes = guard->pieces.height_bytes;
  const TesseraPiece *piece =
      height_bytes > 0 ? tessera_pieces_at (&guard->pieces, height_bytes - 1) : NULL;

  while (piece != NULL && !is_needed (guard, piece))
    piece = tessera_piece_previous (piece);
  return piece != NULL ? piece->end_bytes : 0;
}

bool
tessera_guard_is_free (const TesseraGuard *guard,
                       uint64_t begin_bytes,
                       uint64_t end_bytes)
{
  const TesseraPiece *piece = begin_bytes < guard->pieces.height_bytes
                                  ? tessera_pieces_at (&guard->pieces, begin_bytes)
                                  : NULL;

  while (piece != NULL && tessera_piece_begin (piece) < end_bytes &&
         piece->state == TESSERA_BLOCK_FREE)
    piece = tessera_piece_next (piece);
  return piece == NULL || tessera_piece_begin (piece) >= end_bytes;
}
