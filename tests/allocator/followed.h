/*
 * A plan that is followed in a pool of its own; for tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow.h"
#include "allocator/follow/occupancy.h"

/* Of the laws of the pool's map those hold that keep blocks apart, and no others: what
 * streams wait for is nothing to the matching. */
typedef struct
{
  TesseraFollower *follower;
  TesseraOccupancy *map;
  TesseraOccupancyRequest request; /* that is being served */
  uint64_t align_bytes;
} Followed;

Followed *followed_new (const TesseraPlan *plan);
void followed_free (Followed *followed);

/* As their namesakes of the follower; a block that lies nowhere in the pool is given back
 * in vain: false. */
bool followed_malloc (Followed *followed,
                      uint64_t size_bytes,
                      uint32_t stream,
                      uint32_t pool,
                      uint64_t *out_offset_bytes,
                      uint32_t *out_slot);
bool followed_free_at (Followed *followed, uint64_t offset_bytes);
