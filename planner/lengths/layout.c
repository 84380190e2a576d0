/*
 * One packing of the slots that a sweep places, and the order that is taken from it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/caching.h"
#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/private.h"

/* ---- From a layout to an order ---- */

/* Both as places in the order. */
typedef struct
{
  uint32_t above, below;
} Edge;

/* An item begins or ends; ends come before begins of the same moment. */
typedef struct
{
  uint32_t at, begins, item;
} Moment;

typedef struct
{
  GArray *alive; /* uint64_t: places in the order, ascending */
  GArray *edges; /* Edge */
} Build;

static uint32_t
alive_at (const Build *build, uint32_t index)
{
  return (uint32_t) g_array_index (build->alive, uint64_t, index);
}

static void
add_edge (Build *build, uint32_t below, uint32_t above)
{
  const Edge edge = { above, below };

  g_array_append_val (build->edges, edge);
}

/* How many of those alive lie below the place. */
static uint32_t
count_below (const Build *build, uint64_t place)
{
  return tessera_count_below ((const uint64_t *) build->alive->data, build->alive->len,
                              place);
}

static void
enter (Build *build, uint64_t place)
{
  uint32_t i = count_below (build, place);

  if (i > 0)
    add_edge (build, alive_at (build, i - 1), (uint32_t) place);
  if (i < build->alive->len)
    add_edge (build, (uint32_t) place, alive_at (build, i));
  g_array_insert_val (build->alive, i, place);
}

static void
leave (Build *build, uint64_t place)
{
  uint32_t i = count_below (build, place);

  g_array_remove_index (build->alive, i);
  if (i > 0 && i < build->alive->len)
    add_edge (build, alive_at (build, i - 1), alive_at (build, i));
}

