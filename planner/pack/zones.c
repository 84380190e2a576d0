/*
 * Which items are packed together. See zones.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/zones.h"

#include "db/sort.h"

#include <stdlib.h>
#include <string.h>

typedef struct
{
  uint32_t group, zone, item; /* in order of these */
} Member;

/* Of one group and zone they are in order already. @keyed: scratch, n_items. */
static TesseraStatus
sort_members (Member *members, size_t n_items, TesseraKeyed *keyed)
{
  for (size_t i = 0; i < n_items; i++)
    keyed[i] = (TesseraKeyed){ (uint64_t) members[i].group << 32 | members[i].zone,
                               members[i].item };
  TesseraStatus status = tessera_sort_keyed (keyed, n_items);
  for (size_t i = 0; i < n_items && status == TESSERA_OK; i++)
    members[i] = (Member){ (uint32_t) (keyed[i].key >> 32), (uint32_t) keyed[i].key,
                           keyed[i].value };
  return status;
}

/* The first member of the zone, or of what it was joined with; members are by zone. */
static uint32_t
find_group (Member *members, uint32_t at)
{
  while (members[at].group != at)
    {
      members[at].group = members[members[at].group].group;
      at = members[at].group;
    }
  return at;
}

static void
join_groups (Member *members, uint32_t a, uint32_t b)
{
  a = find_group (members, a);
  b = find_group (members, b);
  if (a < b)
    members[b].group = a;
  else
    members[a].group = b;
}

/* Bodies join the zones of their items. @first_of_body: (array): scratch, n_items. */
static void
join_by_bodies (Member *members,
                const TesseraPackLimit *limits,
                size_t n_items,
                uint32_t *first_of_body)
{
  for (size_t i = 0; i < n_items; i++)
    first_of_body[i] = UINT32_MAX;
  for (uint32_t i = 0; i < n_items; i++)
    {
      uint32_t body = limits[members[i].item].body;
      if (body == TESSERA_PACK_NO_BODY)
        continue;
      if (first_of_body[body] == UINT32_MAX)
        first_of_body[body] = i;
      else
        join_groups (members, first_of_body[body], i);
    }
}

static void
number_groups (Member *members, size_t n_items)
{
  for (uint32_t i = 0, first = 0; i < n_items; i++)
    {
      first = members[i].zone != members[first].zone ? i : first;
      members[i].group = first;
    }
}

/* @keyed, @first_of_body: scratch, n_items each. */
static TesseraStatus
find_groups (Member *members,
             const TesseraItem *items,
             const TesseraPackLimit *limits,
             size_t n_items,
             TesseraKeyed *keyed,
             uint32_t *first_of_body)
{
  for (size_t i = 0; i < n_items; i++)
    members[i] = (Member){ 0, items[i].zone, (uint32_t) i };
  TesseraStatus status = sort_members (members, n_items, keyed);
  number_groups (members, n_items);
  if (limits == NULL || status != TESSERA_OK)
    return status;
  join_by_bodies (members, limits, n_items, first_of_body);
  for (uint32_t i = 0; i < n_items; i++)
    members[i].group = find_group (members, i);
  return sort_members (members, n_items, keyed);
}

TesseraStatus
tessera_pack_zones_init (TesseraPackZones *zones,
                         const TesseraItem *items,
                         const TesseraPackLimit *limits,
                         size_t n_items)
{
  Member *members = malloc (n_items * sizeof *members);
  TesseraKeyed *keyed = malloc (n_items * sizeof *keyed);
  TesseraStatus status = TESSERA_NO_MEMORY;
  *zones = (TesseraPackZones){ .items = malloc (n_items * sizeof *zones->items),
                               .ends = malloc (n_items * sizeof *zones->ends) };
  if (members != NULL && keyed != NULL && zones->items != NULL && zones->ends != NULL)
    status = find_groups (members, items, limits, n_items, keyed, zones->items);
  for (size_t i = 0; i < n_items && status == TESSERA_OK; i++)
    {
      zones->items[i] = members[i].item;
      if (i + 1 == n_items || members[i + 1].group != members[i].group)
        zones->ends[zones->n_groups++] = i + 1;
    }
  free (members);
  free (keyed);
  size_t *ends =
      status == TESSERA_OK ? realloc (zones->ends, zones->n_groups * sizeof *ends) : NULL;
  if (ends == NULL)
    {
      tessera_pack_zones_clear (zones);
      return TESSERA_NO_MEMORY;
    }
  zones->ends = ends;
  return TESSERA_OK;
}

