/*
 * The occupancy map of a plan's pool: what is granted, and which of its memory nobody
 * needs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/occupancy.h"

#include <inttypes.h>
#include <stdlib.h>

#include "allocator/follow/history.h"

enum
{
  MOST_CELLS = 16 /* pieces that a block leaves as they are; more become one */
};

struct TesseraOccupancy
{
  TesseraPieces pieces;  /* of the pool */
  uint64_t now;          /* counts requests and marks; frees too where memory crosses */
  TesseraPiece *freed;   /* last, or NULL */
  TesseraPiece *barring; /* what was in the way of the last request, or NULL */
  TesseraTable asked;    /* what streams asked for, by kind of request */
  TesseraOccupancyStats stats;
  uint32_t first_stream; /* of the first request */
  bool has_several;      /* streams at work */
  bool crosses;          /* memory passes between them */
  TesseraBarriers barriers;
  TesseraOccupancyLaws laws;
  uint64_t released[(UINT16_MAX + 1) / 64]; /* private pools, one bit each */
};

const TesseraOccupancyLaws tessera_occupancy_laws = { true, true, true, true, true,
                                                      true, true, true, true };

/* In covered_at: no barrier covers it yet. */
#define NOT_COVERED ((uint64_t) 1 << 63)

/* What PyTorch makes of a request, but for the divisions of its settings: they change
 * neither its class nor which of two is larger. */
static uint64_t
torch_bytes (uint64_t size_bytes)
{
  uint64_t step = TESSERA_MIN_BLOCK_BYTES;

  return (size_bytes / step + (size_bytes % step != 0)) * step;
}

static bool
is_small (uint64_t size_bytes)
{
  return size_bytes <= TESSERA_SMALL_BYTES;
}

TesseraStatus
tessera_occupancy_new (uint64_t height_bytes,
                       const TesseraOccupancyLaws *laws,
                       TesseraOccupancy **out_map)
{
  TesseraOccupancy *map = calloc (1, sizeof *map);

  *out_map = NULL;
  if (map == NULL || tessera_pieces_init (&map->pieces, height_bytes) != TESSERA_OK)
    {
      free (map);
      return TESSERA_NO_MEMORY;
    }
  map->laws = *laws;
  map->first_stream = TESSERA_NONE;
  *out_map = map;
  return TESSERA_OK;
}

void
tessera_occupancy_free (TesseraOccupancy *map)
{
  if (map == NULL)
    return;
  tessera_pieces_clear (&map->pieces);
  tessera_evidence_clear (&map->asked);
  tessera_barriers_clear (&map->barriers);
  free (map);
}

/* Pools have 16 bits. */
static void
set_released (TesseraOccupancy *map, uint32_t pool, bool is_released)
{
  uint64_t bit = (uint64_t) 1 << pool % 64;

  map->released[pool / 64] &= ~bit;
  if (is_released)
    map->released[pool / 64] |= bit;
}

/* ---- Passing between streams ---- */

void
tessera_occupancy_cross_streams (TesseraOccupancy *map)
{
  map->crosses = true;
}

/* The pieces that one free left, as far as nobody took them since. */
static void
cover (TesseraOccupancy *map, const TesseraLastFree *freed)
{
  TesseraPiece *piece = tessera_pieces_at (&map->pieces, freed->begin_bytes);

  for (; piece != NULL && tessera_piece_begin (piece) < freed->end_bytes;
       piece = piece->next)
    if (piece->covered_at == (NOT_COVERED | freed->freed_at))
      piece->covered_at = map->now;
}

/* A call of the allocator. */
static void
count_call (TesseraOccupancy *map)
{
  TesseraLastFree freed;

  map->now++;
  if (map->crosses && tessera_barriers_hear (&map->barriers, &freed))
    cover (map, &freed);
}

void
tessera_occupancy_see_mark (TesseraOccupancy *map)
{
  TesseraLastFree freed;

  map->now++;
  while (tessera_barriers_hear_all (&map->barriers, &freed))
    cover (map, &freed);
}

