/*
 * Where the items of a problem lay before. See hints.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/hints.h"

#include "db/sort.h"

#include <stdlib.h>

/* A walk upwards: what was used of the former layout below an address, and where as many
 * bytes are free now. */
typedef struct
{
  const TesseraPackProblem *problem;
  uint64_t used_bytes; /* below top_bytes */
  uint64_t top_bytes;  /* of those passed */
  uint64_t free_bytes; /* below the first range that was not passed */
  uint64_t at_bytes;   /* end of the last that was */
  size_t n_passed;
} Walk;

/* In ascending order of where they lay; a hint may say anything. */
static TesseraStatus
list_places (const TesseraPackProblem *problem,
             const uint64_t *former,
             TesseraKeyed *places,
             size_t *out_n)
{
  size_t n = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      uint64_t at_bytes = former[problem->items[i].source];
      if (at_bytes <= TESSERA_PACK_MOST_BYTES)
        places[n++] = (TesseraKeyed){ at_bytes, i };
    }
  *out_n = n;
  return tessera_sort_keyed (places, n);
}

/* Where somebody leaves, or goes with others, others need not leave room. */
static bool
has_left (const TesseraPackProblem *problem, uint32_t item)
{
  const TesseraPackLimit *limit = problem->limits != NULL ? &problem->limits[item] : NULL;
  return limit != NULL && (limit->pinned_bytes != TESSERA_PACK_NOT_PINNED ||
                           limit->body != TESSERA_PACK_NO_BODY);
}

/* The first address below which @used_bytes are free. */
static uint64_t
address_of (Walk *walk, uint64_t used_bytes)
{
  const TesseraPackProblem *problem = walk->problem;
  for (; walk->n_passed < problem->n_blocked; walk->n_passed++)
    {
      const TesseraPackRange *range = &problem->blocked[walk->n_passed];
      uint64_t gap_bytes = range->begin_bytes - walk->at_bytes;
      if (walk->free_bytes + gap_bytes > used_bytes)
        break;
      walk->free_bytes += gap_bytes;
      walk->at_bytes = range->end_bytes;
    }
  return walk->at_bytes + used_bytes - walk->free_bytes;
}

TesseraStatus
tessera_pack_hints_find (TesseraPackProblem *problem, const uint64_t *former)
{
  TesseraKeyed *places = malloc ((problem->n_items + 1) * sizeof *places);
  size_t n_places;
  Walk walk = { .problem = problem };
  problem->hints = malloc ((problem->n_items + 1) * sizeof *problem->hints);
  if (places == NULL || problem->hints == NULL ||
      list_places (problem, former, places, &n_places) != TESSERA_OK)
    {
      free (places);
      return TESSERA_NO_MEMORY;
    }
  for (size_t i = 0; i < problem->n_items; i++)
    problem->hints[i] = TESSERA_PACK_NO_HINT;
  for (size_t k = 0; k < n_places; k++)
    {
      uint32_t item = places[k].value;
      uint64_t begin_bytes = places[k].key;
      uint64_t end_bytes = begin_bytes + problem->items[item].size_bytes;
      bool is_above = begin_bytes >= walk.top_bytes;
      problem->hints[item] =
          address_of (&walk, is_above ? walk.used_bytes
                                      : walk.used_bytes - (walk.top_bytes - begin_bytes));
      if (has_left (problem, item) || end_bytes <= walk.top_bytes)
        continue;
      walk.used_bytes += end_bytes - (is_above ? begin_bytes : walk.top_bytes);
      walk.top_bytes = end_bytes;
    }
  free (places);
  return TESSERA_OK;
}
