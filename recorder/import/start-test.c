/*
 * Tests of the state at the start: a program of random requests is recorded from its middle
 * on; what it looked like then must be found again from its end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/recorder/imported.h"

#include <glib.h>
#include <string.h>

#include "tests/db/auto.h"
#include "tests/db/test-random.h"
#include "tests/db/trace-text.h"
#include "tests/simulator/made-trace.h"

#define N_BEFORE 300 /* operations before the recording */
#define N_OPERATIONS 800

static void
check_equal (const TesseraHeld *found, const TesseraHeld *truth, uint64_t *n_open)
{
  g_assert_cmpuint (found->n_segments, ==, truth->n_segments);
  for (size_t i = 0; i < truth->n_segments; i++)
    {
      const TesseraSegment *a = &found->segments[i], *b = &truth->segments[i];

      SAME (addr), SAME (size_bytes), SAME (stream), SAME (pool), SAME (is_expandable);
      if (!a->is_expandable) /* of unmapped pages it is a guess: test_class_of_pages() */
        SAME (is_small);
    }
  g_assert_cmpuint (found->n_blocks, ==, truth->n_blocks);
  for (size_t i = 0; i < truth->n_blocks; i++)
    {
      const TesseraHeldBlock *a = &found->blocks[i], *b = &truth->blocks[i];

      SAME (addr), SAME (size_bytes), SAME (state);
      *n_open += a->tail_open;
      /* A neighbour is either right behind a block or more than 1 MiB away: what is not
       * left open is exact. */
      if (a->tail_open)
        g_assert_cmpuint (b->block_bytes - a->block_bytes, <=, MIB);
      else
        g_assert_cmpuint (a->block_bytes, ==, b->block_bytes);
    }
}

/* Entries say their pool where memory of a private one was given back; the pools of all others
 * follow. */
static void
test_against_recordings (void)
{
  uint64_t n_blocks = 0, n_open = 0;

  for (guint32 seed = 1; seed <= 150; seed++)
    {
      g_autoptr (TesseraTrace) trace = made_trace (seed, N_BEFORE, N_OPERATIONS);
      g_autofree uint16_t *pools = g_new (uint16_t, trace->n_events);
      TesseraHeld truth = trace->start;

      g_test_message ("seed %u", seed);
      trace->start = (TesseraHeld){ 0 };
      for (size_t i = 0; i < trace->n_events; i++)
        {
          TesseraEvent *event = &trace->events[i];

          pools[i] = event->pool;
          event->pool_known = event->action == TESSERA_SEGMENT_UNMAP ||
                              (event->action == TESSERA_SEGMENT_FREE && event->pool > 0);
          event->pool = event->pool_known ? event->pool : 0;
        }
      tessera_rewind (trace);
      check_equal (&trace->start, &truth, &n_open);
      for (size_t i = 0; i < trace->n_events; i++)
        if (trace->events[i].action <= TESSERA_SEGMENT_UNMAP)
          g_assert_cmpuint (trace->events[i].pool, ==, pools[i]);
      n_blocks += truth.n_blocks;
      free (truth.segments);
      free (truth.blocks);
    }
  g_assert_cmpuint (n_blocks, >, 1000);
  g_assert_cmpuint (n_open, >, 10);
}

/* The example at the head of start.c. */
static void
test_tail (void)
{
  const uint64_t rounded = 5 * MIB + 512;
  TesseraTrace *trace =
      test_trace_of ("free B 5M+100; free_completed B+12M 2M; end segment B 20M;"
                     "end block B+5M+307712 2M 2M");

  tessera_rewind (trace);
  g_assert_cmpuint (trace->start.n_blocks, ==, 3);
  g_assert_cmpuint (trace->start.blocks[0].block_bytes, ==, rounded + 300 * 1024);
  g_assert_false (trace->start.blocks[0].tail_open);
  g_assert_cmpuint (trace->start.blocks[0].state, ==, TESSERA_BLOCK_LIVE);
  g_assert_cmpuint (trace->start.blocks[2].block_bytes, ==, 2 * MIB);
  g_assert_true (trace->start.blocks[2].tail_open);
  g_assert_cmpuint (trace->start.blocks[2].state, ==, TESSERA_BLOCK_PENDING);
  tessera_trace_free (trace);
}

/* A block older than the trace was rounded by the settings of the run, as any other. */
static void
test_rounding (void)
{
  g_autoptr (TesseraTrace) trace =
      test_trace_of ("free_completed B 307200; end segment B 2M small");

  for (size_t i = 0; i < G_N_ELEMENTS (trace->settings.roundup_divisions); i++)
    trace->settings.roundup_divisions[i] = 2;
  tessera_rewind (trace);
  g_assert_cmpuint (trace->start.n_blocks, ==, 1);
  g_assert_cmpuint (trace->start.blocks[0].block_bytes, ==, 384 * 1024);
}

/* A mapped range that does not say its pool has that of the nearest range of its size
 * class: next to a private pool's small pages, large ones are the default pool's. */
static void
test_pool_of_class (void)
{
  /* events of a range that nobody told the pool of */
  static const char *const events[] = { "segment_map B+40M 20M; segment_unmap B+40M 20M",
                                        "segment_map B+40M 2M; segment_unmap B+40M 2M" };

  for (uint16_t pool = 0; pool < 2; pool++)
    {
      g_autoptr (TesseraTrace) trace = test_trace_of (events[pool]);
      uint16_t id;

      OK (tessera_trace_add_pool (trace, (TesseraPoolId){ .user_id = 3 }, &id));
      test_tell (trace, "end segment B 2M small expandable pool");
      tessera_rewind (trace);
      for (size_t k = 0; k < trace->n_events; k++)
        g_assert_cmpuint (trace->events[k].pool, ==, pool);
    }
}

