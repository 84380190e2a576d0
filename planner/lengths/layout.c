/*
 * One packing of the slots that a sweep places, and the order that is taken from it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/caching.h"
#include "db/array.h"
#include "planner/lengths/build.h"

/* ---- From a layout to an order ---- */

/* Both as places in the order. */
typedef struct
{
  uint32_t above, below;
} Edge;

typedef struct
{
  const TesseraLaidOut *items;
  uint32_t n;
  uint32_t *by_offset; /* [n] the order */
  uint32_t *place;     /* [n] of each item in it */
  uint32_t *by_begin;  /* [n] items */
  uint32_t *by_end;    /* [n] items */
  uint32_t *alive;     /* [n] places, ascending */
  uint32_t n_alive;
  Edge *edges;
  size_t n_edges, cap_edges;
} Build;

static bool
add_edge (Build *build, uint32_t below, uint32_t above)
{
  if (!TESSERA_RESERVE (build->edges, build->cap_edges, build->n_edges + 1))
    return false;
  build->edges[build->n_edges++] = (Edge){ above, below };
  return true;
}

/* How many of those alive lie below the place. */
static uint32_t
count_below (const Build *build, uint32_t place)
{
  uint32_t low = 0, high = build->n_alive;

  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;

      if (build->alive[middle] < place)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static bool
enter (Build *build, uint32_t place)
{
  uint32_t i = count_below (build, place);

  if (i > 0 && !add_edge (build, build->alive[i - 1], place))
    return false;
  if (i < build->n_alive && !add_edge (build, place, build->alive[i]))
    return false;
  memmove (build->alive + i + 1, build->alive + i,
           (build->n_alive - i) * sizeof *build->alive);
  build->alive[i] = place;
  build->n_alive++;
  return true;
}

static bool
leave (Build *build, uint32_t place)
{
  uint32_t i = count_below (build, place);

  build->n_alive--;
  memmove (build->alive + i, build->alive + i + 1,
           (build->n_alive - i) * sizeof *build->alive);
  return i == 0 || i == build->n_alive ||
         add_edge (build, build->alive[i - 1], build->alive[i]);
}

/* Sorted by a key below @n_keys, equal ones by index. */
static bool
sort_by_key (
    const TesseraLaidOut *items, uint32_t n, bool by_end, uint32_t n_keys, uint32_t *out)
{
  uint32_t *first = calloc ((size_t) n_keys + 2, sizeof *first);

  if (!first)
    return false;
  for (uint32_t i = 0; i < n; i++)
    first[(by_end ? items[i].end : items[i].begin) + 1]++;
  for (uint32_t k = 1; k <= n_keys; k++)
    first[k] += first[k - 1];
  for (uint32_t i = 0; i < n; i++)
    out[first[by_end ? items[i].end : items[i].begin]++] = i;
  free (first);
  return true;
}

typedef struct
{
  uint64_t offset_bytes;
  uint32_t item;
} Place;

static int
by_offset (const void *a, const void *b)
{
  const Place *x = a;
  const Place *y = b;

  if (x->offset_bytes != y->offset_bytes)
    return x->offset_bytes < y->offset_bytes ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

static bool
sort_places (Build *build)
{
  Place *places = malloc ((build->n + 1) * sizeof *places);

  if (!places)
    return false;
  for (uint32_t i = 0; i < build->n; i++)
    places[i] = (Place){ build->items[i].offset_bytes, i };
  qsort (places, build->n, sizeof *places, by_offset);
  for (uint32_t i = 0; i < build->n; i++)
    {
      build->by_offset[i] = places[i].item;
      build->place[places[i].item] = i;
    }
  free (places);
  return true;
}

/* Ends come before begins of the same moment. */
static bool
walk (Build *build)
{
  uint32_t ended = 0;

  for (uint32_t i = 0; i < build->n; i++)
    {
      uint32_t item = build->by_begin[i];

      for (; build->items[build->by_end[ended]].end <= build->items[item].begin; ended++)
        if (!leave (build, build->place[build->by_end[ended]]))
          return false;
      if (!enter (build, build->place[item]))
        return false;
    }
  return true;
}

static int
by_above (const void *a, const void *b)
{
  const Edge *x = a;
  const Edge *y = b;

  if (x->above != y->above)
    return x->above < y->above ? -1 : 1;
  return (x->below > y->below) - (x->below < y->below);
}

static TesseraStatus
finish (Build *build, TesseraOrder *out_order)
{
  size_t n = 0;
  TesseraStatus status;

  if (build->n_edges > 1)
    qsort (build->edges, build->n_edges, sizeof *build->edges, by_above);
  for (size_t i = 0; i < build->n_edges; i++)
    if (i == 0 || by_above (&build->edges[i - 1], &build->edges[i]) != 0)
      build->edges[n++] = build->edges[i];
  if (n > UINT32_MAX)
    return TESSERA_NO_MEMORY;
  status = tessera_order_init (out_order, build->n, (uint32_t) n);
  if (status != TESSERA_OK)
    return status;
  memcpy (out_order->slots, build->by_offset, build->n * sizeof *build->by_offset);
  for (size_t i = 0; i < n; i++)
    {
      out_order->below[i] = build->edges[i].below;
      out_order->first_edge[build->edges[i].above + 1]++;
    }
  for (uint32_t i = 0; i < build->n; i++)
    out_order->first_edge[i + 1] += out_order->first_edge[i];
  return TESSERA_OK;
}

TesseraStatus
tessera_order_from_layout (const TesseraLaidOut *items,
                           uint32_t n_items,
                           uint32_t n_positions,
                           TesseraOrder *out_order)
{
  size_t n_bytes = ((size_t) n_items + 1) * sizeof (uint32_t);
  Build build = { .items = items, .n = n_items };
  TesseraStatus status = TESSERA_NO_MEMORY;

  memset (out_order, 0, sizeof *out_order);
  build.by_offset = malloc (n_bytes);
  build.place = malloc (n_bytes);
  build.by_begin = malloc (n_bytes);
  build.by_end = malloc (n_bytes);
  build.alive = malloc (n_bytes);
  if (build.by_offset && build.place && build.by_begin && build.by_end && build.alive &&
      sort_places (&build) &&
      sort_by_key (items, n_items, false, n_positions, build.by_begin) &&
      sort_by_key (items, n_items, true, n_positions, build.by_end) && walk (&build))
    status = finish (&build, out_order);
  free (build.by_offset);
  free (build.place);
  free (build.by_begin);
  free (build.by_end);
  free (build.alive);
  free (build.edges);
  return status;
}

/* ---- One packing ---- */

enum
{
  /* Around what is pinned packing is dearer: the likely orders, and less work. */
  FIRST_WORK = 1 << 18
};

/* What one step makes, from its request to the step's end; one item of those that come
 * together. Returns: how many. */
static uint32_t
pin_once (const TesseraLengths *of, const uint64_t *block_bytes, TesseraItem *items)
{
  uint64_t base_bytes = 0, end_bytes = 0;
  uint32_t n = 0, next = TESSERA_NONE;

  for (uint32_t i = 0; i < of->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &of->slots[i];

      if (slot->place != TESSERA_PLACE_FIXED || !tessera_lengths_slot_lends (of, slot))
        continue;
      if (n == 0)
        base_bytes = end_bytes = slot->offset_bytes;
      if (i == next && slot->offset_bytes == end_bytes)
        items[n - 1].size_bytes += block_bytes[slot->law];
      else
        items[n++] = (TesseraItem){ .size_bytes = block_bytes[slot->law],
                                    .begin = i,
                                    .end = of->n_slots,
                                    .is_pinned = true,
                                    .pinned_bytes = slot->offset_bytes - base_bytes };
      end_bytes = slot->offset_bytes + block_bytes[slot->law];
      next = i + 1;
    }
  return n;
}

/* What such a step never asks for, or none of these lengths, is in the order, and as
 * small as can be. */
static uint64_t
size_of (const TesseraLengths *of,
         uint32_t slot,
         bool is_first,
         const uint64_t *block_bytes)
{
  uint64_t bytes = block_bytes[of->slots[slot].law];

  return bytes == 0 || (is_first && of->slots[slot].seen == TESSERA_SEEN_LATER)
             ? of->alignment_bytes
             : bytes;
}

bool
tessera_lengths_splits_sizes (const TesseraLengthsBuild *build)
{
  return build->trace && (build->trace->n_streams > 1 ||
                          tessera_trace_get_meta (build->trace, "policy") != NULL);
}

/* The small ones lie at the bottom, in a zone of their own. A law counts by what it gives
 * at the most. Returns: how many they are. */
static uint32_t
set_zones (const TesseraLengthsBuild *build, const uint32_t *swept, TesseraItem *items)
{
  const TesseraLengths *of = build->out;
  uint32_t n_low = 0;

  for (uint32_t i = 0; i < of->n_swept; i++)
    {
      const TesseraSizeLaw *law = &of->laws[of->slots[swept[i]].law];
      uint64_t bytes = items[i].size_bytes;
      bool is_small = tessera_size_law_evaluate (law, &of->most, &bytes) &&
                      bytes <= TESSERA_SMALL_BYTES;

      items[i].zone = !is_small;
      n_low += is_small;
    }
  return n_low < of->n_swept ? n_low : 0;
}

/* Of parts, where sizes are kept apart: the large ones around what is pinned, the small
 * ones on top of them all. @items: the swept, then what is pinned. */
static TesseraStatus
pack_apart (const TesseraLengthsBuild *build,
            const uint32_t *swept,
            TesseraItem *items,
            uint32_t n,
            const TesseraPackOptions *options,
            uint64_t *out_offsets,
            uint32_t *out_n_low)
{
  uint32_t n_swept = build->out->n_swept, n_small = set_zones (build, swept, items);
  TesseraItem *some = calloc ((size_t) n + 1, sizeof *some);
  uint64_t *offsets = calloc ((size_t) n + 1, sizeof *offsets), above = 0;
  TesseraStatus status = some && offsets ? TESSERA_OK : TESSERA_NO_MEMORY;

  for (uint32_t is_small = 0; is_small < 2 && status == TESSERA_OK; is_small++)
    {
      TesseraPacking packing = { 0 };
      uint32_t n_some = 0;

      for (uint32_t i = 0; i < n; i++)
        if (i >= n_swept ? !is_small : items[i].zone == !is_small)
          {
            some[n_some] = items[i];
            some[n_some++].zone = 0;
          }
      if (n_some > 0)
        status = tessera_pack (some, n_some, options, offsets, &packing);
      n_some = 0;
      for (uint32_t i = 0; i < n; i++)
        if (i >= n_swept ? !is_small : items[i].zone == !is_small)
          out_offsets[i] = above + offsets[n_some++];
      above += packing.height_bytes;
    }
  *out_n_low = n_swept - n_small;
  free (some);
  free (offsets);
  return status;
}

TesseraStatus
tessera_lengths_lay_out (const TesseraLengthsBuild *build,
                         const uint32_t *swept,
                         const TesseraLayOutWay *way,
                         const uint64_t *block_bytes,
                         TesseraLaidOut *out_laid_out,
                         uint32_t *out_n_low)
{
  const TesseraLengths *of = build->out;
  size_t most = (size_t) of->n_swept + (way->is_first ? of->n_slots : 0);
  TesseraItem *items = calloc (most + 1, sizeof *items);
  uint64_t *offsets = calloc (most + 1, sizeof *offsets);
  TesseraPackOptions options = { 0 };
  TesseraPacking packing;
  uint32_t n = 0;
  TesseraStatus status = items && offsets ? TESSERA_OK : TESSERA_NO_MEMORY;

  if (build->options->pack)
    options = *build->options->pack;
  if (way->is_first && options.work_budget == 0)
    options.work_budget = FIRST_WORK;
  for (; n < of->n_swept && status == TESSERA_OK; n++)
    items[n] =
        (TesseraItem){ .size_bytes = size_of (of, swept[n], way->is_first, block_bytes),
                       .begin = swept[n],
                       .end = of->slots[swept[n]].died };
  *out_n_low = 0;
  if (status == TESSERA_OK && way->has_zones && !way->is_first)
    *out_n_low = set_zones (build, swept, items);
  if (status == TESSERA_OK && way->is_first)
    n += pin_once (of, block_bytes, items + n);
  if (status == TESSERA_OK && way->is_first && of->cut_phase && way->has_zones)
    status = pack_apart (build, swept, items, n, &options, offsets, out_n_low);
  else if (status == TESSERA_OK)
    status = tessera_pack (items, n, &options, offsets, &packing);
  for (uint32_t i = 0; i < of->n_swept && status == TESSERA_OK; i++)
    out_laid_out[i] = (TesseraLaidOut){ .begin = items[i].begin,
                                        .end = items[i].end,
                                        .offset_bytes = offsets[i] };
  free (items);
  free (offsets);
  return status;
}

TesseraStatus
tessera_lengths_bound (const TesseraLengthsBuild *build,
                       const uint32_t *swept,
                       bool has_zones,
                       const uint64_t *block_bytes,
                       uint64_t *out_bytes)
{
  const TesseraLengths *of = build->out;
  TesseraItem *items = calloc ((size_t) of->n_swept + 1, sizeof *items);
  TesseraStatus status = items ? TESSERA_OK : TESSERA_NO_MEMORY;

  for (uint32_t i = 0; i < of->n_swept && status == TESSERA_OK; i++)
    items[i] = (TesseraItem){ .size_bytes = size_of (of, swept[i], false, block_bytes),
                              .begin = swept[i],
                              .end = of->slots[swept[i]].died };
  if (status == TESSERA_OK && has_zones)
    (void) set_zones (build, swept, items);
  *out_bytes = 0;
  if (status == TESSERA_OK)
    status = tessera_pack_bound (items, of->n_swept, out_bytes);
  free (items);
  return status;
}
