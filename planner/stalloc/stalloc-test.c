/*
 * Groups: names and measures of whole groupings. The published method, which lays groups
 * out, on the examples that explain it, and on random items: nothing overlaps, whatever is
 * grouped, wraps, is dynamic or held.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/groups.h"

#include <glib.h>

#include "db/trace.h"
#include "planner/stalloc/stalloc.h"
#include "planner/test-traces.h"
#include "tests/planner/generate.h"

#define UNIT ((uint64_t) 512)
#define MOST_ITEMS 128

static const TesseraGroup *
find_group (const TesseraGroup *groups, size_t n_groups, const char *name)
{
  for (size_t i = 0; i < n_groups; i++)
    if (g_strcmp0 (groups[i].name, name) == 0)
      return &groups[i];
  g_error ("no group is called '%s'", name);
}

static void
test_names (void)
{
  g_autoptr (TesseraTrace) trace = test_trace_loop (4, 20, true);
  TesseraGroup *groups;
  size_t n_groups, n_members = 0;
  g_autoptr (TesseraBlocks) blocks = tessera_blocks_new (trace);
  g_autoptr (TesseraStructure) structure = tessera_structure_new (trace, blocks);

  tessera_group_blocks (trace, blocks, structure, &groups, &n_groups);
  const TesseraGroup *group = find_group (groups, n_groups, "persistent, from the start");
  g_assert_cmpuint (group->n_blocks, ==, 20);
  g_assert_cmpint (group->kind, ==, TESSERA_GROUP_PERSISTENT);
  g_assert_cmpuint (group->height_bytes, ==, 20 * 4096 + 190 * 512);
  group = find_group (groups, n_groups, "forward -> backward, step 2");
  g_assert_cmpuint (group->n_blocks, ==, 20);
  g_assert_cmpint (group->kind, ==, TESSERA_GROUP_HOMO_PHASE);
  g_assert_cmpint (group->lifetime_class, ==, TESSERA_CLASS_SCOPED);
  g_assert_cmpuint (group->height_bytes, ==, 20 * 8192 + 190 * 1024);
  g_assert_cmpfloat (group->time_memory_product, >, 0);
  g_assert_cmpfloat (group->time_memory_product, <=, 1);
  for (size_t i = 0; i < n_groups; i++)
    n_members += groups[i].n_blocks;
  g_assert_cmpuint (n_members, ==, blocks->n_blocks);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    g_assert_cmpuint (blocks->blocks[i].group, <, n_groups);
  tessera_groups_free (groups, n_groups);
}

/* Many large blocks of one size are a group of their own, with the fewest layers. */
static void
test_homo_size (void)
{
  g_autoptr (TesseraTrace) trace = test_trace_new ();
  const uint64_t size = 16 << 20;
  TesseraGroup *groups;
  size_t n_groups;

  for (uint64_t i = 0; i < 32; i++)
    {
      test_alloc (trace, (i + 1) << 30, size);
      test_alloc (trace, (i + 100) << 30, 4096 + 512 * i);
      if (i > 0)
        test_free (trace, i << 30, size);
    }
  test_free (trace, UINT64_C (32) << 30, size);
  for (uint64_t i = 0; i < 32; i++)
    test_free (trace, (i + 100) << 30, 4096 + 512 * i);
  g_autoptr (TesseraBlocks) blocks = tessera_blocks_new (trace);
  g_autoptr (TesseraStructure) structure = tessera_structure_new (trace, blocks);
  tessera_group_blocks (trace, blocks, structure, &groups, &n_groups);
  g_assert_cmpuint (n_groups, ==, 2);
  const TesseraGroup *group = find_group (groups, n_groups, "32 x 16.00 MiB, no phase");
  g_assert_cmpint (group->kind, ==, TESSERA_GROUP_HOMO_SIZE);
  g_assert_cmpuint (group->height_bytes, ==, 2 * size);
  tessera_groups_free (groups, n_groups);
}

