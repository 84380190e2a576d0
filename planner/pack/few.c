/*
 * A handful of items: every order. See few.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/few.h"

#include <string.h>

typedef struct
{
  const TesseraPackProblem *problem;
  uint64_t places[TESSERA_PACK_FEW];
  uint32_t n_placed;
  bool is_placed[TESSERA_PACK_FEW];
  uint64_t best[TESSERA_PACK_FEW];
  uint64_t best_bytes;
} Search;

bool
tessera_pack_is_few (const TesseraPackProblem *problem)
{
  return problem->n_owners > 1 && problem->limits == NULL &&
         problem->n_items <= TESSERA_PACK_FEW;
}

/* On top of all that lie already and that it meets. */
static uint64_t
floor_of (const Search *search, uint32_t i)
{
  uint64_t floor = 0;
  for (uint32_t k = 0; k < search->problem->n_items; k++)
    {
      uint64_t top = search->places[k] + search->problem->items[k].size_bytes;
      if (search->is_placed[k] && top > floor &&
          tessera_pack_meet (search->problem, i, k))
        floor = top;
    }
  return floor;
}

/* As deep as there are items. */
static void
place_next (Search *search, uint64_t height_bytes)
{
  const TesseraPackProblem *problem = search->problem;
  if (height_bytes >= search->best_bytes || search->best_bytes == problem->bound_bytes)
    return;
  if (search->n_placed == problem->n_items)
    {
      search->best_bytes = height_bytes;
      memcpy (search->best, search->places, sizeof search->best);
    }
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      if (search->is_placed[i])
        continue;
      search->places[i] = floor_of (search, i);
      uint64_t top = search->places[i] + problem->items[i].size_bytes;
      search->is_placed[i] = true;
      search->n_placed++;
      place_next (search, top > height_bytes ? top : height_bytes);
      search->is_placed[i] = false;
      search->n_placed--;
    }
}

void
tessera_pack_few (TesseraPackProblem *problem,
                  uint64_t *places,
                  uint64_t *height_bytes,
                  const char **strategy)
{
  Search search = { .problem = problem, .best_bytes = *height_bytes };
  place_next (&search, 0);
  if (search.best_bytes < *height_bytes)
    {
      memcpy (places, search.best, problem->n_items * sizeof *places);
      *height_bytes = search.best_bytes;
      *strategy = "every order";
    }
  problem->bound_bytes = *height_bytes;
}
