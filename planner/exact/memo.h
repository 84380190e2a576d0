/*
 * States that were searched to the end without a layout.
 *
 * What can follow depends on the waiting items of a part alone: their floors, who was put
 * off, and what of their own lives lies right below them. Different orders of decisions
 * lead to the same. A state is known by 128 bits of a hash; a newer one takes the place
 * of an older one. Two states with the same 128 bits would be taken for one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/exact/state.h"

typedef struct
{
  uint64_t low, high;
} TesseraStateKey;

typedef struct
{
  TesseraStateKey *keys;
} TesseraMemo;

TESSERA_MUST_USE TesseraStatus tessera_memo_init (TesseraMemo *memo);
void tessera_memo_clear (TesseraMemo *memo);

/* The key of the waiting items within sections [begin, end), an independent part. */
TesseraStateKey tessera_memo_key (TesseraExactState *state, uint32_t begin, uint32_t end);

bool tessera_memo_holds (const TesseraMemo *memo, TesseraStateKey key);
void tessera_memo_add (TesseraMemo *memo, TesseraStateKey key);
