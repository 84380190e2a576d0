/*
 * Random items and the laws: test-limits.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/limits/test-limits.h"

uint32_t
test_limits_pick (GRand *random, uint32_t n)
{
  return (uint32_t) g_rand_int_range (random, 0, (int) n);
}

static uint64_t
pick_sets (GRand *random)
{
  static const int bits[] = { 0, 1, 17, 63 };
  return test_limits_pick (random, 6) == 0
             ? UINT64_C (1) << bits[test_limits_pick (random, 4)]
             : 0;
}

TesseraItem
test_limits_item (GRand *random, const TestLimitsShape *shape)
{
  uint32_t begin = test_limits_pick (random, shape->n_moments);
  TesseraItem item = {
    .size_bytes = 1 + test_limits_pick (random, test_limits_pick (random, 2) ? 8 : 60),
    .begin = begin,
    .end = MIN (begin + 1 + test_limits_pick (random, 9), shape->n_moments),
    .zone = test_limits_pick (random, shape->n_zones),
    .in = shape->has_sets ? pick_sets (random) : 0,
    .apart = shape->has_sets ? pick_sets (random) : 0,
  };
  if (begin > 1 && test_limits_pick (random, 4) == 0)
    {
      item.end2 = 1 + test_limits_pick (random, begin);
      item.begin2 = test_limits_pick (random, item.end2);
    }
  return item;
}

static gboolean
spans_meet (uint32_t begin, uint32_t end, uint32_t begin2, uint32_t end2)
{
  return MAX (begin, begin2) < MIN (end, end2);
}

/* Whether the two may not share an address. */
static gboolean
keep_apart (const TesseraItem *a, const TesseraItem *b)
{
  if (a->zone != b->zone || (a->in & b->apart) != 0 || (b->in & a->apart) != 0)
    return TRUE;
  return spans_meet (a->begin, a->end, b->begin, b->end) ||
         spans_meet (a->begin2, a->end2, b->begin, b->end) ||
         spans_meet (a->begin, a->end, b->begin2, b->end2) ||
         spans_meet (a->begin2, a->end2, b->begin2, b->end2);
}

gboolean
test_limits_overlap (const TesseraItem *a,
                     uint64_t at_a,
                     const TesseraItem *b,
                     uint64_t at_b)
{
  return at_a < at_b + b->size_bytes && at_b < at_a + a->size_bytes && keep_apart (a, b);
}

void
test_limits_assert_laws (const TesseraItem *items,
                         uint32_t n_items,
                         const uint64_t *offsets,
                         const TesseraPacking *packing)
{
  uint64_t top = 0;
  for (uint32_t i = 0; i < n_items; i++)
    {
      top = MAX (top, offsets[i] + items[i].size_bytes);
      if (items[i].is_pinned)
        g_assert_cmpuint (offsets[i], ==, items[i].pinned_bytes);
      for (uint32_t k = 0; k < i; k++)
        {
          g_assert_false (
              test_limits_overlap (&items[i], offsets[i], &items[k], offsets[k]));
          if (items[i].body != 0 && items[i].body == items[k].body)
            g_assert_cmpuint (offsets[i] + items[k].body_offset_bytes, ==,
                              offsets[k] + items[i].body_offset_bytes);
        }
    }
  g_assert_cmpuint (packing->height_bytes, ==, top);
  g_assert_cmpuint (packing->height_bytes, >=, packing->bound_bytes);
}
