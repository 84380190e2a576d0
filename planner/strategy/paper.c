/*
 * Groups as rectangles: see paper.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/strategy/paper.h"

#include "planner/strategy/held.h"
#include "planner/strategy/rectangles.h"

#include <stdlib.h>
#include <string.h>

/* What is left to the packer (dynamic requests, or all where edits hold something) is
 * tried in so many orders: the method is one pass. */
#define N_ORDERS 6

typedef struct
{
  uint32_t zone, group, item;
} Place;

typedef struct
{
  const TesseraItem *items;
  const TesseraPaperItem *grouped;
  size_t n_items;
  bool is_grouped, is_held;
  const TesseraPackOptions *options;
  uint64_t *offsets;
  uint64_t height_bytes;
  uint32_t n_bodies;
  TesseraItem *held; /* items for the packer; NULL: it is not needed */
  uint32_t *order;   /* room for the items of a zone */
  TesseraPacking packing;
} Paper;

static bool
item_is_held (const TesseraItem *item)
{
  return item->is_pinned || item->in || item->apart || item->body;
}

/* Dynamic ones come last, held ones leave their groups. */
static bool
is_static (const Paper *paper, uint32_t item)
{
  return paper->grouped[item].kind != TESSERA_GROUP_HOMO_LAYER &&
         !item_is_held (&paper->items[item]);
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

/* The places of a rectangle's items: fixed for good, or as one body of the packer. */
static void
note_rectangle (Paper *paper, const TesseraRectangle *rectangle)
{
  bool is_body = paper->is_held && rectangle->plan.n_decisions > 1;

  if (is_body)
    paper->n_bodies++;
  for (size_t i = 0; i < rectangle->plan.n_decisions; i++)
    {
      const TesseraDecision *decision = &rectangle->plan.decisions[i];

      paper->offsets[decision->source] =
          paper->height_bytes + rectangle->offset_bytes + decision->offset_bytes;
      if (paper->held && !paper->is_held)
        {
          paper->held[decision->source].is_pinned = 1;
          paper->held[decision->source].pinned_bytes = paper->offsets[decision->source];
        }
      if (is_body)
        {
          paper->held[decision->source].body = paper->n_bodies;
          paper->held[decision->source].body_offset_bytes = decision->offset_bytes;
        }
    }
}

static TesseraStatus
place_zone (Paper *paper, const Place *places, size_t n_places)
{
  TesseraRectangles rectangles = { 0 };
  uint64_t height = 0;
  size_t n = 0;
  TesseraStatus status;

  for (size_t i = 0; i < n_places; i++)
    if (is_static (paper, places[i].item))
      paper->order[n++] = places[i].item;
  status = tessera_rectangles_make (paper->items, paper->grouped, paper->order, n,
                                    paper->is_grouped, &rectangles);
  if (status == TESSERA_OK && paper->is_grouped)
    status = tessera_rectangles_fuse (&rectangles);
  if (status == TESSERA_OK)
    status = tessera_layers_place (&rectangles, &height);
  for (size_t i = 0; status == TESSERA_OK && i < rectangles.n_rectangles; i++)
    note_rectangle (paper, &rectangles.rectangles[i]);
  paper->height_bytes += height;
  tessera_rectangles_clear (&rectangles);
  return status;
}

static TesseraStatus
place_zones (Paper *paper)
{
  Place *places = malloc ((paper->n_items + 1) * sizeof *places);
  TesseraStatus status = TESSERA_OK;

  paper->order = malloc ((paper->n_items + 1) * sizeof *paper->order);
  if (!places || !paper->order)
    {
      free (places);
      return TESSERA_NO_MEMORY;
    }
  for (uint32_t i = 0; i < paper->n_items; i++)
    places[i] = (Place){ paper->items[i].zone, paper->grouped[i].group, i };
  if (paper->n_items)
    qsort (places, paper->n_items, sizeof *places, by_zone_and_group);
  for (size_t i = 0, end; i < paper->n_items && status == TESSERA_OK; i = end)
    {
      for (end = i + 1; end < paper->n_items && places[end].zone == places[i].zone;)
        end++;
      status = place_zone (paper, places + i, end - i);
    }
  free (places);
  return status;
}

/* Whether anything is left to the packer, and whether edits hold something. */
static bool
find_rest (Paper *paper)
{
  bool is_any = false;

  for (size_t i = 0; i < paper->n_items; i++)
    {
      paper->is_held = paper->is_held || item_is_held (&paper->items[i]);
      if (paper->items[i].body > paper->n_bodies)
        paper->n_bodies = paper->items[i].body;
      is_any = is_any || paper->grouped[i].kind == TESSERA_GROUP_HOMO_LAYER;
    }
  return is_any || paper->is_held;
}

static TesseraStatus
place_held (Paper *paper, const TesseraPackOptions *options)
{
  uint64_t *layered = malloc ((paper->n_items + 1) * sizeof *layered);
  TesseraStatus status;

  if (!layered)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < paper->n_items; i++)
    layered[i] = is_static (paper, i) ? paper->offsets[i] : UINT64_MAX;
  status = tessera_held_pack (paper->items, paper->held, layered, paper->n_items, options,
                              paper->offsets, &paper->packing);
  free (layered);
  return status;
}

static TesseraStatus
place_rest (Paper *paper)
{
  TesseraPackOptions options = *paper->options;
  TesseraStatus status;

  if (options.n_orders == 0 || options.n_orders > N_ORDERS)
    options.n_orders = N_ORDERS;
  status = paper->is_held ? place_held (paper, &options)
                          : tessera_pack (paper->held, paper->n_items, &options,
                                          paper->offsets, &paper->packing);
  paper->height_bytes = paper->packing.height_bytes;
  return status;
}

TesseraStatus
tessera_paper_pack (const TesseraItem *items,
                    const TesseraPaperItem *grouped,
                    size_t n_items,
                    bool is_grouped,
                    const TesseraPackOptions *options,
                    uint64_t *offsets,
                    TesseraPacking *out_packing)
{
  Paper paper = { .items = items,
                  .grouped = grouped,
                  .n_items = n_items,
                  .is_grouped = is_grouped,
                  .options = options,
                  .offsets = offsets };
  bool has_rest = find_rest (&paper);
  TesseraStatus status = TESSERA_OK;

  if (has_rest)
    {
      paper.held = malloc ((n_items + 1) * sizeof *paper.held);
      if (!paper.held)
        return TESSERA_NO_MEMORY;
      memcpy (paper.held, items, n_items * sizeof *items);
    }
  status = place_zones (&paper);
  if (status == TESSERA_OK && has_rest)
    status = place_rest (&paper);
  *out_packing = paper.packing;
  out_packing->height_bytes = paper.height_bytes;
  out_packing->strategy =
      is_grouped ? "groups as rectangles, fused, in layers" : "layers of equal size";
  free (paper.held);
  free (paper.order);
  return status;
}
