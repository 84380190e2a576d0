/*
 * Traces for tests of db/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/db/test-traces.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "tests/db/test-random.h"
#include "tests/ok.h"

static void
fill_names (TesseraTrace *trace, GRand *random)
{
  uint32_t string, frame, frames[40], stack;
  uint16_t index;

  for (uint32_t i = 0; i < 50; i++)
    {
      g_autofree char *text =
          g_strdup_printf ("%s%u", i % 7 ? "f\xc3\xbcnf " : "'\"%", i);

      OK (tessera_trace_intern (trace, i ? text : "", i ? strlen (text) : 0, &string));
    }
  OK (tessera_trace_intern (trace, "not \xff UTF-8", 11, &string));
  for (int i = 0; i < 60; i++)
    OK (tessera_trace_add_frame (
        trace,
        &(TesseraFrame){ .name = test_any_index (random, 50),
                         .file = test_any_index (random, 50),
                         .line = (int64_t) test_any_64 (random) },
        &frame));
  OK (tessera_trace_add_stack (trace, NULL, 0, &stack));
  for (int i = 0; i < 100; i++)
    {
      size_t n_frames = test_below (random, G_N_ELEMENTS (frames));

      for (size_t k = 0; k < n_frames; k++) /* outer calls are mostly shared */
        frames[n_frames - 1 - k] =
            k < n_frames / 2 ? (uint32_t) k : test_below (random, 40);
      OK (tessera_trace_add_stack (trace, frames, n_frames, &stack));
    }
  for (int i = 0; i < 5; i++)
    {
      OK (tessera_trace_add_stream (trace, test_any_64 (random), &index));
      OK (tessera_trace_add_pool (
          trace, (TesseraPoolId){ test_any_64 (random), test_any_64 (random) }, &index));
    }
}

static void
fill_held (TesseraTrace *trace, TesseraHeld *held, GRand *random)
{
  size_t n = test_below (random, 30);

  for (size_t i = 0; i < n; i++)
    {
      OK (tessera_trace_add_segment (
          held,
          &(TesseraSegment){ .addr = test_any_64 (random),
                             .size_bytes = test_any_bytes (random),
                             .stack = test_any_index (random, trace->n_stacks),
                             .stream = (uint16_t) test_below (random, trace->n_streams),
                             .pool = (uint16_t) test_below (random, trace->n_pools),
                             .is_small = test_below (random, 2),
                             .is_expandable = test_below (random, 2) }));
      OK (tessera_trace_add_block (
          held, &(TesseraHeldBlock){ .addr = test_any_64 (random),
                                     .size_bytes = test_any_bytes (random),
                                     .block_bytes = test_any_bytes (random),
                                     .stack = test_any_index (random, trace->n_stacks),
                                     .state = (uint8_t) test_below (random, 3),
                                     .tail_open = (uint8_t) test_below (random, 2) }));
    }
}

static void
fill_ranges (TesseraTrace *trace, GRand *random)
{
  size_t n = test_below (random, 40);

  for (size_t i = 0; i < n; i++)
    {
      uint32_t begin = test_below (random, trace->n_events + 1);
      uint32_t end = begin + test_below (random, trace->n_events - begin + 1);

      OK (tessera_trace_add_range (
          trace, &(TesseraRange){
                     .name = test_any_index (random, tessera_trace_n_strings (trace)),
                     .begin_index = begin,
                     .end_index = end,
                     .begin_ns = (int64_t) test_any_64 (random),
                     .end_ns = (int64_t) test_any_64 (random),
                     .kind = (uint8_t) test_below (random, 4),
                     .is_inferred = (uint8_t) test_below (random, 2) }));
    }
  tessera_trace_settle_ranges (trace);
}

static void
fill_tensors (TesseraTrace *trace, GRand *random)
{
  uint32_t event_index = 0;

  for (size_t n = 2 + test_below (random, 40); n > 0; n--)
    {
      event_index += test_below (random, trace->n_events - event_index + 1);
      OK (tessera_trace_add_tensor (
          trace,
          &(TesseraTensor){ .event_index = event_index,
                            .name = test_below (random, tessera_trace_n_strings (trace)),
                            .addr = test_any_64 (random),
                            .kind = (uint8_t) (1 + test_below (random, 4)) }));
    }
}

