/*
 * Traces that no allocator would write: whatever they say, nothing breaks, and where a
 * layout comes of them its parts still sum up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "simulator/simulate.h"
#include "simulator/verdict.h"
#include "tests/ok.h"

#define SEED 20260616

enum
{
  N_TRACES = 3000,
  N_EVENTS = 60
};

static uint64_t
strange_number (GRand *rand)
{
  static const uint64_t numbers[] = { 0,
                                      1,
                                      511,
                                      512,
                                      1 << 20,
                                      (1 << 20) + 1,
                                      2 << 20,
                                      20 << 20,
                                      (uint64_t) 1 << 60,
                                      (uint64_t) 1 << 63,
                                      UINT64_MAX - 511,
                                      UINT64_MAX };

  if (g_rand_int_range (rand, 0, 8) == 0)
    return numbers[g_rand_int_range (rand, 0, G_N_ELEMENTS (numbers))];
  return (uint64_t) g_rand_int_range (rand, 0, 64) << 19;
}

static void
add_state (GRand *rand, TesseraHeld *held)
{
  for (guint i = 0; i < 4; i++)
    {
      const TesseraSegment segment = { .addr = (uint64_t) (i + 1) << 24,
                                       .size_bytes = strange_number (rand),
                                       .stream = (uint16_t) g_rand_int_range (rand, 0, 2),
                                       .is_small = g_rand_boolean (rand),
                                       .is_expandable = g_rand_boolean (rand) };
      const TesseraHeldBlock block = { .addr = segment.addr + 512 * i,
                                       .size_bytes = strange_number (rand),
                                       .block_bytes = strange_number (rand),
                                       .stack = TESSERA_NONE,
                                       .state = (uint8_t) g_rand_int_range (rand, 0, 3) };

      if (g_rand_boolean (rand))
        OK (tessera_trace_add_segment (held, &segment));
      if (g_rand_boolean (rand))
        OK (tessera_trace_add_block (held, &block));
    }
}

static TesseraTrace *
make_trace (GRand *rand)
{
  TesseraTrace *trace;
  uint16_t stream;

  OK (tessera_trace_new (&trace));
  OK (tessera_trace_add_stream (trace, 77, &stream));
  trace->alignment_bytes = g_rand_boolean (rand) ? 512 : 1;
  trace->has_addresses = trace->has_segments = true;
  trace->settings.is_expandable = g_rand_boolean (rand);
  trace->device_bytes = g_rand_boolean (rand) ? strange_number (rand) : 0;
  trace->limit_bytes = g_rand_int_range (rand, 0, 4) == 0 ? strange_number (rand) : 0;
  if (g_rand_boolean (rand))
    add_state (rand, &trace->start);
  for (guint i = 0; i < N_EVENTS; i++)
    {
      const TesseraEvent event = { .addr = strange_number (rand),
                                   .size_bytes = strange_number (rand),
                                   .stack = TESSERA_NONE,
                                   .stream = (uint16_t) g_rand_int_range (rand, 0, 2),
                                   .action = (uint8_t) g_rand_int_range (rand, 1, 11) };

      OK (tessera_trace_add_event (trace, &event));
    }
  return trace;
}

static void
check_layout (const TesseraTrace *trace,
              const TesseraBlocks *blocks,
              const TesseraLayout *layout)
{
  for (uint32_t e = 0; e < layout->n_events; e += 7)
    {
      TesseraParts p;
      TesseraVerdict verdict;

      p = tessera_parts_at (trace, blocks, layout, e);
      g_assert_cmpuint (p.live_bytes + p.rounding_bytes + p.pending_bytes +
                            p.new_segment_bytes + p.other_stream_bytes +
                            p.other_size_bytes + p.hard_bytes + p.soft_bytes +
                            p.cache_bytes,
                        ==, p.reserved_bytes);
      tessera_verdict (trace, layout, &p, NULL, &verdict);
      g_assert_cmpstr (verdict.headline, !=, "");
      g_assert_true (g_utf8_validate (verdict.sentence, -1, NULL));
    }
}

static void
test_random (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  guint n_layouts = 0;

  g_test_message ("seed %d", SEED);
  for (guint i = 0; i < N_TRACES; i++)
    {
      TesseraTrace *trace = make_trace (rand);
      TesseraBlocks *blocks;

      blocks = tessera_blocks_new (trace);
      for (int kind = TESSERA_LAYOUT_RECORDED; kind <= TESSERA_LAYOUT_EXPANDABLE; kind++)
        {
          const TesseraSimulateOptions options = { .kind = kind,
                                                   .device_bytes = trace->device_bytes };
          TesseraError error = { 0 };
          TesseraLayout *layout;
          TesseraStatus status =
              tessera_simulate (trace, blocks, NULL, &options, &error, &layout);

          if (status == TESSERA_OK)
            {
              check_layout (trace, blocks, layout);
              n_layouts++;
            }
          else
            g_assert_cmpstr (error.text, !=, "");
          tessera_layout_free (layout);
        }
      tessera_blocks_free (blocks);
      tessera_trace_free (trace);
    }
  g_test_message ("%u layouts of %u", n_layouts, 3 * N_TRACES);
  g_assert_cmpuint (n_layouts, >, N_TRACES);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulator/hostile/random", test_random);
  return g_test_run ();
}
