/*
 * The guard of a plan's pool: what of it is taken, and who used the rest last.
 *
 * It shares nothing with the matching, which it does not trust: a range is handed out
 * only after the guard took it. Two laws:
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
 * Ranges are pieces in a search tree, so all costs are those of a look-up, O(log n); what
 * a taken range covers becomes one piece. Pieces begin and end where some block did.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/caching.h"

typedef struct TesseraGuard TesseraGuard;

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
} TesseraGuardLaws;

extern const TesseraGuardLaws tessera_guard_laws; /* all of them */

TESSERA_MUST_USE TesseraStatus tessera_guard_new (uint64_t height_bytes,
                                                  const TesseraGuardLaws *laws,
                                                  TesseraGuard **out_guard);
void tessera_guard_free (TesseraGuard *guard); /* NULL is fine */

typedef struct
{
  uint64_t size_bytes;  /* as asked for */
  uint64_t block_bytes; /* what it takes */
  uint32_t stream;
  uint32_t pool;
} TesseraGuardRequest;

/* A pool that grows and shrinks at its end. What is new nobody used yet: whoever takes
 * memory away has waited for the device. Growing: TESSERA_NO_MEMORY, nothing changed. */
TESSERA_MUST_USE TesseraStatus tessera_guard_grow (TesseraGuard *guard,
                                                   uint64_t height_bytes);
/* Not below tessera_guard_needed(). */
void tessera_guard_shrink (TesseraGuard *guard, uint64_t height_bytes);
/* The end of the last byte that somebody needs, as tessera_guard_next_unneeded() means
 * it. */
uint64_t tessera_guard_needed (const TesseraGuard *guard);
/* Whether nothing live or pending is in [begin_bytes, end_bytes), so far as the pool
 * goes.
 */
bool tessera_guard_is_free (const TesseraGuard *guard,
                            uint64_t begin_bytes,
                            uint64_t end_bytes);

/* Whether more than one works. */
bool tessera_guard_has_several (const TesseraGuard *guard);

/* Every request of the program is told here first, wherever it will be served. Sees to it
 * that taking a range for it cannot fail for lack of host memory, whatever is closed or
 * grown meanwhile. */
TESSERA_MUST_USE TesseraStatus
tessera_guard_see_request (TesseraGuard *guard, const TesseraGuardRequest *request);
/* More than one stream works from now on, whether or not it asks for memory. */
void tessera_guard_see_streams (TesseraGuard *guard);

typedef enum
{
  TESSERA_GUARD_GRANTED,
  TESSERA_GUARD_TAKEN,    /* or not in the pool */
  TESSERA_GUARD_UNORDERED /* free, but the request's stream may run ahead of a user */
} TesseraGuardVerdict;

/* May the request have the range at @offset_bytes? If not, *out_end_bytes is the end of
 * the last piece in the way; the end of the pool where no other place would do either.
 * Changes nothing. */
TesseraGuardVerdict tessera_guard_ask (const TesseraGuard *guard,
                                       uint64_t offset_bytes,
                                       const TesseraGuardRequest *request,
                                       uint64_t *out_end_bytes);
/* Asks, and takes what is granted; once for each request that was told. */
TESSERA_MUST_USE TesseraGuardVerdict
tessera_guard_take (TesseraGuard *guard,
                    uint64_t offset_bytes,
                    const TesseraGuardRequest *request,
                    uint64_t *out_end_bytes);

/* The lowest place of the pool that would be granted to the request; @with_closed: once
 * what is closed there is opened. Looks at @most_pieces of what lies in it at most: at
 * all of it for the moment in which the run would end without a place. Returns: whether
 * there is one. */
bool tessera_guard_find (const TesseraGuard *guard,
                         const TesseraGuardRequest *request,
                         bool with_closed,
                         uint32_t most_pieces,
                         uint64_t *out_offset_bytes);

/* Of the block that begins there; TESSERA_INVALID: none does, or not in that state. */
TesseraStatus tessera_guard_free_requested (TesseraGuard *guard, uint64_t offset_bytes);
TesseraStatus tessera_guard_free_completed (TesseraGuard *guard, uint64_t offset_bytes);

/* Once the pool is to be given back, page by page, counted from its beginning.
 * Finds the lowest whole pages at or behind @from_bytes that nobody needs: free, and not
 * of a private pool, whose graphs use its memory without asking, unless that was
 * released. The pool's end counts as the end of a page. Looks at every piece. Returns:
 * whether there are any. */
bool tessera_guard_next_unneeded (const TesseraGuard *guard,
                                  uint64_t from_bytes,
                                  uint64_t page_bytes,
                                  uint64_t *out_begin_bytes,
                                  uint64_t *out_end_bytes);
/* Nothing is handed out there any more. TESSERA_NO_MEMORY: nothing changed. */
TESSERA_MUST_USE TesseraStatus tessera_guard_close (TesseraGuard *guard,
                                                    uint64_t begin_bytes,
                                                    uint64_t end_bytes);
/* Memory lies there again, which nobody used yet. The range is closed, as a whole or in
 * parts. TESSERA_NO_MEMORY: nothing changed. */
TESSERA_MUST_USE TesseraStatus tessera_guard_open (TesseraGuard *guard,
                                                   uint64_t begin_bytes,
                                                   uint64_t end_bytes);
/* Finds the lowest range at or behind @from_bytes that is closed. Returns: whether there
 * is one. */
bool tessera_guard_next_closed (const TesseraGuard *guard,
                                uint64_t from_bytes,
                                uint64_t *out_begin_bytes,
                                uint64_t *out_end_bytes);
/* The last user of a private pool is gone. A later request from the pool takes this back.
 */
void tessera_guard_release_pool (TesseraGuard *guard, uint32_t pool);

typedef struct
{
  uint64_t allocated_bytes, active_bytes, requested_bytes; /* as TesseraCachingStats */
} TesseraGuardStats;
void tessera_guard_get_stats (const TesseraGuard *guard, TesseraGuardStats *out_stats);

/* All pieces that have memory in ascending order, addresses counted from @pool_addr. */
void tessera_guard_each (const TesseraGuard *guard,
                         uint64_t pool_addr,
                         void (*visit) (void *user, const TesseraBlockInfo *info),
                         void *user);
TESSERA_MUST_USE TesseraStatus tessera_guard_check (const TesseraGuard *guard,
                                                    TesseraError *error);
