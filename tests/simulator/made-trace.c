/*
 * The recordings of made-trace.h.
 *
 * Order of entries as in PyTorch: frees that completed are noticed at the start of a
 * request; a flush waits for the rest; the request itself comes last.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/ok.h"
#include "tests/simulator/made-trace.h"

#include "tests/allocator/made-options.h"
#include "allocator/virtual.h"

typedef struct
{
  GRand *rand;
  TesseraTrace *trace;
  TesseraVirtual device;
  TesseraCaching *caching;
  GArray *live;    /* TesseraEvent: their allocations */
  GArray *pending; /* TesseraEvent: in the order of their frees */
  bool is_recording;
} Recorder;

static void
record (Recorder *recorder, const TesseraEvent *event)
{
  if (recorder->is_recording)
    OK (tessera_trace_add_event (recorder->trace, event));
}

static void
on_memory (Recorder *recorder, TesseraAction action, const TesseraSegment *memory)
{
  const TesseraEvent event = { .action = (uint8_t) action,
                               .addr = memory->addr,
                               .size_bytes = memory->size_bytes,
                               .stack = TESSERA_NONE,
                               .stream = memory->stream,
                               .pool = memory->pool };

  record (recorder, &event);
}

static void
on_came (void *user, const TesseraSegment *memory)
{
  on_memory (user, memory->is_expandable ? TESSERA_SEGMENT_MAP : TESSERA_SEGMENT_ALLOC,
             memory);
}

static void
on_went (void *user, const TesseraSegment *memory)
{
  on_memory (user, memory->is_expandable ? TESSERA_SEGMENT_UNMAP : TESSERA_SEGMENT_FREE,
             memory);
}

static TesseraEvent
take_from (GArray *events, guint i)
{
  TesseraEvent event = g_array_index (events, TesseraEvent, i);

  g_array_remove_index (events, i);
  return event;
}

static void
complete (Recorder *recorder, guint i)
{
  TesseraEvent event = take_from (recorder->pending, i);

  event.action = TESSERA_FREE_COMPLETED;
  record (recorder, &event);
  OK (tessera_caching_free_completed (recorder->caching, event.addr));
}

static void
complete_all (void *user)
{
  Recorder *recorder = user;

  while (recorder->pending->len > 0)
    complete (recorder, 0);
}

static void
do_free (Recorder *recorder)
{
  gint32 n = (gint32) recorder->live->len;
  TesseraEvent event =
      take_from (recorder->live, (guint) g_rand_int_range (recorder->rand, 0, n));

  event.action = TESSERA_FREE_REQUESTED;
  record (recorder, &event);
  OK (tessera_caching_free_requested (recorder->caching, event.addr));
  g_array_append_val (recorder->pending, event);
  if (made_happens (recorder->rand, 0.75))
    complete (recorder, recorder->pending->len - 1);
}

static void
do_malloc (Recorder *recorder)
{
  TesseraEvent event = { .action = TESSERA_ALLOC, .stack = TESSERA_NONE };
  TesseraGrant grant;

  while (recorder->pending->len > 0 && made_happens (recorder->rand, 0.3))
    complete (recorder, 0);
  event.size_bytes = made_request_bytes (recorder->rand);
  event.stream = (uint16_t) made_stream (recorder->rand);
  event.pool = (uint16_t) made_pool (recorder->rand);
  TesseraStatus status = tessera_caching_malloc (recorder->caching, event.size_bytes,
                                                 event.stream, event.pool, &grant);
  event.addr = grant.addr;
  if (status == TESSERA_OK)
    g_array_append_val (recorder->live, event);
  else
    {
      g_assert_cmpint (status, ==, TESSERA_OUT_OF_DEVICE);
      event.action = TESSERA_OOM;
      event.size_bytes =
          tessera_round_size (&recorder->trace->settings, event.size_bytes);
    }
  record (recorder, &event);
}

/* So that no window holds two calls: a call that leaves a mark follows. */
static void
do_empty_cache (Recorder *recorder)
{
  tessera_caching_empty_cache (recorder->caching);
  if (recorder->live->len > 0)
    do_free (recorder);
  else
    do_malloc (recorder);
}

static void
do_operation (Recorder *recorder)
{
  double kind = g_rand_double (recorder->rand);

  if (kind < 0.02)
    do_empty_cache (recorder);
  else if (kind < 0.03)
    tessera_caching_release_pool (
        recorder->caching, (uint32_t) g_rand_int_range (recorder->rand, 1, MADE_N_POOLS));
  else if (kind < 0.49 && recorder->live->len > 0)
    do_free (recorder);
  else
    do_malloc (recorder);
}

