/*
 * What steps keep for good: see planner/fold.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/fold/private.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "db/size-text.h"

/* Of what is alive in a step at once at most, what it keeps may be one part in so many:
 * where steps fold from a later one on without that, and where none do. */
#define SMALL_PART 64
#define LARGEST_PART 8

uint64_t
tessera_kept_most (uint64_t peak_bytes, bool folds_else)
{
  return peak_bytes / (folds_else ? SMALL_PART : LARGEST_PART);
}

/* The last step that is known to keep what it asks for, and how many are. */
typedef struct
{
  uint32_t n, last;
} Habit;

static bool
keeps (const TesseraKeptSteps *steps, uint32_t step, uint32_t request)
{
  uint32_t event = steps->requests[(size_t) step * steps->n_requests + request];
  const TesseraBlock *block =
      &steps->blocks->blocks[steps->blocks->block_of_event[event]];

  return block->died_index >= steps->ends[step + 1];
}

static void
find_habits (const TesseraKeptSteps *steps, Habit *habits)
{
  for (uint32_t k = 0; k + 1 < steps->n_steps; k++)
    for (uint32_t i = 0; i < steps->n_requests; i++)
      if (keeps (steps, k, i))
        habits[i] = (Habit){ habits[i].n + 1, k };
}

/* Steps that nothing is kept from. */
static uint32_t
first_without (const Habit *habits, uint32_t n_requests, bool only_once, uint32_t before)
{
  uint32_t first = 0;

  for (uint32_t i = 0; i < n_requests; i++)
    if (habits[i].n > 0 && (!only_once || habits[i].n == 1) && habits[i].last < before &&
        habits[i].last + 1 > first)
      first = habits[i].last + 1;
  return first;
}

static void
mark (const TesseraKeptSteps *steps, const Habit *habits, TesseraKept *kept)
{
  kept->is_kept = g_new0 (uint8_t, (size_t) steps->n_requests + 1);
  for (uint32_t i = 0; i < steps->n_requests; i++)
    if (habits[i].n > 0 && habits[i].last >= kept->first)
      {
        uint32_t block = steps->blocks->block_of_event[steps->requests[i]];

        kept->is_kept[i] = 1;
        kept->n_kept++;
        kept->step_bytes += steps->blocks->blocks[block].block_bytes;
      }
}

void
tessera_kept_find (const TesseraKeptSteps *steps,
                   uint64_t peak_bytes,
                   TesseraKept *out_kept)
{
  g_autofree Habit *habits = g_new0 (Habit, (size_t) steps->n_requests + 1);
  uint32_t without, half = steps->n_steps / 2;

  *out_kept = (TesseraKept){ 0 };
  find_habits (steps, habits);
  without = first_without (habits, steps->n_requests, false, steps->n_steps);
  /* Two steps at least have to be left, and half of them. */
  out_kept->first = first_without (habits, steps->n_requests, true, half);
  if (out_kept->first + 2 > steps->n_steps)
    out_kept->first = 0;
  mark (steps, habits, out_kept);
  if (out_kept->n_kept == 0 ||
      out_kept->step_bytes > tessera_kept_most (peak_bytes, without + 1 < steps->n_steps))
    {
      uint64_t step_bytes = out_kept->step_bytes;

      tessera_kept_clear (out_kept);
      out_kept->first = without;
      out_kept->step_bytes = step_bytes;
    }
}

void
tessera_kept_clear (TesseraKept *kept)
{
  free (kept->is_kept);
  *kept = (TesseraKept){ 0 };
}

void
tessera_kept_say (uint32_t n_kept, uint64_t step_bytes, char *out_text, size_t n_text)
{
  snprintf (out_text, n_text,
            "; each step keeps up to %s for good, in %" PRIu32
            " request%s without a place",
            TESSERA_SIZE (step_bytes), n_kept, n_kept == 1 ? "" : "s");
}

/* What steps that do not ask for the same one by one keep: so many of them at least. */
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

void
tessera_habits_init (TesseraHabits *habits,
                     const TesseraTrace *trace,
                     const TesseraBlocks *blocks,
                     const TesseraHabitRange *ranges,
                     size_t n_ranges,
                     uint64_t most_bytes)
{
  uint64_t *tokens = g_new (uint64_t, blocks->n_blocks + 1);
  size_t n = 0, alike = 0;

  *habits = (TesseraHabits){
    .trace = trace, .blocks = blocks, .most_bytes = most_bytes, .tokens = tokens
  };
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
