/*
 * Groups laid out as units: see stalloc.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/stalloc/private.h"

#include <stdlib.h>
#include <string.h>

/* The method is one pass: the packer tries so many orders of what layers leave to it. */
#define N_ORDERS 6
#define STRATEGY "groups as units, fused, in layers"

typedef struct
{
  uint32_t zone, group, item;
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
by_zone_and_group (const void *a, const void *b)
{
  const Place *x = a, *y = b;

  if (x->zone != y->zone)
    return x->zone < y->zone ? -1 : 1;
  if (x->group != y->group)
    return x->group < y->group ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

/* Lays the items in @order, of one zone, from *@top_bytes upwards. */
static TesseraStatus
place_zone (const TesseraItem *items,
            const TesseraStallocItem *grouped,
            const uint32_t *order,
            size_t n_order,
            uint64_t *offsets,
            uint64_t *top_bytes)
{
  TesseraStallocUnits units;
  TesseraStatus status =
      tessera_stalloc_make_units (items, grouped, order, n_order, &units);

  if (status == TESSERA_OK)
    status = tessera_stalloc_place_layers (&units, *top_bytes, top_bytes);
  for (size_t i = 0; status == TESSERA_OK && i < units.n_units; i++)
    for (size_t k = 0; k < units.units[i].n_decisions; k++)
      {
        const TesseraDecision *decision = &units.units[i].decisions[k];

        offsets[decision->source] = units.units[i].offset_bytes + decision->offset_bytes;
      }
  tessera_stalloc_clear_units (&units);
  return status;
}

/* Offsets of what goes into layers, the zones one upon another; UINT64_MAX for others. */
static TesseraStatus
place_layers (const TesseraItem *items,
              const TesseraStallocItem *grouped,
              size_t n_items,
              uint64_t *offsets,
              uint64_t *out_height_bytes)
{
  Place *places = malloc ((n_items + 1) * sizeof *places);
  uint32_t *order = malloc ((n_items + 1) * sizeof *order);
  TesseraStatus status = places && order ? TESSERA_OK : TESSERA_NO_MEMORY;
  size_t n = 0;

  *out_height_bytes = 0;
  for (uint32_t i = 0; status == TESSERA_OK && i < n_items; i++)
    {
      offsets[i] = UINT64_MAX;
      if (is_for_layers (&items[i], &grouped[i]))
        places[n++] = (Place){ items[i].zone, grouped[i].group, i };
    }
  if (n)
    qsort (places, n, sizeof *places, by_zone_and_group);
  for (size_t i = 0; i < n; i++)
    order[i] = places[i].item;
  for (size_t i = 0, end; i < n && status == TESSERA_OK; i = end)
    {
      for (end = i + 1; end < n && places[end].zone == places[i].zone;)
        end++;
      status = place_zone (items, grouped, order + i, end - i, offsets, out_height_bytes);
    }
  free (places);
  free (order);
  return status;
}

static int
by_begin (const void *a, const void *b)
{
  const Range *x = a, *y = b;

  return (x->begin_bytes > y->begin_bytes) - (x->begin_bytes < y->begin_bytes);
}

/* Where pins hold items, by themselves or with their body: ascending and disjoint. */
static TesseraStatus
find_pinned (const TesseraItem *items, size_t n_items, Range *pinned, size_t *out_n)
{
  uint64_t *bases = malloc ((n_items + 1) * sizeof *bases);
  size_t n = 0, n_apart = 0;

  if (!bases)
    return TESSERA_NO_MEMORY;
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
  free (bases);
  if (n)
    qsort (pinned, n, sizeof *pinned, by_begin);
  for (size_t i = 0; i < n; i++)
    if (n_apart && pinned[i].begin_bytes <= pinned[n_apart - 1].end_bytes)
      {
        if (pinned[i].end_bytes > pinned[n_apart - 1].end_bytes)
          pinned[n_apart - 1].end_bytes = pinned[i].end_bytes;
      }
    else
      pinned[n_apart++] = pinned[i];
  *out_n = n_apart;
  return TESSERA_OK;
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
  TesseraPackOptions few = *options;
  TesseraItem *around = malloc ((n_items + 1) * sizeof *around);
  Range *pinned = malloc ((n_items + 1) * sizeof *pinned);
  size_t n_pinned = 0;
  TesseraStatus status = around && pinned
                             ? find_pinned (items, n_items, pinned, &n_pinned)
                             : TESSERA_NO_MEMORY;

  if (few.n_orders == 0 || few.n_orders > N_ORDERS)
    few.n_orders = N_ORDERS;
  for (size_t i = 0; status == TESSERA_OK && i < n_items; i++)
    {
      around[i] = items[i];
      if (offsets[i] == UINT64_MAX ||
          is_in_the_way (pinned, n_pinned, offsets[i], offsets[i] + items[i].size_bytes))
        continue;
      around[i].is_pinned = 1;
      around[i].pinned_bytes = offsets[i];
    }
  if (status == TESSERA_OK)
    status = tessera_pack (around, n_items, &few, offsets, out_packing);
  free (around);
  free (pinned);
  return status;
}

TesseraStatus
tessera_stalloc_pack (const TesseraItem *items,
                      const TesseraStallocItem *grouped,
                      size_t n_items,
                      const TesseraPackOptions *options,
                      uint64_t *offsets,
                      TesseraPacking *out_packing)
{
  TesseraPacking packing = { 0 };
  TesseraStatus status =
      place_layers (items, grouped, n_items, offsets, &packing.height_bytes);
  bool has_rest = false;

  for (size_t i = 0; status == TESSERA_OK && i < n_items; i++)
    has_rest = has_rest || offsets[i] == UINT64_MAX;
  if (has_rest)
    status = place_rest (items, n_items, options, offsets, &packing);
  packing.strategy = STRATEGY;
  *out_packing = packing;
  return status;
}
