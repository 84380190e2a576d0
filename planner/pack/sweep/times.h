/*
 * All lives of a problem in order of time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

/* Read-only once made, for any thread. A life is its item's number * 2, + 1 for the
 * second life. */
typedef struct
{
  const TesseraPackProblem *problem;
  uint32_t *by_begin, *by_end; /* [n_lives] in a section by moments of end, then and
                                  by begin as the caller had them */
  uint32_t n_lives;
} TesseraTimes;

TESSERA_MUST_USE TesseraStatus tessera_times_init (TesseraTimes *times,
                                                   const TesseraPackProblem *problem);
void tessera_times_clear (TesseraTimes *times); /* frees; a zeroed one is fine */

/* Its sections are [begin, end). */
static inline uint32_t
tessera_life_begin (const TesseraPackProblem *problem, uint32_t life)
{
  const TesseraPackLives *lives = &problem->items[life / 2].lives;
  return life & 1 ? lives->begin2 : lives->begin;
}

static inline uint32_t
tessera_life_end (const TesseraPackProblem *problem, uint32_t life)
{
  const TesseraPackLives *lives = &problem->items[life / 2].lives;
  return life & 1 ? lives->end2 : lives->end;
}
