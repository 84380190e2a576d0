/*
 * Blocks from events: whole and damaged traces; the bound against a naive one; and blocks
 * as they would be if some were freed earlier.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/blocks.h"

#include <string.h>

#include "planner/plan/test-case.h"
#include "planner/planner.h"
#include "planner/test-traces.h"
#include "planner/what-if.h"

static TesseraBlocks *
make (const TesseraTrace *trace)
{
  TesseraBlocks *blocks = tessera_blocks_new (trace);
  return blocks;
}

static void
assert_block (const TesseraBlocks *blocks,
              size_t index,
              uint32_t born,
              uint32_t freed,
              uint32_t died,
              uint16_t flags)
{
  const TesseraBlock *block = &blocks->blocks[index];

  g_assert_cmpuint (index, <, blocks->n_blocks);
  g_assert_cmpuint (block->born_index, ==, born);
  g_assert_cmpuint (block->freed_index, ==, freed);
  g_assert_cmpuint (block->died_index, ==, died);
  g_assert_cmpuint (block->flags, ==, flags);
}

static void
clear (TesseraTrace *trace, TesseraBlocks *blocks)
{
  tessera_blocks_free (blocks);
  tessera_trace_free (trace);
}

/* An address that comes back, a free that waits, one that never completes. */
static void
test_pairs (void)
{
  TesseraTrace *trace = test_trace_new ();

  test_alloc (trace, 0xa00, 100); /* 0 */
  test_free (trace, 0xa00, 100);  /* 1 2 */
  test_alloc (trace, 0xa00, 513); /* 3 */
  test_event (trace, TESSERA_FREE_REQUESTED, 0xa00, 513, 0);
  test_alloc (trace, 0xb00, 512); /* 5 */
  test_event (trace, TESSERA_FREE_COMPLETED, 0xa00, 513, 0);
  test_event (trace, TESSERA_FREE_REQUESTED, 0xb00, 512, 0);
  test_alloc (trace, 0xc00, 0); /* 8 */
  TesseraBlocks *blocks = make (trace);
  g_assert_cmpuint (blocks->n_blocks, ==, 4);
  assert_block (blocks, 0, 0, 1, 2, 0);
  assert_block (blocks, 1, 3, 4, 6, 0);
  assert_block (blocks, 2, 5, 7, 9, TESSERA_AT_END);
  assert_block (blocks, 3, 8, 9, 9, TESSERA_AT_END);
  g_assert_cmpuint (blocks->blocks[0].block_bytes, ==, 512);
  g_assert_cmpuint (blocks->blocks[1].block_bytes, ==, 1024);
  g_assert_cmpuint (blocks->blocks[2].block_bytes, ==, 512);
  g_assert_cmpuint (blocks->blocks[3].block_bytes, ==, 512);
  g_assert_cmpuint (blocks->block_of_event[6], ==, 1);
  g_assert_cmpuint (blocks->by_death[0], ==, 0);
  g_assert_cmpuint (blocks->by_death[1], ==, 1);
  clear (trace, blocks);
}

/* Tables may tell of a free by either event alone. */
static void
test_lone_frees (void)
{
  for (int action = TESSERA_FREE_REQUESTED; action <= TESSERA_FREE_COMPLETED; action++)
    {
      TesseraTrace *trace = test_trace_new ();

      test_alloc (trace, 0xa00, 512);
      test_event (trace, (TesseraAction) action, 0xa00, 512, 0);
      test_alloc (trace, 0xa00, 512);
      TesseraBlocks *blocks = make (trace);
      g_assert_cmpuint (blocks->n_blocks, ==, 2);
      assert_block (blocks, 0, 0, 1, 1, 0);
      assert_block (blocks, 1, 2, 3, 3, TESSERA_AT_END);
      g_assert_cmpuint (blocks->n_displaced, ==, 0);
      clear (trace, blocks);
    }
}

