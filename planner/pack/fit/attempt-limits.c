/*
 * An attempt at a problem whose items are held to something. See attempt.h.
 *
 * What is pinned comes first. Then the order is followed; at the first item of a body all
 * of the body is placed in one move: its base rises until every item fits above it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/attempt.h"

#include <string.h>

typedef struct
{
  TesseraDesk *desk;
  uint64_t height_bytes;
} Attempt;

/* The lowest offset from @from_bytes on. */
static uint64_t
lowest_from (const Attempt *attempt, const TesseraPackItem *item, uint64_t from_bytes)
{
  return tessera_shelf_fit_from (&attempt->desk->shelf, item, from_bytes);
}

static void
put (Attempt *attempt, uint32_t item_index, uint64_t offset)
{
  TesseraDesk *desk = attempt->desk;
  const TesseraPackItem *item = &desk->problem->items[item_index];
  tessera_shelf_put (&desk->shelf, item_index, offset);
  desk->offsets[item_index] = offset;
  if (offset + item->size_bytes > attempt->height_bytes)
    attempt->height_bytes = offset + item->size_bytes;
}

static void
put_pinned (Attempt *attempt)
{
  const TesseraPackProblem *problem = attempt->desk->problem;
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (problem->limits[i].pinned_bytes != TESSERA_PACK_NOT_PINNED)
      put (attempt, i, problem->limits[i].pinned_bytes);
}

static uint64_t
fit_from (const void *data, const TesseraPackItem *item, uint64_t from_bytes)
{
  return lowest_from (data, item, from_bytes);
}

static void
put_body (Attempt *attempt, uint32_t body)
{
  const TesseraPackProblem *problem = attempt->desk->problem;
  if (attempt->desk->bodies_put[body])
    return;
  attempt->desk->bodies_put[body] = 1;
  uint64_t base = tessera_body_base (problem, body, fit_from, attempt);
  for (uint32_t i = body == 0 ? 0 : problem->body_ends[body - 1];
       i < problem->body_ends[body]; i++)
    put (attempt, problem->body_items[i],
         base + problem->limits[problem->body_items[i]].body_offset_bytes);
}

static void
put_item (Attempt *attempt, uint32_t item_index)
{
  TesseraDesk *desk = attempt->desk;
  const TesseraPackItem *item = &desk->problem->items[item_index];
  const TesseraPackLimit *limit = &desk->problem->limits[item_index];
  if (limit->pinned_bytes != TESSERA_PACK_NOT_PINNED)
    return;
  if (limit->body != TESSERA_PACK_NO_BODY)
    put_body (attempt, limit->body);
  else
    put (attempt, item_index, lowest_from (attempt, item, 0));
}

static Attempt
begin (TesseraDesk *desk)
{
  Attempt attempt = { .desk = desk };
  tessera_shelf_empty (&desk->shelf);
  tessera_shelf_block (&desk->shelf);
  memset (desk->bodies_put, 0, desk->problem->n_bodies);
  put_pinned (&attempt);
  return attempt;
}

void
tessera_attempt_first (TesseraDesk *desk, size_t n_items, uint64_t *height_bytes)
{
  Attempt attempt = begin (desk);
  for (size_t i = 0; i < n_items; i++)
    put_item (&attempt, desk->order[i]);
  *height_bytes = attempt.height_bytes;
}

bool
tessera_attempt_limits (TesseraDesk *desk,
                        const TesseraPackWatch *watch,
                        uint64_t *out_height_bytes)
{
  const TesseraPackProblem *problem = desk->problem;
  Attempt attempt = begin (desk);
  for (size_t i = 0; i < problem->n_items; i++)
    {
      if (i % TESSERA_LOOK_EVERY == 0 &&
          !tessera_pack_watch_goes_on (watch, attempt.height_bytes))
        return false;
      put_item (&attempt, desk->order[i]);
    }
  *out_height_bytes = attempt.height_bytes;
  return true;
}
