/*
 * What edits hold, beside groups as rectangles: see held.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/strategy/held.h"

#include "planner/strategy/standing.h"

#include <stdlib.h>
#include <string.h>

/* Pairs of a pinned item and any: about a second. */
#define MOST_PAIRS (UINT64_C (1) << 30)
/* Of a preview: more items in bodies are laid by the skyline alone
 * (pack/portfolio/scope.c), which ended at 1.4 to 3.5 of the height around layers
 * (planner/generate.h, 100,000 items). */
#define MOST_IN_BODIES 16384

typedef struct
{
  const TesseraItem *items, *bodies;
  const uint64_t *layered;
  size_t n_items;
  const TesseraPackOptions *options;
} Held;

/* A layout, or why there is none. */
typedef struct
{
  uint64_t *offsets;
  TesseraPacking packing;
  TesseraStatus status;
} Found;

/* Where a pin holds @item, by itself or with its body; false: nowhere. */
static bool
find_pin (const TesseraItem *items, size_t n_items, size_t item, uint64_t *out_bytes)
{
  const TesseraItem *own = &items[item];

  if (own->is_pinned)
    {
      *out_bytes = own->pinned_bytes;
      return true;
    }
  for (size_t i = 0; own->body != 0 && i < n_items; i++)
    if (items[i].body == own->body && items[i].is_pinned)
      {
        *out_bytes =
            items[i].pinned_bytes - items[i].body_offset_bytes + own->body_offset_bytes;
        return true;
      }
  return false;
}

static bool
times_meet (uint32_t begin, uint32_t end, uint32_t other_begin, uint32_t other_end)
{
  return begin < other_end && other_begin < end;
}

/* The first life of @item for anybody, and the second. */
static void
list_lives (const TesseraItem *item, uint32_t lives[2][2])
{
  bool is_wide = item->wide_end != 0;

  lives[0][0] = is_wide ? item->wide_begin : item->begin;
  lives[0][1] = is_wide ? item->wide_end : item->end;
  lives[1][0] = is_wide ? item->wide_begin2 : item->begin2;
  lives[1][1] = is_wide ? item->wide_end2 : item->end2;
}

static bool
lives_meet (const TesseraItem *a, const TesseraItem *b)
{
  uint32_t lives[2][2], others[2][2];
  bool is_met = false;

  list_lives (a, lives);
  list_lives (b, others);
  for (size_t i = 0; i < 4; i++)
    is_met = is_met || times_meet (lives[i / 2][0], lives[i / 2][1], others[i % 2][0],
                                   others[i % 2][1]);
  return is_met;
}

/* Who is in layers and in the way of @pinned, which is to lie at @at_bytes, goes. */
static void
clear_way (const TesseraItem *pinned,
           uint64_t at_bytes,
           const uint64_t *layered,
           size_t n_items,
           TesseraItem *items)
{
  for (size_t i = 0; i < n_items; i++)
    if (layered[i] != UINT64_MAX && at_bytes < layered[i] + items[i].size_bytes &&
        layered[i] < at_bytes + pinned->size_bytes &&
        (items[i].zone != pinned->zone || lives_meet (&items[i], pinned)))
      items[i].is_pinned = 0;
}

/* Items in layers pinned there, but for those in the way of a pin, which are free to go
 * anywhere. Refused: so much is pinned that looking at it would take seconds. */
static TesseraStatus
make_room (const TesseraItem *items,
           size_t n_items,
           const uint64_t *layered,
           TesseraItem *out_items)
{
  uint64_t n_held = 0;

  for (size_t i = 0; i < n_items; i++)
    n_held += items[i].is_pinned || items[i].body != 0;
  if (n_held * n_items > MOST_PAIRS)
    return TESSERA_REFUSED;
  memcpy (out_items, items, n_items * sizeof *items);
  for (size_t i = 0; i < n_items; i++)
    if (layered[i] != UINT64_MAX)
      {
        out_items[i].is_pinned = 1;
        out_items[i].pinned_bytes = layered[i];
      }
  for (size_t i = 0; i < n_items; i++)
    {
      uint64_t at_bytes;

      if (find_pin (items, n_items, i, &at_bytes))
        clear_way (&items[i], at_bytes, layered, n_items, out_items);
    }
  return TESSERA_OK;
}

