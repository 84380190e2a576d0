/*
 * What the files that find the steps that fold share with each other, and nobody else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/fold.h"

/*
 * Requests whose like several steps keep for good (retained.c).
 *
 * Where steps do not ask for the same one by one, what a step keeps over the next is told
 * from what it kept once (the optimizer's state) by whether another step keeps something
 * of that size, stream and pool as well.
 */

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
  GHashTable *tokens;  /* of size, stream and pool; NULL: nothing may be kept */
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

/* Whether the range keeps something that is none. */
bool tessera_habits_leak (const TesseraHabits *habits, const TesseraHabitRange *range);

/* ---- Kinds of step (hosts.c, kinds.c) ---- */

/* Units that ask for the same. */
typedef struct
{
  const TesseraUnit *like; /* the first of them */
  uint32_t n_alike;        /* units */
  uint32_t n_units;        /* with those of its guests */
  uint32_t host;           /* among hosts, or TESSERA_NONE: has a kind of its own */
  uint32_t kind;           /* or TESSERA_NONE: rare */
  bool is_common;
} TesseraKindHost;

/*
 * tessera_embed:
 * @out_places: (array) (nullable): for each of the guest's requests, how many of the
 *   host's come before the one that it is; ascending
 *
 * Whether one unit's requests are among another's, in order. First as one stretch that is
 * left out; else by the longest common sequence where few are left out.
 */
bool tessera_embed (const TesseraUnits *units,
                    const TesseraUnit *host,
                    const TesseraUnit *guest,
                    uint32_t *out_places);

enum
{
  TESSERA_NARROWINGS = 64 /* of the window, until the rest is given up */
};

typedef struct
{
  TesseraUnits *units;
  TesseraUnit *all;
  uint32_t n_all;
  uint32_t first, end; /* of the window among @all */
  uint32_t least_kinds;
  TesseraKindHost *hosts;
  uint32_t n_hosts;
  uint64_t apart[TESSERA_NARROWINGS]; /* digests of units that are nobody's guests */
  uint32_t n_apart;
  TesseraHabits habits; /* what units may keep */
  bool has_leaks;       /* something larger is, or would be where none may */
} TesseraKindSearch;

/* All that steps [@from, @to] and what lies between them do; the window is all of it. */
void tessera_kind_window_init (TesseraKindSearch *search,
                               const TesseraStructure *structure,
                               uint32_t from,
                               uint32_t to);
/* Narrows the window to units of kinds that fold; an empty one: none do. */
void tessera_kind_window_narrow (TesseraKindSearch *search);

/* ---- What the steps that are to fold do not have in common (dynamic.c) ---- */

enum
{
  TESSERA_SHARE_STEPS = 64 /* at most that are compared */
};

typedef struct
{
  uint32_t n_a_step;   /* dynamic requests, on average */
  uint64_t most_bytes; /* of their blocks that are alive at once */
} TesseraDynamicLoad;

/*
 * tessera_dynamic_find:
 * @run: whose steps @first to @last are to fold; what lies between two belongs to the
 *   earlier
 * @last_end: event at which the last ends
 * @out_is_dynamic: [n_blocks] 1: the block, of one of these steps, gets no slot; NULL
 *   where the steps have too little in common; the caller frees it
 */
void tessera_dynamic_find (const TesseraRun *run,
                           uint32_t first,
                           uint32_t last,
                           uint32_t last_end,
                           uint8_t **out_is_dynamic,
                           TesseraDynamicLoad *out_load);
