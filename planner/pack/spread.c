/*
 * Bodies of several zones. See spread.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/spread.h"

#include "planner/pack/problem.h"

#include <stdlib.h>
#include <string.h>

/* So many bases are tried; of several bodies each has the first, then each the second.
 * (Four took half as long and ended up to 0.9 % higher.) */
#define MOST_TRIED 8
/* More bodies are packed as they are. */
#define MOST_BODIES 64
/* Bases nearer to each other than this part of the height are taken for one. */
#define NEAR_PART 64
/* Of so many items, the largest, ends are laid where zones end. */
#define MOST_ALIGNED 32
/* So many of the bases that take least from other zones are looked at closely. */
#define MOST_WEIGHED 128
/* Larger bodies, and more zones than this, are packed as they are. */
#define MOST_MEMBERS 4096
#define MOST_ZONES 64

/* Where the items of a zone lay. */
typedef struct
{
  uint32_t zone;
  uint64_t low_bytes, top_bytes;
} Zone;

/* Of a body. */
typedef struct
{
  uint32_t item;
  uint32_t zone;
  uint64_t begin_bytes, end_bytes; /* above the base; what members before it have too is
                                      left out */
} Member;

typedef struct
{
  uint64_t bytes;
  uint64_t cost_bytes; /* taken from zones, or above the height of before */
} Base;

/* The bases of a body that are tried; none: it is packed as it is. */
typedef struct
{
  uint64_t bytes[MOST_TRIED];
  size_t n;
} Tried;

typedef struct
{
  const TesseraItem *items;
  size_t n_items;
  const uint64_t *former;
  Tried tried[MOST_BODIES];
  Zone zones[MOST_ZONES];
  uint32_t n_zones;
  uint64_t height_bytes; /* of the former layout */
  Member *members;       /* of the body in hand */
  size_t n_members;
  uint64_t lowest_bytes, highest_bytes; /* of it, above its base */
  uint64_t longest_events;              /* life of an item */
  Base *bases;
  size_t n_bases;
} Spread;

/* Of both lives together, in events. */
static uint64_t
life_of (const TesseraItem *item)
{
  return (uint64_t) item->end - item->begin + item->end2 - item->begin2;
}

static bool
meet (const TesseraItem *a, const TesseraItem *b)
{
  return (a->begin < b->end && b->begin < a->end) ||
         (a->begin2 < b->end && b->begin < a->end2) ||
         (a->begin < b->end2 && b->begin2 < a->end) ||
         (a->begin2 < b->end2 && b->begin2 < a->end2);
}

static bool
is_apart (const TesseraItem *item)
{
  return item->is_pinned || item->body != 0;
}

/* Returns: false where there are too many zones. */
static bool
find_zones (Spread *spread)
{
  for (size_t i = 0, z = 0; i < spread->n_items; i++)
    {
      const TesseraItem *item = &spread->items[i];
      uint64_t at_bytes = spread->former[i], top_bytes = at_bytes + item->size_bytes;
      if (life_of (item) > spread->longest_events)
        spread->longest_events = life_of (item);
      if (is_apart (item) || at_bytes > TESSERA_PACK_MOST_BYTES)
        continue;
      if (z >= spread->n_zones || spread->zones[z].zone != item->zone)
        for (z = 0; z < spread->n_zones && spread->zones[z].zone != item->zone;)
          z++;
      if (z == MOST_ZONES)
        return false;
      if (z == spread->n_zones)
        spread->zones[spread->n_zones++] = (Zone){ item->zone, at_bytes, top_bytes };
      Zone *zone = &spread->zones[z];
      zone->low_bytes = at_bytes < zone->low_bytes ? at_bytes : zone->low_bytes;
      zone->top_bytes = top_bytes > zone->top_bytes ? top_bytes : zone->top_bytes;
      if (top_bytes > spread->height_bytes)
        spread->height_bytes = top_bytes;
    }
  return true;
}