/* One moment, of which a block lives for no event at all. */
static void
test_no_events (void)
{
  g_autoptr (TesseraTrace) trace = test_trace_new ();
  const TesseraHeldBlock pending = { .addr = 1 << 30,
                                     .size_bytes = 4096,
                                     .block_bytes = 4096,
                                     .stack = TESSERA_NONE,
                                     .state = TESSERA_BLOCK_PENDING };
  const TesseraSegment segment = { .addr = 1 << 30,
                                   .size_bytes = 2 << 20,
                                   .stack = TESSERA_NONE };
  TesseraGroup *groups;
  size_t n_groups;

  OK (tessera_trace_add_segment (&trace->start, &segment));
  OK (tessera_trace_add_block (&trace->start, &pending));
  g_autoptr (TesseraBlocks) blocks = tessera_blocks_new (trace);
  g_autoptr (TesseraStructure) structure = tessera_structure_new (trace, blocks);
  tessera_group_blocks (trace, blocks, structure, &groups, &n_groups);
  g_assert_cmpuint (n_groups, ==, 1);
  g_assert_cmpuint (groups[0].n_blocks, ==, 1);
  g_assert_cmpuint (groups[0].height_bytes, ==, 0);
  tessera_groups_free (groups, n_groups);
}

enum
{
  PHASE_A,
  PHASE_B,
  PHASE_C
};

typedef struct
{
  TesseraItem items[MOST_ITEMS];
  TesseraStallocItem grouped[MOST_ITEMS];
  uint64_t offsets[MOST_ITEMS];
  size_t n;
  TesseraPacking packing;
} Case;

static uint32_t
add (Case *c, uint64_t units, uint32_t begin, uint32_t end, TesseraStallocItem grouped)
{
  c->items[c->n] =
      (TesseraItem){ .size_bytes = units * UNIT, .begin = begin, .end = end };
  c->grouped[c->n] = grouped;
  return (uint32_t) c->n++;
}

static const TesseraStallocItem alone = { .group = TESSERA_NONE,
                                          .from_phase = TESSERA_NONE,
                                          .to_phase = TESSERA_NONE,
                                          .kind = TESSERA_GROUP_HOMO_SIZE };

static bool
meet (uint32_t begin, uint32_t end, uint32_t other_begin, uint32_t other_end)
{
  return begin < other_end && other_begin < end;
}

static bool
live_together (const TesseraItem *a, const TesseraItem *b)
{
  return meet (a->begin, a->end, b->begin, b->end) ||
         meet (a->begin, a->end, b->begin2, b->end2) ||
         meet (a->begin2, a->end2, b->begin, b->end) ||
         meet (a->begin2, a->end2, b->begin2, b->end2);
}

static void
assert_lies_apart (const Case *c)
{
  for (size_t i = 0; i < c->n; i++)
    {
      const TesseraItem *a = &c->items[i];

      g_assert_cmpuint (c->offsets[i] + a->size_bytes, <=, c->packing.height_bytes);
      g_assert_true (!a->is_pinned || c->offsets[i] == a->pinned_bytes);
      for (size_t k = 0; k < i; k++)
        {
          const TesseraItem *b = &c->items[k];

          if (live_together (a, b) || a->zone != b->zone)
            g_assert_true (c->offsets[i] >= c->offsets[k] + b->size_bytes ||
                           c->offsets[k] >= c->offsets[i] + a->size_bytes);
        }
    }
}

static uint64_t
height (Case *c)
{
  const TesseraPackOptions options = { 0 };

  OK (tessera_stalloc_pack (c->items, c->grouped, c->n, &options, c->offsets,
                            &c->packing));
  assert_lies_apart (c);
  return c->packing.height_bytes / UNIT;
}

/* P = {p, q} of phases A to B, R = {r} of B to C, adjacent: with r [3,8) they become one
 * of height 8 and area 64, less than 48 + 20. With r [3,20) the area of one would be 160
 * instead of 116: r keeps a layer to itself. */
static void
test_fusion (void)
{
  const TesseraStallocItem p = { 0, PHASE_A, PHASE_B, TESSERA_GROUP_HOMO_PHASE };
  const TesseraStallocItem r = { 1, PHASE_B, PHASE_C, TESSERA_GROUP_HOMO_PHASE };

  for (int is_long = 0; is_long < 2; is_long++)
    {
      Case c = { 0 };

      add (&c, 4, 0, 6, p);
      add (&c, 4, 0, 3, p);
      add (&c, 4, 3, is_long ? 20 : 8, r);
      g_assert_cmpuint (height (&c), ==, is_long ? 12 : 8);
      g_assert_cmpuint (c.offsets[0], ==, 0);
      g_assert_cmpuint (c.offsets[1], ==, 4 * UNIT);
      g_assert_cmpuint (c.offsets[2], ==, (is_long ? 8 : 4) * UNIT);
    }
}

/* P = {p, q} of phases A to B, R = {s, r} of B to C. r fits above p beside q, s nowhere:
 * it goes on top. The area of one is 18 x 8, less than 16 x 8 and 6 x 8. */