/* A recording that began before anything was there lost an allocation, not a start. */
static void
test_starts_empty (void)
{
  TesseraTrace *trace = test_trace_new ();

  trace->starts_empty = true;
  test_free (trace, 0xa00, 512);  /* 0 1 */
  test_alloc (trace, 0xa00, 512); /* 2 */
  TesseraBlocks *blocks = make (trace);
  g_assert_cmpuint (blocks->n_blocks, ==, 1);
  assert_block (blocks, 0, 2, 3, 3, TESSERA_AT_END);
  g_assert_cmpuint (blocks->n_orphans, ==, 2);
  clear (trace, blocks);
}

static void
test_start (void)
{
  TesseraTrace *trace = test_trace_new ();

  test_held (trace, 0xb00, 700, false);
  test_held (trace, 0xd00, 512, true);
  test_event (trace, TESSERA_FREE_COMPLETED, 0xd00, 512, 0); /* 0 */
  test_free (trace, 0xa00, 512);                             /* unknown: 1 2 */
  test_free (trace, 0xa00, 512);                             /* twice: an orphan */
  test_alloc (trace, 0xb00, 512);                            /* 5: still held */
  test_event (trace, TESSERA_OOM, 1 << 30, 2048, 0);         /* 6 */
  TesseraBlocks *blocks = make (trace);
  g_assert_cmpuint (blocks->n_blocks, ==, 5);
  assert_block (blocks, 0, 0, 1, 2, TESSERA_AT_START | TESSERA_UNKNOWN_START);
  assert_block (blocks, 1, 0, 5, 5, TESSERA_AT_START);
  assert_block (blocks, 2, 0, 0, 1, TESSERA_AT_START);
  assert_block (blocks, 3, 5, 7, 7, TESSERA_AT_END);
  assert_block (blocks, 4, 6, 7, 7, TESSERA_FAILED);
  g_assert_cmpuint (blocks->n_orphans, ==, 2);
  g_assert_cmpuint (blocks->n_displaced, ==, 1);
  g_assert_cmpuint (blocks->block_of_event[0], ==, 2);
  g_assert_cmpuint (blocks->block_of_event[4], ==, TESSERA_NONE);
  clear (trace, blocks);
}

/* Requested, never completed, and not in the state at the end: the entry is missing. */
static void
test_end (void)
{
  const TesseraSegment segment = { .addr = 0x1000, .size_bytes = 1 << 21 };
  TesseraTrace *trace = test_trace_new ();

  OK (tessera_trace_add_segment (&trace->end, &segment));
  test_alloc (trace, 0x1000, 512);
  test_alloc (trace, 0x2000, 512);
  test_free (trace, 0x2000, 512);
  test_event (trace, TESSERA_FREE_REQUESTED, 0x1000, 512, 0); /* 4 */
  test_alloc (trace, 0x3000, 512);
  TesseraBlocks *blocks = make (trace);
  assert_block (blocks, 0, 0, 4, 4, 0);
  clear (trace, blocks);
}

static void
test_giant (void)
{
  TesseraTrace *trace = test_trace_new ();

  test_alloc (trace, 0xa00, UINT64_MAX);
  TesseraBlocks *blocks = make (trace);
  g_assert_cmpuint (blocks->blocks[0].block_bytes, ==, UINT64_MAX - 511);
  clear (trace, blocks);
}

static uint64_t
naive_bound (const TesseraBlocks *blocks, uint32_t begin, uint32_t end, uint32_t *out_at)
{
  uint64_t bound = 0;

  *out_at = begin;
  for (uint32_t i = begin; i < end; i++)
    {
      uint64_t load = 0;

      for (size_t k = 0; k < blocks->n_blocks; k++)
        if (blocks->blocks[k].born_index <= i && i < blocks->blocks[k].died_index)
          load += blocks->blocks[k].block_bytes;
      if (load > bound)
        {
          bound = load;
          *out_at = i;
        }
    }
  return bound;
}

