/*
 * Which buffers share addresses, where streams may: as few of different streams as can be
 * at the height that was reached.
 *
 * Whatever passes from one stream to another is a wait in each step. A layout that was
 * packed from the bottom leaves room at the top at all moments but the worst. So the
 * buffers of the other streams go up there, one after the other, the highest first, and
 * those of the stream that works most stay below. FSDP2's 82 waits in a step become 8, in
 * a layout at the bound 118 of 166. What edits hold stays where it is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include "planner/gaps.h"

/* Pairs of buffers that are looked at; of more nothing is moved. */
#define MOST_PAIRS (UINT64_C (1) << 30)

typedef struct
{
  const TesseraItem *items;
  size_t n_items;
  uint64_t *offsets;
  uint16_t *streams; /* of each buffer */
  uint16_t main;     /* the one that works most */
} Layout;

/* The stream whose requests take the most. */
static uint16_t
find_main_stream (const TesseraPlan *plan)
{
  g_autofree uint64_t *sums = g_new0 (uint64_t, plan->n_streams);
  uint16_t main = 0;

  for (size_t i = 0; i < plan->n_slots; i++)
    sums[plan->slots[i].stream] += plan->slots[i].block_bytes;
  for (uint16_t i = 1; i < plan->n_streams; i++)
    if (sums[i] > sums[main])
      main = i;
  return main;
}

static bool
is_in_way (const Layout *layout, uint32_t item, size_t other, bool keeps_apart)
{
  const TesseraItem *a = &layout->items[item], *b = &layout->items[other];

  return a->zone != b->zone || tessera_items_meet (a, b) ||
         (keeps_apart && layout->streams[other] != layout->main &&
          layout->streams[other] != layout->streams[item]);
}

/* Moves the buffer to the highest place below @ceiling_bytes that is free for all of its
 * lives; never down. @keeps_apart: and that no other of the streams that move uses.
 * Returns: whether there is one. */
static bool
move_up (Layout *layout, uint32_t item, uint64_t ceiling_bytes, bool keeps_apart)
{
  uint64_t size_bytes = layout->items[item].size_bytes;
  uint64_t from_bytes = layout->offsets[item];
  g_autoptr (GArray) gaps = tessera_gaps_new ();

  for (size_t i = 0; i < layout->n_items; i++)
    {
      uint64_t top_bytes = layout->offsets[i] + layout->items[i].size_bytes;

      if (i != item && top_bytes > from_bytes && is_in_way (layout, item, i, keeps_apart))
        tessera_gaps_take (gaps, layout->offsets[i], top_bytes);
    }
  for (guint i = gaps->len; i-- > 0;)
    {
      const TesseraGap *gap = &g_array_index (gaps, TesseraGap, i);
      uint64_t end_bytes = MIN (gap->end, ceiling_bytes);

      if (end_bytes < MAX (gap->begin, from_bytes) + size_bytes)
        continue;
      layout->offsets[item] = end_bytes - size_bytes;
      return true;
    }
  return false;
}

/* What may move, by its zone's end, the highest first. The caller frees it. */
static GArray *
list_others (const Layout *layout)
{
  const uint64_t *offsets = layout->offsets;
  GArray *others = g_array_new (FALSE, FALSE, sizeof (TesseraKeyed));

  for (uint32_t i = 0; i < layout->n_items; i++)
    if (layout->streams[i] != layout->main && !tessera_item_is_held (&layout->items[i]))
      {
        const TesseraKeyed keyed = {
          UINT64_MAX - offsets[i] - layout->items[i].size_bytes, i
        };

        g_array_append_val (others, keyed);
      }
  tessera_sort ((TesseraKeyed *) (void *) others->data, others->len);
  return others;
}

/* The addresses of each zone, as [begin, end). */
static TesseraGap *
find_zones (const Layout *layout, uint32_t *out_n_zones)
{
  const TesseraItem *items = layout->items;
  const uint64_t *offsets = layout->offsets;
  uint32_t n_zones = 0;
  TesseraGap *zones;

  for (size_t i = 0; i < layout->n_items; i++)
    n_zones = MAX (n_zones, items[i].zone + 1);
  zones = g_new (TesseraGap, n_zones + 1);
  for (uint32_t i = 0; i < n_zones; i++)
    zones[i] = (TesseraGap){ UINT64_MAX, 0 };
  for (size_t i = 0; i < layout->n_items; i++)
    {
      TesseraGap *zone = &zones[items[i].zone];

      zone->begin = MIN (zone->begin, offsets[i]);
      zone->end = MAX (zone->end, offsets[i] + items[i].size_bytes);
    }
  *out_n_zones = n_zones;
  return zones;
}

/* Makes room in the largest zone, below those above it; not where anything is held. */
static void
widen (const TesseraPlanBuild *build,
       const Layout *layout,
       TesseraGap *zones,
       uint32_t n_zones)
{
  uint32_t largest = 0;
  uint64_t height_bytes = 0, more_bytes, end_bytes;

  for (uint32_t i = 0; i < n_zones; i++)
    {
      height_bytes = MAX (height_bytes, zones[i].end);
      if (zones[i].end - zones[i].begin > zones[largest].end - zones[largest].begin)
        largest = i;
    }
  if (n_zones == 0 || build->options->parted_bytes <= height_bytes ||
      build->constraints.n_constraints > 0)
    return;
  more_bytes = build->options->parted_bytes - height_bytes;
  end_bytes = zones[largest].end;
  for (size_t i = 0; i < layout->n_items; i++)
    layout->offsets[i] += layout->offsets[i] >= end_bytes ? more_bytes : 0;
  for (uint32_t i = 0; i < n_zones; i++)
    if (zones[i].begin >= end_bytes)
      zones[i].end += more_bytes;
  zones[largest].end += more_bytes;
}

void
tessera_build_part_streams (const TesseraPlanBuild *build,
                            const TesseraItem *items,
                            const uint32_t *item_of_slot,
                            size_t n_items,
                            uint64_t *offsets)
{
  const TesseraPlan *plan = build->plan;
  g_autofree uint16_t *streams = g_new (uint16_t, n_items + 1);
  Layout layout = { .items = items,
                    .n_items = n_items,
                    .offsets = offsets,
                    .streams = streams,
                    .main = find_main_stream (plan) };
  g_autoptr (GArray) others = NULL;
  uint32_t n_zones = 0;
  g_autofree TesseraGap *zones = find_zones (&layout, &n_zones);

  widen (build, &layout, zones, n_zones);
  for (size_t i = 0; i < n_items; i++)
    streams[i] = layout.main;
  for (size_t i = 0; i < plan->n_slots; i++)
    if (item_of_slot[i] != TESSERA_NONE)
      streams[item_of_slot[i]] = plan->slots[i].stream;
  others = list_others (&layout);
  if ((uint64_t) others->len * n_items > MOST_PAIRS)
    return;
  for (guint i = 0; i < others->len; i++)
    {
      uint32_t item = g_array_index (others, TesseraKeyed, i).value;
      uint64_t ceiling_bytes = zones[items[item].zone].end;

      if (!move_up (&layout, item, ceiling_bytes, true))
        move_up (&layout, item, ceiling_bytes, false);
    }
}
