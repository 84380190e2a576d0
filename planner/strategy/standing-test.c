/*
 * Few items among many that stand: one lies where somebody who looks at each address
 * finds the lowest free one, several lie apart from all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/strategy/standing.h"

#include <glib.h>

#include "tests/fail_alloc.h"

#define UNIT ((uint64_t) 512)
#define MOST_ITEMS 400

typedef struct
{
  TesseraItem items[MOST_ITEMS];
  uint64_t layered[MOST_ITEMS], offsets[MOST_ITEMS];
  size_t n;
  TesseraPacking packing;
} Case;

static bool
meet (uint32_t begin, uint32_t end, uint32_t other_begin, uint32_t other_end)
{
  return begin < other_end && other_begin < end;
}

static bool
are_apart (const TesseraItem *a, uint64_t at, const TesseraItem *b, uint64_t other)
{
  return at >= other + b->size_bytes || other >= at + a->size_bytes ||
         (a->zone == b->zone && !(a->apart & b->in) && !(b->apart & a->in) &&
          !meet (a->begin, a->end, b->begin, b->end) &&
          !meet (a->begin, a->end, b->begin2, b->end2) &&
          !meet (a->begin2, a->end2, b->begin, b->end) &&
          !meet (a->begin2, a->end2, b->begin2, b->end2));
}

/* The lowest address from @from on at which the item is apart from the first @n. */
static uint64_t
find_lowest (const Case *c,
             const TesseraItem *item,
             const uint64_t *offsets,
             size_t n,
             uint64_t from)
{
  for (uint64_t at = from;; at += UNIT)
    {
      size_t i = 0;

      while (i < n && are_apart (item, at, &c->items[i], offsets[i]))
        i++;
      if (i == n)
        return at;
    }
}

static TesseraItem
draw (GRand *random)
{
  TesseraItem item = { .size_bytes = (uint64_t) g_rand_int_range (random, 1, 9) * UNIT,
                       .begin = (uint32_t) g_rand_int_range (random, 40, 100) };

  item.end = item.begin + (uint32_t) g_rand_int_range (random, 1, 30);
  if (g_rand_int_range (random, 0, 4) == 0)
    item.end2 = (uint32_t) g_rand_int_range (random, 1, 30);
  return item;
}

/* So many stand, one zone above the other, and the last ones move. */
static void
fill (Case *c, GRand *random, size_t n_standing, size_t n_moving)
{
  uint64_t top = 0, base = 0;

  *c = (Case){ .n = n_standing + n_moving };
  for (size_t i = 0; i < n_standing; i++)
    {
      TesseraItem *item = &c->items[i];

      *item = draw (random);
      item->zone = i >= n_standing / 2;
      if (i == n_standing / 2)
        base = top;
      item->pinned_bytes = c->layered[i] = find_lowest (c, item, c->layered, i, base);
      item->is_pinned = 1;
      top = MAX (top, c->layered[i] + item->size_bytes);
    }
  for (size_t i = n_standing; i < c->n; i++)
    {
      c->items[i] = draw (random);
      c->items[i].zone = (uint32_t) g_rand_int_range (random, 0, 2);
      c->layered[i] = UINT64_MAX;
    }
}

static TesseraStatus
pack (Case *c)
{
  const TesseraPackOptions options = { .n_threads = 1, .is_brief = true };

  return tessera_standing_pack (c->items, c->layered, c->n, &options, c->offsets,
                                &c->packing);
}

static void
assert_lies_apart (const Case *c)
{
  uint64_t top = 0;

  for (size_t i = 0; i < c->n; i++)
    {
      top = MAX (top, c->offsets[i] + c->items[i].size_bytes);
      g_assert_true (!c->items[i].is_pinned || c->offsets[i] == c->items[i].pinned_bytes);
      for (size_t k = 0; k < i; k++)
        g_assert_true (
            are_apart (&c->items[i], c->offsets[i], &c->items[k], c->offsets[k]));
    }
  g_assert_cmpuint (c->packing.height_bytes, ==, top);
}

/* No lower and no higher than by looking at each address. */
static void
test_one (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  guint n_within = 0;

  for (int round = 0; round < 200; round++)
    {
      Case c;
      const TesseraItem *moving = &c.items[60];
      uint64_t top = 0, lowest;

      fill (&c, random, 60, 1);
      for (size_t i = 0; i < 60; i++)
        top = MAX (top, c.layered[i] + c.items[i].size_bytes);
      g_assert_cmpint (pack (&c), ==, TESSERA_OK);
      assert_lies_apart (&c);
      lowest = find_lowest (&c, moving, c.layered, 60, 0);
      n_within += lowest + moving->size_bytes <= top;
      g_assert_cmpuint (c.packing.height_bytes, ==,
                        MAX (top, lowest + moving->size_bytes));
    }
  g_assert_cmpuint (n_within, >, 20);
  g_assert_cmpuint (n_within, <, 180);
}

/* Pins and sets among those that move hold, and nothing overlaps. */
static void
test_several (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (11);

  for (int round = 0; round < 100; round++)
    {
      Case c;

      fill (&c, random, 80, 1 + (size_t) g_rand_int_range (random, 0, 20));
      c.items[80].is_pinned = round % 2 == 0;
      c.items[80].pinned_bytes = 1000 * UNIT;
      c.items[c.n - 1].apart = 1;
      c.items[80 + (c.n - 80) / 2].in = round % 3 == 0 && c.n > 82;
      g_assert_cmpint (pack (&c), ==, TESSERA_OK);
      assert_lies_apart (&c);
    }
}

/* More than it is for, none, and lives that others see longer. */
static void
test_refused (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (13);
  Case c;

  fill (&c, random, 10, 256);
  g_assert_cmpint (pack (&c), ==, TESSERA_OK);
  fill (&c, random, 10, 257);
  g_assert_cmpint (pack (&c), ==, TESSERA_REFUSED);
  fill (&c, random, 10, 0);
  g_assert_cmpint (pack (&c), ==, TESSERA_REFUSED);
  fill (&c, random, 10, 1);
  c.items[10].wide_begin = c.items[10].begin2;
  c.items[10].wide_end = c.items[10].end + 1;
  g_assert_cmpint (pack (&c), ==, TESSERA_REFUSED);
}

static void
test_no_memory (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (17);
  Case c;

  fill (&c, random, 20, 3);
  for (unsigned nth = 1;; nth++)
    {
      long held = tessera_fail_alloc_held ();
      TesseraStatus status;

      tessera_fail_alloc_at (nth);
      status = pack (&c);
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
      if (!tessera_fail_alloc_stop ())
        {
          g_assert_cmpint (status, ==, TESSERA_OK);
          break;
        }
      g_assert_true (status == TESSERA_OK || status == TESSERA_NO_MEMORY);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/standing/one", test_one);
  g_test_add_func ("/planner/standing/several", test_several);
  g_test_add_func ("/planner/standing/refused", test_refused);
  g_test_add_func ("/planner/standing/no-memory", test_no_memory);
  return g_test_run ();
}
