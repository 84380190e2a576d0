/*
 * What steps keep for good.
 *
 * Steps that fold ask for the same, one request after the other, so request @j of each
 * has one slot. A loop that puts its losses in a list, or leaves a cycle to Python's
 * collector, keeps what one of these requests gave over the whole of the next step, which
 * asks for the like of it: no slot can hold both, and no number of places would do. Such
 * a request is *kept*: it gets no place in any step (a placeless request, db/plan.h), and
 * all others fold. So it is bounded by what it takes beside the pool, which nobody plans.
 *
 * What only an early step keeps (state that it made) is no habit: steps fold from the one
 * after it, if enough of them are left.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/blocks.h"

/* Steps in a row that ask for the same: at least one. */
typedef struct
{
  const TesseraBlocks *blocks;
  const uint32_t *requests; /* [n_steps * n_requests] events: the first step's, ... */
  const uint32_t *ends;     /* [n_steps] events: where the next one begins */
  uint32_t n_steps;
  uint32_t n_requests; /* of a step */
} TesseraKeptSteps;

typedef struct
{
  uint32_t first;      /* step from which on they fold; n_steps - 1: none do */
  uint8_t *is_kept;    /* [n_requests] 1: gets no place; NULL: none is */
  uint32_t n_kept;     /* of a step */
  uint64_t step_bytes; /* of them: what a step keeps at most */
} TesseraKept;

/*
 * tessera_kept_find:
 * @peak_bytes: what is alive at once at most in the first of them, before much was kept:
 *   what a step keeps has to be small beside it
 * @out_kept: for the caller to clear
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY
 */
TESSERA_MUST_USE TesseraStatus tessera_kept_find (const TesseraKeptSteps *steps,
                                                  uint64_t peak_bytes,
                                                  TesseraKept *out_kept);
void tessera_kept_clear (TesseraKept *kept);

/* What a step may keep at most beside that, where steps fold without that as well or not.
 */
uint64_t tessera_kept_most (uint64_t peak_bytes, bool folds_else);

/* Writes "; each step keeps up to 512 bytes for good, in 1 request without a place": to
 * go behind a sentence. */
void
tessera_kept_say (uint32_t n_kept, uint64_t step_bytes, char *out_text, size_t n_text);
