/*
 * Which items are packed together. See zones.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/zones.h"

#include <stdlib.h>
#include <string.h>

typedef struct
{
  uint32_t group, zone, item; /* sorted by these */
} Member;

static int
compare_members (const void *a, const void *b)
{
  const Member *x = a, *y = b;
  if (x->group != y->group)
    return x->group < y->group ? -1 : 1;
  if (x->zone != y->zone)
    return x->zone < y->zone ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

/* They are mostly: of one zone. */
static void
sort_members (Member *members, size_t n_items)
{
  for (size_t i = 1; i < n_items; i++)
    if (compare_members (&members[i - 1], &members[i]) > 0)
      {
        qsort (members, n_items, sizeof *members, compare_members);
        return;
      }
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

TesseraStatus
tessera_pack_zones_init (TesseraPackZones *zones,
                         const TesseraItem *items,
                         const TesseraPackLimit *limits,
                         size_t n_items)
{
  Member *members = malloc (n_items * sizeof *members);
  *zones = (TesseraPackZones){ .items = malloc (n_items * sizeof *zones->items),
                               .ends = malloc (n_items * sizeof *zones->ends) };
  if (members == NULL || zones->items == NULL || zones->ends == NULL)
    {
      free (members);
      tessera_pack_zones_clear (zones);
      return TESSERA_NO_MEMORY;
    }
  for (size_t i = 0; i < n_items; i++)
    members[i] = (Member){ 0, items[i].zone, (uint32_t) i };
  sort_members (members, n_items);
  number_groups (members, n_items);
  if (limits != NULL)
    {
      join_by_bodies (members, limits, n_items, zones->items);
      for (uint32_t i = 0; i < n_items; i++)
        members[i].group = find_group (members, i);
      sort_members (members, n_items);
    }
  for (size_t i = 0; i < n_items; i++)
    {
      zones->items[i] = members[i].item;
      if (i + 1 == n_items || members[i + 1].group != members[i].group)
        zones->ends[zones->n_groups++] = i + 1;
    }
  free (members);
  size_t *ends = realloc (zones->ends, zones->n_groups * sizeof *ends);
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

static int
compare_ranges (const void *a, const void *b)
{
  const TesseraPackRange *x = a, *y = b;
  if (x->begin_bytes != y->begin_bytes)
    return x->begin_bytes < y->begin_bytes ? -1 : 1;
  return x->end_bytes < y->end_bytes ? -1 : x->end_bytes > y->end_bytes;
}

/* Sorts; those that touch become one. Returns: how many are left. */
static size_t
join_ranges (TesseraPackRange *ranges, size_t n_ranges)
{
  size_t n_left = 0;
  qsort (ranges, n_ranges, sizeof *ranges, compare_ranges);
  for (size_t i = 0; i < n_ranges; i++)
    if (n_left == 0 || ranges[i].begin_bytes > ranges[n_left - 1].end_bytes)
      ranges[n_left++] = ranges[i];
    else if (ranges[i].end_bytes > ranges[n_left - 1].end_bytes)
      ranges[n_left - 1].end_bytes = ranges[i].end_bytes;
  return n_left;
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
  size_t n_items = zones->ends[zones->n_groups - 1], n_ranges = 0;
  TesseraPackRange *ranges = malloc ((n_items + 1) * sizeof *ranges);
  *out_ranges = ranges;
  *out_n_ranges = 0;
  if (ranges == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < n_items; i = i + 1 == begin ? zones->ends[group] : i + 1)
    {
      uint32_t item = zones->items[i];
      uint64_t at = i < begin ? offsets[item] : limits[item].pinned_bytes;
      if (at != TESSERA_PACK_NOT_PINNED && (i < begin || i >= zones->ends[group]))
        ranges[n_ranges++] = (TesseraPackRange){ at, at + items[item].size_bytes };
    }
  *out_n_ranges = join_ranges (ranges, n_ranges);
  return TESSERA_OK;
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