static void
fill_facts (TesseraTrace *trace, GRand *random)
{
  TesseraSettings *settings = &trace->settings;

  OK (tessera_trace_set_source (trace, "/somewhere/a name.pickle"));
  OK (tessera_trace_set_meta (trace, "zeta", "1"));
  OK (tessera_trace_set_meta (trace, "alpha", ""));
  trace->device = test_any_index (random, 8);
  if (trace->device == TESSERA_NONE)
    trace->device = TESSERA_NONE - 1;
  for (uint32_t i = 0; i < 3; i++)
    OK (tessera_trace_add_device (
        trace, &(TesseraDeviceInfo){ .device = i % 2,
                                     .n_events = test_any_bytes (random),
                                     .n_segments = test_any_bytes (random) }));
  settings->max_split_bytes =
      test_below (random, 2) ? UINT64_MAX : test_any_bytes (random);
  settings->max_non_split_rounding_bytes = test_any_bytes (random);
  settings->large_segment_bytes = test_any_bytes (random);
  settings->garbage_collection_threshold = g_rand_double (random);
  for (size_t i = 0; i < G_N_ELEMENTS (settings->roundup_divisions); i++)
    settings->roundup_divisions[i] = g_rand_int (random);
  settings->is_expandable = test_below (random, 2);
  trace->device_bytes = test_any_bytes (random);
  trace->limit_bytes = test_any_bytes (random);
  trace->alignment_bytes = 1U << test_below (random, 10);
  trace->has_addresses = test_below (random, 2);
  trace->has_segments = test_below (random, 2);
  trace->has_time = test_below (random, 2);
  trace->starts_empty = test_below (random, 2);
}

TesseraTrace *
test_trace_new (uint32_t seed, size_t n_events)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  TesseraTrace *trace = NULL;

  OK (tessera_trace_new (&trace));
  fill_names (trace, random);
  fill_facts (trace, random);
  for (size_t i = 0; i < n_events; i++)
    OK (tessera_trace_add_event (
        trace,
        &(TesseraEvent){ .addr = test_any_64 (random),
                         .size_bytes = test_any_bytes (random),
                         .at_ns = (int64_t) test_any_64 (random),
                         .stack = test_any_index (random, trace->n_stacks),
                         .stream = (uint16_t) test_below (random, trace->n_streams),
                         .pool = (uint16_t) test_below (random, trace->n_pools),
                         .action = (uint8_t) (1 + test_below (random, TESSERA_MARK)),
                         .pool_known = (uint8_t) test_below (random, 2),
                         .is_left = i % 5 == 3 }));
  fill_held (trace, &trace->start, random);
  fill_held (trace, &trace->end, random);
  fill_ranges (trace, random);
  fill_tensors (trace, random);
  return trace;
}

/* Blocks that come and go in places far apart, of sizes of all scales; one place in three holds
 * its blocks for long. */
TesseraTrace *
test_trace_new_plausible (uint32_t seed, size_t n_events)
{
  enum
  {
    N_PLACES = 3000
  };
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  g_autofree uint64_t *sizes = g_new0 (uint64_t, N_PLACES);
  TesseraTrace *trace = NULL;

  OK (tessera_trace_new (&trace));
  while (trace->n_events + 2 <= n_events)
    {
      uint32_t place = test_below (random, N_PLACES);
      bool is_free = sizes[place] != 0;
      TesseraEvent event = { .addr = (UINT64_C (64) << 20) * place,
                             .size_bytes = sizes[place],
                             .stack = TESSERA_NONE,
                             .action = is_free ? TESSERA_FREE_REQUESTED : TESSERA_ALLOC };

      if (place % 3 == 0 && is_free && test_below (random, 20))
        continue;
      if (!is_free)
        event.size_bytes =
            1 + (g_rand_int (random) >> test_below (random, 25)) % (64 << 20);
      sizes[place] = is_free ? 0 : event.size_bytes;
      OK (tessera_trace_add_event (trace, &event));
      event.action = TESSERA_FREE_COMPLETED;
      if (is_free)
        OK (tessera_trace_add_event (trace, &event));
    }
  return trace;
}

