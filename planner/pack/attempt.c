/*
 * One attempt at a packing problem. See attempt.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/attempt.h"

#include <stdlib.h>
#include <string.h>

TesseraStatus
tessera_desk_init (TesseraDesk *desk, const TesseraPackProblem *problem)
{
  desk->problem = problem;
  desk->entries = calloc (problem->n_items, sizeof *desk->entries);
  desk->order = calloc (problem->n_items, sizeof *desk->order);
  desk->offsets = calloc (problem->n_items, sizeof *desk->offsets);
  if (problem->limits != NULL)
    desk->bodies_put = calloc ((size_t) problem->n_bodies + 1, sizeof *desk->bodies_put);
  if (desk->entries != NULL && desk->order != NULL && desk->offsets != NULL &&
      (problem->limits == NULL || desk->bodies_put != NULL) &&
      tessera_shelf_init (&desk->shelf, problem) == TESSERA_OK &&
      tessera_lowest_init (&desk->lowest, problem) == TESSERA_OK)
    return TESSERA_OK;
  tessera_desk_clear (desk);
  return TESSERA_NO_MEMORY;
}

void
tessera_desk_clear (TesseraDesk *desk)
{
  free (desk->entries);
  free (desk->order);
  free (desk->offsets);
  free (desk->bodies_put);
  tessera_shelf_clear (&desk->shelf);
  tessera_lowest_clear (&desk->lowest);
  memset (desk, 0, sizeof *desk);
}

static uint64_t
place_on_skyline (TesseraDesk *desk, const TesseraPackItem *item)
{
  uint64_t offset = tessera_reach_floor (&desk->lowest.reach, item);
  tessera_reach_raise (&desk->lowest.reach, item, offset + item->size_bytes);
  return offset;
}

static uint64_t
place_on_shelf (TesseraDesk *desk, uint32_t item_index, TesseraPlacement placement)
{
  const TesseraPackItem *item = &desk->problem->items[item_index];
  uint64_t offset = placement == TESSERA_PLACE_FIRST_FIT
                        ? tessera_shelf_first_fit (&desk->shelf, item)
                        : tessera_shelf_best_fit (&desk->shelf, item);
  tessera_shelf_put (&desk->shelf, item_index, offset);
  return offset;
}

/* Whether the items come in order of time: then the shelf may forget. */
static bool
is_by_time (const TesseraDesk *desk)
{
  uint32_t last = 0;
  for (size_t i = 0; i < desk->problem->n_items; i++)
    {
      uint32_t first = tessera_pack_first_section (&desk->problem->items[desk->order[i]]);
      if (first < last)
        return false;
      last = first;
    }
  return true;
}

bool
tessera_attempt (TesseraDesk *desk,
                 TesseraPlacement placement,
                 const TesseraPackWatch *watch,
                 uint64_t *out_height_bytes)
{
  const TesseraPackProblem *problem = desk->problem;
  if (problem->limits != NULL)
    return tessera_attempt_limits (desk, placement, watch, out_height_bytes);
  if (placement == TESSERA_PLACE_LOWEST)
    return tessera_lowest_place (&desk->lowest, desk->order, problem->bound_bytes, true,
                                 watch, desk->offsets,
                                 out_height_bytes) == TESSERA_LOWEST_DONE;
  uint64_t height_bytes = 0;
  bool forgets = placement != TESSERA_PLACE_SKYLINE && is_by_time (desk);
  tessera_reach_flatten (&desk->lowest.reach);
  tessera_shelf_empty (&desk->shelf);
  for (size_t i = 0; i < problem->n_items; i++)
    {
      if (i % TESSERA_LOOK_EVERY == 0 &&
          !tessera_pack_watch_goes_on (watch, height_bytes))
        return false;
      uint32_t item_index = desk->order[i];
      const TesseraPackItem *item = &problem->items[item_index];
      if (forgets && i % TESSERA_LOOK_EVERY == 0)
        tessera_shelf_forget (&desk->shelf, tessera_pack_first_section (item));
      uint64_t offset = placement == TESSERA_PLACE_SKYLINE
                            ? place_on_skyline (desk, item)
                            : place_on_shelf (desk, item_index, placement);
      desk->offsets[item_index] = offset;
      if (offset + item->size_bytes > height_bytes)
        height_bytes = offset + item->size_bytes;
    }
  *out_height_bytes = height_bytes;
  return true;
}