uint64_t
tessera_occupancy_now (const TesseraOccupancy *map)
{
  return map->now;
}

void
tessera_occupancy_set_ordered (TesseraOccupancy *map, uint32_t stream, uint64_t moment)
{
  tessera_barriers_set (&map->barriers, stream, moment);
}

/* Whether the stream waits for all that used the bytes last. */
static bool
is_behind (const TesseraOccupancy *map, const TesseraPiece *piece, uint32_t stream)
{
  uint64_t behind = tessera_barriers_of (&map->barriers, stream);

  return piece->covered_at <= behind || !map->laws.order ||
         (!map->laws.back && (piece->covered_at & ~NOT_COVERED) <= behind);
}

TesseraStatus
tessera_occupancy_see_request (TesseraOccupancy *map,
                               const TesseraOccupancyRequest *request)
{
  if (!tessera_pieces_prepare (&map->pieces))
    return TESSERA_NO_MEMORY;
  count_call (map);
  if (request->pool != 0)
    set_released (map, request->pool, false);
  if (map->first_stream == TESSERA_NONE)
    map->first_stream = request->stream;
  if (request->stream != map->first_stream)
    map->has_several = true;
  if (!map->has_several || !map->laws.sizes)
    return TESSERA_OK;
  return tessera_evidence_note (&map->asked, request->stream, request->pool,
                                is_small (request->size_bytes),
                                torch_bytes (request->size_bytes), map->now);
}

void
tessera_occupancy_see_streams (TesseraOccupancy *map)
{
  map->has_several = true;
}

bool
tessera_occupancy_has_several (const TesseraOccupancy *map)
{
  return map->has_several;
}

/* Has the stream of a done block asked since for what PyTorch could have served from it?
 */
static bool
was_asked_since (const TesseraOccupancy *map, const TesseraPiece *piece)
{
  uint64_t since = map->laws.since ? piece->done_at : 0;
  uint64_t least_bytes = tessera_evidence_least (&map->asked, piece->stream, piece->pool,
                                                 is_small (piece->size_bytes), since);

  return least_bytes <= torch_bytes (piece->size_bytes) ||
         (!map->laws.fits && least_bytes != UINT64_MAX);
}

/* Captured graphs use their pools without asking. */
static bool
can_pass (const TesseraOccupancy *map,
          const TesseraPiece *piece,
          const TesseraOccupancyRequest *request)
{
  return (piece->pool == 0 && request->pool == 0) || !map->laws.pools;
}

static TesseraOccupancyVerdict
ask_piece (const TesseraOccupancy *map,
           const TesseraPiece *piece,
           const TesseraOccupancyRequest *request)
{
  const TesseraOccupancyLaws *laws = &map->laws;

  if ((piece->state == TESSERA_BLOCK_LIVE && laws->live) ||
      (piece->state == TESSERA_BLOCK_PENDING && laws->pending) || piece->is_closed)
    return TESSERA_OCCUPANCY_TAKEN;
  if (piece->block_bytes == 0 || (map->crosses && can_pass (map, piece, request) &&
                                  is_behind (map, piece, request->stream)))
    return TESSERA_OCCUPANCY_GRANTED;
  if ((piece->stream != request->stream && laws->streams) ||
      (piece->pool != request->pool && laws->pools))
    return TESSERA_OCCUPANCY_UNORDERED;
  if (!map->has_several || !laws->sizes ||
      is_small (piece->size_bytes) == is_small (request->size_bytes) ||
      was_asked_since (map, piece))
    return TESSERA_OCCUPANCY_GRANTED;
  return TESSERA_OCCUPANCY_UNORDERED;
}

/* Whether a few pieces from @first on end at @end_bytes and are granted, one and all;
 * then the last of them is in *out_last. */
