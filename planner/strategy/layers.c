/*
 * Rectangles in layers: see rectangles.h and, for the method, paper.h.
 *
 * A layer is as high as the largest that lies in it and holds one at a time. What it is
 * taken for is a list of times, sorted; a free time is found by halving. There may be
 * thousands of layers to ask: each knows which of 64 parts of all time it is taken for
 * throughout, and one that is asked for any of these says no at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/strategy/rectangles.h"

#include "db/array.h"

#include <stdlib.h>
#include <string.h>

#define N_PARTS 64

typedef struct
{
  uint32_t begin, end;
} Time;

typedef struct
{
  Time *times; /* taken; ascending, disjoint */
  size_t n_times, cap_times;
  uint64_t size_bytes, offset_bytes;
  uint64_t full;           /* a bit for each part of time */
  uint32_t taken[N_PARTS]; /* of each part, so much */
} Layer;

typedef struct
{
  Layer *layers;
  size_t n_layers, cap_layers;
  uint32_t part; /* of time, in positions; at least 1 */
} Layers;

static int
by_size_and_begin (const void *a, const void *b)
{
  const TesseraRectangle *x = a, *y = b;

  if (x->size_bytes != y->size_bytes)
    return x->size_bytes > y->size_bytes ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->plan.decisions[0].source > y->plan.decisions[0].source) -
         (x->plan.decisions[0].source < y->plan.decisions[0].source);
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

static bool
is_free (const Layer *layer, uint32_t begin, uint32_t end)
{
  size_t before = count_before (layer, end);

  return begin >= end || before == 0 || layer->times[before - 1].end <= begin;
}

/* The parts that [@begin, @end) touches. */
static uint64_t
parts_of (const Layers *layers, uint32_t begin, uint32_t end)
{
  uint32_t first = begin / layers->part, last = (end - 1) / layers->part;

  if (begin >= end)
    return 0;
  return (last == N_PARTS - 1 ? UINT64_MAX : (UINT64_C (1) << (last + 1)) - 1) &
         ~((UINT64_C (1) << first) - 1);
}

static bool
has_room (const Layer *layer, const TesseraRectangle *rectangle, uint64_t parts)
{
  return !(layer->full & parts) && is_free (layer, rectangle->begin, rectangle->end) &&
         is_free (layer, rectangle->begin2, rectangle->end2);
}

/* When what lies in the layer before @begin ends; 0: nothing does. */
static uint32_t
end_before (const Layer *layer, uint32_t begin)
{
  size_t before = count_before (layer, begin);

  return before ? layer->times[before - 1].end : 0;
}

static bool
take_time (const Layers *layers, Layer *layer, uint32_t begin, uint32_t end)
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
  for (uint32_t part = begin / layers->part; part <= (end - 1) / layers->part; part++)
    {
      uint32_t from = part * layers->part, to = from + layers->part;

      layer->taken[part] += (end < to ? end : to) - (begin > from ? begin : from);
      if (layer->taken[part] == layers->part)
        layer->full |= UINT64_C (1) << part;
    }
  return true;
}

static TesseraStatus
add_layer (Layers *layers, uint64_t size_bytes)
{
  Layer layer = { .size_bytes = size_bytes };

  if (!TESSERA_RESERVE (layers->layers, layers->cap_layers, layers->n_layers + 1))
    return TESSERA_NO_MEMORY;
  if (layers->n_layers > 0)
    {
      const Layer *below = &layers->layers[layers->n_layers - 1];

      layer.offset_bytes = below->offset_bytes + below->size_bytes;
    }
  layers->layers[layers->n_layers++] = layer;
  return TESSERA_OK;
}

/* Among the first @n_standing layers, which are higher or as high, the first that is
 * free; else among its own the one whose last end is the latest that is not after its
 * begin; else a new one. */
static TesseraStatus
place (Layers *layers, size_t n_standing, TesseraRectangle *rectangle)
{
  uint64_t parts = parts_of (layers, rectangle->begin, rectangle->end) |
                   parts_of (layers, rectangle->begin2, rectangle->end2);
  size_t chosen = SIZE_MAX;
  uint32_t latest = 0;
  Layer *layer;

  for (size_t i = 0; i < n_standing && chosen == SIZE_MAX; i++)
    if (has_room (&layers->layers[i], rectangle, parts))
      chosen = i;
  for (size_t i = n_standing; i < layers->n_layers && chosen >= n_standing; i++)
    {
      uint32_t end;

      if (!has_room (&layers->layers[i], rectangle, parts))
        continue;
      end = end_before (&layers->layers[i], rectangle->begin);
      if (chosen == SIZE_MAX || end > latest)
        {
          chosen = i;
          latest = end;
        }
    }
  if (chosen == SIZE_MAX)
    {
      chosen = layers->n_layers;
      if (add_layer (layers, rectangle->size_bytes) != TESSERA_OK)
        return TESSERA_NO_MEMORY;
    }
  layer = &layers->layers[chosen];
  rectangle->offset_bytes = layer->offset_bytes;
  return take_time (layers, layer, rectangle->begin, rectangle->end) &&
                 take_time (layers, layer, rectangle->begin2, rectangle->end2)
             ? TESSERA_OK
             : TESSERA_NO_MEMORY;
}

TesseraStatus
tessera_layers_place (TesseraRectangles *rectangles, uint64_t *out_height_bytes)
{
  TesseraRectangle *all = rectangles->rectangles;
  Layers layers = { 0 };
  size_t n_standing = 0;
  uint32_t end = 0;
  TesseraStatus status = TESSERA_OK;

  *out_height_bytes = 0;
  for (size_t i = 0; i < rectangles->n_rectangles; i++)
    end = all[i].end > end ? all[i].end : end;
  layers.part = end / N_PARTS + 1;
  if (rectangles->n_rectangles)
    qsort (all, rectangles->n_rectangles, sizeof *all, by_size_and_begin);
  for (size_t i = 0; i < rectangles->n_rectangles && status == TESSERA_OK; i++)
    {
      if (i && all[i].size_bytes != all[i - 1].size_bytes)
        n_standing = layers.n_layers;
      status = place (&layers, n_standing, &all[i]);
    }
  for (size_t i = 0; i < layers.n_layers; i++)
    {
      *out_height_bytes += layers.layers[i].size_bytes;
      free (layers.layers[i].times);
    }
  free (layers.layers);
  return status;
}
