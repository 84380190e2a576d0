/*
 * The guard of a plan's pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/guard/guard.h"

#include <inttypes.h>
#include <stdlib.h>

#include "allocator/policy/guard/private.h"

const TesseraGuardLaws tessera_guard_laws = { true, true, true, true, true, true, true };

/* What PyTorch makes of a request, but for the divisions of its settings: they change
 * neither its class nor which of two is larger. */
static uint64_t
torch_bytes (const TesseraGuardRequest *request)
{
  uint64_t step = TESSERA_MIN_BLOCK_BYTES;

  return (request->size_bytes / step + (request->size_bytes % step != 0)) * step;
}

static bool
is_small (uint64_t torch_bytes)
{
  return torch_bytes <= TESSERA_SMALL_BYTES;
}

TesseraStatus
tessera_guard_new (uint64_t height_bytes,
                   const TesseraGuardLaws *laws,
                   TesseraGuard **out_guard)
{
  TesseraGuard *guard = calloc (1, sizeof *guard);

  *out_guard = NULL;
  if (guard == NULL || tessera_pieces_init (&guard->pieces, height_bytes) != TESSERA_OK)
    {
      free (guard);
      return TESSERA_NO_MEMORY;
    }
  guard->laws = *laws;
  guard->first_stream = TESSERA_NONE;
  *out_guard = guard;
  return TESSERA_OK;
}

void
tessera_guard_free (TesseraGuard *guard)
{
  if (guard == NULL)
    return;
  tessera_pieces_clear (&guard->pieces);
  tessera_evidence_clear (&guard->evidence);
  free (guard);
}

/* Pools have 16 bits. */
static void
set_released (TesseraGuard *guard, uint32_t pool, bool is_released)
{
  uint64_t bit = (uint64_t) 1 << pool % 64;

  guard->released[pool / 64] &= ~bit;
  if (is_released)
    guard->released[pool / 64] |= bit;
}

TesseraStatus
tessera_guard_see_request (TesseraGuard *guard, const TesseraGuardRequest *request)
{
  if (!tessera_pieces_prepare (&guard->pieces))
    return TESSERA_NO_MEMORY;
  guard->now++;
  if (request->pool != 0)
    set_released (guard, request->pool, false);
  if (guard->first_stream == TESSERA_NONE)
    guard->first_stream = request->stream;
  if (request->stream != guard->first_stream)
    guard->has_several = true;
  if (!guard->has_several || !guard->laws.sizes)
    return TESSERA_OK;
  return tessera_evidence_note (&guard->evidence, request->stream, request->pool,
                                is_small (torch_bytes (request)), torch_bytes (request),
                                guard->now);
}

void
tessera_guard_see_streams (TesseraGuard *guard)
{
  guard->has_several = true;
}

bool
tessera_guard_has_several (const TesseraGuard *guard)
{
  return guard->has_several;
}

/* Has the stream of a done block asked since for what PyTorch could have served from it?
 */
static bool
was_asked_since (const TesseraGuard *guard, const TesseraPiece *piece)
{
  uint64_t since = guard->laws.since ? piece->done_at : 0;
  uint64_t least_bytes = tessera_evidence_least_after (
      &guard->evidence, piece->stream, piece->pool, is_small (piece->torch_bytes), since);

  return least_bytes <= piece->torch_bytes ||
         (!guard->laws.fits && least_bytes != UINT64_MAX);
}

static TesseraGuardVerdict
ask_piece (const TesseraGuard *guard,
           const TesseraPiece *piece,
           const TesseraGuardRequest *request)
{
  const TesseraGuardLaws *laws = &guard->laws;

  if ((piece->state == TESSERA_BLOCK_LIVE && laws->live) ||
      (piece->state == TESSERA_BLOCK_PENDING && laws->pending) || piece->is_gone)
    return TESSERA_GUARD_TAKEN;
  if (piece->block_bytes == 0)
    return TESSERA_GUARD_GRANTED;
  if ((piece->stream != request->stream && laws->streams) ||
      (piece->pool != request->pool && laws->pools))
    return TESSERA_GUARD_UNORDERED;
  if (!guard->has_several || !laws->sizes ||
      is_small (piece->torch_bytes) == is_small (torch_bytes (request)) ||
      was_asked_since (guard, piece))
    return TESSERA_GUARD_GRANTED;
  return TESSERA_GUARD_UNORDERED;
}

