/*
 * Following a plan for every length: which place, if any, serves this request now.
 *
 * At a step's begin its length is not known. Its first requests have fixed places and
 * tell it (allocator/follow/lengths/guess.h); one sweep then gives this step a plan of
 * its own, which is followed like any other (allocator/follow.h) until the next step
 * begins. A step that tells no length, or one beyond what the plan is for, is not
 * planned: all of it misses.
 *
 * The run has to tell its steps. Not thread-safe by itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow.h"

typedef struct TesseraLengthsFollower TesseraLengthsFollower;

typedef struct
{
  TesseraFollowerHook hook;
  /* The step under way is planned with so many bytes; memory comes as it is handed out.
   */
  void (*expect) (void *user, uint64_t height_bytes);
  /* Is anything there, in [begin_bytes, end_bytes) of the pool? */
  bool (*is_free) (void *user, uint64_t begin_bytes, uint64_t end_bytes);
} TesseraLengthsHooks;

/* @lengths must outlive the follower, and be sound. TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus
tessera_lengths_follower_new (const TesseraLengths *lengths,
                              const TesseraLengthsHooks *hooks,
                              TesseraLengthsFollower **out_follower);
void tessera_lengths_follower_free (TesseraLengthsFollower *follower); /* NULL is fine */

/* The pool at the most that the plan is for. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_height (const TesseraLengths *lengths,
                                                       uint64_t *out_height_bytes);

/* As their namesakes in follow.h. */
void tessera_lengths_follower_step (TesseraLengthsFollower *follower);
/* A step ended and none begins: what comes now, an evaluation, say, is no part of one. */
void tessera_lengths_follower_end_step (TesseraLengthsFollower *follower);
void tessera_lengths_follower_phase (TesseraLengthsFollower *follower, const char *name);
TesseraFollowed tessera_lengths_follower_malloc (TesseraLengthsFollower *follower,
                                                 uint64_t size_bytes,
                                                 uint32_t stream,
                                                 uint32_t pool,
                                                 uint64_t *out_offset_bytes);
void tessera_lengths_follower_free_at (TesseraLengthsFollower *follower,
                                       uint64_t offset_bytes);
/* Whether what is asked for now is of a step that is not planned. */
bool tessera_lengths_follower_is_lost (const TesseraLengthsFollower *follower);
/* As tessera_follower_forecast(); of a step that is not planned: nothing is needed. */
void tessera_lengths_follower_forecast (const TesseraLengthsFollower *follower,
                                        uint64_t page_bytes,
                                        uint32_t n_pages,
                                        bool *out_is_needed);
