/*
 * Room in layers for what is pinned: see held.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/strategy/held.h"

#include <string.h>

/* Pairs of a pinned item and any: about a second. */
#define MOST_PAIRS (UINT64_C (1) << 30)

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

TesseraStatus
tessera_held_make_room (const TesseraItem *items,
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
