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

static const TesseraBlock *
block_at (const TesseraHabits *habits, uint32_t event)
{
  return &habits->blocks->blocks[habits->blocks->block_of_event[event]];
}

static bool
is_kept (const TesseraHabits *habits, const TesseraHabitRange *range, uint32_t event)
{
  return habits->trace->events[event].action == TESSERA_ALLOC &&
         block_at (habits, event)->block_bytes <= habits->most_bytes &&
         block_at (habits, event)->died_index >= range->until;
}

void
tessera_habits_init (TesseraHabits *habits,
                     const TesseraTrace *trace,
                     const TesseraBlocks *blocks,
                     const TesseraHabitRange *ranges,
                     size_t n_ranges,
                     uint64_t most_bytes)
{
  g_autoptr (GHashTable) range_of = g_hash_table_new (NULL, NULL); /* the first's + 1 */

  *habits = (TesseraHabits){ trace, blocks, most_bytes, g_hash_table_new (NULL, NULL) };
  for (size_t i = 0; i < n_ranges; i++)
    for (uint32_t e = ranges[i].begin; e < ranges[i].end; e++)
      if (is_kept (habits, &ranges[i], e))
        {
          gpointer token = GSIZE_TO_POINTER (tessera_unit_token (&trace->events[e]));
          gsize first = GPOINTER_TO_SIZE (g_hash_table_lookup (range_of, token));

          if (first == 0)
            g_hash_table_insert (range_of, token, GSIZE_TO_POINTER (i + 1));
          else if (first != i + 1)
            g_hash_table_add (habits->tokens, token);
        }
}

void
tessera_habits_clear (TesseraHabits *habits)
{
  g_clear_pointer (&habits->tokens, g_hash_table_unref);
}

bool
tessera_habits_are_any (const TesseraHabits *habits)
{
  return habits->tokens && g_hash_table_size (habits->tokens) > 0;
}

bool
tessera_habits_have (const TesseraHabits *habits, uint32_t event)
{
  return tessera_habits_are_any (habits) && /* else perhaps no trace */
         block_at (habits, event)->block_bytes <= habits->most_bytes &&
         g_hash_table_contains (habits->tokens, GSIZE_TO_POINTER (tessera_unit_token (
                                                    &habits->trace->events[event])));
}
