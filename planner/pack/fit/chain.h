/*
 * A chain of attempts, each told by the one before what to do first.
 *
 * Idea: ask the rule of the lowest reachable offset for a height below the best so far.
 * When everybody waits, the attempt has failed, and those who wait are the ones that
 * should have come earlier: they move forward by a random step of up to 2 % of all ranks,
 * and the next attempt begins. Orders that fit well are kept, what is in trouble wanders
 * forward until it no longer is. Found by trying: 2 % did better than 0.5, 1, 5, 10, 30
 * and 100 % on minimalloc's A to G, and all of these better than asking for the bound at
 * once (A: 1.163 of the bound by order alone, the bound itself after a few thousand
 * attempts; G: 1.44 and 1.05).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/fit/attempt.h"

#define TESSERA_N_CHAINS 8

typedef struct
{
  uint32_t *order; /* [n_items] */
  uint64_t random_state;
  uint64_t n_settled; /* floors found anew by those who take turns, in its tries so far */
} TesseraChain;

/* All chains, each with the order of its own number. */
TESSERA_MUST_USE TesseraStatus tessera_chains_init (TesseraChain chains[TESSERA_N_CHAINS],
                                                    const TesseraPackProblem *problem,
                                                    TesseraOrderEntry *entries);
void tessera_chains_clear (TesseraChain chains[TESSERA_N_CHAINS]); /* zeroed: fine */

/*
 * tessera_chain_try:
 *
 * @n_tries attempts at @capacity_bytes. Returns: true when one went through: its order
 * and offsets stand in @desk.
 */
TESSERA_MUST_USE bool tessera_chain_try (TesseraChain *chain,
                                         TesseraDesk *desk,
                                         uint64_t capacity_bytes,
                                         uint32_t n_tries,
                                         const TesseraPackWatch *watch,
                                         uint64_t *out_height_bytes);