static void
hold_block (void *user, const TesseraBlockInfo *info)
{
  g_array_append_val ((GArray *) user, *info);
}

static int
compare_by_address (gconstpointer a, gconstpointer b)
{
  uint64_t left = ((const TesseraBlockInfo *) a)->addr;
  uint64_t right = ((const TesseraBlockInfo *) b)->addr;

  return (left > right) - (left < right);
}

/* The state as a snapshot lists it; at the start without the free blocks. */
static void
hold (const TesseraCaching *caching, bool is_start, TesseraHeld *held)
{
  g_autoptr (GArray) blocks = g_array_new (FALSE, FALSE, sizeof (TesseraBlockInfo));
  TesseraSegment segment = { 0 };
  uint64_t segment_addr = 0;

  tessera_caching_each (caching, hold_block, blocks);
  g_array_sort (blocks, compare_by_address);
  for (guint i = 0; i < blocks->len; i++)
    {
      const TesseraBlockInfo *info = &g_array_index (blocks, TesseraBlockInfo, i);
      const TesseraHeldBlock block = { .addr = info->addr,
                                       .size_bytes = info->size_bytes,
                                       .block_bytes = info->block_bytes,
                                       .state = (uint8_t) info->state,
                                       .stack = TESSERA_NONE };

      if (info->segment_addr != segment_addr ||
          segment.addr + segment.size_bytes != info->addr)
        {
          if (segment.size_bytes > 0)
            OK (tessera_trace_add_segment (held, &segment));
          segment_addr = info->segment_addr;
          segment = (TesseraSegment){ .addr = info->addr,
                                      .stream = (uint16_t) info->stream,
                                      .pool = (uint16_t) info->pool,
                                      .is_small = info->is_small,
                                      .is_expandable = info->is_expandable,
                                      .stack = TESSERA_NONE };
        }
      segment.size_bytes += info->block_bytes;
      if (!is_start || info->state != TESSERA_BLOCK_FREE)
        OK (tessera_trace_add_block (held, &block));
    }
  if (segment.size_bytes > 0)
    OK (tessera_trace_add_segment (held, &segment));
}

static void
begin (Recorder *recorder, guint32 seed, bool is_from_the_middle)
{
  const TesseraObserver observer = { on_came, on_went, .user = recorder };
  TesseraCachingOptions options;
  uint16_t index;

  *recorder = (Recorder){ .rand = g_rand_new_with_seed (seed) };
  recorder->live = g_array_new (FALSE, FALSE, sizeof (TesseraEvent));
  recorder->pending = g_array_new (FALSE, FALSE, sizeof (TesseraEvent));
  made_options (recorder->rand, &options);
  /* No file says how old the segments are that were there before. */
  if (is_from_the_middle)
    options.settings.oldest_segment_first = false;
  OK (tessera_trace_new (&recorder->trace));
  recorder->trace->settings = options.settings;
  recorder->trace->limit_bytes = options.limit_bytes;
  recorder->trace->device_bytes = made_device_bytes (recorder->rand);
  recorder->trace->has_addresses = recorder->trace->has_segments = true;
  for (guint i = 0; i < MADE_N_STREAMS; i++)
    OK (tessera_trace_add_stream (recorder->trace, options.stream_handles[i], &index));
  for (guint i = 1; i < MADE_N_POOLS; i++)
    OK (tessera_trace_add_pool (recorder->trace, (TesseraPoolId){ i, 0 }, &index));
  tessera_virtual_init (&recorder->device, recorder->trace->device_bytes);
  recorder->device.synchronize = complete_all;
  recorder->device.user = recorder;
  OK (tessera_caching_new (&options, &recorder->device.device, &observer,
                           &recorder->caching));
}

TesseraTrace *
made_trace (guint32 seed, guint skip, guint n_operations)
{
  Recorder recorder;

  begin (&recorder, seed, skip > 0);
  for (guint i = 0; i < n_operations; i++)
    {
      if (i == skip)
        {
          recorder.is_recording = true;
          hold (recorder.caching, true, &recorder.trace->start);
        }
      do_operation (&recorder);
    }
  hold (recorder.caching, false, &recorder.trace->end);
  tessera_caching_free (recorder.caching);
  g_array_unref (recorder.live);
  g_array_unref (recorder.pending);
  g_rand_free (recorder.rand);
  return recorder.trace;
}