static bool
is_granted (const TesseraOccupancy *map,
            TesseraPiece *first,
            uint64_t end_bytes,
            const TesseraOccupancyRequest *request,
            TesseraPiece **out_last)
{
  TesseraPiece *piece = first;

  for (int n = 0; n < MOST_CELLS && piece->end_bytes <= end_bytes &&
                  ask_piece (map, piece, request) == TESSERA_OCCUPANCY_GRANTED;
       n++)
    {
      *out_last = piece;
      if (piece->end_bytes == end_bytes)
        return true;
      piece = piece->next;
    }
  return false;
}

/* The piece that @offset_bytes lies in. @from: (nullable) one at it or before; a few pieces on
 * is nearer than through the tree. */
static TesseraPiece *
find_from (const TesseraOccupancy *map, TesseraPiece *from, uint64_t offset_bytes)
{
  for (int n = 0; n < MOST_CELLS && from != NULL; n++, from = from->next)
    if (from->end_bytes > offset_bytes)
      return from;
  return tessera_pieces_at (&map->pieces, offset_bytes);
}

/* Granted: the pieces that the range begins and ends in. What has no memory is only in the
 * way where nothing else is: that can come. */
static TesseraOccupancyVerdict
ask (const TesseraOccupancy *map,
     uint64_t offset_bytes,
     const TesseraOccupancyRequest *request,
     uint64_t *out_end_bytes,
     TesseraPiece **out_first,
     TesseraPiece **out_last)
{
  TesseraPiece *piece;
  bool is_closed = false;

  *out_first = NULL;
  *out_end_bytes = map->pieces.height_bytes;
  if (request->block_bytes == 0 || offset_bytes >= map->pieces.height_bytes ||
      request->block_bytes > map->pieces.height_bytes - offset_bytes)
    return TESSERA_OCCUPANCY_TAKEN;
  /* Who looks for a place asks next behind what was in the way. A spare piece ends at 0. */
  *out_first =
      map->barring != NULL && offset_bytes > 0 && map->barring->end_bytes == offset_bytes
          ? map->barring->next
          : tessera_pieces_recall (&map->pieces, offset_bytes);
  if (*out_first != NULL &&
      is_granted (map, *out_first, offset_bytes + request->block_bytes, request,
                  out_last))
    return TESSERA_OCCUPANCY_GRANTED;
  *out_last = find_from (map, *out_first, offset_bytes + request->block_bytes - 1);
  /* From the far end: what is told to be in the way lets the caller look behind all. */
  for (piece = *out_last; piece != NULL; piece = piece->previous)
    {
      TesseraOccupancyVerdict verdict = ask_piece (map, piece, request);

      *out_first = piece;
      if (verdict != TESSERA_OCCUPANCY_GRANTED && (!is_closed || !piece->is_closed))
        *out_end_bytes = piece->end_bytes;
      if (verdict != TESSERA_OCCUPANCY_GRANTED && !piece->is_closed)
        return verdict;
      is_closed = is_closed || piece->is_closed;
      if (tessera_piece_begin (piece) <= offset_bytes)
        return is_closed ? TESSERA_OCCUPANCY_TAKEN : TESSERA_OCCUPANCY_GRANTED;
    }
  return TESSERA_OCCUPANCY_TAKEN; /* no piece reaches down to it: outside */
}

TesseraOccupancyVerdict
tessera_occupancy_ask (const TesseraOccupancy *map,
                       uint64_t offset_bytes,
                       const TesseraOccupancyRequest *request,
                       uint64_t *out_end_bytes)
{
  TesseraPiece *first;
  TesseraPiece *last;

  return ask (map, offset_bytes, request, out_end_bytes, &first, &last);
}

/* Whether the piece may be part of what is looked for. */
static bool
suits (const TesseraOccupancy *map,
       const TesseraPiece *piece,
       const TesseraOccupancyRequest *request,
       const TesseraOccupancySearch *search)
{
  return (search->with_closed && piece->is_closed) ||
         ask_piece (map, piece, request) == TESSERA_OCCUPANCY_GRANTED ||
         (search->with_order && map->crosses && !piece->is_closed &&
          piece->state != TESSERA_BLOCK_LIVE && can_pass (map, piece, request) &&
          (piece->covered_at < NOT_COVERED || !map->laws.back));
}