static void
test_fusion_on_top (void)
{
  const TesseraStallocItem p = { 0, PHASE_A, PHASE_B, TESSERA_GROUP_HOMO_PHASE };
  const TesseraStallocItem r = { 1, PHASE_B, PHASE_C, TESSERA_GROUP_HOMO_PHASE };
  static const uint64_t at[] = { 0, 8, 16, 8 };
  Case c = { 0 };

  add (&c, 8, 0, 8, p);
  add (&c, 8, 0, 3, p);
  add (&c, 2, 0, 8, r);
  add (&c, 4, 3, 8, r);
  g_assert_cmpuint (height (&c), ==, 18);
  for (size_t i = 0; i < c.n; i++)
    g_assert_cmpuint (c.offsets[i], ==, at[i] * UNIT);
}

/* Not adjacent, the two groups of the example above stay two. */
static void
test_only_adjacent_groups_fuse (void)
{
  const TesseraStallocItem p = { 0, PHASE_A, PHASE_B, TESSERA_GROUP_HOMO_PHASE };
  const TesseraStallocItem r = { 1, PHASE_C, PHASE_C, TESSERA_GROUP_HOMO_PHASE };
  Case c = { 0 };

  add (&c, 4, 0, 6, p);
  add (&c, 4, 0, 3, p);
  add (&c, 4, 3, 8, r);
  g_assert_cmpuint (height (&c), ==, 12);
}

/* a[0,4) b[1,3) c[3,6) d[4,8) e[6,9) are the layers {a, d} and {b, c, e}. */
static void
test_layers (void)
{
  static const uint32_t lives[][2] = { { 0, 4 }, { 1, 3 }, { 3, 6 }, { 4, 8 }, { 6, 9 } };
  static const uint64_t layers[] = { 0, 1, 1, 0, 1 };
  Case c = { 0 };

  for (size_t i = 0; i < G_N_ELEMENTS (lives); i++)
    add (&c, 1, lives[i][0], lives[i][1], alone);
  g_assert_cmpuint (height (&c), ==, 2);
  for (size_t i = 0; i < G_N_ELEMENTS (lives); i++)
    g_assert_cmpuint (c.offsets[i], ==, layers[i] * UNIT);
}

/* Of two that are free the layer whose last end is the latest. */
static void
test_latest_layer (void)
{
  Case c = { 0 };

  add (&c, 1, 0, 3, alone);
  add (&c, 1, 0, 4, alone);
  add (&c, 1, 5, 6, alone);
  g_assert_cmpuint (height (&c), ==, 2);
  g_assert_cmpuint (c.offsets[2], ==, c.offsets[1]);
}

/* Descending sizes: the free time of a layer that stands comes first, for each of a
 * HomoSize group by itself; what finds none opens its own. */
static void
test_standing_layers (void)
{
  const TesseraStallocItem equal = { 0, PHASE_A, PHASE_A, TESSERA_GROUP_HOMO_SIZE };
  Case c = { 0 };

  add (&c, 8, 0, 4, alone);
  uint32_t now = add (&c, 4, 1, 3, equal);
  uint32_t later = add (&c, 4, 4, 8, equal);
  uint32_t beside = add (&c, 4, 5, 7, equal);
  g_assert_cmpuint (height (&c), ==, 12);
  g_assert_cmpuint (c.offsets[later], ==, 0);
  g_assert_cmpuint (c.offsets[now], ==, 8 * UNIT);
  g_assert_cmpuint (c.offsets[beside], ==, 8 * UNIT);
}

/* Dynamic requests go where nothing static is alive meanwhile; else on top. */
static void
test_dynamic (void)
{
  const TesseraStallocItem dynamic = { 0, TESSERA_NONE, TESSERA_NONE,
                                       TESSERA_GROUP_HOMO_LAYER };
  Case c = { 0 };

  add (&c, 8, 0, 10, alone);
  add (&c, 4, 0, 9, alone);
  add (&c, 4, 8, 12, alone);
  uint32_t before = add (&c, 4, 3, 7, dynamic);
  uint32_t after = add (&c, 4, 9, 10, dynamic);
  g_assert_cmpuint (height (&c), ==, 16);
  g_assert_cmpuint (c.offsets[before], ==, 12 * UNIT);
  g_assert_cmpuint (c.offsets[after], ==, 8 * UNIT);
  add (&c, 8, 3, 7, dynamic);
  g_assert_cmpuint (height (&c), >, 16);
}

