/*
 * The occupancy map of a plan's pool: what of it is taken, and who used the rest last.
 *
 * The map shares nothing with the matching, which it does not trust: a range is handed
 * out only after the map granted it. Two laws:
 *   - no byte is taken that is taken already, be it live or pending;
 *   - a free byte goes to a request whose stream is ordered behind its last use. That is
 *     a byte nobody used yet; or one that a block of the same stream and pool used last.
 *     Where more than one stream is at work PyTorch keeps small blocks and large ones
 *     apart, and the program may rely on that: a byte passes between them only after the
 *     stream has asked for something that PyTorch could have served from the last block
 *     (of its size class, not larger) since that was done. Sizes are PyTorch's here,
 *     however coarse the steps are in which the plan counts.
 * Bytes never pass between private pools: graphs use theirs without asking.
 *
 * Where a plan crosses streams, a byte of the default pool goes to any stream that is
 * behind a barrier which covers its last uses (allocator/follow/history.h), and does so from
 * the free on, whatever side streams the block had.
 *
 * Ranges are pieces, which begin and end where some block did, in order and in a search
 * tree. A block lies in a few of them, and leaves them as they are for its successors, or
 * makes one of many. So where a slot is taken and given back in turn its pieces are found
 * without the tree, and neither cut nor joined; all else is O(log n).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/caching.h"

typedef struct TesseraOccupancy TesseraOccupancy;

/* The laws one by one: tests leave out one at a time and look for the harm. */
typedef struct
{
  bool live;    /* bytes of live blocks are not taken */
  bool pending; /* ... nor those of pending ones */
  bool streams; /* nor what another stream used last */
  bool pools;   /* ... or another pool */
  bool sizes; /* small and large are apart; the exception to it asks for a request ... */
  bool since; /* ... made since the block was done, */
  bool fits;  /* ... and not larger than the block */
  bool order; /* a byte passes between streams only behind a barrier, */
  bool back;  /* ... made when the thread that freed it was back */
} TesseraOccupancyLaws;

extern const TesseraOccupancyLaws tessera_occupancy_laws; /* all of them */

TESSERA_MUST_USE TesseraStatus tessera_occupancy_new (uint64_t height_bytes,
                                                      const TesseraOccupancyLaws *laws,
                                                      TesseraOccupancy **out_map);
void tessera_occupancy_free (TesseraOccupancy *map); /* NULL is fine */

typedef struct
{
  uint64_t size_bytes;  /* as asked for */
  uint64_t block_bytes; /* what it takes */
  uint32_t stream;
  uint32_t pool;
} TesseraOccupancyRequest;

/* Whether nothing live or pending is in [begin_bytes, end_bytes), so far as the pool
 * goes.
 */
bool tessera_occupancy_is_free (const TesseraOccupancy *map,
                                uint64_t begin_bytes,
                                uint64_t end_bytes);

/* Whether more than one works. */
bool tessera_occupancy_has_several (const TesseraOccupancy *map);

/* Every request of the program is told here first, wherever it will be served. Sees to it
 * that taking a range for it cannot fail for lack of host memory, whatever is closed
 * meanwhile. */
TESSERA_MUST_USE TesseraStatus tessera_occupancy_see_request (
    TesseraOccupancy *map, const TesseraOccupancyRequest *request);
/* More than one stream works from now on, whether or not it asks for memory. */
void tessera_occupancy_see_streams (TesseraOccupancy *map);

typedef enum
{
  TESSERA_OCCUPANCY_GRANTED,
  TESSERA_OCCUPANCY_TAKEN,    /* or not in the pool */
  TESSERA_OCCUPANCY_UNORDERED /* free, but the request's stream may run ahead of a user */
} TesseraOccupancyVerdict;

/* May the request have the range at @offset_bytes? If not, *out_end_bytes is the end of
 * the last piece in the way, closed ones apart where there are others; the end of the pool
 * where no other place would do either.
 * Changes nothing. */
TesseraOccupancyVerdict tessera_occupancy_ask (const TesseraOccupancy *map,
                                               uint64_t offset_bytes,
                                               const TesseraOccupancyRequest *request,
                                               uint64_t *out_end_bytes);
/* Asks, and takes what is granted; once for each request that was told. */
TESSERA_MUST_USE TesseraOccupancyVerdict
tessera_occupancy_take (TesseraOccupancy *map,
                        uint64_t offset_bytes,
                        const TesseraOccupancyRequest *request,
                        uint64_t *out_end_bytes);

/* From now on memory may pass between streams at a free, behind a barrier. */
void tessera_occupancy_cross_streams (TesseraOccupancy *map);