static bool
is_out (TesseraStatus status)
{
  return status == TESSERA_NO_MEMORY || status == TESSERA_CANCELLED;
}

/* What is found has to be lower than @rival, if that is a layout. */
static TesseraPackOptions
options_against (const Held *held, const Found *rival)
{
  TesseraPackOptions options = *held->options;

  if (rival->status == TESSERA_OK)
    options.most_bytes = options.rival_bytes = rival->packing.height_bytes;
  return options;
}

/* Layers as if nobody were held, what is held around them. Not OK: they are in its way.
 * @is_quick: where few move, or not at all */
static void
pack_around (const Held *held, bool is_quick, const Found *bodies, Found *around)
{
  const TesseraPackOptions options = options_against (held, bodies);
  TesseraItem *items = malloc ((held->n_items + 1) * sizeof *items);

  around->status = TESSERA_NO_MEMORY;
  if (items)
    around->status = make_room (held->items, held->n_items, held->layered, items);
  if (around->status == TESSERA_OK)
    around->status =
        is_quick ? tessera_standing_pack (items, held->layered, held->n_items, &options,
                                          around->offsets, &around->packing)
                 : tessera_pack (items, held->n_items, &options, around->offsets,
                                 &around->packing);
  free (items);
}

static void
pack_bodies (const Held *held, const Found *around, Found *bodies)
{
  const TesseraPackOptions options = options_against (held, around);

  bodies->status = tessera_pack (held->bodies, held->n_items, &options, bodies->offsets,
                                 &bodies->packing);
}

static bool
has_many_in_bodies (const Held *held)
{
  size_t n_in_bodies = 0;

  for (size_t i = 0; i < held->n_items; i++)
    n_in_bodies += held->bodies[i].body != 0;
  return n_in_bodies > MOST_IN_BODIES;
}

/* Whether a preview looks for nothing lower. */
static bool
is_enough (const Held *held, const Found *found)
{
  uint64_t bound_bytes = found->packing.bound_bytes;

  return held->options->is_brief && found->status == TESSERA_OK &&
         found->packing.height_bytes - bound_bytes <=
             bound_bytes / held->options->rough_part;
}

/* Around layers first where few move: that takes milliseconds. Where many do bodies are
 * sooner there. Who comes second looks for what is lower only. A preview has one of the
 * two, where that is lower for sure or nearly. */
static void
pack_both (const Held *held, Found *around, Found *bodies)
{
  pack_around (held, true, bodies, around);
  if (is_out (around->status) ||
      (held->options->is_brief && around->status == TESSERA_OK &&
       has_many_in_bodies (held)))
    return;
  pack_bodies (held, around, bodies);
  if (around->status != TESSERA_OK && !is_out (bodies->status) &&
      !is_enough (held, bodies))
    pack_around (held, false, bodies, around);
}

/* Both where they are; @bodies has the place for the lower. */
static TesseraStatus
take_lower (const Held *held, const Found *around, Found *bodies)
{
  bool is_cut_short = around->packing.is_cut_short || bodies->packing.is_cut_short;

  if (is_out (around->status) || is_out (bodies->status))
    return is_out (around->status) ? around->status : bodies->status;
  if (around->status == TESSERA_OK &&
      (bodies->status != TESSERA_OK ||
       around->packing.height_bytes < bodies->packing.height_bytes))
    {
      memcpy (bodies->offsets, around->offsets, held->n_items * sizeof *around->offsets);
      bodies->packing = around->packing;
      bodies->status = TESSERA_OK;
    }
  bodies->packing.is_cut_short = is_cut_short;
  return bodies->status;
}

TesseraStatus
tessera_held_pack (const TesseraItem *items,
                   const TesseraItem *bodies,
                   const uint64_t *layered,
                   size_t n_items,
                   const TesseraPackOptions *options,
                   uint64_t *offsets,
                   TesseraPacking *out_packing)
{
  const Held held = { items, bodies, layered, n_items, options };
  Found around = { .offsets = malloc ((n_items + 1) * sizeof *around.offsets),
                   .status = TESSERA_REFUSED };
  Found among = { .offsets = offsets, .status = TESSERA_REFUSED };
  TesseraStatus status;

  if (!around.offsets)
    return TESSERA_NO_MEMORY;
  pack_both (&held, &around, &among);
  status = take_lower (&held, &around, &among);
  *out_packing = among.packing;
  free (around.offsets);
  return status;
}
