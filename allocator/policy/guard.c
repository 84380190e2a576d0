/*
 * The guard of a plan's pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/guard.h"

#include <inttypes.h>
#include <stdlib.h>

#include "allocator/policy/evidence.h"
#include "allocator/tree.h"

enum
{
  CHUNK_PIECES = 256,
  MAX_PIECES_PER_TAKE = 2 /* the rests before and after it */
};

typedef struct Piece Piece;

/* [node.key.major, end), all of one history. */
struct Piece
{
  TesseraTreeNode node; /* must be first */
  uint64_t end_bytes;
  uint64_t size_bytes;  /* asked for by the block here; 0 when free */
  uint64_t block_bytes; /* of the block here, or the last one; 0: never used */
  uint64_t done_at;     /* free: when the last one was done */
  uint32_t stream, pool;
  TesseraBlockState state;
  Piece *link; /* spare */
};

typedef struct Chunk Chunk;
struct Chunk
{
  Chunk *next;
  Piece pieces[CHUNK_PIECES];
};

struct TesseraGuard
{
  TesseraTree pieces; /* cover [0, height) without gaps */
  uint64_t height_bytes;
  uint64_t now;  /* counts requests */
  Piece *recent; /* freed last, or NULL */
  TesseraEvidence evidence;
  TesseraGuardStats stats;
  Chunk *chunks;
  Piece *spare;
  size_t n_spare;
  uint32_t first_stream; /* of the first request */
  bool has_several;      /* streams at work */
  TesseraGuardLaws laws;
};

const TesseraGuardLaws tessera_guard_laws = { true, true, true, true, true, true, true };

static bool
is_small (uint64_t block_bytes)
{
  return block_bytes <= TESSERA_SMALL_BYTES;
}

static uint64_t
begin_of (const Piece *piece)
{
  return piece->node.key.major;
}

static Piece *
next_of (const Piece *piece)
{
  return (Piece *) tessera_tree_next (&piece->node);
}

/* The piece that holds the byte at @offset_bytes, which must lie in the pool. */
static Piece *
piece_at (const TesseraGuard *guard, uint64_t offset_bytes)
{
  return (Piece *) tessera_tree_below (&guard->pieces,
                                       (TesseraTreeKey){ .major = offset_bytes + 1 });
}

static bool
prepare (TesseraGuard *guard)
{
  Chunk *chunk;

  if (guard->n_spare >= MAX_PIECES_PER_TAKE)
    return true;
  chunk = calloc (1, sizeof *chunk);
  if (chunk == NULL)
    return false;
  chunk->next = guard->chunks;
  guard->chunks = chunk;
  for (size_t i = 0; i < CHUNK_PIECES; i++)
    {
      chunk->pieces[i].link = guard->spare;
      guard->spare = &chunk->pieces[i];
    }
  guard->n_spare += CHUNK_PIECES;
  return true;
}

static Piece *
take_spare (TesseraGuard *guard)
{
  Piece *piece = guard->spare;

  guard->spare = piece->link;
  guard->n_spare--;
  return piece;
}

TesseraStatus
tessera_guard_new (uint64_t height_bytes,
                   const TesseraGuardLaws *laws,
                   TesseraGuard **out_guard)
{
  TesseraGuard *guard = calloc (1, sizeof *guard);

  *out_guard = NULL;
  if (guard == NULL || !prepare (guard))
    {
      free (guard);
      return TESSERA_NO_MEMORY;
    }
  guard->height_bytes = height_bytes;
  guard->laws = *laws;
  guard->first_stream = TESSERA_NONE;
  if (height_bytes > 0)
    {
      Piece *all = take_spare (guard);

      all->end_bytes = height_bytes;
      all->state = TESSERA_BLOCK_FREE;
      tessera_tree_insert (&guard->pieces, &all->node, (TesseraTreeKey){ 0 });
    }
  *out_guard = guard;
  return TESSERA_OK;
}

void
tessera_guard_free (TesseraGuard *guard)
{
  if (guard == NULL)
    return;
  while (guard->chunks != NULL)
    {
      Chunk *next = guard->chunks->next;

      free (guard->chunks);
      guard->chunks = next;
    }
  tessera_evidence_clear (&guard->evidence);
  free (guard);
}

