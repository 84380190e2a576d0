/*
 * Of which kind the step is that a run is doing, where a plan has several, and which of
 * two layouts of it comes.
 *
 * Nobody tells the kind. When a step begins all kinds are possible; each request leaves
 * those that ask for the same there. The follower goes on with the kind that it took for
 * likely as long as that is possible, and passes to another one at the first request that
 * only that one has. When none is possible any more, the step differs from all: the
 * follower's alignment decides as it does for any other plan.
 *
 * Both layouts of a kind ask for the same, and no request tells one from the other. What
 * does is where the blocks lie that the step before left: those of the first layout have
 * other places than those of the second, and are still there when the next step begins.
 * So a run that lost its way, or leaves out steps, is in the right layout again at its
 * next step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/slots.h"

enum
{
  TESSERA_FOLLOW_KINDS = 64, /* of more, the first so many are told apart */
  TESSERA_FOLLOW_SINCE = 64  /* blocks that a step leaves, looked at when it is not of the
                                kind that was likely */
};

typedef struct
{
  const TesseraSlots *slots;
  uint32_t first; /* section of the first kind; the others come right behind it */
  uint32_t n_kinds;
  uint64_t possible;                      /* a bit each */
  uint32_t n_asked;                       /* requests since the step began */
  uint32_t n_taken;                       /* of these: that got a slot */
  uint32_t taken_in;                      /* ... the last one, in this section */
  uint64_t n_steps[TESSERA_FOLLOW_KINDS]; /* that turned out to be of the kind */
  uint32_t counted;                       /* the kind of this step so far, or NONE */
  uint32_t n_alternating;                 /* first kinds with a second layout; or 0 */
  uint64_t left_bytes[2]; /* held that steps of the first, the second layout left */
  bool is_second;         /* of the step at hand: it has the second layout */
  uint32_t since[TESSERA_FOLLOW_SINCE]; /* slots that count there since it began */
  uint32_t n_since;
  uint8_t *counts; /* [n_slots] 1: the slot's block counts there; NULL: none ever does */
} TesseraFollowKinds;

/* TESSERA_NO_MEMORY, or TESSERA_OK. */
TESSERA_MUST_USE TesseraStatus tessera_follow_kinds_init (TesseraFollowKinds *kinds,
                                                          const TesseraSlots *slots);
void tessera_follow_kinds_clear (TesseraFollowKinds *kinds);

/* Whether there are several, and the section is one of them. */
bool tessera_follow_kinds_has (const TesseraFollowKinds *kinds, uint32_t section);

/* A step begins: all kinds are possible, in the layout whose turn it is. */
void tessera_follow_kinds_begin (TesseraFollowKinds *kinds);

/* Sections of the layout whose turn it is, or comes once the step at hand is known to be
 * of a kind: [first, first + n). Returns: n. */
uint32_t tessera_follow_kinds_turn (const TesseraFollowKinds *kinds, uint32_t *out_first);

/* The section of the kind that came most often; of equals, and at first, the one with
 * most requests. */
uint32_t tessera_follow_kinds_likely (const TesseraFollowKinds *kinds);

/*
 * tessera_follow_kinds_see:
 * @phase: that the run says it is in: kinds that ask for it in another one are not meant;
 *   or TESSERA_NONE
 * @section: the one that the run is thought to be in
 *
 * A request came with this signature.
 *
 * Returns: a section that the run must be in instead, TESSERA_NONE: there is no such; its
 *   place of the request in *@out_place
 */
uint32_t tessera_follow_kinds_see (TesseraFollowKinds *kinds,
                                   uint32_t signature,
                                   uint32_t phase,
                                   uint32_t section,
                                   uint32_t *out_place);

/* The run is in another section: what it was given since the step began, and not for a
 * step known to be of its kind, is left by none. */
void tessera_follow_kinds_leave (TesseraFollowKinds *kinds);

/* A block of the slot came, or has gone. */
void tessera_follow_kinds_take (TesseraFollowKinds *kinds, uint32_t slot);
void tessera_follow_kinds_give_back (TesseraFollowKinds *kinds, uint32_t slot);
