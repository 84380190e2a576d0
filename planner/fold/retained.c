/*
 * What steps keep for good: see planner/fold.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/fold/private.h"

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

void
tessera_kept_say (uint32_t n_kept, uint64_t step_bytes, char *out_text, size_t n_text)
{
  snprintf (out_text, n_text,
            "; each step keeps up to %s beyond the next one, in %" PRIu32
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
                     size_t n_early,
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
          if (i >= n_early || (first != 0 && first != i + 1))
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

/* Whether what is asked for at @event, an allocation, is one. */
static bool
is_habit (const TesseraHabits *habits, uint32_t event)
{
  return habits->tokens && block_at (habits, event)->block_bytes <= habits->most_bytes &&
         g_hash_table_contains (habits->tokens, GSIZE_TO_POINTER (tessera_unit_token (
                                                    &habits->trace->events[event])));
}

bool
tessera_habits_leak (const TesseraHabits *habits, const TesseraHabitRange *range)
{
  for (uint32_t e = range->begin; e < range->end; e++)
    if (habits->trace->events[e].action == TESSERA_ALLOC &&
        block_at (habits, e)->died_index >= range->until && !is_habit (habits, e))
      return true;
  return false;
}
