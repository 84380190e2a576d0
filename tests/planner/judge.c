/*
 * See judge.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/planner/judge.h"

#include <stdlib.h>
#include <string.h>

static gboolean
lives_meet (const uint32_t a[2][2], const uint32_t b[2][2])
{
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++)
      if (MAX (a[i][0], b[k][0]) < MIN (a[i][1], b[k][1]))
        return TRUE;
  return FALSE;
}

gboolean
judge_conflict (const TesseraItem *a, const TesseraItem *b)
{
  const uint32_t of_a[2][2] = { { a->begin, a->end }, { a->begin2, a->end2 } };
  const uint32_t of_b[2][2] = { { b->begin, b->end }, { b->begin2, b->end2 } };
  if (a->zone != b->zone || (a->apart & b->in) != 0 || (b->apart & a->in) != 0)
    return TRUE;
  return lives_meet (of_a, of_b);
}

uint64_t
judge_top (const TesseraItem *items, uint32_t n_items, const uint64_t *offsets)
{
  uint64_t top = 0;
  for (uint32_t i = 0; i < n_items; i++)
    top = MAX (top, offsets[i] + items[i].size_bytes);
  return top;
}

static gboolean
is_alive (const TesseraItem *item, uint32_t moment)
{
  return (item->begin <= moment && moment < item->end) ||
         (item->begin2 <= moment && moment < item->end2);
}

/* Of the zone of item @of, when one of its lives begins: a load only grows there. */
static uint64_t
load_of_zone (const TesseraItem *items, uint32_t n_items, uint32_t of, uint32_t moment)
{
  uint64_t load = 0;
  for (uint32_t i = 0; i < n_items; i++)
    if (items[i].zone == items[of].zone && is_alive (&items[i], moment))
      load += items[i].size_bytes;
  return load;
}

uint64_t
judge_load_bound (const TesseraItem *items, uint32_t n_items)
{
  g_autofree uint64_t *peaks = g_new0 (uint64_t, n_items + 1);
  uint64_t bound = 0;
  for (uint32_t i = 0; i < n_items; i++)
    {
      uint32_t first = 0; /* the zone's peak is kept with its first item */
      while (items[first].zone != items[i].zone)
        first++;
      peaks[first] = MAX (peaks[first], load_of_zone (items, n_items, i, items[i].begin));
      if (items[i].begin2 < items[i].end2)
        peaks[first] =
            MAX (peaks[first], load_of_zone (items, n_items, i, items[i].begin2));
    }
  for (uint32_t i = 0; i < n_items; i++)
    bound += peaks[i];
  return bound;
}

void
judge_assert_keeps (const TesseraItem *items, uint32_t n_items, const uint64_t *offsets)
{
  for (uint32_t i = 0; i < n_items; i++)
    {
      const TesseraItem *a = &items[i];
      if (a->is_pinned)
        g_assert_cmpuint (offsets[i], ==, a->pinned_bytes);
      for (uint32_t k = 0; k < i; k++)
        {
          const TesseraItem *b = &items[k];
          if (offsets[i] < offsets[k] + b->size_bytes &&
              offsets[k] < offsets[i] + a->size_bytes)
            g_assert_false (judge_conflict (a, b));
          if (a->body != 0 && a->body == b->body)
            g_assert_cmpuint (offsets[i] + b->body_offset_bytes, ==,
                              offsets[k] + a->body_offset_bytes);
        }
    }
}

void
judge_assert_packed (const TesseraItem *items,
                     uint32_t n_items,
                     const uint64_t *offsets,
                     const TesseraPacking *packing)
{
  judge_assert_keeps (items, n_items, offsets);
  g_assert_cmpuint (packing->height_bytes, ==, judge_top (items, n_items, offsets));
  g_assert_cmpuint (packing->height_bytes, >=, packing->proven_bound_bytes);
  g_assert_cmpuint (packing->proven_bound_bytes, >=, packing->bound_bytes);
  g_assert_cmpuint (packing->bound_bytes, >=, judge_load_bound (items, n_items));
  g_assert_true (packing->is_optimal ==
                 (packing->height_bytes == packing->proven_bound_bytes));
  g_assert_nonnull (packing->strategy);
}

TesseraPacking
judge_pack (const TesseraItem *items,
            uint32_t n_items,
            const TesseraPackOptions *options,
            uint64_t *offsets)
{
  TesseraPacking packing;

  g_assert_cmpint (tessera_pack (items, n_items, options, offsets, &packing), ==,
                   TESSERA_OK);
  judge_assert_packed (items, n_items, offsets, &packing);
  return packing;
}

/* ---- what they are compared with ---- */

typedef struct
{
  const TesseraItem *items;
  uint32_t n_items;
  uint64_t *offsets;
  uint32_t *placed; /* [n_placed] items, in ascending order of their offsets */
  uint32_t n_placed;
} Fitting;