TesseraStatus
tessera_guard_see_request (TesseraGuard *guard, const TesseraGuardRequest *request)
{
  if (!prepare (guard))
    return TESSERA_NO_MEMORY;
  guard->now++;
  if (guard->first_stream == TESSERA_NONE)
    guard->first_stream = request->stream;
  if (request->stream != guard->first_stream)
    guard->has_several = true;
  if (!guard->has_several || !guard->laws.sizes)
    return TESSERA_OK;
  return tessera_evidence_note (&guard->evidence, request->stream, request->pool,
                                is_small (request->block_bytes), request->block_bytes,
                                guard->now);
}

void
tessera_guard_see_streams (TesseraGuard *guard)
{
  guard->has_several = true;
}

/* Has the stream of a done block asked since for what PyTorch could have served from it?
 */
static bool
was_asked_since (const TesseraGuard *guard, const Piece *piece)
{
  uint64_t since = guard->laws.since ? piece->done_at : 0;
  uint64_t least_bytes = tessera_evidence_least_after (
      &guard->evidence, piece->stream, piece->pool, is_small (piece->block_bytes), since);

  return least_bytes <= piece->block_bytes ||
         (!guard->laws.fits && least_bytes != UINT64_MAX);
}

static TesseraGuardVerdict
ask_piece (const TesseraGuard *guard,
           const Piece *piece,
           const TesseraGuardRequest *request)
{
  const TesseraGuardLaws *laws = &guard->laws;

  if ((piece->state == TESSERA_BLOCK_LIVE && laws->live) ||
      (piece->state == TESSERA_BLOCK_PENDING && laws->pending))
    return TESSERA_GUARD_TAKEN;
  if (piece->block_bytes == 0)
    return TESSERA_GUARD_GRANTED;
  if ((piece->stream != request->stream && laws->streams) ||
      (piece->pool != request->pool && laws->pools))
    return TESSERA_GUARD_UNORDERED;
  if (!guard->has_several || !laws->sizes ||
      is_small (piece->block_bytes) == is_small (request->block_bytes) ||
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
     Piece **out_first,
     Piece **out_last)
{
  Piece *piece;

  *out_end_bytes = guard->height_bytes;
  if (request->block_bytes == 0 || offset_bytes >= guard->height_bytes ||
      request->block_bytes > guard->height_bytes - offset_bytes)
    return TESSERA_GUARD_TAKEN;
  *out_last = piece_at (guard, offset_bytes + request->block_bytes - 1);
  /* From the far end: what is told to be in the way lets the caller look behind all. */
  for (piece = *out_last; piece != NULL;
       piece = (Piece *) tessera_tree_previous (&piece->node))
    {
      TesseraGuardVerdict verdict = ask_piece (guard, piece, request);

      *out_end_bytes = piece->end_bytes;
      *out_first = piece;
      if (verdict != TESSERA_GUARD_GRANTED || begin_of (piece) <= offset_bytes)
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
  Piece *first;
  Piece *last;

  return ask (guard, offset_bytes, request, out_end_bytes, &first, &last);
}

bool
tessera_guard_find (const TesseraGuard *guard,
                    const TesseraGuardRequest *request,
                    uint64_t *out_offset_bytes)
{
  uint64_t begin_bytes = 0;

  for (const Piece *piece = (const Piece *) tessera_tree_first (&guard->pieces);
       piece != NULL; piece = next_of (piece))
    {
      if (ask_piece (guard, piece, request) != TESSERA_GUARD_GRANTED)
        begin_bytes = piece->end_bytes;
      else if (piece->end_bytes - begin_bytes >= request->block_bytes)
        {
          *out_offset_bytes = begin_bytes;
          return true;
        }
    }
  return false;
}

/* Cuts @piece at @offset_bytes inside it. Returns: the rest, of the same history. */
static Piece *
cut (TesseraGuard *guard, Piece *piece, uint64_t offset_bytes)
{
  Piece *rest = take_spare (guard);

  *rest = *piece;
  piece->end_bytes = offset_bytes;
  tessera_tree_insert (&guard->pieces, &rest->node,
                       (TesseraTreeKey){ .major = offset_bytes });
  return rest;
}

static void
drop (TesseraGuard *guard, Piece *piece)
{
  tessera_tree_remove (&guard->pieces, &piece->node);
  if (guard->recent == piece)
    guard->recent = NULL;
  piece->link = guard->spare;
  guard->spare = piece;
  guard->n_spare++;
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
  Piece *first;
  Piece *last;
  TesseraGuardVerdict verdict =
      ask (guard, offset_bytes, request, out_end_bytes, &first, &last);

  if (verdict != TESSERA_GUARD_GRANTED)
    return verdict;
  if (last->end_bytes > end_bytes)
    cut (guard, last, end_bytes);
  if (begin_of (first) < offset_bytes)
    first = cut (guard, first, offset_bytes);
  while (first->end_bytes < end_bytes)
    {
      Piece *piece = next_of (first);

      first->end_bytes = piece->end_bytes;
      drop (guard, piece);
    }
  first->size_bytes = request->size_bytes;
  first->block_bytes = request->block_bytes;
  first->stream = request->stream;
  first->pool = request->pool;
  first->state = TESSERA_BLOCK_LIVE;
  count (guard, request);
  return TESSERA_GUARD_GRANTED;
}

/* The second half of a free mostly follows the first at once. */
static Piece *
block_at (TesseraGuard *guard, uint64_t offset_bytes, TesseraBlockState state)
{
  Piece *piece = guard->recent;

  if (piece == NULL || begin_of (piece) != offset_bytes)
    piece = offset_bytes < guard->height_bytes ? piece_at (guard, offset_bytes) : NULL;
  guard->recent = piece;
  return piece != NULL && begin_of (piece) == offset_bytes && piece->state == state
             ? piece
             : NULL;
}

TesseraStatus
tessera_guard_free_requested (TesseraGuard *guard, uint64_t offset_bytes)
{
  Piece *piece = block_at (guard, offset_bytes, TESSERA_BLOCK_LIVE);

  if (piece == NULL)
    return TESSERA_INVALID;
  piece->state = TESSERA_BLOCK_PENDING;
  guard->stats.allocated_bytes -= piece->block_bytes;
  return TESSERA_OK;
}

TesseraStatus
tessera_guard_free_completed (TesseraGuard *guard, uint64_t offset_bytes)
{
  Piece *piece = block_at (guard, offset_bytes, TESSERA_BLOCK_PENDING);

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
  for (const Piece *piece = (const Piece *) tessera_tree_first (&guard->pieces);
       piece != NULL; piece = next_of (piece))
    {
      const TesseraBlockInfo info = {
        .addr = pool_addr + begin_of (piece),
        .block_bytes = piece->end_bytes - begin_of (piece),
        .size_bytes = piece->size_bytes,
        .segment_addr = pool_addr,
        .stream = piece->stream,
        .pool = piece->pool,
        .state = piece->state,
      };

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
  uint64_t end_bytes = 0;

  if (!tessera_tree_check (&guard->pieces))
    return tessera_fail (error, TESSERA_INVALID, "guard: the tree of pieces is damaged");
  for (const Piece *piece = (const Piece *) tessera_tree_first (&guard->pieces);
       piece != NULL; piece = next_of (piece))
    {
      uint64_t piece_bytes = piece->end_bytes - begin_of (piece);

      if (begin_of (piece) != end_bytes)
        return refuse (error, "a piece begins", end_bytes, begin_of (piece));
      end_bytes = piece->end_bytes;
      if (piece->state == TESSERA_BLOCK_FREE)
        continue;
      if (piece_bytes != piece->block_bytes)
        return refuse (error, "bytes of a block", piece->block_bytes, piece_bytes);
      sums.active_bytes += piece_bytes;
      sums.requested_bytes += piece->size_bytes;
      if (piece->state == TESSERA_BLOCK_LIVE)
        sums.allocated_bytes += piece_bytes;
    }
  if (end_bytes != guard->height_bytes)
    return refuse (error, "the last piece ends", guard->height_bytes, end_bytes);
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