static void
test_bound (void)
{
  for (uint32_t seed = 1; seed <= 20; seed++)
    {
      TesseraTrace *trace = test_trace_random (seed, 60, 2);
      TesseraBlocks *blocks = make (trace);
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

      for (int i = 0; i < 20; i++)
        {
          uint32_t begin =
              (uint32_t) g_rand_int_range (rand, 0, (gint32) trace->n_events);
          uint32_t end =
              (uint32_t) g_rand_int_range (rand, 0, (gint32) trace->n_events + 1);
          uint32_t at, expected_at;
          uint64_t bound = tessera_blocks_bound (blocks, begin, end, &at);

          g_assert_cmpuint (bound, ==, naive_bound (blocks, begin, end, &expected_at));
          g_assert_cmpuint (at, ==, expected_at);
        }
      clear (trace, blocks);
    }
}

/* Hostile orders of events: every block lives, ends inside, and is in order. */
static void
test_nonsense (void)
{
  for (uint32_t seed = 1; seed <= 200; seed++)
    {
      TesseraTrace *trace = test_trace_new ();
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

      for (int i = 0; i < 40; i++)
        test_event (trace, (TesseraAction) g_rand_int_range (rand, 1, 11),
                    (uint64_t) g_rand_int_range (rand, 0, 6) << 12,
                    (uint64_t) g_rand_int_range (rand, 0, 3) << 9, 0);
      TesseraBlocks *blocks = make (trace);
      for (size_t i = 0; i < blocks->n_blocks; i++)
        {
          const TesseraBlock *block = &blocks->blocks[i];

          g_assert_cmpuint (block->born_index, <, block->died_index);
          g_assert_cmpuint (block->died_index, <=, trace->n_events);
          g_assert_cmpuint (block->freed_index, <=, block->died_index);
          if (i)
            g_assert_cmpuint (blocks->blocks[i - 1].born_index, <=, block->born_index);
          if (i)
            g_assert_cmpuint (blocks->blocks[blocks->by_death[i - 1]].died_index, <=,
                              blocks->blocks[blocks->by_death[i]].died_index);
        }
      clear (trace, blocks);
    }
}

static uint64_t
load_at (const TesseraBlocks *blocks, uint32_t event)
{
  uint64_t load = 0;

  for (size_t i = 0; i < blocks->n_blocks; i++)
    if (blocks->blocks[i].born_index <= event && blocks->blocks[i].died_index > event)
      load += blocks->blocks[i].block_bytes;
  return load;
}

static void
check_copy (const TesseraBlocks *blocks,
            const uint8_t *chosen,
            const TesseraMoments *moments,
            const TesseraBlocks *copy,
            size_t n_changed,
            uint64_t changed_bytes)
{
  uint64_t bound = 0;

  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *was = &blocks->blocks[i], *is = &copy->blocks[i];
      uint32_t died = was->died_index;

      if (chosen[i] && moments == NULL)
        died = was->born_index + 1;
      for (size_t m = moments ? moments->n_events : 0; chosen[i] && m-- > 0;)
        if (was->born_index < moments->events[m] && moments->events[m] < was->died_index)
          died = moments->events[m];
      g_assert_cmpuint (is->died_index, ==, died);
      g_assert_cmpuint (is->born_index, ==, was->born_index);
      g_assert_cmpuint (is->freed_index, <=, is->died_index);
      if (died != was->died_index)
        {
          n_changed--;
          changed_bytes -= was->block_bytes;
        }
      if (i > 0)
        g_assert_cmpuint (copy->blocks[copy->by_death[i - 1]].died_index, <=,
                          copy->blocks[copy->by_death[i]].died_index);
    }
  g_assert_cmpuint (n_changed, ==, 0);
  g_assert_cmpuint (changed_bytes, ==, 0);
  for (uint32_t e = 0; e < copy->n_events; e++)
    bound = MAX (bound, load_at (copy, e));
  g_assert_cmpuint (tessera_blocks_bound (copy, 0, copy->n_events, NULL), ==, bound);
}

