/*
 * First fit by size. See first-fit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/first-fit.h"

#include <stdlib.h>

#include "planner/pack/fit/shelf.h"
#include "planner/pack/zones.h"

typedef struct
{
  uint64_t size_bytes, life_events;
  uint32_t item, source;
} Sized;

static int
by_size (const void *x, const void *y)
{
  const Sized *a = x, *b = y;

  if (a->size_bytes != b->size_bytes)
    return a->size_bytes > b->size_bytes ? -1 : 1;
  if (a->life_events != b->life_events)
    return a->life_events > b->life_events ? -1 : 1;
  return (a->source > b->source) - (a->source < b->source);
}

static Sized *
sort (const TesseraPackProblem *problem)
{
  Sized *sized = malloc (problem->n_items * sizeof *sized);

  for (uint32_t i = 0; sized && i < problem->n_items; i++)
    sized[i] = (Sized){ problem->items[i].size_bytes, problem->items[i].life_events, i,
                        problem->items[i].source };
  if (sized)
    qsort (sized, problem->n_items, sizeof *sized, by_size);
  return sized;
}

/* On top of *@height_bytes, which it raises. */
static TesseraStatus
fit (const TesseraPackProblem *problem, uint64_t *offsets, uint64_t *height_bytes)
{
  TesseraShelf shelf = { 0 };
  uint64_t base_bytes = *height_bytes;
  Sized *sized = sort (problem);
  TesseraStatus status =
      sized ? tessera_shelf_init (&shelf, problem, problem->n_items) : TESSERA_NO_MEMORY;

  for (size_t i = 0; i < problem->n_items && status == TESSERA_OK; i++)
    {
      const TesseraPackItem *item = &problem->items[sized[i].item];
      uint64_t offset = tessera_shelf_first_fit (&shelf, item);
      uint64_t top = base_bytes + offset + item->size_bytes;

      tessera_shelf_put (&shelf, sized[i].item, offset);
      offsets[item->source] = base_bytes + offset;
      *height_bytes = top > *height_bytes ? top : *height_bytes;
    }
  tessera_shelf_clear (&shelf);
  free (sized);
  return status;
}

TesseraStatus
tessera_pack_first_fit (const TesseraItem *items,
                        size_t n_items,
                        uint64_t *offsets,
                        uint64_t *out_height_bytes)
{
  TesseraPackZones zones = { 0 };
  TesseraStatus status = TESSERA_OK;

  *out_height_bytes = 0;
  if (n_items > 0)
    status = tessera_pack_zones_init (&zones, items, NULL, n_items);
  for (size_t g = 0, begin = 0; g < zones.n_groups && status == TESSERA_OK; g++)
    {
      TesseraPackProblem *problem = NULL;

      status = tessera_pack_problem_new (items, NULL, &zones.items[begin],
                                         zones.ends[g] - begin, NULL, &problem);
      if (status == TESSERA_OK)
        status = fit (problem, offsets, out_height_bytes);
      tessera_pack_problem_free (problem);
      begin = zones.ends[g];
    }
  tessera_pack_zones_clear (&zones);
  return status;
}