static void
held_assert_equal (const TesseraHeld *a, const TesseraHeld *b)
{
  SAME (n_segments), SAME (n_blocks);
  for (size_t i = 0; i < a->n_segments; i++)
    SAME (segments[i].addr), SAME (segments[i].size_bytes), SAME (segments[i].stack),
        SAME (segments[i].stream), SAME (segments[i].pool), SAME (segments[i].is_small),
        SAME (segments[i].is_expandable);
  for (size_t i = 0; i < a->n_blocks; i++)
    SAME (blocks[i].addr), SAME (blocks[i].size_bytes), SAME (blocks[i].block_bytes),
        SAME (blocks[i].stack), SAME (blocks[i].state), SAME (blocks[i].tail_open);
}

static void
names_assert_equal (const TesseraTrace *a, const TesseraTrace *b)
{
  g_assert_cmpuint (tessera_trace_n_strings (a), ==, tessera_trace_n_strings (b));
  for (uint32_t i = 0; i < tessera_trace_n_strings (a); i++)
    g_assert_cmpstr (tessera_trace_string (a, i), ==, tessera_trace_string (b, i));
  SAME (n_frames), SAME (n_stacks), SAME (n_stack_frames), SAME (n_streams),
      SAME (n_pools);
  for (size_t i = 0; i < a->n_frames; i++)
    SAME (frames[i].name), SAME (frames[i].file), SAME (frames[i].line);
  SAME_ALL (stack_begin, a->n_stacks + 1);
  SAME_ALL (stack_frames, a->n_stack_frames);
  SAME_ALL (streams, a->n_streams);
  SAME_ALL (pools, a->n_pools);
}

static void
facts_assert_equal (const TesseraTrace *a, const TesseraTrace *b)
{
  SAME_TEXT (source);
  SAME (device), SAME (n_devices), SAME (n_meta);
  for (size_t i = 0; i < a->n_devices; i++)
    SAME (devices[i].device), SAME (devices[i].n_events), SAME (devices[i].n_segments);
  for (size_t i = 0; i < a->n_meta; i++)
    {
      SAME_TEXT (meta[i].key);
      SAME_TEXT (meta[i].value);
    }
  SAME (settings.max_split_bytes), SAME (settings.max_non_split_rounding_bytes),
      SAME (settings.large_segment_bytes), SAME (settings.is_expandable);
  g_assert_true (a->settings.garbage_collection_threshold ==
                 b->settings.garbage_collection_threshold);
  SAME_ALL (settings.roundup_divisions, G_N_ELEMENTS (a->settings.roundup_divisions));
  SAME (device_bytes), SAME (limit_bytes), SAME (alignment_bytes), SAME (has_addresses),
      SAME (has_segments), SAME (has_time), SAME (starts_empty);
}

void
test_traces_assert_equal (const TesseraTrace *a, const TesseraTrace *b)
{
  facts_assert_equal (a, b);
  names_assert_equal (a, b);
  SAME (n_events), SAME (n_ranges), SAME (n_tensors);
  for (size_t i = 0; i < a->n_events; i++)
    SAME (events[i].addr), SAME (events[i].size_bytes), SAME (events[i].at_ns),
        SAME (events[i].stack), SAME (events[i].stream), SAME (events[i].pool),
        SAME (events[i].action), SAME (events[i].pool_known), SAME (events[i].is_left);
  held_assert_equal (&a->start, &b->start);
  held_assert_equal (&a->end, &b->end);
  for (size_t i = 0; i < a->n_ranges; i++)
    SAME (ranges[i].name), SAME (ranges[i].begin_index), SAME (ranges[i].end_index),
        SAME (ranges[i].begin_ns), SAME (ranges[i].end_ns), SAME (ranges[i].parent),
        SAME (ranges[i].kind), SAME (ranges[i].is_inferred);
  for (size_t i = 0; i < a->n_tensors; i++)
    SAME (tensors[i].event_index), SAME (tensors[i].name), SAME (tensors[i].addr),
        SAME (tensors[i].kind);
  g_assert_cmphex (tessera_trace_fingerprint (a), ==, tessera_trace_fingerprint (b));
}
