/*
 * Units in layers, and what is left around these: see stalloc.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/stalloc/private.h"

#include "planner/memory.h"

#define STRATEGY "groups as units, fused, in layers"

typedef struct
{
  uint32_t begin, end;
} Time;

/* A layer is as high as the largest unit in it and holds one unit at a time. The times
 * that it is taken for are a sorted list; a free time is found by halving. */
typedef struct
{
  Time *times; /* taken; ascending, disjoint */
  size_t n_times, cap_times;
  uint64_t offset_bytes;
} Layer;

typedef struct
{
  Layer *layers;
  size_t n_layers, cap_layers;
  uint64_t top_bytes;
} Layers;

static int
by_size_and_begin (const void *a, const void *b)
{
  const TesseraStallocUnit *x = a, *y = b;

  if (x->height_bytes != y->height_bytes)
    return x->height_bytes > y->height_bytes ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->decisions[0].source > y->decisions[0].source) -
         (x->decisions[0].source < y->decisions[0].source);
}

/* How many of the layer's times begin before @at. */
static size_t
count_before (const Layer *layer, uint32_t at)
{
  size_t low = 0, high = layer->n_times;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (layer->times[middle].begin < at)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* When the last unit that begins before @at ends; 0: there is none. */
static uint32_t
end_before (const Layer *layer, uint32_t at)
{
  size_t before = count_before (layer, at);

  return before ? layer->times[before - 1].end : 0;
}

static bool
has_room (const Layer *layer, const TesseraStallocUnit *unit)
{
  return end_before (layer, unit->end) <= unit->begin &&
         (unit->begin2 == unit->end2 || end_before (layer, unit->end2) <= unit->begin2);
}

static void
take_time (Layer *layer, uint32_t begin, uint32_t end)
{
  size_t at = count_before (layer, begin);

  if (begin >= end)
    return;
  TESSERA_GROW (layer->times, layer->cap_times, layer->n_times + 1);
  memmove (&layer->times[at + 1], &layer->times[at],
           (layer->n_times - at) * sizeof *layer->times);
  layer->times[at] = (Time){ begin, end };
  layer->n_times++;
}

/* Of the first @n_standing layers, which are higher, the first that is free; else of the
 * others, of equal height, the one whose last end is the latest that is not after the
 * unit's begin; else a new one. */
static Layer *
find_layer (Layers *all, size_t n_standing, const TesseraStallocUnit *unit)
{
  Layer *layer = NULL;
  uint32_t latest = 0;

  for (size_t i = 0; i < n_standing; i++)
    if (has_room (&all->layers[i], unit))
      return &all->layers[i];
  for (size_t i = n_standing; i < all->n_layers; i++)
    if (has_room (&all->layers[i], unit))
      {
        uint32_t end = end_before (&all->layers[i], unit->begin);

        if (layer && end <= latest)
          continue;
        layer = &all->layers[i];
        latest = end;
      }
  if (layer)
    return layer;
  TESSERA_GROW (all->layers, all->cap_layers, all->n_layers + 1);
  layer = &all->layers[all->n_layers++];
  *layer = (Layer){ .offset_bytes = all->top_bytes };
  all->top_bytes += unit->height_bytes;
  return layer;
}

/* Sorts the units and gives each an offset in layers from @base_bytes upwards. Returns:
 * the end of the highest layer */
static uint64_t
place_in_layers (TesseraStallocUnits *units, uint64_t base_bytes)
{
  TesseraStallocUnit *all = units->units;
  Layers layers = { .top_bytes = base_bytes };
  size_t n_standing = 0;

  if (units->n_units)
    qsort (all, units->n_units, sizeof *all, by_size_and_begin);
  for (size_t i = 0; i < units->n_units; i++)
    {
      Layer *layer;

      if (i && all[i].height_bytes != all[i - 1].height_bytes)
        n_standing = layers.n_layers;
      layer = find_layer (&layers, n_standing, &all[i]);
      take_time (layer, all[i].begin, all[i].end);
      take_time (layer, all[i].begin2, all[i].end2);
      all[i].offset_bytes = layer->offset_bytes;
    }
  for (size_t i = 0; i < layers.n_layers; i++)
    free (layers.layers[i].times);
  free (layers.layers);
  return layers.top_bytes;
}

typedef struct
{
  uint32_t zone, group, begin, item;
} Place;

typedef struct
{
  uint64_t begin_bytes, end_bytes;
} Range;

static bool
is_held (const TesseraItem *item)
{
  return item->is_pinned || item->in || item->apart || item->body;
}

static bool
is_for_layers (const TesseraItem *item, const TesseraStallocItem *grouped)
{
  return grouped->kind != TESSERA_GROUP_HOMO_LAYER && !is_held (item);
}

static int
by_zone_group_and_begin (const void *a, const void *b)
{
  const Place *x = a, *y = b;

  if (x->zone != y->zone)
    return x->zone < y->zone ? -1 : 1;
  if (x->group != y->group)
    return x->group < y->group ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

/* Lays the items in @order, of one zone, from @top_bytes upwards. Returns: where they
 * end */
static uint64_t
place_zone (const TesseraItem *items,
            const TesseraStallocItem *grouped,
            const uint32_t *order,
            size_t n_order,
            uint64_t *offsets,
            uint64_t top_bytes)
{
  TesseraStallocUnits units;

  tessera_stalloc_make_units (items, grouped, order, n_order, &units);
  top_bytes = place_in_layers (&units, top_bytes);
  for (size_t i = 0; i < units.n_units; i++)
    for (size_t k = 0; k < units.units[i].n_decisions; k++)
      {
        const TesseraDecision *decision = &units.units[i].decisions[k];

        offsets[decision->source] = units.units[i].offset_bytes + decision->offset_bytes;
      }
  tessera_stalloc_clear_units (&units);
  return top_bytes;
}

/* Offsets of what goes into layers, the zones one upon another; UINT64_MAX for others.
 * Returns: their height */
static uint64_t
place_layers (const TesseraItem *items,
              const TesseraStallocItem *grouped,
              size_t n_items,
              uint64_t *offsets)
{
  g_autofree Place *places = g_new (Place, n_items + 1);
  g_autofree uint32_t *order = g_new (uint32_t, n_items + 1);
  uint64_t height_bytes = 0;
  size_t n = 0;

  for (uint32_t i = 0; i < n_items; i++)
    {
      offsets[i] = UINT64_MAX;
      if (is_for_layers (&items[i], &grouped[i]))
        places[n++] = (Place){ items[i].zone, grouped[i].group, items[i].begin, i };
    }
  qsort (places, n, sizeof *places, by_zone_group_and_begin);
  for (size_t i = 0; i < n; i++)
    order[i] = places[i].item;
  for (size_t i = 0, end; i < n; i = end)
    {
      for (end = i + 1; end < n && places[end].zone == places[i].zone;)
        end++;
      height_bytes =
          place_zone (items, grouped, order + i, end - i, offsets, height_bytes);
    }
  return height_bytes;
}

static int
by_begin (const void *a, const void *b)
{
  const Range *x = a, *y = b;

  return (x->begin_bytes > y->begin_bytes) - (x->begin_bytes < y->begin_bytes);
}

/* Where pins hold items, by themselves or with their body: ascending and disjoint.
 * Returns: how many */
static size_t
find_pinned (const TesseraItem *items, size_t n_items, Range *pinned)
{
  g_autofree uint64_t *bases = g_new (uint64_t, n_items + 1);
  size_t n = 0, n_apart = 0;

  memset (bases, 0xff, (n_items + 1) * sizeof *bases); /* UINT64_MAX */
  for (size_t i = 0; i < n_items; i++)
    if (items[i].body && items[i].is_pinned)
      bases[items[i].body] = items[i].pinned_bytes - items[i].body_offset_bytes;
  for (size_t i = 0; i < n_items; i++)
    {
      uint64_t at_bytes = items[i].pinned_bytes;

      if (!items[i].is_pinned && (!items[i].body || bases[items[i].body] == UINT64_MAX))
        continue;
      if (!items[i].is_pinned)
        at_bytes = bases[items[i].body] + items[i].body_offset_bytes;
      pinned[n++] = (Range){ at_bytes, at_bytes + items[i].size_bytes };
    }
  qsort (pinned, n, sizeof *pinned, by_begin);
  for (size_t i = 0; i < n; i++)
    if (n_apart && pinned[i].begin_bytes <= pinned[n_apart - 1].end_bytes)
      pinned[n_apart - 1].end_bytes =
          MAX (pinned[n_apart - 1].end_bytes, pinned[i].end_bytes);
    else
      pinned[n_apart++] = pinned[i];
  return n_apart;
}

static bool
is_in_the_way (const Range *pinned, size_t n_pinned, uint64_t begin, uint64_t end)
{
  size_t low = 0, high = n_pinned;

  while (low < high) /* the first that ends above @begin */
    {
      size_t middle = low + (high - low) / 2;

      if (pinned[middle].end_bytes <= begin)
        low = middle + 1;
      else
        high = middle;
    }
  return low < n_pinned && pinned[low].begin_bytes < end;
}

/* Packs the items without an offset, and those in the way of a pin, around the others,
 * which stay in their layers. */
static TesseraStatus
place_rest (const TesseraItem *items,
            size_t n_items,
            const TesseraPackOptions *options,
            uint64_t *offsets,
            TesseraPacking *out_packing)
{
  TesseraPackOptions one_pass = *options;
  g_autofree TesseraItem *around = g_new (TesseraItem, n_items + 1);
  g_autofree Range *pinned = g_new (Range, n_items + 1);
  size_t n_pinned = find_pinned (items, n_items, pinned);

  one_pass.work_budget = 1; /* as the method is: nothing is improved */
  for (size_t i = 0; i < n_items; i++)
    {
      around[i] = items[i];
      if (offsets[i] == UINT64_MAX ||
          is_in_the_way (pinned, n_pinned, offsets[i], offsets[i] + items[i].size_bytes))
        continue;
      around[i].is_pinned = 1;
      around[i].pinned_bytes = offsets[i];
    }
  return tessera_pack (around, n_items, &one_pass, offsets, out_packing);
}

TesseraStatus
tessera_stalloc_pack (const TesseraItem *items,
                      const TesseraStallocItem *grouped,
                      size_t n_items,
                      const TesseraPackOptions *options,
                      uint64_t *offsets,
                      TesseraPacking *out_packing)
{
  TesseraPacking packing = { .height_bytes =
                                 place_layers (items, grouped, n_items, offsets) };
  TesseraStatus status = TESSERA_OK;
  bool has_rest = false;

  for (size_t i = 0; i < n_items; i++)
    has_rest = has_rest || offsets[i] == UINT64_MAX;
  if (has_rest)
    status = place_rest (items, n_items, options, offsets, &packing);
  packing.strategy = STRATEGY;
  *out_packing = packing;
  return status;
}