bool
tessera_occupancy_find (const TesseraOccupancy *map,
                        const TesseraOccupancyRequest *request,
                        const TesseraOccupancySearch *search,
                        uint64_t *out_offset_bytes)
{
  uint64_t begin_bytes = search->begin_bytes;
  uint32_t n_left = search->most_pieces;
  const TesseraPiece *piece = tessera_pieces_at (&map->pieces, begin_bytes);

  for (; piece != NULL && n_left > 0; piece = piece->next, n_left--)
    {
      if (begin_bytes >= search->end_bytes ||
          request->block_bytes > search->end_bytes - begin_bytes)
        return false;
      if (!suits (map, piece, request, search))
        begin_bytes = piece->end_bytes;
      else if (piece->end_bytes - begin_bytes >= request->block_bytes)
        {
          *out_offset_bytes = begin_bytes;
          return true;
        }
    }
  return false;
}

TesseraOrderVerdict
tessera_occupancy_ask_order (const TesseraOccupancy *map,
                             uint64_t offset_bytes,
                             const TesseraOccupancyRequest *request,
                             uint64_t *out_moment)
{
  TesseraOrderVerdict verdict = TESSERA_ORDER_THERE;
  uint64_t end_bytes = offset_bytes + request->block_bytes;
  const TesseraPiece *piece;

  *out_moment = 0;
  if (!map->crosses || end_bytes > map->pieces.height_bytes || end_bytes < offset_bytes)
    return TESSERA_ORDER_REFUSED;
  for (piece = tessera_pieces_at (&map->pieces, offset_bytes);
       piece != NULL && tessera_piece_begin (piece) < end_bytes; piece = piece->next)
    {
      if (piece->is_closed ||
          ask_piece (map, piece, request) == TESSERA_OCCUPANCY_GRANTED)
        continue;
      if (piece->state == TESSERA_BLOCK_LIVE || !can_pass (map, piece, request))
        return TESSERA_ORDER_REFUSED;
      if (is_behind (map, piece, request->stream))
        continue;
      if (piece->covered_at >= NOT_COVERED && map->laws.back)
        return TESSERA_ORDER_REFUSED;
      verdict = TESSERA_ORDER_NEEDED;
      if ((piece->covered_at & ~NOT_COVERED) > *out_moment)
        *out_moment = piece->covered_at & ~NOT_COVERED;
    }
  return verdict;
}

static void
count (TesseraOccupancy *map, const TesseraOccupancyRequest *request)
{
  map->stats.allocated_bytes += request->block_bytes;
  map->stats.active_bytes += request->block_bytes;
  map->stats.requested_bytes += request->size_bytes;
}

/* The pieces from @first to @end_bytes are those of a live block. */
static void
occupy (TesseraPiece *first, uint64_t end_bytes, const TesseraOccupancyRequest *request)
{
  for (TesseraPiece *piece = first;; piece = piece->next)
    {
      piece->size_bytes = request->size_bytes;
      piece->block_bytes = request->block_bytes;
      piece->stream = request->stream;
      piece->pool = (uint16_t) request->pool;
      piece->state = TESSERA_BLOCK_LIVE;
      piece->is_inside = piece != first;
      if (piece->end_bytes >= end_bytes)
        return;
    }
}