/* Granted: the pieces that the range begins and ends in. */
static TesseraGuardVerdict
ask (const TesseraGuard *guard,
     uint64_t offset_bytes,
     const TesseraGuardRequest *request,
     uint64_t *out_end_bytes,
     TesseraPiece **out_first,
     TesseraPiece **out_last)
{
  TesseraPiece *piece;

  *out_end_bytes = guard->pieces.height_bytes;
  if (request->block_bytes == 0 || offset_bytes >= guard->pieces.height_bytes ||
      request->block_bytes > guard->pieces.height_bytes - offset_bytes)
    return TESSERA_GUARD_TAKEN;
  *out_last = tessera_pieces_at (&guard->pieces, offset_bytes + request->block_bytes - 1);
  /* From the far end: what is told to be in the way lets the caller look behind all. */
  for (piece = *out_last; piece != NULL; piece = tessera_piece_previous (piece))
    {
      TesseraGuardVerdict verdict = ask_piece (guard, piece, request);

      *out_end_bytes = piece->end_bytes;
      *out_first = piece;
      if (verdict != TESSERA_GUARD_GRANTED || tessera_piece_begin (piece) <= offset_bytes)
        return verdict;
    }
  return TESSERA_GUARD_TAKEN; /* no piece reaches down to it: outside */
}

TesseraGuardVerdict
tessera_guard_ask (const TesseraGuard *guard,
                   uint64_t offset_bytes,
                   const TesseraGuardRequest *request,
                   uint64_t *out_end_bytes)
{
  TesseraPiece *first;
  TesseraPiece *last;

  return ask (guard, offset_bytes, request, out_end_bytes, &first, &last);
}

bool
tessera_guard_find (const TesseraGuard *guard,
                    const TesseraGuardRequest *request,
                    bool with_closed,
                    uint32_t most_pieces,
                    uint64_t *out_offset_bytes)
{
  uint64_t begin_bytes = 0;

  for (const TesseraPiece *piece = tessera_pieces_first (&guard->pieces);
       piece != NULL && most_pieces > 0; piece = tessera_piece_next (piece))
    {
      most_pieces--;
      if (!(with_closed && piece->is_gone) &&
          ask_piece (guard, piece, request) != TESSERA_GUARD_GRANTED)
        begin_bytes = piece->end_bytes;
      else if (piece->end_bytes - begin_bytes >= request->block_bytes)
        {
          *out_offset_bytes = begin_bytes;
          return true;
        }
    }
  return false;
}

static void
count (TesseraGuard *guard, const TesseraGuardRequest *request)
{
  guard->stats.allocated_bytes += request->block_bytes;
  guard->stats.active_bytes += request->block_bytes;
  guard->stats.requested_bytes += request->size_bytes;
}

TesseraGuardVerdict
tessera_guard_take (TesseraGuard *guard,
                    uint64_t offset_bytes,
                    const TesseraGuardRequest *request,
                    uint64_t *out_end_bytes)
{
  uint64_t end_bytes = offset_bytes + request->block_bytes;
  TesseraPiece *first;
  TesseraPiece *last;
  TesseraGuardVerdict verdict =
      ask (guard, offset_bytes, request, out_end_bytes, &first, &last);

  if (verdict != TESSERA_GUARD_GRANTED)
    return verdict;
  if (!tessera_pieces_prepare (&guard->pieces)) /* closing and opening took some */
    {
      *out_end_bytes = guard->pieces.height_bytes;
      return TESSERA_GUARD_TAKEN;
    }
  guard->recent = NULL; /* it may become a part of another */
  first = tessera_pieces_join (&guard->pieces, first, last, offset_bytes, end_bytes);
  first->size_bytes = request->size_bytes;
  first->block_bytes = request->block_bytes;
  first->torch_bytes = torch_bytes (request);
  first->stream = request->stream;
  first->pool = request->pool;
  first->state = TESSERA_BLOCK_LIVE;
  count (guard, request);
  return TESSERA_GUARD_GRANTED;
}