static void
test_random (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);

  for (uint32_t seed = 0; seed < 20; seed++)
    {
      g_auto (PlanCase) c = plan_case_look (test_trace_random (seed, 120, 2));
      g_autofree uint8_t *chosen = g_new (uint8_t, c.blocks->n_blocks);
      uint32_t events[] = { c.blocks->n_events / 3, c.blocks->n_events / 2 };
      const TesseraMoments both = { events, 2 };
      const TesseraMoments *moments = seed % 3 == 0 ? NULL : &both;
      TesseraBlocks copy;
      size_t n_changed;
      uint64_t changed_bytes;

      for (size_t i = 0; i < c.blocks->n_blocks; i++)
        chosen[i] = (uint8_t) g_rand_int_range (rand, 0, 2);
      tessera_blocks_freed_before (c.blocks, chosen, moments, &n_changed, &changed_bytes,
                                   &copy);
      g_assert_cmpuint (n_changed, >, 0);
      check_copy (c.blocks, chosen, moments, &copy, n_changed, changed_bytes);
      tessera_blocks_freed_before_clear (&copy);
    }
}

/* Freeing all that lives before the peak of each step leaves less at it, and the plan of
 * the loop is lower by that. */
static void
test_loop (void)
{
  g_auto (PlanCase) c = plan_case_look (test_trace_loop (4, 6, true));
  g_autofree uint8_t *chosen = g_new0 (uint8_t, c.blocks->n_blocks);
  const TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  TesseraMoments peaks;
  g_autoptr (TesseraPlan) before = NULL, after = NULL;
  TesseraError error = { 0 };
  TesseraBlocks copy;
  size_t n_changed;
  uint64_t changed_bytes;

  tessera_moments_of_peaks (c.blocks, c.structure, &peaks);
  g_assert_cmpuint (peaks.n_events, ==, c.structure->n_steps);
  for (size_t i = 0; i < peaks.n_events; i++)
    {
      const TesseraStep *step = &c.structure->steps[i];
      uint64_t most = 0;

      for (uint32_t e = step->begin_index; e < step->end_index; e++)
        most = MAX (most, load_at (c.blocks, e));
      g_assert_cmpuint (load_at (c.blocks, peaks.events[i]), ==, most);
    }
  for (size_t i = 0; i < c.blocks->n_blocks; i++)
    chosen[i] = c.blocks->blocks[i].lifetime_class == TESSERA_CLASS_SCOPED;
  tessera_blocks_freed_before (c.blocks, chosen, &peaks, &n_changed, &changed_bytes,
                               &copy);
  OK (tessera_plan_trace (c.trace, c.blocks, c.structure, &options, &error, &before));
  OK (tessera_plan_trace (c.trace, &copy, c.structure, &options, &error, &after));
  g_assert_cmpuint (after->bound_bytes, <, before->bound_bytes);
  g_assert_cmpuint (after->height_bytes, <, before->height_bytes);
  g_assert_cmpuint (after->followable, ==, before->followable);
  tessera_blocks_freed_before_clear (&copy);
  free (peaks.events);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/blocks/pairs", test_pairs);
  g_test_add_func ("/planner/blocks/lone-frees", test_lone_frees);
  g_test_add_func ("/planner/blocks/starts-empty", test_starts_empty);
  g_test_add_func ("/planner/blocks/start", test_start);
  g_test_add_func ("/planner/blocks/end", test_end);
  g_test_add_func ("/planner/blocks/giant", test_giant);
  g_test_add_func ("/planner/blocks/bound", test_bound);
  g_test_add_func ("/planner/blocks/nonsense", test_nonsense);
  g_test_add_func ("/planner/what-if/random", test_random);
  g_test_add_func ("/planner/what-if/loop", test_loop);
  return g_test_run ();
}
