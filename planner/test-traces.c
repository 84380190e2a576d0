/*
 * Small traces for the planner's tests: see test-traces.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/test-traces.h"

#include "tests/shared.h"

#include <string.h>

TesseraTrace *
test_trace_new (void)
{
  TesseraTrace *trace;

  OK (tessera_trace_new (&trace));
  OK (tessera_trace_set_source (trace, "made up"));
  return trace;
}

void
test_event (TesseraTrace *trace,
            TesseraAction action,
            uint64_t addr,
            uint64_t size_bytes,
            uint16_t stream)
{
  const TesseraEvent event = { .addr = addr,
                               .size_bytes = size_bytes,
                               .stack = TESSERA_NONE,
                               .stream = stream,
                               .action = (uint8_t) action };
  uint16_t index;

  while (trace->n_streams <= stream)
    OK (tessera_trace_add_stream (trace, 1000 + trace->n_streams, &index));
  OK (tessera_trace_add_event (trace, &event));
}

void
test_alloc (TesseraTrace *trace, uint64_t addr, uint64_t size_bytes)
{
  test_event (trace, TESSERA_ALLOC, addr, size_bytes, 0);
}

static void
free_on (TesseraTrace *trace, uint64_t addr, uint64_t size_bytes, uint16_t stream)
{
  test_event (trace, TESSERA_FREE_REQUESTED, addr, size_bytes, stream);
  test_event (trace, TESSERA_FREE_COMPLETED, addr, size_bytes, stream);
}

void
test_free (TesseraTrace *trace, uint64_t addr, uint64_t size_bytes)
{
  free_on (trace, addr, size_bytes, 0);
}

void
test_range (TesseraTrace *trace,
            TesseraRangeKind kind,
            const char *name,
            uint32_t begin_index,
            uint32_t end_index)
{
  TesseraRange range = { .begin_index = begin_index,
                         .end_index = end_index,
                         .begin_ns = begin_index,
                         .end_ns = end_index,
                         .parent = TESSERA_NONE,
                         .kind = (uint8_t) kind };

  OK (tessera_trace_intern (trace, name, strlen (name), &range.name));
  OK (tessera_trace_add_range (trace, &range));
}

void
test_step (TesseraTrace *trace, uint32_t s, uint32_t begin_index)
{
  g_autofree char *name = g_strdup_printf ("step %u", s);

  test_range (trace, TESSERA_RANGE_STEP, name, begin_index, (uint32_t) trace->n_events);
}

void
test_held (TesseraTrace *trace, uint64_t addr, uint64_t size_bytes, bool is_pending)
{
  const TesseraHeldBlock block = { .addr = addr,
                                   .size_bytes = size_bytes,
                                   .stack = TESSERA_NONE,
                                   .state = is_pending ? TESSERA_BLOCK_PENDING
                                                       : TESSERA_BLOCK_LIVE };

  OK (tessera_trace_add_block (&trace->start, &block));
}

TesseraTrace *
test_trace_random (uint32_t seed, size_t n_allocs, uint16_t n_streams)
{
  TesseraTrace *trace = test_trace_new ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (GArray) live = g_array_new (FALSE, FALSE, sizeof (TesseraEvent));

  for (size_t i = 0; i < n_allocs;)
    if (live->len == 0 || g_rand_int_range (rand, 0, 100) < 55)
      {
        TesseraEvent event = { .addr = (++i) << 20, .action = TESSERA_ALLOC };

        event.size_bytes = (uint64_t) g_rand_int_range (rand, 1, 64 * 512);
        event.stream = (uint16_t) g_rand_int_range (rand, 0, n_streams);
        g_array_append_val (live, event);
        test_event (trace, TESSERA_ALLOC, event.addr, event.size_bytes, event.stream);
      }
    else
      {
        guint k = (guint) g_rand_int_range (rand, 0, (gint32) live->len);
        const TesseraEvent event = g_array_index (live, TesseraEvent, k);

        free_on (trace, event.addr, event.size_bytes, event.stream);
        g_array_remove_index_fast (live, k);
      }
  return trace;
}

static uint32_t
now (const TesseraTrace *trace)
{
  return (uint32_t) trace->n_events;
}

TesseraTrace *
test_trace_loop (uint32_t n_steps, uint32_t n_layers, bool has_ranges)
{
  TesseraTrace *trace = test_trace_new ();
  const uint64_t parameter = 0x10000000, activation = 0x20000000, batch = 0x30000000;
  const uint64_t loss = 0x40000000, page = 1 << 20;

  for (uint32_t l = 0; l < n_layers; l++)
    test_alloc (trace, parameter + l * page, 4096 + 512 * l);
  for (uint32_t s = 0; s < n_steps; s++)
    {
      uint32_t begin = now (trace), forward, backward;

      test_alloc (trace, batch + s % 2 * page, 1000);
      if (s > 0)
        test_free (trace, batch + (s - 1) % 2 * page, 1000);
      forward = now (trace);
      for (uint32_t l = 0; l < n_layers; l++)
        {
          test_alloc (trace, activation + l * page, 8192 + 1024 * l);
          if (l == 1 && s > 0)
            test_free (trace, loss, 4);
        }
      test_alloc (trace, loss, 4);
      backward = now (trace);
      for (uint32_t l = n_layers; l-- > 0;)
        test_free (trace, activation + l * page, 8192 + 1024 * l);
      if (has_ranges)
        {
          test_step (trace, s, begin);
          test_range (trace, TESSERA_RANGE_PHASE, "forward", forward, backward);
          test_range (trace, TESSERA_RANGE_PHASE, "backward", backward, now (trace));
        }
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

TesseraTrace *
test_trace_shared (const char *path)
{
  return test_shared_trace (path);
}
