/*
 * States that were searched to the end. See memo.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/exact/memo.h"

#include <stdlib.h>

#define N_KEYS (UINT64_C (1) << 17) /* 2 MiB */

TesseraStatus
tessera_memo_init (TesseraMemo *memo)
{
  memo->keys = calloc (N_KEYS, sizeof *memo->keys);
  return memo->keys != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
}

void
tessera_memo_clear (TesseraMemo *memo)
{
  free (memo->keys);
  memo->keys = NULL;
}

/* The last steps of splitmix64: every bit of the result depends on every bit of @z. */
static uint64_t
mix (uint64_t z)
{
  z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* 1 + the item of its own lives right below it, where that says something. */
static uint64_t
right_below (const TesseraExactState *state, uint32_t item)
{
  if (state->under[item] == 0)
    return 0;
  uint32_t below = (uint32_t) state->under[item] - 1;
  return state->floors[below] + state->core->items[below].size == state->floors[item]
             ? state->under[item]
             : 0;
}

/* Two of these with different seeds know nothing of each other. */
static uint64_t
item_key (const TesseraExactState *state, uint32_t item, uint64_t below, uint64_t seed)
{
  uint64_t key = mix (((uint64_t) item << 32 | below) + seed);
  key = mix (key + state->floors[item] * (seed | 1));
  return mix (key + state->blocked[item] * (seed | 1));
}

TesseraStateKey
tessera_memo_key (TesseraExactState *state, uint32_t begin, uint32_t end)
{
  const TesseraCore *core = state->core;
  TesseraStateKey key = { 1, 1 };
  for (uint32_t i = core->first_item[begin]; i < core->first_item[end]; i++)
    {
      if (state->placed[i])
        continue;
      uint64_t below = right_below (state, i);
      key.low += item_key (state, i, below, UINT64_C (0x9e3779b97f4a7c15));
      key.high += item_key (state, i, below, UINT64_C (0xd1342543de82ef95));
    }
  state->work += core->first_item[end] - core->first_item[begin];
  return key;
}

bool
tessera_memo_holds (const TesseraMemo *memo, TesseraStateKey key)
{
  const TesseraStateKey *kept = &memo->keys[key.low % N_KEYS];
  return kept->low == key.low && kept->high == key.high;
}

void
tessera_memo_add (TesseraMemo *memo, TesseraStateKey key)
{
  memo->keys[key.low % N_KEYS] = key;
}
