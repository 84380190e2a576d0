/*
 * Units in layers: see stalloc.h.
 *
 * A layer is as high as the largest unit in it and holds one unit at a time. The times
 * that it is taken for are a sorted list; a free time is found by halving.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/stalloc/private.h"

#include "db/array.h"

#include <stdlib.h>
#include <string.h>

typedef struct
{
  uint32_t begin, end;
} Time;

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

static bool
take_time (Layer *layer, uint32_t begin, uint32_t end)
{
  size_t at = count_before (layer, begin);

  if (begin >= end)
    return true;
  if (!TESSERA_RESERVE (layer->times, layer->cap_times, layer->n_times + 1))
    return false;
  memmove (&layer->times[at + 1], &layer->times[at],
           (layer->n_times - at) * sizeof *layer->times);
  layer->times[at] = (Time){ begin, end };
  layer->n_times++;
  return true;
}

/* Of the first @n_standing layers, which are higher, the first that is free; else of the
 * others, of equal height, the one whose last end is the latest that is not after the
 * unit's begin; else a new one. NULL: no memory. */
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
  if (layer || !TESSERA_RESERVE (all->layers, all->cap_layers, all->n_layers + 1))
    return layer;
  layer = &all->layers[all->n_layers++];
  *layer = (Layer){ .offset_bytes = all->top_bytes };
  all->top_bytes += unit->height_bytes;
  return layer;
}

TesseraStatus
tessera_stalloc_place_layers (TesseraStallocUnits *units,
                              uint64_t base_bytes,
                              uint64_t *out_top_bytes)
{
  TesseraStallocUnit *all = units->units;
  Layers layers = { .top_bytes = base_bytes };
  size_t n_standing = 0;
  TesseraStatus status = TESSERA_OK;

  if (units->n_units)
    qsort (all, units->n_units, sizeof *all, by_size_and_begin);
  for (size_t i = 0; i < units->n_units && status == TESSERA_OK; i++)
    {
      Layer *layer;

      if (i && all[i].height_bytes != all[i - 1].height_bytes)
        n_standing = layers.n_layers;
      layer = find_layer (&layers, n_standing, &all[i]);
      if (!layer || !take_time (layer, all[i].begin, all[i].end) ||
          !take_time (layer, all[i].begin2, all[i].end2))
        status = TESSERA_NO_MEMORY;
      else
        all[i].offset_bytes = layer->offset_bytes;
    }
  for (size_t i = 0; i < layers.n_layers; i++)
    free (layers.layers[i].times);
  free (layers.layers);
  *out_top_bytes = layers.top_bytes;
  return status;
}
