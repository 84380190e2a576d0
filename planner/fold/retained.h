/*
 * Requests whose like several steps keep for good.
 *
 * Where steps do not ask for the same one by one, what a step keeps over the next is told
 * from what it kept once (the optimizer's state) by whether another step keeps something
 * of that size, stream and pool as well.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "planner/blocks.h"

/* Writes "; each step keeps up to 512 bytes for good, in 1 request without a place": to
 * go behind a sentence. */
void
tessera_kept_say (uint32_t n_kept, uint64_t step_bytes, char *out_text, size_t n_text);

/* What a step may keep at most beside @peak_bytes, where steps fold without that as well
 * or not. */
uint64_t tessera_kept_most (uint64_t peak_bytes, bool folds_else);

/* Requests of the events [begin, end) that are alive at @until: kept. */
typedef struct
{
  uint32_t begin, end, until;
} TesseraHabitRange;

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  uint64_t most_bytes; /* blocks up to so large */
  GHashTable *tokens;  /* of size, stream and pool; NULL: nothing was looked for */
} TesseraHabits;

/* What at least two of the ranges keep, or one that is none of the @n_early first, in
 * blocks of at most @most_bytes. The trace and blocks must outlive it. */
void tessera_habits_init (TesseraHabits *habits,
                          const TesseraTrace *trace,
                          const TesseraBlocks *blocks,
                          const TesseraHabitRange *ranges,
                          size_t n_ranges,
                          size_t n_early,
                          uint64_t most_bytes);
void tessera_habits_clear (TesseraHabits *habits);
bool tessera_habits_are_any (const TesseraHabits *habits);

/* Whether what is asked for at @event, an allocation, is such. */
bool tessera_habits_have (const TesseraHabits *habits, uint32_t event);

/* Whether the range keeps something that is none. */
bool tessera_habits_leak (const TesseraHabits *habits,
                          const TesseraTrace *trace,
                          const TesseraBlocks *blocks,
                          const TesseraHabitRange *range);