TesseraOccupancyVerdict
tessera_occupancy_take (TesseraOccupancy *map,
                        uint64_t offset_bytes,
                        const TesseraOccupancyRequest *request,
                        uint64_t *out_end_bytes)
{
  uint64_t end_bytes = offset_bytes + request->block_bytes;
  TesseraPiece *first, *last;
  int n = 0;
  TesseraOccupancyVerdict verdict =
      ask (map, offset_bytes, request, out_end_bytes, &first, &last);

  if (verdict != TESSERA_OCCUPANCY_GRANTED)
    {
      map->barring = first;
      return verdict;
    }
  if (!tessera_pieces_prepare (&map->pieces)) /* closing and opening took some */
    {
      *out_end_bytes = map->pieces.height_bytes;
      return TESSERA_OCCUPANCY_TAKEN;
    }
  first = tessera_pieces_cut_out (&map->pieces, first, last, offset_bytes, end_bytes);
  for (last = first; n < MOST_CELLS && last->end_bytes < end_bytes; n++)
    last = last->next;
  if (last->end_bytes < end_bytes)
    tessera_pieces_join (&map->pieces, first, end_bytes);
  occupy (first, end_bytes, request);
  tessera_pieces_remember (&map->pieces, first);
  count (map, request);
  return TESSERA_OCCUPANCY_GRANTED;
}

static TesseraPiece *
block_at (TesseraOccupancy *map, uint64_t offset_bytes, TesseraBlockState state)
{
  TesseraPiece *piece = map->freed; /* the second half of a free follows the first */

  if (piece == NULL || tessera_piece_begin (piece) != offset_bytes ||
      piece->end_bytes == 0)
    piece = tessera_pieces_recall (&map->pieces, offset_bytes);
  map->freed = piece;
  if (piece == NULL)
    piece = tessera_pieces_at (&map->pieces, offset_bytes);
  return piece != NULL && tessera_piece_begin (piece) == offset_bytes &&
                 piece->state == state && !piece->is_inside
             ? piece
             : NULL;
}

/* Where the block ends that begins in @piece. */
static uint64_t
end_of_block (const TesseraPiece *piece)
{
  return tessera_piece_begin (piece) + piece->block_bytes;
}

TesseraStatus
tessera_occupancy_free_requested (TesseraOccupancy *map, uint64_t offset_bytes)
{
  TesseraPiece *piece = block_at (map, offset_bytes, TESSERA_BLOCK_LIVE);
  uint64_t end_bytes;

  if (piece == NULL)
    return TESSERA_INVALID;
  map->stats.allocated_bytes -= piece->block_bytes;
  end_bytes = end_of_block (piece);
  if (map->crosses)
    {
      count_call (map);
      tessera_barriers_free (&map->barriers,
                             &(TesseraLastFree){ .freed_at = map->now,
                                                 .begin_bytes = offset_bytes,
                                                 .end_bytes = end_bytes });
    }
  for (; piece != NULL && tessera_piece_begin (piece) < end_bytes; piece = piece->next)
    {
      piece->state = TESSERA_BLOCK_PENDING;
      piece->covered_at = NOT_COVERED | map->now;
    }
  return TESSERA_OK;
}

/* @stream: to whose own use the bytes are ordered now. */
static void
complete (TesseraOccupancy *map, TesseraPiece *piece, uint32_t stream)
{
  uint64_t end_bytes;

  map->stats.active_bytes -= piece->block_bytes;
  map->stats.requested_bytes -= piece->size_bytes;
  end_bytes = end_of_block (piece);
  for (; piece != NULL && tessera_piece_begin (piece) < end_bytes; piece = piece->next)
    {
      piece->state = TESSERA_BLOCK_FREE;
      piece->done_at = map->now;
      piece->stream = stream;
      piece->is_inside = false;
    }
}

TesseraStatus
tessera_occupancy_free_completed (TesseraOccupancy *map, uint64_t offset_bytes)
{
  TesseraPiece *piece = block_at (map, offset_bytes, TESSERA_BLOCK_PENDING);

  if (piece == NULL)
    return TESSERA_INVALID;
  complete (map, piece, piece->stream);
  return TESSERA_OK;
}

bool
tessera_occupancy_pass (TesseraOccupancy *map,
                        uint64_t begin_bytes,
                        uint64_t end_bytes,
                        uint64_t *out_offset_bytes)
{
  TesseraPiece *piece = tessera_pieces_at (&map->pieces, begin_bytes);

  while (piece != NULL && piece->state != TESSERA_BLOCK_PENDING)
    piece = piece->end_bytes < end_bytes ? piece->next : NULL;
  if (piece == NULL)
    return false;
  while (piece->is_inside)
    piece = piece->previous;
  *out_offset_bytes = tessera_piece_begin (piece);
  complete (map, piece, TESSERA_NONE);
  return true;
}

