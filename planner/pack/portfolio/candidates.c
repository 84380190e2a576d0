/*
 * The table of orders and placements. See candidates.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio/candidates.h"

#define LOWEST(keys...) { keys }, TESSERA_PLACE_LOWEST
#define SKYLINE(keys...) { keys }, TESSERA_PLACE_SKYLINE
#define FIRST_FIT(keys...) { keys }, TESSERA_PLACE_FIRST_FIT
#define BEST_FIT(keys...) { keys }, TESSERA_PLACE_BEST_FIT
#define BY(key) TESSERA_BY_##key

/* Likely winners first: the first that reaches the bound ends the search. After number 0
 * come the first rules for sweeps, which take no time at all. On real training traces the
 * lowest reachable offset is at the bound almost always; where it is not, first fit by
 * size is rarely more than 1 % above. */
static const TesseraCandidate candidates[] = {
  { "lowest offset next; contention, life, area",
    LOWEST (BY (PREFERENCE), BY (CONTENTION), BY (LIFE), BY (AREA)) },
  { "lowest offset next; load, area, life", LOWEST (BY (LOAD), BY (AREA), BY (LIFE)) },
  { "first fit by size", FIRST_FIT (BY (SIZE), BY (LIFE)) },
  { "skyline by load, life, area", SKYLINE (BY (LOAD), BY (LIFE), BY (AREA)) },
  { "first fit by load, life, area", FIRST_FIT (BY (LOAD), BY (LIFE), BY (AREA)) },
  { "lowest offset next; life, area", LOWEST (BY (LIFE), BY (AREA)) },
  { "lowest offset next; area", LOWEST (BY (AREA)) },
  { "first fit by area", FIRST_FIT (BY (AREA)) },
  { "first fit by size^2 * life", FIRST_FIT (BY (SIZE2_LIFE)) },
  { "first fit by size^2 * wide life", FIRST_FIT (BY (SIZE2_WIDE)) },
  { "first fit by size^4 * wide life", FIRST_FIT (BY (SIZE4_WIDE)) },
  { "first fit by contention, life, area",
    FIRST_FIT (BY (CONTENTION), BY (LIFE), BY (AREA)) },
  { "skyline by life, area", SKYLINE (BY (LIFE), BY (AREA)) },
  { "skyline by area", SKYLINE (BY (AREA)) },
  { "skyline by size", SKYLINE (BY (SIZE), BY (LIFE)) },
  { "first fit, persistent first, by size",
    FIRST_FIT (BY (PREFERENCE), BY (SIZE), BY (LIFE)) },
  { "best fit by size", BEST_FIT (BY (SIZE), BY (LIFE)) },
  { "best fit by contention, life, area",
    BEST_FIT (BY (CONTENTION), BY (LIFE), BY (AREA)) },
  { "best fit by area", BEST_FIT (BY (AREA)) },
  { "best fit by size^2 * life", BEST_FIT (BY (SIZE2_LIFE)) },
  { "best fit by size^4 * wide life", BEST_FIT (BY (SIZE4_WIDE)) },
  { "lowest offset next; size", LOWEST (BY (SIZE), BY (LIFE)) },
  { "first fit by life", FIRST_FIT (BY (LIFE), BY (AREA)) },
  { "first fit by birth", FIRST_FIT (BY (BIRTH)) },
  { "best fit by birth", BEST_FIT (BY (BIRTH)) },
  { "first fit in order of time", FIRST_FIT (BY (TIME)) },
  { "best fit in order of time", BEST_FIT (BY (TIME)) },
  { "lowest offset next, as before", LOWEST (BY (FORMER), BY (AREA)) },
  { "skyline as before", SKYLINE (BY (FORMER)) },
  { "first fit as before", FIRST_FIT (BY (FORMER)) },
  { "best fit as before", BEST_FIT (BY (FORMER)) },
};

const TesseraCandidate *
tessera_candidate_nth (uint32_t number)
{
  return &candidates[number];
}

uint32_t
tessera_n_candidates (void)
{
  return (uint32_t) (sizeof candidates / sizeof candidates[0]);
}