void
tessera_pack_zones_clear (TesseraPackZones *zones)
{
  free (zones->items);
  free (zones->ends);
  *zones = (TesseraPackZones){ 0 };
}

TesseraStatus
tessera_pack_zones_load (const TesseraPackZones *zones,
                         const TesseraItem *items,
                         size_t begin,
                         size_t end,
                         uint64_t *out_load_bytes)
{
  TesseraStatus status = TESSERA_OK;
  *out_load_bytes = 0;
  while (begin < end && status == TESSERA_OK)
    {
      uint64_t load_bytes;
      size_t next = begin;
      while (next < end &&
             items[zones->items[next]].zone == items[zones->items[begin]].zone)
        next++;
      status = tessera_pack_load (items, &zones->items[begin], next - begin, &load_bytes);
      *out_load_bytes += load_bytes;
      begin = next;
    }
  return status;
}

/* Ranges of items in ascending order of where they begin; those that touch become one.
 * Returns: how many are left. */
static size_t
join_ranges (const TesseraItem *items,
             const TesseraKeyed *places,
             size_t n_places,
             TesseraPackRange *ranges)
{
  size_t n = 0;
  for (size_t i = 0; i < n_places; i++)
    {
      uint64_t at = places[i].key, top = at + items[places[i].value].size_bytes;
      if (n == 0 || at > ranges[n - 1].end_bytes)
        ranges[n++] = (TesseraPackRange){ at, top };
      else if (top > ranges[n - 1].end_bytes)
        ranges[n - 1].end_bytes = top;
    }
  return n;
}

TesseraStatus
tessera_pack_zones_block (const TesseraPackZones *zones,
                          const TesseraItem *items,
                          const TesseraPackLimit *limits,
                          const uint64_t *offsets,
                          size_t group,
                          TesseraPackRange **out_ranges,
                          size_t *out_n_ranges)
{
  size_t begin = group == 0 ? 0 : zones->ends[group - 1];
  size_t n_items = zones->ends[zones->n_groups - 1], n_places = 0;
  TesseraKeyed *places = malloc ((n_items + 1) * sizeof *places);
  TesseraStatus status = TESSERA_NO_MEMORY;
  *out_ranges = malloc ((n_items + 1) * sizeof **out_ranges);
  *out_n_ranges = 0;
  for (size_t i = 0; i < n_items && places != NULL;
       i = i + 1 == begin ? zones->ends[group] : i + 1)
    {
      uint32_t item = zones->items[i];
      uint64_t at = i < begin ? offsets[item] : limits[item].pinned_bytes;
      if (at != TESSERA_PACK_NOT_PINNED && (i < begin || i >= zones->ends[group]))
        places[n_places++] = (TesseraKeyed){ at, item };
    }
  if (places != NULL && *out_ranges != NULL)
    status = tessera_sort_keyed (places, n_places);
  if (status == TESSERA_OK)
    *out_n_ranges = join_ranges (items, places, n_places, *out_ranges);
  free (places);
  return status;
}

TesseraStatus
tessera_pack_zones_put_above (TesseraPackZones *zones,
                              const TesseraPackLimit *limits,
                              size_t group,
                              uint64_t height_bytes,
                              size_t *out_n_above)
{
  size_t begin = group == 0 ? 0 : zones->ends[group - 1], end = zones->ends[group];
  size_t n_left = begin, n_above = 0;
  uint32_t *above = malloc ((end - begin) * sizeof *above);
  *out_n_above = 0;
  if (above == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = begin; i < end; i++)
    {
      uint64_t at_bytes = limits[zones->items[i]].pinned_bytes;
      if (at_bytes != TESSERA_PACK_NOT_PINNED && at_bytes >= height_bytes)
        above[n_above++] = zones->items[i];
      else
        zones->items[n_left++] = zones->items[i];
    }
  memcpy (&zones->items[n_left], above, n_above * sizeof *above);
  free (above);
  *out_n_above = n_above;
  return TESSERA_OK;
}

uint64_t
tessera_pack_least_height (const TesseraPackRange *ranges,
                           size_t n_ranges,
                           uint64_t load_bytes)
{
  uint64_t free_bytes = 0, at_bytes = 0;
  for (size_t i = 0; i < n_ranges; i++)
    {
      uint64_t gap_bytes = ranges[i].begin_bytes - at_bytes;
      if (free_bytes + gap_bytes >= load_bytes)
        break;
      free_bytes += gap_bytes;
      at_bytes = ranges[i].end_bytes;
    }
  return at_bytes + load_bytes - free_bytes;
}
