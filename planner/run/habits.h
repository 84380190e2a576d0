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

#include "planner/blocks.h"

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
  uint64_t *tokens;    /* ascending */
  size_t n_tokens;
} TesseraHabits;

/* What at least two of the ranges keep, in blocks of at most @most_bytes. The trace and
 * blocks must outlive it. TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_habits_init (TesseraHabits *habits,
                                                    const TesseraTrace *trace,
                                                    const TesseraBlocks *blocks,
                                                    const TesseraHabitRange *ranges,
                                                    size_t n_ranges,
                                                    uint64_t most_bytes);
void tessera_habits_clear (TesseraHabits *habits);

/* Whether what is asked for at @event, an allocation, is such. */
bool tessera_habits_have (const TesseraHabits *habits, uint32_t event);