void
tessera_occupancy_release_pool (TesseraOccupancy *map, uint32_t pool)
{
  if (pool <= UINT16_MAX)
    set_released (map, pool, true);
}

const TesseraOccupancyStats *
tessera_occupancy_stats (const TesseraOccupancy *map)
{
  return &map->stats;
}

void
tessera_occupancy_each (const TesseraOccupancy *map,
                        uint64_t pool_addr,
                        void (*visit) (void *user, const TesseraBlockInfo *info),
                        void *user)
{
  for (const TesseraPiece *piece = tessera_pieces_first (&map->pieces); piece != NULL;
       piece = piece->next)
    {
      const TesseraBlockInfo info = {
        .addr = pool_addr + tessera_piece_begin (piece),
        .block_bytes = piece->state == TESSERA_BLOCK_FREE
                           ? piece->end_bytes - tessera_piece_begin (piece)
                           : piece->block_bytes,
        .size_bytes = piece->state != TESSERA_BLOCK_FREE ? piece->size_bytes : 0,
        .segment_addr = pool_addr,
        .stream = piece->stream,
        .pool = piece->pool,
        .state = piece->state,
      };

      if (!piece->is_closed && !piece->is_inside)
        visit (user, &info);
    }
}

static TesseraStatus
refuse (TesseraError *error, const char *what, uint64_t expected, uint64_t found)
{
  return tessera_fail (error, TESSERA_INVALID,
                       "occupancy map: %s: expected %" PRIu64 ", found %" PRIu64, what,
                       expected, found);
}

TesseraStatus
tessera_occupancy_check (const TesseraOccupancy *map, TesseraError *error)
{
  TesseraOccupancyStats sums = { 0 };
  uint64_t block_bytes = 0;

  if (!tessera_pieces_check (&map->pieces))
    return tessera_fail (error, TESSERA_INVALID,
                         "occupancy map: the pieces do not cover the pool, each once");
  for (const TesseraPiece *piece = tessera_pieces_first (&map->pieces); piece != NULL;
       piece = piece->next)
    {
      bool is_end = piece->next == NULL || !piece->next->is_inside;

      if (!piece->is_inside)
        block_bytes = 0;
      block_bytes += piece->end_bytes - tessera_piece_begin (piece);
      if (piece->state == TESSERA_BLOCK_FREE || !is_end)
        continue;
      if (block_bytes != piece->block_bytes)
        return refuse (error, "bytes of a block", piece->block_bytes, block_bytes);
      sums.active_bytes += block_bytes;
      sums.requested_bytes += piece->size_bytes;
      if (piece->state == TESSERA_BLOCK_LIVE)
        sums.allocated_bytes += block_bytes;
    }
  if (sums.allocated_bytes != map->stats.allocated_bytes)
    return refuse (error, "allocated bytes", sums.allocated_bytes,
                   map->stats.allocated_bytes);
  if (sums.active_bytes != map->stats.active_bytes)
    return refuse (error, "active bytes", sums.active_bytes, map->stats.active_bytes);
  if (sums.requested_bytes != map->stats.requested_bytes)
    return refuse (error, "requested bytes", sums.requested_bytes,
                   map->stats.requested_bytes);
  return TESSERA_OK;
}

/* Pools have 16 bits. */
static bool
was_released (const TesseraOccupancy *map, uint32_t pool)
{
  return (map->released[pool / 64] >> pool % 64 & 1) != 0;
}

static bool
is_needed (const TesseraOccupancy *map, const TesseraPiece *piece)
{
  return piece->state != TESSERA_BLOCK_FREE || piece->is_closed ||
         (map->crosses && piece->block_bytes != 0 && piece->covered_at >= NOT_COVERED) ||
         (piece->block_bytes != 0 && piece->pool != 0 &&
          !was_released (map, piece->pool));
}

