/*
 * Which half of a pair of steps comes next.
 *
 * Where a plan's repeating section is two steps, both ask for the same, and no request
 * tells one from the other. What does is where the blocks lie that the step before left:
 * those of the first half have other places than those of the second, and are still there
 * when the next step begins. So a run that lost its way, or leaves out steps, is in the
 * right half again at its next step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/slots.h"

typedef struct
{
  const TesseraSlots *slots;
  uint32_t half_request;  /* the first of the second half; 0: the plan has no pairs */
  uint64_t left_bytes[2]; /* held that each half leaves to the other */
} TesseraFollowPairs;

void tessera_follow_pairs_init (TesseraFollowPairs *pairs, const TesseraSlots *slots);

/* A block of the slot came, or has gone. */
void tessera_follow_pairs_take (TesseraFollowPairs *pairs, uint32_t slot);
void tessera_follow_pairs_give_back (TesseraFollowPairs *pairs, uint32_t slot);

/* The place in the repeating section at which a step begins now. */
uint32_t tessera_follow_pairs_place (const TesseraFollowPairs *pairs);
