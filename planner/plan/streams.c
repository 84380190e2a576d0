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

#include "db/sort.h"

/* Pairs of buffers that are looked at; of more nothing is moved. */
#define MOST_PAIRS (UINT64_C (1) << 30)

typedef struct
{
  const TesseraItem *items;
  size_t n_items;
  uint64_t *offsets;
  uint16_t *streams; /* of each buffer */
  uint16_t main;     /* the one that works most */
  GArray *in_way;    /* of Range: what the buffer in work meets */
} Layout;

typedef struct
{
  uint64_t begin_bytes, end_bytes;
} Range;

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
lives_meet (uint32_t begin, uint32_t end, const TesseraItem *other)
{
  return (begin < other->end && other->begin < end) ||
         (begin < other->end2 && other->begin2 < end);
}

static bool
meet (const TesseraItem *a, const TesseraItem *b)
{
  return lives_meet (a->begin, a->end, b) ||
         (a->begin2 < a->end2 && lives_meet (a->begin2, a->end2, b));
}

static int
by_begin (const void *a, const void *b)
{
  const Range *x = a, *y = b;

  return (x->begin_bytes > y->begin_bytes) - (x->begin_bytes < y->begin_bytes);
}

static bool
is_in_way (const Layout *layout, uint32_t item, size_t other, bool keeps_apart)
{
  const TesseraItem *a = &layout->items[item], *b = &layout->items[other];

  return a->zone != b->zone || meet (a, b) ||
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
  uint64_t top_bytes = 0;
  uint64_t best_bytes = layout->offsets[item];
  const Range above = { ceiling_bytes, UINT64_MAX };
  bool is_found = false;

  g_array_set_size (layout->in_way, 0);
  for (size_t i = 0; i < layout->n_items; i++)
    if (i != item && layout->offsets[i] + layout->items[i].size_bytes > best_bytes &&
        is_in_way (layout, item, i, keeps_apart))
      {
        const Range range = { layout->offsets[i],
                              layout->offsets[i] + layout->items[i].size_bytes };

        g_array_append_val (layout->in_way, range);
      }
  g_array_append_val (layout->in_way, above);
  g_array_sort (layout->in_way, by_begin);
  for (guint i = 0; i < layout->in_way->len; i++)
    {
      const Range *range = &g_array_index (layout->in_way, Range, i);

      if (range->begin_bytes >= top_bytes + size_bytes &&
          range->begin_bytes <= ceiling_bytes &&
          range->begin_bytes - size_bytes >= layout->offsets[item])
        {
          best_bytes = MAX (best_bytes, range->begin_bytes - size_bytes);
          is_found = true;
        }
      top_bytes = MAX (top_bytes, range->end_bytes);
    }
  layout->offsets[item] = best_bytes;
  return is_found;
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
  tessera_demand_memory (
      tessera_sort_keyed ((TesseraKeyed *) (void *) others->data, others->len));
  return others;
}

/* The addresses of each zone, as [begin, end). */
static Range *
find_zones (const Layout *layout, uint32_t *out_n_zones)
{
  const TesseraItem *items = layout->items;
  const uint64_t *offsets = layout->offsets;
  uint32_t n_zones = 0;
  Range *zones;

  for (size_t i = 0; i < layout->n_items; i++)
    n_zones = MAX (n_zones, items[i].zone + 1);
  zones = g_new (Range, n_zones + 1);
  for (uint32_t i = 0; i < n_zones; i++)
    zones[i] = (Range){ UINT64_MAX, 0 };
  for (size_t i = 0; i < layout->n_items; i++)
    {
      Range *zone = &zones[items[i].zone];

      zone->begin_bytes = MIN (zone->begin_bytes, offsets[i]);
      zone->end_bytes = MAX (zone->end_bytes, offsets[i] + items[i].size_bytes);
    }
  *out_n_zones = n_zones;
  return zones;
}

/* Makes room in the largest zone, below those above it; not where anything is held. */
static void
widen (const TesseraPlanBuild *build,
       const Layout *layout,
       Range *zones,
       uint32_t n_zones)
{
  uint32_t largest = 0;
  uint64_t height_bytes = 0, more_bytes, end_bytes;

  for (uint32_t i = 0; i < n_zones; i++)
    {
      height_bytes = MAX (height_bytes, zones[i].end_bytes);
      if (zones[i].end_bytes - zones[i].begin_bytes >
          zones[largest].end_bytes - zones[largest].begin_bytes)
        largest = i;
    }
  if (n_zones == 0 || build->options->parted_bytes <= height_bytes ||
      build->constraints.n_constraints > 0)
    return;
  more_bytes = build->options->parted_bytes - height_bytes;
  end_bytes = zones[largest].end_bytes;
  for (size_t i = 0; i < layout->n_items; i++)
    layout->offsets[i] += layout->offsets[i] >= end_bytes ? more_bytes : 0;
  for (uint32_t i = 0; i < n_zones; i++)
    if (zones[i].begin_bytes >= end_bytes)
      zones[i].end_bytes += more_bytes;
  zones[largest].end_bytes += more_bytes;
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
  g_autoptr (GArray) in_way = g_array_new (FALSE, FALSE, sizeof (Range));
  uint32_t n_zones = 0;
  g_autofree Range *zones = find_zones (&layout, &n_zones);

  widen (build, &layout, zones, n_zones);
  for (size_t i = 0; i < n_items; i++)
    streams[i] = layout.main;
  for (size_t i = 0; i < plan->n_slots; i++)
    if (item_of_slot[i] != TESSERA_NONE)
      streams[item_of_slot[i]] = plan->slots[i].stream;
  others = list_others (&layout);
  if ((uint64_t) others->len * n_items > MOST_PAIRS)
    return;
  layout.in_way = in_way;
  for (guint i = 0; i < others->len; i++)
    {
      uint32_t item = g_array_index (others, TesseraKeyed, i).value;

      uint64_t ceiling_bytes = zones[items[item].zone].end_bytes;

      if (!move_up (&layout, item, ceiling_bytes, true))
        move_up (&layout, item, ceiling_bytes, false);
    }
}
