/*
 * One attempt at a packing problem. See attempt.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/attempt.h"

#include <stdlib.h>
#include <string.h>

static TesseraStatus
init_orders (TesseraDesk *desk, const TesseraPackProblem *problem)
{
  desk->entries = malloc (problem->n_items * sizeof *desk->entries);
  if (desk->entries == NULL)
    return TESSERA_NO_MEMORY;
  return tessera_lowest_init (&desk->lowest, problem);
}

static TesseraStatus
init_sweeps (TesseraDesk *desk, const TesseraTimes *times)
{
  for (uint32_t i = 0; i < times->problem->n_items; i++)
    desk->n_first += tessera_rule_is_first (times->problem, i) ? 1 : 0;
  desk->first_offsets =
      malloc ((TESSERA_N_FIRST_PLACES * desk->n_first + 1) * sizeof *desk->first_offsets);
  return desk->first_offsets != NULL ? tessera_sweep_init (&desk->sweep, times)
                                     : TESSERA_NO_MEMORY;
}

TesseraStatus
tessera_desk_init (TesseraDesk *desk,
                   const TesseraPackProblem *problem,
                   const TesseraDeskParts *parts)
{
  desk->problem = problem;
  desk->order = malloc (problem->n_items * sizeof *desk->order);
  desk->offsets = malloc (problem->n_items * sizeof *desk->offsets);
  if (problem->limits != NULL)
    desk->bodies_put = calloc ((size_t) problem->n_bodies + 1, sizeof *desk->bodies_put);
  TesseraStatus status = TESSERA_NO_MEMORY;
  if (desk->order != NULL && desk->offsets != NULL &&
      (problem->limits == NULL || desk->bodies_put != NULL))
    status = tessera_shelf_init (&desk->shelf, problem, parts->n_on_shelf);
  if (status == TESSERA_OK && parts->has_orders)
    status = init_orders (desk, problem);
  if (status == TESSERA_OK && parts->times != NULL)
    status = init_sweeps (desk, parts->times);
  if (status != TESSERA_OK)
    tessera_desk_clear (desk);
  return status;
}

void
tessera_desk_clear (TesseraDesk *desk)
{
  free (desk->entries);
  free (desk->order);
  free (desk->offsets);
  free (desk->bodies_put);
  free (desk->first_offsets);
  tessera_shelf_clear (&desk->shelf);
  tessera_lowest_clear (&desk->lowest);
  tessera_sweep_clear (&desk->sweep);
  memset (desk, 0, sizeof *desk);
}

static uint64_t
place_on_shelf (TesseraDesk *desk, uint32_t item_index)
{
  uint64_t offset =
      tessera_shelf_first_fit (&desk->shelf, &desk->problem->items[item_index]);
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
  if (placement == TESSERA_PLACE_LOWEST)
    return tessera_lowest_place (&desk->lowest, desk->order, problem->bound_bytes, true,
                                 watch, desk->offsets,
                                 out_height_bytes) == TESSERA_LOWEST_DONE;
  if (problem->limits != NULL)
    return tessera_attempt_limits (desk, watch, out_height_bytes);
  uint64_t height_bytes = 0;
  bool forgets = is_by_time (desk);
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
      uint64_t offset = place_on_shelf (desk, item_index);
      desk->offsets[item_index] = offset;
      if (offset + item->size_bytes > height_bytes)
        height_bytes = offset + item->size_bytes;
    }
  *out_height_bytes = height_bytes;
  return true;
}

/* Wherever the shelf has room for them. */
static void
place_first_class (TesseraDesk *desk, TesseraFirstPlaces *places)
{
  places->height_bytes = 0;
  if (desk->problem->limits != NULL)
    tessera_attempt_first (desk, desk->n_first, &places->height_bytes);
  else
    tessera_shelf_empty (&desk->shelf);
  for (size_t i = 0; i < desk->n_first; i++)
    {
      uint32_t item_index = desk->order[i];
      if (desk->problem->limits == NULL)
        {
          uint64_t offset = place_on_shelf (desk, item_index);
          uint64_t top = offset + desk->problem->items[item_index].size_bytes;
          desk->offsets[item_index] = offset;
          if (top > places->height_bytes)
            places->height_bytes = top;
        }
      places->offsets[i] = desk->offsets[item_index];
    }
}

/* Those that no sweep places, which come first in the order. Returns: their height. */
static uint64_t
put_first_class (TesseraDesk *desk, const TesseraRule *rule)
{
  const size_t way = rule->is_backward ? 1 : 0;
  TesseraFirstPlaces *places = &desk->first[way];
  if (places->offsets == NULL)
    {
      places->offsets = &desk->first_offsets[way * desk->n_first];
      place_first_class (desk, places);
    }
  for (size_t i = 0; i < desk->n_first; i++)
    {
      desk->offsets[desk->order[i]] = places->offsets[i];
      tessera_sweep_note (&desk->sweep, desk->order[i]);
    }
  return places->height_bytes;
}

bool
tessera_attempt_sweep (TesseraDesk *desk,
                       const TesseraRule *rule,
                       uint64_t looks,
                       const TesseraPackWatch *watch,
                       uint64_t *out_height_bytes)
{
  uint32_t ends[TESSERA_RULE_N_CLASSES];
  tessera_rule_order (rule, desk->sweep.times, desk->order, ends);
  tessera_sweep_begin (&desk->sweep, rule->is_backward, looks);
  *out_height_bytes = put_first_class (desk, rule);
  for (uint32_t c = 1; c < TESSERA_RULE_N_CLASSES; c++)
    if (ends[c] > ends[c - 1] &&
        !tessera_sweep_class (&desk->sweep, &desk->order[ends[c - 1]],
                              ends[c] - ends[c - 1], rule->fit, watch, desk->offsets,
                              out_height_bytes))
      return false;
  return true;
}
