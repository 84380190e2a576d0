/*
 * A plan that is followed in a pool of its own, and plans small enough to say which slot
 * serves what; for tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "allocator/follow.h"
#include "allocator/follow/occupancy.h"

/* Of the laws of the pool's map those hold that keep blocks apart, and no others: what
 * streams wait for is nothing to the matching. */
typedef struct
{
  TesseraFollower *follower;
  TesseraOccupancy *map;
  TesseraOccupancyRequest request; /* that is being served */
  TesseraFollowed last;            /* what became of it */
  TesseraFollowerStats stats;
  uint64_t align_bytes;
} Followed;

Followed *followed_new (const TesseraPlan *plan);
void followed_free (Followed *followed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Followed, followed_free)

/* As their namesakes of the follower; a block that lies nowhere in the pool is given back
 * in vain: false. */
bool followed_malloc (Followed *followed,
                      uint64_t size_bytes,
                      uint32_t stream,
                      uint32_t pool,
                      uint64_t *out_offset_bytes,
                      uint32_t *out_slot);
bool followed_free_at (Followed *followed, uint64_t offset_bytes);

enum
{
  SMALL_PLAN_REQUESTS = 1024 /* at most */
};

/* A plan by hand: a letter is a request, its size the letter's number times 512; a small
 * one is unplanned, a capital has a slot of its own range; '*' behind them is a spare like
 * 'A'. '|' begins a section that repeats, '!' one that does not; '(' and ')' begin the phases
 * "forward" and "backward", '.' none. To be freed. */
TesseraPlan *small_plan_make (const char *text);
/* What a letter asks for. */
uint64_t small_plan_bytes (char letter);
/* Makes the requests of @letters, freed at once; '|' is a step, '(' and ')' as above.
 * Returns: which slots served them, '.' for a miss that was planned, '-' for another. */
char *small_plan_follow (const TesseraPlan *plan, const char *letters);
/* Asserts that, of a plan by hand. */
void small_plan_check (const char *text, const char *letters, const char *expected);