/* A slot that wraps is alive at both ends; another may have its layer in between. */
static void
test_wraps (void)
{
  Case c = { 0 };
  uint32_t wraps = add (&c, 4, 8, 10, alone);
  uint32_t between = add (&c, 4, 3, 8, alone);

  c.items[wraps].begin2 = 0;
  c.items[wraps].end2 = 3;
  g_assert_cmpuint (height (&c), ==, 4);
  g_assert_cmpuint (c.offsets[between], ==, 0);
  c.items[wraps].end2 = 4;
  g_assert_cmpuint (height (&c), ==, 8);
}

/* P's q wraps: it is a unit by itself, in which nobody else lies in either of its lives,
 * and r is inserted into none. */
static void
test_wraps_in_a_group (void)
{
  const TesseraStallocItem p = { 0, PHASE_A, PHASE_B, TESSERA_GROUP_HOMO_PHASE };
  const TesseraStallocItem r = { 1, PHASE_B, PHASE_C, TESSERA_GROUP_HOMO_PHASE };
  Case c = { 0 };

  add (&c, 8, 2, 12, p);
  uint32_t q = add (&c, 4, 9, 12, p);
  c.items[q].end2 = 6;
  add (&c, 4, 3, 9, r);
  g_assert_cmpuint (height (&c), ==, 16);
}

/* A hand-made group is a unit; an edit that pins one of its items leaves the others
 * together. */
static void
test_hand_made (void)
{
  const TesseraStallocItem mine = { 0, TESSERA_NONE, TESSERA_NONE, TESSERA_GROUP_HAND };
  Case c = { 0 };

  add (&c, 4, 0, 2, mine);
  add (&c, 4, 8, 10, mine);
  uint32_t pinned = add (&c, 2, 4, 6, mine);
  add (&c, 4, 3, 8, alone);
  g_assert_cmpuint (height (&c), ==, 8);
  c.items[pinned].is_pinned = 1;
  c.items[pinned].pinned_bytes = 100 * UNIT;
  g_assert_cmpuint (height (&c), ==, 102);
  g_assert_cmpuint (c.offsets[0], ==, c.offsets[1]); /* as laid out by themselves */
}

/* A pin holds the body of its item, too: r lies in the way of the other one, p is in
 * nobody's way and stays in its layer. */
static void
test_pinned_body (void)
{
  Case c = { 0 };

  add (&c, 8, 0, 10, alone);
  add (&c, 4, 0, 10, alone);
  uint32_t pinned = add (&c, 2, 0, 10, alone);
  uint32_t other = add (&c, 2, 0, 10, alone);
  c.items[pinned].body = c.items[other].body = 1;
  c.items[pinned].body_offset_bytes = 100 * UNIT;
  c.items[pinned].is_pinned = 1;
  c.items[pinned].pinned_bytes = 100 * UNIT;
  c.items[other].body_offset_bytes = 10 * UNIT;
  g_assert_cmpuint (height (&c), ==, 102);
  g_assert_cmpuint (c.offsets[0], ==, 0);
  g_assert_cmpuint (c.offsets[1], ==, 12 * UNIT);
  g_assert_cmpuint (c.offsets[other], ==, 10 * UNIT);
}

static void
fill_randomly (Case *c, GRand *random)
{
  while (c->n < 60)
    {
      uint32_t begin = (uint32_t) g_rand_int_range (random, 20, 80);
      uint32_t end = begin + (uint32_t) g_rand_int_range (random, 1, 20);
      TesseraStallocItem grouped = { .group = (uint32_t) g_rand_int_range (random, 0, 8),
                                     .from_phase =
                                         (uint32_t) g_rand_int_range (random, 0, 3),
                                     .to_phase =
                                         (uint32_t) g_rand_int_range (random, 0, 3) };

      grouped.kind = (uint8_t) (grouped.group % (TESSERA_GROUP_HAND + 1));
      uint32_t item =
          add (c, (uint64_t) g_rand_int_range (random, 1, 9), begin, end, grouped);
      c->items[item].zone = grouped.group / 4;
      if (g_rand_int_range (random, 0, 4) == 0)
        c->items[item].end2 =
            (uint32_t) g_rand_int_range (random, 1, (gint32) MIN (begin, 40) + 1);
    }
}

static void
test_random (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (23);

  for (int round = 0; round < 200; round++)
    {
      Case c = { 0 };

      fill_randomly (&c, random);
      if (round % 4 == 0) /* high up, out of the way of all others */
        {
          c.items[3].is_pinned = 1;
          c.items[3].pinned_bytes = 5000 * UNIT;
        }
      height (&c);
    }
}

