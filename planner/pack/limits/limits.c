/*
 * What items are held to. See limits.h.
 *
 * Whether fixed items overlap is asked of the skyline: taken in ascending order of their
 * offsets, one lies free exactly when nothing that may not share with it reaches above
 * its own offset. That is O(log n) an item. Bodies are asked the same way, each for
 * itself: the virtual places where they are tried lie one body above the other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/limits/limits.h"

#include "planner/pack/reach.h"

#include <stdlib.h>

typedef struct
{
  uint64_t key; /* ascending */
  uint32_t item;
} Entry;

static int
compare_entries (const void *a, const void *b)
{
  const Entry *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

static TesseraStatus
refuse (uint32_t conflict[2], uint32_t a, uint32_t b)
{
  conflict[0] = a < b ? a : b;
  conflict[1] = a < b ? b : a;
  return TESSERA_REFUSED;
}

static bool
is_held (const TesseraItem *item)
{
  return item->is_pinned != 0 || item->in != 0 || item->apart != 0 || item->body != 0;
}

void
tessera_pack_limits_fill (const TesseraItem *items,
                          size_t n_items,
                          TesseraPackLimit *limits)
{
  for (size_t i = 0; i < n_items; i++)
    limits[i] = (TesseraPackLimit){
      .pinned_bytes =
          items[i].is_pinned != 0 ? items[i].pinned_bytes : TESSERA_PACK_NOT_PINNED,
      .in = items[i].in,
      .apart = items[i].apart,
      .body_offset_bytes = items[i].body != 0 ? items[i].body_offset_bytes : 0,
      .body = TESSERA_PACK_NO_BODY,
      .zone = items[i].zone,
    };
}

/* Of one body, whose items are those of @members: the first that is pinned pins all. */
static TesseraStatus
pin_body (TesseraPackLimit *limits,
          const Entry *members,
          size_t n_members,
          uint32_t conflict[2])
{
  size_t first = 0;
  while (first < n_members &&
         limits[members[first].item].pinned_bytes == TESSERA_PACK_NOT_PINNED)
    first++;
  if (first == n_members)
    return TESSERA_OK;
  const TesseraPackLimit *pinned = &limits[members[first].item];
  if (pinned->pinned_bytes < pinned->body_offset_bytes)
    return refuse (conflict, members[first].item, members[first].item);
  uint64_t base = pinned->pinned_bytes - pinned->body_offset_bytes;
  for (size_t i = 0; i < n_members; i++)
    {
      TesseraPackLimit *limit = &limits[members[i].item];
      uint64_t place = base + limit->body_offset_bytes;
      if (limit->pinned_bytes != TESSERA_PACK_NOT_PINNED && limit->pinned_bytes != place)
        return refuse (conflict, members[first].item, members[i].item);
      limit->pinned_bytes = place;
    }
  return TESSERA_OK;
}

/* @entries: scratch. */
static TesseraStatus
number_bodies (TesseraPackLimit *limits,
               const TesseraItem *items,
               size_t n_items,
               Entry *entries,
               uint32_t conflict[2])
{
  size_t n_entries = 0;
  uint32_t n_bodies = 0;
  for (size_t i = 0; i < n_items; i++)
    if (items[i].body != 0)
      entries[n_entries++] = (Entry){ items[i].body, (uint32_t) i };
  qsort (entries, n_entries, sizeof *entries, compare_entries);
  for (size_t begin = 0, end; begin < n_entries; begin = end)
    {
      for (end = begin; end < n_entries && entries[end].key == entries[begin].key; end++)
        limits[entries[end].item].body = n_bodies;
      n_bodies++;
      TesseraStatus status = pin_body (limits, &entries[begin], end - begin, conflict);
      if (status != TESSERA_OK)
        return status;
    }
  return TESSERA_OK;
}

/* Whose entry, among those before the @k-th, reaches above it and may not share. */
static TesseraStatus
refuse_entry (const TesseraPackProblem *problem,
              const Entry *entries,
              size_t k,
              uint32_t conflict[2])
{
  uint32_t item = entries[k].item;
  for (size_t i = k; i-- > 0;)
    {
      uint32_t other = entries[i].item;
      if (entries[i].key + problem->items[other].size_bytes > entries[k].key &&
          tessera_pack_meet (problem, item, other))
        return refuse (conflict, problem->items[item].source,
                       problem->items[other].source);
    }
  return TESSERA_OK;
}

/* Entries are items of @problem, their keys where they lie. */
static TesseraStatus
check_entries (const TesseraPackProblem *problem,
               TesseraReach *reach,
               Entry *entries,
               size_t n_entries,
               uint32_t conflict[2])
{
  qsort (entries, n_entries, sizeof *entries, compare_entries);
  tessera_reach_flatten (reach);
  for (size_t k = 0; k < n_entries; k++)
    {
      const TesseraPackItem *item = &problem->items[entries[k].item];
      if (tessera_reach_floor (reach, item) > entries[k].key)
        return refuse_entry (problem, entries, k, conflict);
      tessera_reach_raise (reach, item, entries[k].key + item->size_bytes);
    }
  return TESSERA_OK;
}

static TesseraStatus
check_pins (const TesseraPackProblem *problem,
            TesseraReach *reach,
            Entry *entries,
            uint32_t conflict[2])
{
  size_t n_entries = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    if (problem->limits[i].pinned_bytes != TESSERA_PACK_NOT_PINNED)
      entries[n_entries++] = (Entry){ problem->limits[i].pinned_bytes, (uint32_t) i };
  return check_entries (problem, reach, entries, n_entries, conflict);
}

static TesseraStatus
check_bodies (const TesseraPackProblem *problem,
              TesseraReach *reach,
              Entry *entries,
              uint32_t conflict[2])
{
  size_t n_entries = 0;
  uint64_t base = 0;
  for (uint32_t b = 0, begin = 0; b < problem->n_bodies; b++)
    {
      uint64_t top = base;
      for (uint32_t i = begin; i < problem->body_ends[b]; i++)
        {
          uint32_t item = problem->body_items[i];
          uint64_t place = base + problem->limits[item].body_offset_bytes;
          entries[n_entries++] = (Entry){ place, item };
          if (place + problem->items[item].size_bytes > top)
            top = place + problem->items[item].size_bytes;
        }
      begin = problem->body_ends[b];
      base = top;
    }
  return check_entries (problem, reach, entries, n_entries, conflict);
}

/* Of what is fixed alone: all others can be placed around. */
static TesseraStatus
check (const TesseraPackLimit *limits,
       const TesseraItem *items,
       size_t n_items,
       Entry *entries,
       uint32_t conflict[2])
{
  TesseraPackProblem *problem = NULL;
  TesseraReach reach = { 0 };
  uint32_t *members = malloc (n_items * sizeof *members);
  TesseraStatus status = TESSERA_NO_MEMORY;
  size_t n_members = 0;
  if (members == NULL)
    return status;
  for (size_t i = 0; i < n_items; i++)
    if (limits[i].pinned_bytes != TESSERA_PACK_NOT_PINNED ||
        limits[i].body != TESSERA_PACK_NO_BODY)
      members[n_members++] = (uint32_t) i;
  if (n_members == 0)
    {
      free (members);
      return TESSERA_OK;
    }
  status = tessera_pack_problem_new (items, limits, members, n_members, NULL, &problem);
  if (status == TESSERA_OK)
    status = tessera_reach_init (&reach, problem);
  if (status == TESSERA_OK)
    status = check_bodies (problem, &reach, entries, conflict);
  if (status == TESSERA_OK)
    status = check_pins (problem, &reach, entries, conflict);
  tessera_reach_clear (&reach);
  tessera_pack_problem_free (problem);
  free (members);
  return status;
}

/* What is pinned keeps its distances by itself: zones that share such a body can be
 * placed one after the other. */
static void
let_go_of_pinned (TesseraPackLimit *limits, size_t n_items)
{
  for (size_t i = 0; i < n_items; i++)
    if (limits[i].pinned_bytes != TESSERA_PACK_NOT_PINNED)
      {
        limits[i].body = TESSERA_PACK_NO_BODY;
        limits[i].body_offset_bytes = 0;
      }
}

TesseraStatus
tessera_pack_limits_new (const TesseraItem *items,
                         size_t n_items,
                         TesseraPackLimit **out_limits,
                         uint32_t conflict[2])
{
  size_t n_held = 0;
  *out_limits = NULL;
  for (size_t i = 0; i < n_items; i++)
    n_held += is_held (&items[i]);
  if (n_held == 0)
    return TESSERA_OK;
  TesseraPackLimit *limits = malloc (n_items * sizeof *limits);
  Entry *entries = malloc (n_items * sizeof *entries);
  TesseraStatus status = TESSERA_NO_MEMORY;
  if (limits != NULL && entries != NULL)
    {
      tessera_pack_limits_fill (items, n_items, limits);
      status = number_bodies (limits, items, n_items, entries, conflict);
      if (status == TESSERA_OK)
        status = check (limits, items, n_items, entries, conflict);
      let_go_of_pinned (limits, n_items);
    }
  free (entries);
  if (status == TESSERA_OK)
    *out_limits = limits;
  else
    free (limits);
  return status;
}

uint64_t
tessera_pack_highest_pin (const TesseraItem *items,
                          const TesseraPackLimit *limits,
                          size_t n_items)
{
  uint64_t highest = 0;
  for (size_t i = 0; limits != NULL && i < n_items; i++)
    if (limits[i].pinned_bytes != TESSERA_PACK_NOT_PINNED &&
        limits[i].pinned_bytes + items[i].size_bytes > highest)
      highest = limits[i].pinned_bytes + items[i].size_bytes;
  return highest;
}