static Fitting
fitting_new (const TesseraItem *items, uint32_t n_items)
{
  return (Fitting){ .items = items,
                    .n_items = n_items,
                    .offsets = g_new0 (uint64_t, n_items + 1),
                    .placed = g_new0 (uint32_t, n_items + 1) };
}

static void
fitting_clear (Fitting *fitting)
{
  g_free (fitting->offsets);
  g_free (fitting->placed);
}

/* At the lowest offset where it goes, beside those that are placed. Whoever reaches it is
 * met in ascending order: one pass is enough. Returns: its place among them. */
static uint32_t
place (Fitting *fitting, uint32_t item)
{
  const TesseraItem *of = &fitting->items[item];
  uint64_t at = 0;
  uint32_t k;

  for (k = 0; k < fitting->n_placed; k++)
    {
      uint32_t other = fitting->placed[k];
      uint64_t end = fitting->offsets[other] + fitting->items[other].size_bytes;

      if (at < end && fitting->offsets[other] < at + of->size_bytes &&
          judge_conflict (of, &fitting->items[other]))
        at = end;
    }
  fitting->offsets[item] = at;
  for (k = fitting->n_placed; k > 0 && fitting->offsets[fitting->placed[k - 1]] > at; k--)
    fitting->placed[k] = fitting->placed[k - 1];
  fitting->placed[k] = item;
  fitting->n_placed++;
  return k;
}

/* Every lowest layout comes of first fit in some order: of all orders. */
static void
try_all (Fitting *fitting, uint32_t done, uint64_t height, uint64_t *best)
{
  if (height >= *best)
    return;
  if (done == (1u << fitting->n_items) - 1)
    {
      *best = height;
      return;
    }
  for (uint32_t i = 0; i < fitting->n_items; i++)
    if (!(done >> i & 1))
      {
        uint32_t k = place (fitting, i);

        try_all (fitting, done | 1u << i,
                 MAX (height, fitting->offsets[i] + fitting->items[i].size_bytes), best);
        fitting->n_placed--;
        memmove (fitting->placed + k, fitting->placed + k + 1,
                 (fitting->n_placed - k) * sizeof *fitting->placed);
      }
}

uint64_t
judge_lowest (const TesseraItem *items, uint32_t n_items)
{
  Fitting fitting = fitting_new (items, n_items);
  uint64_t best = UINT64_MAX;

  g_assert_cmpuint (n_items, <=, JUDGE_MOST_TO_TRY);
  try_all (&fitting, 0, 0, &best);
  fitting_clear (&fitting);
  return best;
}

typedef struct
{
  const TesseraItem *item;
  uint32_t index;
  gboolean meets_all; /* wherever it lies, all others of its zone lie beside it */
} Sized;

static gboolean
meets_all (const TesseraItem *items, uint32_t n_items, uint32_t of)
{
  for (uint32_t i = 0; i < n_items; i++)
    if (i != of && !judge_conflict (&items[i], &items[of]))
      return FALSE;
  return TRUE;
}

static int
by_zone_and_size (const void *x, const void *y)
{
  const Sized *a = x, *b = y;
  uint32_t life_of_a = a->item->end - a->item->begin + a->item->end2 - a->item->begin2;
  uint32_t life_of_b = b->item->end - b->item->begin + b->item->end2 - b->item->begin2;

  if (a->item->zone != b->item->zone)
    return a->item->zone < b->item->zone ? -1 : 1;
  if (a->meets_all != b->meets_all)
    return a->meets_all ? -1 : 1;
  if (a->item->size_bytes != b->item->size_bytes)
    return a->item->size_bytes > b->item->size_bytes ? -1 : 1;
  if (life_of_a != life_of_b)
    return life_of_a > life_of_b ? -1 : 1;
  return a->index < b->index ? -1 : 1;
}

uint64_t
judge_first_fit_by_size (const TesseraItem *items, uint32_t n_items)
{
  g_autofree Sized *order = g_new (Sized, n_items + 1);
  uint64_t sum = 0, top = 0;
  Fitting fitting = fitting_new (items, n_items);

  for (uint32_t i = 0; i < n_items; i++)
    order[i] = (Sized){ &items[i], i, meets_all (items, n_items, i) };
  qsort (order, n_items, sizeof *order, by_zone_and_size);
  for (uint32_t i = 0; i < n_items; i++)
    {
      if (i > 0 && order[i].item->zone != order[i - 1].item->zone)
        {
          sum += top;
          top = fitting.n_placed = 0;
        }
      place (&fitting, order[i].index);
      top = MAX (top, fitting.offsets[order[i].index] + order[i].item->size_bytes);
    }
  fitting_clear (&fitting);
  return sum + top;
}