/* The second half of a free mostly follows the first at once. */
static TesseraPiece *
block_at (TesseraGuard *guard, uint64_t offset_bytes, TesseraBlockState state)
{
  TesseraPiece *piece = guard->recent;

  if (piece == NULL || tessera_piece_begin (piece) != offset_bytes)
    piece = offset_bytes < guard->pieces.height_bytes
                ? tessera_pieces_at (&guard->pieces, offset_bytes)
                : NULL;
  guard->recent = piece;
  return piece != NULL && tessera_piece_begin (piece) == offset_bytes &&
                 piece->state == state
             ? piece
             : NULL;
}

TesseraStatus
tessera_guard_free_requested (TesseraGuard *guard, uint64_t offset_bytes)
{
  TesseraPiece *piece = block_at (guard, offset_bytes, TESSERA_BLOCK_LIVE);

  if (piece == NULL)
    return TESSERA_INVALID;
  piece->state = TESSERA_BLOCK_PENDING;
  guard->stats.allocated_bytes -= piece->block_bytes;
  return TESSERA_OK;
}

TesseraStatus
tessera_guard_free_completed (TesseraGuard *guard, uint64_t offset_bytes)
{
  TesseraPiece *piece = block_at (guard, offset_bytes, TESSERA_BLOCK_PENDING);

  if (piece == NULL)
    return TESSERA_INVALID;
  piece->state = TESSERA_BLOCK_FREE;
  piece->done_at = guard->now;
  guard->stats.active_bytes -= piece->block_bytes;
  guard->stats.requested_bytes -= piece->size_bytes;
  piece->size_bytes = 0;
  return TESSERA_OK;
}

void
tessera_guard_release_pool (TesseraGuard *guard, uint32_t pool)
{
  if (pool <= UINT16_MAX)
    set_released (guard, pool, true);
}

void
tessera_guard_get_stats (const TesseraGuard *guard, TesseraGuardStats *out_stats)
{
  *out_stats = guard->stats;
}

void
tessera_guard_each (const TesseraGuard *guard,
                    uint64_t pool_addr,
                    void (*visit) (void *user, const TesseraBlockInfo *info),
                    void *user)
{
  for (const TesseraPiece *piece = tessera_pieces_first (&guard->pieces); piece != NULL;
       piece = tessera_piece_next (piece))
    {
      const TesseraBlockInfo info = {
        .addr = pool_addr + tessera_piece_begin (piece),
        .block_bytes = piece->end_bytes - tessera_piece_begin (piece),
        .size_bytes = piece->size_bytes,
        .segment_addr = pool_addr,
        .stream = piece->stream,
        .pool = piece->pool,
        .state = piece->state,
      };

      if (!piece->is_gone)
        visit (user, &info);
    }
}

static TesseraStatus
refuse (TesseraError *error, const char *what, uint64_t expected, uint64_t found)
{
  return tessera_fail (error, TESSERA_INVALID,
                       "guard: %s: expected %" PRIu64 ", found %" PRIu64, what, expected,
                       found);
}

TesseraStatus
tessera_guard_check (const TesseraGuard *guard, TesseraError *error)
{
  TesseraGuardStats sums = { 0 };

  if (!tessera_pieces_check (&guard->pieces))
    return tessera_fail (error, TESSERA_INVALID,
                         "guard: the pieces do not cover the pool, each once");
  for (const TesseraPiece *piece = tessera_pieces_first (&guard->pieces); piece != NULL;
       piece = tessera_piece_next (piece))
    {
      uint64_t piece_bytes = piece->end_bytes - tessera_piece_begin (piece);

      if (piece->state == TESSERA_BLOCK_FREE)
        continue;
      if (piece_bytes != piece->block_bytes)
        return refuse (error, "bytes of a block", piece->block_bytes, piece_bytes);
      sums.active_bytes += piece_bytes;
      sums.requested_bytes += piece->size_bytes;
      if (piece->state == TESSERA_BLOCK_LIVE)
        sums.allocated_bytes += piece_bytes;
    }
  if (sums.allocated_bytes != guard->stats.allocated_bytes)
    return refuse (error, "allocated bytes", sums.allocated_bytes,
                   guard->stats.allocated_bytes);
  if (sums.active_bytes != guard->stats.active_bytes)
    return refuse (error, "active bytes", sums.active_bytes, guard->stats.active_bytes);
  if (sums.requested_bytes != guard->stats.requested_bytes)
    return refuse (error, "requested bytes", sums.requested_bytes,
                   guard->stats.requested_bytes);
  return TESSERA_OK;
}
