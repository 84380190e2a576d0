/*
 * Following a plan: which slot, if any, serves this request now.
 *
 * A request is matched by signature (stream, rounded size, phase, order among its equals)
 * within a bounded look-ahead and re-synchronised at every phase mark and step; never by
 * position alone. An address is handed out only if the caller's hook, which knows what is
 * free at that moment, takes it. A request whose slot is taken gets another place that
 * no slot needs meanwhile, or swaps with a later one of its size. What does not match is
 * a miss, and the caller serves it by expandable rules; so is an unplanned request
 * (db/plan.h), which nothing is handed out for.
 *
 * Not thread-safe by itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

typedef struct TesseraFollower TesseraFollower;

/* @plan must outlive the follower. */
TESSERA_MUST_USE TesseraStatus tessera_follower_new (const TesseraPlan *plan,
                                                     TesseraFollower **out_follower);
void tessera_follower_free (TesseraFollower *follower);

/* Has the last word on each range: @take takes it for the request that is being served
 * and returns true, or tells in *out_end_bytes up to where it is no use to ask again
 * (beyond @offset_bytes). A range that it took is always handed out. While it is asked
 * blocks may be given back: the device may wait for their ends. */
typedef struct
{
  bool (*take) (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes);
  void *user;
} TesseraFollowerHook;
/* Copied; before the first request. */
void tessera_follower_set_hook (TesseraFollower *follower,
                                const TesseraFollowerHook *hook);

/* The run enters a phase (name may be NULL: no name) or a step. Both optional; without
 * any marks the step structure is found again from the requests themselves. */
void tessera_follower_phase (TesseraFollower *follower, const char *name);
void tessera_follower_step (TesseraFollower *follower);

typedef enum
{
  TESSERA_HIT,
  TESSERA_HIT_ELSEWHERE, /* in another place of the pool than planned, because the planned
                            one was not free (or granted) */
  TESSERA_HIT_DYNAMIC,   /* without a slot, in a room or region */
  TESSERA_MISS_UNKNOWN,  /* no slot of this signature near */
  TESSERA_MISS_OCCUPIED, /* a slot matched but its range was not free, or not granted */
  TESSERA_MISS_PLANNED   /* it is an unplanned request */
} TesseraFollowed;

static inline bool
tessera_followed_is_hit (TesseraFollowed followed)
{
  return followed <= TESSERA_HIT_DYNAMIC;
}

/* On a hit the offset in the pool is set, and the slot (@out_slot may be NULL). */
TesseraFollowed tessera_follower_malloc (TesseraFollower *follower,
                                         uint64_t size_bytes,
                                         uint32_t stream,
                                         uint32_t pool,
                                         uint64_t *out_offset_bytes,
                                         uint32_t *out_slot);

/* Which pages of the pool (array length=n_pages) the section at hand still needs, as far as
 * the plan tells from where the run is. */
void tessera_follower_forecast (const TesseraFollower *follower,
                                uint64_t page_bytes,
                                uint32_t n_pages,
                                bool *out_is_needed);

typedef struct
{
  uint64_t hits, misses;
  uint64_t hit_bytes, miss_bytes;
  uint64_t hits_elsewhere, hits_dynamic;
  uint64_t misses_unknown, misses_occupied;
  uint64_t misses_planned, planned_miss_bytes;
} TesseraFollowerStats;

/* What became of a request of so many bytes. */
static inline void
tessera_follower_count (TesseraFollowerStats *stats,
                        TesseraFollowed followed,
                        uint64_t size_bytes)
{
  if (tessera_followed_is_hit (followed))
    {
      stats->hits++;
      stats->hit_bytes += size_bytes;
      stats->hits_elsewhere += followed == TESSERA_HIT_ELSEWHERE;
      stats->hits_dynamic += followed == TESSERA_HIT_DYNAMIC;
      return;
    }
  stats->misses++;
  stats->miss_bytes += size_bytes;
  stats->misses_unknown += followed == TESSERA_MISS_UNKNOWN;
  stats->misses_occupied += followed == TESSERA_MISS_OCCUPIED;
  stats->misses_planned += followed == TESSERA_MISS_PLANNED;
  stats->planned_miss_bytes += followed == TESSERA_MISS_PLANNED ? size_bytes : 0;
}