/* The whole pages of [begin_bytes, end_bytes). */
static bool
has_pages (const TesseraOccupancy *map,
           uint64_t page_bytes,
           uint64_t *begin_bytes,
           uint64_t *end_bytes)
{
  uint64_t into_bytes = *begin_bytes % page_bytes;

  if (*begin_bytes >= *end_bytes ||
      (into_bytes != 0 && *end_bytes - *begin_bytes <= page_bytes - into_bytes))
    return false;
  *begin_bytes += into_bytes != 0 ? page_bytes - into_bytes : 0;
  if (*end_bytes < map->pieces.height_bytes)
    *end_bytes -= *end_bytes % page_bytes;
  return *begin_bytes < *end_bytes;
}

bool
tessera_occupancy_next_unneeded (const TesseraOccupancy *map,
                                 uint64_t from_bytes,
                                 uint64_t page_bytes,
                                 uint64_t *out_begin_bytes,
                                 uint64_t *out_end_bytes)
{
  const TesseraPiece *piece = tessera_pieces_at (&map->pieces, from_bytes);

  while (piece != NULL)
    {
      *out_begin_bytes = tessera_piece_begin (piece);
      if (*out_begin_bytes < from_bytes)
        *out_begin_bytes = from_bytes;
      *out_end_bytes = *out_begin_bytes;
      for (; piece != NULL && !is_needed (map, piece); piece = piece->next)
        *out_end_bytes = piece->end_bytes;
      if (has_pages (map, page_bytes, out_begin_bytes, out_end_bytes))
        return true;
      if (piece != NULL)
        piece = piece->next;
    }
  return false;
}

/* Returns: the range as one piece, or NULL where there is no memory; nothing changed
 * then. */
static TesseraPiece *
join_range (TesseraOccupancy *map, uint64_t begin_bytes, uint64_t end_bytes)
{
  TesseraPiece *first;

  if (!tessera_pieces_prepare (&map->pieces))
    return NULL;
  first = tessera_pieces_cut_out (
      &map->pieces, tessera_pieces_at (&map->pieces, begin_bytes),
      tessera_pieces_at (&map->pieces, end_bytes - 1), begin_bytes, end_bytes);
  tessera_pieces_join (&map->pieces, first, end_bytes);
  return first;
}

TesseraStatus
tessera_occupancy_set_closed (TesseraOccupancy *map,
                              uint64_t begin_bytes,
                              uint64_t end_bytes,
                              bool is_closed)
{
  TesseraPiece *piece = join_range (map, begin_bytes, end_bytes);

  if (piece == NULL)
    return TESSERA_NO_MEMORY;
  piece->is_closed = is_closed;
  if (!is_closed)
    piece->size_bytes = piece->block_bytes = 0;
  return TESSERA_OK;
}

bool
tessera_occupancy_next_closed (const TesseraOccupancy *map,
                               uint64_t from_bytes,
                               uint64_t *out_begin_bytes,
                               uint64_t *out_end_bytes)
{
  const TesseraPiece *piece = tessera_pieces_at (&map->pieces, from_bytes);

  while (piece != NULL && !piece->is_closed)
    piece = piece->next;
  if (piece == NULL)
    return false;
  *out_begin_bytes = tessera_piece_begin (piece);
  if (*out_begin_bytes < from_bytes)
    *out_begin_bytes = from_bytes;
  *out_end_bytes = piece->end_bytes;
  return true;
}

bool
tessera_occupancy_is_free (const TesseraOccupancy *map,
                           uint64_t begin_bytes,
                           uint64_t end_bytes)
{
  const TesseraPiece *piece = tessera_pieces_at (&map->pieces, begin_bytes);

  while (piece != NULL && tessera_piece_begin (piece) < end_bytes &&
         piece->state == TESSERA_BLOCK_FREE)
    piece = piece->next;
  return piece == NULL || tessera_piece_begin (piece) >= end_bytes;
}