static int
by_time (const void *a, const void *b)
{
  const Moment *x = a, *y = b;

  if (x->at != y->at)
    return x->at < y->at ? -1 : 1;
  if (x->begins != y->begins)
    return x->begins < y->begins ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

static int
by_offset (gconstpointer a, gconstpointer b, gpointer user)
{
  const TesseraLaidOut *items = user;
  uint32_t i = *(const uint32_t *) a, k = *(const uint32_t *) b;

  if (items[i].offset_bytes != items[k].offset_bytes)
    return items[i].offset_bytes < items[k].offset_bytes ? -1 : 1;
  return (i > k) - (i < k);
}

static int
by_above (const void *a, const void *b)
{
  const Edge *x = a, *y = b;

  if (x->above != y->above)
    return x->above < y->above ? -1 : 1;
  return (x->below > y->below) - (x->below < y->below);
}

/* From moment to moment, to the last birth. @places: of the items in the order. */
static void
walk (Build *build, const TesseraLaidOut *items, uint32_t n, const uint32_t *places)
{
  g_autofree Moment *moments = g_new (Moment, 2 * (size_t) n + 1);
  uint32_t n_begun = 0;

  for (uint32_t i = 0; i < n; i++)
    {
      moments[2 * i] = (Moment){ items[i].begin, true, i };
      moments[2 * i + 1] = (Moment){ items[i].end, false, i };
    }
  qsort (moments, 2 * (size_t) n, sizeof *moments, by_time);
  for (const Moment *moment = moments; n_begun < n; moment++)
    {
      n_begun += moment->begins;
      (moment->begins ? enter : leave) (build, places[moment->item]);
    }
}

/* Each edge once. */
static void
store_edges (GArray *edges, uint32_t n, TesseraOrder *order)
{
  const Edge *all = (const Edge *) (void *) edges->data;

  g_array_sort (edges, by_above);
  for (uint32_t i = 0; i < edges->len; i++)
    if (i == 0 || by_above (&all[i - 1], &all[i]) != 0)
      {
        order->below[order->n_edges++] = all[i].below;
        order->first_edge[all[i].above + 1]++;
      }
  for (uint32_t i = 0; i < n; i++)
    order->first_edge[i + 1] += order->first_edge[i];
}

void
tessera_order_from_layout (const TesseraLaidOut *items,
                           uint32_t n_items,
                           TesseraOrder *out_order)
{
  g_autofree uint32_t *places = g_new (uint32_t, (size_t) n_items + 1);
  Build build = { g_array_new (FALSE, FALSE, sizeof (uint64_t)),
                  g_array_new (FALSE, FALSE, sizeof (Edge)) };

  *out_order = (TesseraOrder){
    .slots = g_new (uint32_t, (size_t) n_items + 1),
    .laws = g_new0 (uint32_t, (size_t) n_items + 1),
    .first_edge = g_new0 (uint32_t, (size_t) n_items + 1),
  };
  for (uint32_t i = 0; i < n_items; i++)
    out_order->slots[i] = i;
  g_qsort_with_data (out_order->slots, (int) n_items, sizeof *out_order->slots, by_offset,
                     (gpointer) items);
  for (uint32_t i = 0; i < n_items; i++)
    places[out_order->slots[i]] = i;
  walk (&build, items, n_items, places);
  out_order->below = g_new (uint32_t, (size_t) build.edges->len + 1);
  store_edges (build.edges, n_items, out_order);
  g_array_free (build.alive, TRUE);
  g_array_free (build.edges, TRUE);
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

/* What lies in the places that slots take in turns, as the sweep sees it: of this step, and
 * of the step before, which a first one has not. Returns: how many. */
static uint32_t
pin_turns (const TesseraLengthsBuild *build,
           const TesseraLayOutWay *way,
           const uint64_t *block_bytes,
           TesseraItem *items)
{
  const TesseraLengths *of = build->out;
  uint64_t base_bytes = tessera_lengths_base (of);
  uint32_t n = 0;

  for (uint32_t i = 0; i < of->n_slots; i++)
    if (way->is_first && of->slots[i].is_once && of->slots[i].offset_bytes < base_bytes)
      base_bytes = of->slots[i].offset_bytes;
  for (uint32_t i = 0; i < of->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &of->slots[i];
      uint64_t bytes, most_bytes, spare_bytes;

      if (!tessera_lengths_slot_turns (slot))
        continue;
      bytes = block_bytes[slot->law];
      most_bytes = build->most_bytes[slot->law];
      spare_bytes =
          tessera_sweep_spare (slot, most_bytes, way->in_spare ? bytes : most_bytes);
      items[n++] = (TesseraItem){
        .size_bytes = bytes,
        .begin = i,
        .end = of->n_slots,
        .is_pinned = true,
        .pinned_bytes = (way->in_spare ? spare_bytes : slot->offset_bytes) - base_bytes,
      };
      if (!way->is_first)
        items[n++] = (TesseraItem){
          .size_bytes = most_bytes,
          .begin = 0,
          .end = slot->gone,
          .is_pinned = true,
          .pinned_bytes = (way->in_spare ? slot->offset_bytes : spare_bytes) - base_bytes,
        };
    }
  return n;
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
 * ones on top of them all: one of these, of another length than the trace's, would else part
 * the room that the largest need (a tenth of a run of accumulate.py). @items: the swept, then what is pinned. */
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
  g_autofree TesseraItem *some = g_new0 (TesseraItem, (size_t) n + 1);
  g_autofree uint64_t *offsets = g_new0 (uint64_t, (size_t) n + 1);
  uint64_t above = 0;
  TesseraStatus status = TESSERA_OK;

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
  return status;
}

/* What is to be packed, with room for @n_more behind it. What a first step never asks for
 * is in its order, and as small as can be. */
static TesseraItem *
list_items (const TesseraLengths *of,
            const uint32_t *swept,
            bool is_first,
            const uint64_t *block_bytes,
            size_t n_more)
{
  TesseraItem *items = g_new0 (TesseraItem, of->n_swept + n_more + 1);

  for (uint32_t i = 0; i < of->n_swept; i++)
    {
      const TesseraLengthsSlot *slot = &of->slots[swept[i]];
      bool is_absent = is_first && slot->seen == TESSERA_SEEN_LATER;

      items[i] = (TesseraItem){
        .size_bytes = is_absent ? of->alignment_bytes : block_bytes[slot->law],
        .begin = swept[i],
        .end = slot->died,
      };
    }
  return items;
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
  size_t n_more = 2 * TESSERA_MOST_TURNS + (way->is_first ? of->n_slots : 0);
  g_autofree TesseraItem *items =
      list_items (of, swept, way->is_first, block_bytes, n_more);
  g_autofree uint64_t *offsets = g_new0 (uint64_t, of->n_swept + n_more + 1);
  TesseraPackOptions options = { .work_budget = build->options->work_budget };
  TesseraPacking packing;
  uint32_t n = of->n_swept;
  TesseraStatus status;

  *out_n_low = 0;
  if (way->has_zones && !way->is_first)
    *out_n_low = set_zones (build, swept, items);
  if (way->is_first)
    n += pin_once (of, block_bytes, items + n);
  n += pin_turns (build, way, block_bytes, items + n);
  if (n > of->n_swept && options.work_budget == 0)
    options.work_budget = FIRST_WORK;
  if (way->is_first && of->cut_phase && way->has_zones)
    status = pack_apart (build, swept, items, n, &options, offsets, out_n_low);
  else
    status = tessera_pack (items, n, &options, offsets, &packing);
  for (uint32_t i = 0; i < of->n_swept && status == TESSERA_OK; i++)
    out_laid_out[i] = (TesseraLaidOut){ items[i].begin, items[i].end, offsets[i] };
  return status;
}

uint64_t
tessera_lengths_bound (const TesseraLengthsBuild *build,
                       const uint32_t *swept,
                       bool has_zones,
                       const uint64_t *block_bytes)
{
  const TesseraLengths *of = build->out;
  g_autofree TesseraItem *items = list_items (of, swept, false, block_bytes, 0);
  uint64_t bytes;

  if (has_zones)
    (void) set_zones (build, swept, items);
  if (tessera_pack_bound (items, of->n_swept, &bytes) != TESSERA_OK)
    return 0;
  return bytes + of->fixed_bytes;
}
