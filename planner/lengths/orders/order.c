/*
 * From a layout to the order in which slots lie: see order.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/orders/order.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"

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
