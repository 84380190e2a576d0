/*
 * Interval colouring of equal-size requests: groups.h.
 *
 * In order of begin, each request goes to the layer whose last end is the latest that is
 * not after it; with none, a layer is opened. Opening means that all layers are busy at
 * that moment, so their number is the largest number of requests alive at once: minimal.
 * The busy layers' ends are few and mostly grow; they are kept sorted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/groups.h"

#include <stdlib.h>
#include <string.h>

typedef struct
{
  uint64_t begin, end;
  size_t index;
} Request;

typedef struct
{
  uint64_t end;
  uint32_t layer;
} Layer;

static int
by_begin (const void *a, const void *b)
{
  const Request *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* How many of the layers, sorted by end, end at or before @at. */
static size_t
count_ended (const Layer *layers, size_t n_layers, uint64_t at)
{
  size_t low = 0, high = n_layers;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (layers[middle].end <= at)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

TesseraStatus
tessera_colour (const TesseraDecision *requests,
                size_t n_requests,
                uint32_t *layers,
                uint32_t *out_n_layers)
{
  Request *sorted = malloc ((n_requests + 1) * sizeof *sorted);
  Layer *open = malloc ((n_requests + 1) * sizeof *open);
  size_t n_open = 0;

  *out_n_layers = 0;
  if (!sorted || !open)
    {
      free (sorted);
      free (open);
      return TESSERA_NO_MEMORY;
    }
  for (size_t i = 0; i < n_requests; i++)
    sorted[i] = (Request){ requests[i].begin, requests[i].end, i };
  qsort (sorted, n_requests, sizeof *sorted, by_begin);
  for (size_t i = 0; i < n_requests; i++)
    {
      size_t ended = count_ended (open, n_open, sorted[i].begin), to;
      Layer layer = { sorted[i].end, (uint32_t) n_open };

      if (ended)
        {
          layer.layer = open[ended - 1].layer;
          memmove (&open[ended - 1], &open[ended], (n_open - ended) * sizeof *open);
          n_open--;
        }
      to = count_ended (open, n_open, layer.end);
      memmove (&open[to + 1], &open[to], (n_open - to) * sizeof *open);
      open[to] = layer;
      n_open++;
      layers[sorted[i].index] = layer.layer;
    }
  *out_n_layers = (uint32_t) n_open;
  free (sorted);
  free (open);
  return TESSERA_OK;
}