/* Pages that were unmapped serve what the nearest ones serve; where none are known, their size
 * says it: small requests map 2 MiB at a time. */
static void
test_class_of_pages (void)
{
  static const struct
  {
    const char *entries;
    bool is_small;
  } cases[] = {
    { "segment_unmap B+20M 20M; end segment B 2M small expandable", true },
    { "segment_unmap B+20M 20M; end segment B 20M expandable", false },
    { "segment_unmap B+20M 20M; segment_map B+60M 2M; segment_unmap B+60M 2M", true },
    { "segment_unmap B+20M 20M", false },
    { "segment_unmap B+20M 22M", true },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (TesseraTrace) trace = test_trace_of (cases[i].entries);
      const TesseraSegment *last;

      tessera_rewind (trace);
      g_assert_cmpuint (trace->start.n_segments, >, 0);
      last = &trace->start.segments[trace->start.n_segments - 1];
      g_assert_cmpint (last->is_small, ==, cases[i].is_small);
    }
}

/* An allocation and the end that differ in a block's size are counted, once each. */
static void
test_sizes_that_differ (void)
{
  TesseraTrace *trace =
      test_trace_of ("segment_alloc B 20M; alloc B 3M; alloc B+4M 3M; end segment B 20M;"
                     "end block B 2M 2M; end block B+4M 3M 3M");

  tessera_rewind (trace);
  g_assert_cmpstr (tessera_trace_get_meta (trace, "note.size_differs"), ==,
                   "1 sizes differ between entries and the end");
  tessera_trace_free (trace);
}

/* A free of another size than its allocation is counted, whichever of its two entries says
 * so and also where no segment is told of. */
static void
test_sizes_of_frees (void)
{
  static const struct
  {
    const char *frees, *says;
  } cases[] = { { "free_requested B 512; free_completed B 512", NULL },
                { "free_requested B 1024; free_completed B 1024",
                  "1 sizes differ between entries and the end" },
                { "free_requested B 1024; free_completed B 512",
                  "1 sizes differ between entries and the end" },
                { "free_requested B 512; free_completed B 1024",
                  "2 sizes differ between entries and the end" } };

  for (size_t i = 0; i < 2 * G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (TesseraTrace) trace = test_trace_of ("alloc B 512");

      test_tell (trace, cases[i / 2].frees);
      trace->has_segments = i % 2;
      tessera_rewind (trace);
      g_assert_cmpstr (tessera_trace_get_meta (trace, "note.size_differs"), ==,
                       cases[i / 2].says);
      g_assert_cmpstr (tessera_trace_get_meta (trace, "note.outside_segments"), ==,
                       i % 2 ? "1 frees or blocks lie in no segment" : NULL);
      g_assert_cmpuint (trace->start.n_blocks, ==, 0);
    }
}

/* The allocation of a block is recorded at a wrong address: the true one must not look
 * older than the trace, where something else lay before it. */
static void
test_wrong_address (void)
{
  g_autoptr (TesseraTrace) trace = test_trace_of (
      "alloc B+1024 512; free B+1024 512; alloc B+524288 2048; end segment B 2M small;"
      "end block B 2048 2048");

  tessera_rewind (trace);
  g_assert_cmpuint (trace->start.n_blocks, ==, 0);
  g_assert_nonnull (tessera_trace_get_meta (trace, "note.alloc_not_live"));
}

/* Entries that contradict the end in every way: the start is still in order. */
static void
test_nonsense (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (99);

  for (int round = 0; round < 200; round++)
    {
      TesseraTrace *trace;

      import_must (tessera_trace_new (&trace));
      trace->has_segments = true;
      for (int i = 0; i < 10; i++)
        {
          TesseraSegment segment = {
            .addr = (uint64_t) g_rand_int_range (random, 0, 64) * MIB,
            .size_bytes = (uint64_t) g_rand_int_range (random, 0, 40) * MIB,
            .is_expandable = g_rand_boolean (random),
          };
          TesseraHeldBlock block = {
            .addr = (uint64_t) g_rand_int_range (random, 0, 64) * MIB,
            .size_bytes = 5,
            .block_bytes = (uint64_t) g_rand_int_range (random, 0, 40) * MIB,
            .state = TESSERA_BLOCK_LIVE,
          };

          import_must (tessera_trace_add_segment (&trace->end, &segment));
          import_must (tessera_trace_add_block (&trace->end, &block));
        }
      for (int i = 0; i < 300; i++)
        {
          TesseraEvent event = {
            .addr = (uint64_t) g_rand_int_range (random, 0, 64) * MIB,
            .size_bytes = (uint64_t) g_rand_int_range (random, 0, 40) * MIB,
            .action =
                (uint8_t) g_rand_int_range (random, TESSERA_ALLOC, TESSERA_MARK + 1),
          };

          import_must (tessera_trace_add_event (trace, &event));
        }
      tessera_rewind (trace);
      test_start_is_sound (trace);
      tessera_trace_free (trace);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/start/against-recordings", test_against_recordings);
  g_test_add_func ("/start/tail", test_tail);
  g_test_add_func ("/start/rounding", test_rounding);
  g_test_add_func ("/start/pool-of-class", test_pool_of_class);
  g_test_add_func ("/start/class-of-pages", test_class_of_pages);
  g_test_add_func ("/start/sizes-that-differ", test_sizes_that_differ);
  g_test_add_func ("/start/sizes-of-frees", test_sizes_of_frees);
  g_test_add_func ("/start/wrong-address", test_wrong_address);
  g_test_add_func ("/start/nonsense", test_nonsense);
  return g_test_run ();
}
