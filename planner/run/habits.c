/*
 * Requests whose like several steps keep for good: see habits.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/run/habits.h"

#include <stdlib.h>

#define HABIT_RANGES 2

static uint64_t
token_of (const TesseraEvent *event)
{
  return (event->size_bytes << 20 ^ event->size_bytes >> 44) ^
         ((uint64_t) event->stream << 4 | (uint64_t) event->pool << 12);
}

static int
compare_tokens (const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

static const TesseraBlock *
block_at (const TesseraHabits *habits, uint32_t event)
{
  return &habits->blocks->blocks[habits->blocks->block_of_event[event]];
}

/* Tokens of what the range keeps, each once, behind those of others. */
static void
add_tokens (const TesseraHabits *habits,
            const TesseraHabitRange *range,
            uint64_t *tokens,
            size_t *n_tokens)
{
  size_t first = *n_tokens, n = first;

  for (uint32_t e = range->begin; e < range->end; e++)
    if (habits->trace->events[e].action == TESSERA_ALLOC &&
        block_at (habits, e)->block_bytes <= habits->most_bytes &&
        block_at (habits, e)->died_index >= range->until)
      tokens[n++] = token_of (&habits->trace->events[e]);
  if (n > first)
    qsort (tokens + first, n - first, sizeof *tokens, compare_tokens);
  for (size_t k = first; k < n; k++)
    if (k == first || tokens[k] != tokens[k - 1])
      tokens[(*n_tokens)++] = tokens[k];
}

TesseraStatus
tessera_habits_init (TesseraHabits *habits,
                     const TesseraTrace *trace,
                     const TesseraBlocks *blocks,
                     const TesseraHabitRange *ranges,
                     size_t n_ranges,
                     uint64_t most_bytes)
{
  uint64_t *tokens = malloc ((blocks->n_blocks + 1) * sizeof *tokens);
  size_t n = 0, alike = 0;

  *habits = (TesseraHabits){
    .trace = trace, .blocks = blocks, .most_bytes = most_bytes, .tokens = tokens
  };
  if (!tokens)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < n_ranges; i++)
    add_tokens (habits, &ranges[i], tokens, &n);
  if (n > 0)
    qsort (tokens, n, sizeof *tokens, compare_tokens);
  for (size_t i = 0; i < n; i++)
    {
      alike = i > 0 && tokens[i] == tokens[i - 1] ? alike + 1 : 1;
      if (alike == HABIT_RANGES)
        tokens[habits->n_tokens++] = tokens[i];
    }
  return TESSERA_OK;
}

void
tessera_habits_clear (TesseraHabits *habits)
{
  free (habits->tokens);
  *habits = (TesseraHabits){ 0 };
}

bool
tessera_habits_have (const TesseraHabits *habits, uint32_t event)
{
  uint64_t token;

  if (habits->n_tokens == 0) /* and perhaps no trace: nothing was looked for */
    return false;
  token = token_of (&habits->trace->events[event]);
  return block_at (habits, event)->block_bytes <= habits->most_bytes &&
         bsearch (&token, habits->tokens, habits->n_tokens, sizeof token,
                  compare_tokens) != NULL;
}