/* Who is held to something costs its own size at most: the layers stay as they are
 * around it, and from the place of a pin no more goes than lies there. */
static void
test_held_around (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (29);

  for (int round = 0; round < 40; round++)
    {
      Case c = { 0 }, without;
      uint64_t layered, most, pinned_bytes;

      fill_randomly (&c, random);
      for (size_t i = 0; i < c.n; i++)
        if (c.grouped[i].kind == TESSERA_GROUP_HOMO_LAYER)
          c.grouped[i].kind = TESSERA_GROUP_HOMO_SIZE;
      c.n--;
      layered = height (&c);
      without = c;
      c.n++;
      c.items[c.n - 1].zone = 0;
      c.items[c.n - 1].apart = 1;
      most = layered + c.items[c.n - 1].size_bytes / UNIT;
      g_assert_cmpuint (height (&c), <=, most);

      c.items[c.n - 1].apart = 0;
      c.items[c.n - 1].is_pinned = 1;
      pinned_bytes = c.items[c.n - 1].pinned_bytes =
          (uint64_t) g_rand_int_range (random, 0, (gint32) layered) * UNIT;
      for (size_t i = 0; i < without.n; i++)
        if (without.offsets[i] < pinned_bytes + c.items[c.n - 1].size_bytes &&
            pinned_bytes < without.offsets[i] + without.items[i].size_bytes)
          {
            most += without.items[i].size_bytes / UNIT;
            without.offsets[i] = UINT64_MAX;
          }
      g_assert_cmpuint (height (&c), <=, most);
      for (size_t i = 0; i < without.n; i++)
        g_assert_true (without.offsets[i] == UINT64_MAX ||
                       without.offsets[i] == c.offsets[i]);
    }
}

/* A group of many, as of all activations, is no body that others are packed around: one
 * that is kept apart from nobody costs its own size at most. */
static void
test_many_held (void)
{
  enum
  {
    N = 20000
  };
  const TesseraPackOptions options = { .work_budget = 1 };
  g_autofree TesseraItem *items = g_new0 (TesseraItem, N);
  g_autofree TesseraStallocItem *grouped = g_new0 (TesseraStallocItem, N);
  g_autofree uint64_t *offsets = g_new0 (uint64_t, N);
  TesseraPacking layered, held;

  generate_items (GENERATE_DRIFT, 1, items, N);
  for (size_t i = 0; i < N; i++)
    {
      grouped[i] = alone;
      if (i % 10 == 0)
        grouped[i] =
            (TesseraStallocItem){ 0, PHASE_A, PHASE_B, TESSERA_GROUP_HOMO_PHASE };
    }
  OK (tessera_stalloc_pack (items, grouped, N, &options, offsets, &layered));
  items[1].apart = 1;
  OK (tessera_stalloc_pack (items, grouped, N, &options, offsets, &held));
  g_test_message ("%" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT " %s",
                  layered.height_bytes, held.height_bytes, held.strategy);
  g_assert_cmpuint (held.height_bytes, <=, layered.height_bytes + items[1].size_bytes);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/groups/names", test_names);
  g_test_add_func ("/planner/groups/homo-size", test_homo_size);
  g_test_add_func ("/planner/groups/no-events", test_no_events);
  g_test_add_func ("/planner/stalloc/fusion", test_fusion);
  g_test_add_func ("/planner/stalloc/fusion-on-top", test_fusion_on_top);
  g_test_add_func ("/planner/stalloc/only-adjacent", test_only_adjacent_groups_fuse);
  g_test_add_func ("/planner/stalloc/layers", test_layers);
  g_test_add_func ("/planner/stalloc/latest-layer", test_latest_layer);
  g_test_add_func ("/planner/stalloc/standing-layers", test_standing_layers);
  g_test_add_func ("/planner/stalloc/dynamic", test_dynamic);
  g_test_add_func ("/planner/stalloc/wraps", test_wraps);
  g_test_add_func ("/planner/stalloc/wraps-in-a-group", test_wraps_in_a_group);
  g_test_add_func ("/planner/stalloc/hand-made", test_hand_made);
  g_test_add_func ("/planner/stalloc/pinned-body", test_pinned_body);
  g_test_add_func ("/planner/stalloc/random", test_random);
  g_test_add_func ("/planner/stalloc/held-around", test_held_around);
  g_test_add_func ("/planner/stalloc/many-held", test_many_held);
  return g_test_run ();
}