static int
compare_members (const void *a, const void *b)
{
  const Member *x = a, *y = b;
  if (x->begin_bytes != y->begin_bytes)
    return x->begin_bytes < y->begin_bytes ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

/* The body's items, unless it is pinned, too large, or of one zone. */
static bool
find_members (Spread *spread, uint32_t body)
{
  bool is_spread = false, is_pinned = false;
  uint64_t end_bytes = 0;
  spread->n_members = 0;
  for (uint32_t i = 0; i < spread->n_items; i++)
    {
      const TesseraItem *item = &spread->items[i];
      if (item->body != body)
        continue;
      if (spread->n_members == MOST_MEMBERS)
        return false;
      is_pinned |= item->is_pinned != 0;
      spread->members[spread->n_members++] =
          (Member){ i, item->zone, item->body_offset_bytes,
                    item->body_offset_bytes + item->size_bytes };
      is_spread |= item->zone != spread->members[0].zone;
    }
  qsort (spread->members, spread->n_members, sizeof *spread->members, compare_members);
  spread->lowest_bytes = spread->n_members > 0 ? spread->members[0].begin_bytes : 0;
  for (size_t k = 0; k < spread->n_members; k++)
    {
      Member *member = &spread->members[k];
      if (member->begin_bytes < end_bytes)
        member->begin_bytes =
            member->end_bytes < end_bytes ? member->end_bytes : end_bytes;
      end_bytes = member->end_bytes > end_bytes ? member->end_bytes : end_bytes;
    }
  spread->highest_bytes = end_bytes;
  return is_spread && !is_pinned;
}

/* What the body takes from zones that are not its items' own, and above all of them. */
static uint64_t
cost_of (const Spread *spread, uint64_t base_bytes)
{
  uint64_t cost_bytes = 0;
  for (size_t k = 0; k < spread->n_members; k++)
    {
      const Member *member = &spread->members[k];
      uint64_t begin = base_bytes + member->begin_bytes,
               end = base_bytes + member->end_bytes;
      for (uint32_t z = 0; z < spread->n_zones; z++)
        {
          const Zone *zone = &spread->zones[z];
          uint64_t low = begin > zone->low_bytes ? begin : zone->low_bytes;
          uint64_t top = end < zone->top_bytes ? end : zone->top_bytes;
          if (zone->zone != member->zone && low < top)
            cost_bytes += top - low;
        }
      if (end > spread->height_bytes)
        cost_bytes += end - (begin > spread->height_bytes ? begin : spread->height_bytes);
    }
  return cost_bytes;
}

/* What the body pushes out of its own zones: the longer somebody lives, the less room
 * there is for it elsewhere. */
static uint64_t
pushed_by (const Spread *spread, uint64_t base_bytes)
{
  double pushed_bytes = 0;
  for (size_t i = 0; i < spread->n_items; i++)
    {
      const TesseraItem *item = &spread->items[i];
      uint64_t at_bytes = spread->former[i], top_bytes = at_bytes + item->size_bytes;
      if (is_apart (item) || at_bytes > TESSERA_PACK_MOST_BYTES ||
          top_bytes <= base_bytes + spread->lowest_bytes ||
          at_bytes >= base_bytes + spread->highest_bytes)
        continue;
      for (size_t k = 0; k < spread->n_members; k++)
        {
          const TesseraItem *other = &spread->items[spread->members[k].item];
          uint64_t begin = base_bytes + other->body_offset_bytes;
          if (item->zone == other->zone && begin < top_bytes &&
              at_bytes < begin + other->size_bytes && meet (item, other))
            {
              pushed_bytes += (double) item->size_bytes * (double) life_of (item) /
                              (double) spread->longest_events;
              break;
            }
        }
    }
  return (uint64_t) pushed_bytes;
}

static void
add_base (Spread *spread, uint64_t at_bytes, uint64_t distance_bytes)
{
  if (at_bytes < distance_bytes)
    return;
  at_bytes -= distance_bytes;
  spread->bases[spread->n_bases++] = (Base){ at_bytes, cost_of (spread, at_bytes) };
}

static int
compare_sizes (const void *a, const void *b)
{
  const Member *x = a, *y = b;
  uint64_t of_x = x->end_bytes - x->begin_bytes, of_y = y->end_bytes - y->begin_bytes;
  if (of_x != of_y)
    return of_x > of_y ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

static int
compare_bases (const void *a, const void *b)
{
  const Base *x = a, *y = b;
  if (x->cost_bytes != y->cost_bytes)
    return x->cost_bytes < y->cost_bytes ? -1 : 1;
  return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* The bottom, where an item of the body lay, or begins or ends with a zone. The cheapest
 * come first, those near to one before are left out. */
static void
find_bases (Spread *spread)
{
  size_t n_kept = 0;
  qsort (spread->members, spread->n_members, sizeof *spread->members, compare_sizes);
  spread->n_bases = 0;
  add_base (spread, 0, 0);
  for (size_t k = 0; k < spread->n_members && k < MOST_ALIGNED; k++)
    {
      const Member *member = &spread->members[k];
      uint64_t distance = spread->items[member->item].body_offset_bytes;
      if (spread->former[member->item] <= TESSERA_PACK_MOST_BYTES)
        add_base (spread, spread->former[member->item], distance);
      for (uint32_t z = 0; z < spread->n_zones; z++)
        {
          add_base (spread, spread->zones[z].low_bytes, member->begin_bytes);
          add_base (spread, spread->zones[z].top_bytes, member->end_bytes);
        }
    }
  qsort (spread->bases, spread->n_bases, sizeof *spread->bases, compare_bases);
  if (spread->n_bases > MOST_WEIGHED)
    spread->n_bases = MOST_WEIGHED;
  for (size_t i = 0; i < spread->n_bases; i++)
    spread->bases[i].cost_bytes += pushed_by (spread, spread->bases[i].bytes);
  qsort (spread->bases, spread->n_bases, sizeof *spread->bases, compare_bases);
  for (size_t i = 0; i < spread->n_bases && n_kept < MOST_TRIED; i++)
    {
      uint64_t at = spread->bases[i].bytes, near = spread->height_bytes / NEAR_PART;
      size_t k = 0;
      while (k < n_kept &&
             (at > spread->bases[k].bytes ? at - spread->bases[k].bytes
                                          : spread->bases[k].bytes - at) > near)
        k++;
      if (k == n_kept)
        spread->bases[n_kept++] = spread->bases[i];
    }
  spread->n_bases = n_kept;
}

/* Those of all bodies that are of several zones. Returns: false where none is. */
static bool
list_tried (Spread *spread, uint32_t n_bodies)
{
  bool is_spread = false;
  for (uint32_t body = 1; body <= n_bodies; body++)
    {
      Tried *tried = &spread->tried[body - 1];
      if (!find_members (spread, body))
        continue;
      find_bases (spread);
      for (; tried->n < spread->n_bases; tried->n++)
        tried->bytes[tried->n] = spread->bases[tried->n].bytes;
      is_spread = true;
    }
  return is_spread;
}

/* All bodies at their bases of this number, or their last. */
static void
pin_bodies (const Spread *spread, TesseraItem *items, size_t number)
{
  for (size_t i = 0; i < spread->n_items; i++)
    {
      TesseraItem *item = &items[i];
      const Tried *tried = item->body != 0 ? &spread->tried[item->body - 1] : NULL;
      if (tried == NULL || tried->n == 0)
        continue;
      item->is_pinned = 1;
      item->pinned_bytes = tried->bytes[number < tried->n ? number : tried->n - 1] +
                           item->body_offset_bytes;
    }
}

/* A layout, and where it comes from. */
typedef struct
{
  uint64_t *offsets;
  TesseraPacking packing;
  size_t number; /* of the bases; SIZE_MAX: none */
} Found;

/* Nearer to the height of before nobody sees a difference. */
static bool
is_enough (const Spread *spread, const TesseraPackOptions *options, uint64_t height_bytes)
{
  uint64_t slack_bytes =
      options->rough_part != 0 ? spread->height_bytes / options->rough_part : 0;
  return height_bytes <= spread->height_bytes + slack_bytes;
}

/* The lowest of the layouts seen at a glance. */
static TesseraStatus
glance (Spread *spread,
        const TesseraPackOptions *options,
        TesseraPackWay pack,
        TesseraItem *pinned,
        Found *best)
{
  TesseraPackOptions brief = *options;
  uint64_t *tried = malloc (spread->n_items * sizeof *tried);
  TesseraStatus status = tried != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
  brief.is_glance = true;
  for (size_t number = 0; number < MOST_TRIED && status == TESSERA_OK; number++)
    {
      TesseraPacking packing;
      memcpy (pinned, spread->items, spread->n_items * sizeof *pinned);
      pin_bodies (spread, pinned, number);
      brief.most_bytes = options->rough_part != 0 && best->number != SIZE_MAX
                             ? best->packing.height_bytes
                             : 0;
      status = pack (pinned, spread->n_items, &brief, tried, &packing);
      if (status == TESSERA_OK &&
          (best->number == SIZE_MAX || packing.height_bytes < best->packing.height_bytes))
        {
          best->number = number;
          best->packing = packing;
          memcpy (best->offsets, tried, spread->n_items * sizeof *tried);
          if (packing.is_cut_short || is_enough (spread, options, packing.height_bytes))
            break;
        }
      if (status == TESSERA_REFUSED || status == TESSERA_INVALID)
        status = TESSERA_OK; /* not there */
    }
  free (tried);
  return status;
}

/* The best of the bases with all of the work. */
static TesseraStatus
look_closely (Spread *spread,
              const TesseraPackOptions *options,
              TesseraPackWay pack,
              TesseraItem *pinned,
              Found *best)
{
  TesseraPackOptions close = *options;
  TesseraPacking packing;
  uint64_t *offsets;
  TesseraStatus status;
  if (options->rough_part != 0)
    {
      close.former = best->offsets;
      close.is_settled = false;
    }
  if (best->packing.is_cut_short ||
      is_enough (spread, options, best->packing.height_bytes))
    return TESSERA_OK;
  offsets = malloc (spread->n_items * sizeof *offsets);
  if (offsets == NULL)
    return TESSERA_NO_MEMORY;
  memcpy (pinned, spread->items, spread->n_items * sizeof *pinned);
  pin_bodies (spread, pinned, best->number);
  status = pack (pinned, spread->n_items, &close, offsets, &packing);
  if (status == TESSERA_OK && packing.height_bytes <= best->packing.height_bytes)
    {
      best->packing = packing;
      memcpy (best->offsets, offsets, spread->n_items * sizeof *offsets);
    }
  free (offsets);
  return status;
}

static uint32_t
count_bodies (const TesseraItem *items, size_t n_items)
{
  uint32_t n_bodies = 0;
  for (size_t i = 0; i < n_items; i++)
    n_bodies = items[i].body > n_bodies ? items[i].body : n_bodies;
  return n_bodies;
}

/* What is proven is told of the items as they are, not of where a body was pinned. */
static TesseraStatus
settle (const Spread *spread, const Found *best, TesseraPacking *out_packing)
{
  TesseraPacking *packing = out_packing;
  *packing = best->packing;
  TesseraStatus status =
      tessera_pack_bound (spread->items, spread->n_items, &packing->bound_bytes);
  packing->proven_bound_bytes = packing->bound_bytes;
  packing->is_optimal = packing->height_bytes == packing->bound_bytes;
  return status;
}

/* Returns: TESSERA_REFUSED where there is no such body, or none of its bases can be had.
 */
static TesseraStatus
pack_spread (Spread *spread,
             uint32_t n_bodies,
             const TesseraPackOptions *options,
             TesseraPackWay pack,
             uint64_t *offsets,
             TesseraPacking *out_packing)
{
  size_t most_bases = 1 + MOST_ALIGNED * (1 + 2 * (size_t) spread->n_zones);
  TesseraItem *pinned = malloc (spread->n_items * sizeof *pinned);
  Found best = { .offsets = offsets, .number = SIZE_MAX };
  TesseraStatus status = TESSERA_NO_MEMORY;
  spread->members = malloc (MOST_MEMBERS * sizeof *spread->members);
  spread->bases = malloc (most_bases * sizeof *spread->bases);
  if (pinned != NULL && spread->members != NULL && spread->bases != NULL)
    status = list_tried (spread, n_bodies) ? glance (spread, options, pack, pinned, &best)
                                           : TESSERA_REFUSED;
  if (status == TESSERA_OK && best.number == SIZE_MAX)
    status = TESSERA_REFUSED;
  if (status == TESSERA_OK)
    status = look_closely (spread, options, pack, pinned, &best);
  if (status == TESSERA_OK)
    status = settle (spread, &best, out_packing);
  free (pinned);
  free (spread->members);
  free (spread->bases);
  return status;
}

TesseraStatus
tessera_pack_spread (const TesseraItem *items,
                     size_t n_items,
                     const TesseraPackOptions *options,
                     TesseraPackWay pack,
                     uint64_t *offsets,
                     TesseraPacking *out_packing)
{
  Spread spread = {
    .items = items, .n_items = n_items, .former = options->former, .longest_events = 1
  };
  uint32_t n_bodies = count_bodies (items, n_items);
  TesseraStatus status = TESSERA_REFUSED;
  if (n_bodies > 0 && n_bodies <= MOST_BODIES && find_zones (&spread) &&
      spread.n_zones > 1)
    status = pack_spread (&spread, n_bodies, options, pack, offsets, out_packing);
  return status == TESSERA_REFUSED ? pack (items, n_items, options, offsets, out_packing)
                                   : status;
}