typedef enum
{
  TESSERA_ORDER_REFUSED, /* something lives there, or no barrier would cover it */
  TESSERA_ORDER_THERE,   /* behind the last barrier of the request's stream */
  TESSERA_ORDER_NEEDED   /* behind a barrier that is to be made */
} TesseraOrderVerdict;

/* The clock of moments: counts requests and marks; frees too where memory crosses. */
uint64_t tessera_occupancy_now (const TesseraOccupancy *map);
/* How the range may be granted to the request though it is not free, or not ordered: if
 * NEEDED, behind a barrier of *out_moment or later. Blocks there whose ends wait for side
 * streams have to pass first, and what is closed there has to open. */
TesseraOrderVerdict tessera_occupancy_ask_order (const TesseraOccupancy *map,
                                                 uint64_t offset_bytes,
                                                 const TesseraOccupancyRequest *request,
                                                 uint64_t *out_moment);
/* The stream waits for all work from before the moment, which is now or was some time. */
void
tessera_occupancy_set_ordered (TesseraOccupancy *map, uint32_t stream, uint64_t moment);
/* Ends one block whose end waits for side streams, and that lies in the range: only who
 * is behind a barrier gets its bytes. Returns: whether there was one. */
bool tessera_occupancy_pass (TesseraOccupancy *map,
                             uint64_t begin_bytes,
                             uint64_t end_bytes,
                             uint64_t *out_offset_bytes);
/* A step or a phase begins or ends: whoever freed something launched what uses it. */
void tessera_occupancy_see_mark (TesseraOccupancy *map);

/* Where a place is looked for. */
typedef struct
{
  uint64_t begin_bytes, end_bytes;
  uint32_t most_pieces; /* to look at; all for the moment in which the run would end */
  bool with_closed;     /* what is closed there will be opened */
  bool with_order;      /* what a barrier would pass will be passed */
} TesseraOccupancySearch;

/* The lowest place that would be granted to the request. Returns: whether there is one.
 */
bool tessera_occupancy_find (const TesseraOccupancy *map,
                             const TesseraOccupancyRequest *request,
                             const TesseraOccupancySearch *search,
                             uint64_t *out_offset_bytes);

/* Of the block that begins there; TESSERA_INVALID: none does, or not in that state. */
TesseraStatus tessera_occupancy_free_requested (TesseraOccupancy *map,
                                                uint64_t offset_bytes);
TesseraStatus tessera_occupancy_free_completed (TesseraOccupancy *map,
                                                uint64_t offset_bytes);

/* Once the pool is to be given back, page by page, counted from its beginning.
 * Finds the lowest whole pages at or behind @from_bytes that nobody needs: free, and not
 * of a private pool, whose graphs use its memory without asking, unless that was
 * released. The pool's end counts as the end of a page. Looks at every piece. Returns:
 * whether there are any. */
bool tessera_occupancy_next_unneeded (const TesseraOccupancy *map,
                                      uint64_t from_bytes,
                                      uint64_t page_bytes,
                                      uint64_t *out_begin_bytes,
                                      uint64_t *out_end_bytes);
/* Nothing is handed out of a closed range. One that opens was closed, as a whole or in
 * parts, and has memory again, which nobody used yet. TESSERA_NO_MEMORY: nothing changed. */
TESSERA_MUST_USE TesseraStatus tessera_occupancy_set_closed (TesseraOccupancy *map,
                                                             uint64_t begin_bytes,
                                                             uint64_t end_bytes,
                                                             bool is_closed);
/* Finds the lowest range at or behind @from_bytes that is closed. Returns: whether there
 * is one. */
bool tessera_occupancy_next_closed (const TesseraOccupancy *map,
                                    uint64_t from_bytes,
                                    uint64_t *out_begin_bytes,
                                    uint64_t *out_end_bytes);
/* The last user of a private pool is gone. A later request from the pool takes this back.
 */
void tessera_occupancy_release_pool (TesseraOccupancy *map, uint32_t pool);

typedef struct
{
  uint64_t allocated_bytes, active_bytes, requested_bytes; /* as TesseraCachingStats */
} TesseraOccupancyStats;
/* Borrowed. */
const TesseraOccupancyStats *tessera_occupancy_stats (const TesseraOccupancy *map);

/* All pieces that have memory in ascending order, addresses counted from @pool_addr. */
void tessera_occupancy_each (const TesseraOccupancy *map,
                             uint64_t pool_addr,
                             void (*visit) (void *user, const TesseraBlockInfo *info),
                             void *user);
TESSERA_MUST_USE TesseraStatus tessera_occupancy_check (const TesseraOccupancy *map,
                                                        TesseraError *error);
