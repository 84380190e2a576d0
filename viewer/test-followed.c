/*
 * A trace that our own library could have recorded, of a run that followed a plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/test-help.h"

#include "db/store.h"
#include "planner/planner.h"
#include "tests/ok.h"

#include <unistd.h>

/* Addresses as the driver gives them. */
#define POOL UINT64_C (0x7f0000000000)
#define EXTRA UINT64_C (0x7f8000000000)
#define POOL_BYTES (UINT64_C (40) << 20)
#define EXTRA_BYTES (UINT64_C (20) << 20)
#define MIB (UINT64_C (1) << 20)
#define N_LAYERS 6

typedef struct
{
  TesseraTrace *trace;
  int64_t now_ns;
  uint16_t stream;
} Run;

static void
add (Run *run, TesseraAction action, uint64_t addr, uint64_t size_bytes)
{
  TesseraEvent event = { .addr = addr,
                         .size_bytes = size_bytes,
                         .at_ns = run->now_ns += 1000,
                         .stack = TESSERA_NONE,
                         .stream = run->stream,
                         .action = (uint8_t) action };

  OK (tessera_trace_add_event (run->trace, &event));
}

static void
drop (Run *run, uint64_t addr, uint64_t size_bytes)
{
  add (run, TESSERA_FREE_REQUESTED, addr, size_bytes);
  add (run, TESSERA_FREE_COMPLETED, addr, size_bytes);
}

static void
set_meta (Run *run, const char *key, uint64_t number)
{
  g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT, number);

  OK (tessera_trace_set_meta (run->trace, key, text));
}

/* Activations come and go in the pool; in the last step one block more, which the plan
 * does not know, and a small one, lie outside. */
static void
add_step (Run *run, bool has_misses)
{
  uint32_t begin = (uint32_t) run->trace->n_events;
  TesseraRange range = { .begin_index = begin,
                         .kind = TESSERA_RANGE_STEP,
                         .parent = TESSERA_NONE };

  for (uint64_t i = 0; i < N_LAYERS; i++)
    add (run, TESSERA_ALLOC, POOL + (16 + 4 * i) * MIB, 4 * MIB);
  if (has_misses)
    {
      add (run, TESSERA_SEGMENT_ALLOC, EXTRA, EXTRA_BYTES);
      add (run, TESSERA_ALLOC, EXTRA, 12 * MIB);
      add (run, TESSERA_ALLOC, EXTRA + 12 * MIB, MIB);
      drop (run, EXTRA, 12 * MIB);
    }
  for (uint64_t i = N_LAYERS; i-- > 0;)
    drop (run, POOL + (16 + 4 * i) * MIB, 4 * MIB);
  if (has_misses)
    drop (run, EXTRA + 12 * MIB, MIB);
  range.end_index = (uint32_t) run->trace->n_events;
  OK (tessera_trace_intern (run->trace, "step", 4, &range.name));
  OK (tessera_trace_add_range (run->trace, &range));
}

/* A new file's path, and in @run a trace to be saved there by finish(). */
static char *
begin (Run *run, const char *pattern)
{
  char *path = NULL;
  int fd = g_file_open_tmp (pattern, &path, NULL);

  g_assert_cmpint (fd, >=, 0);
  close (fd);
  OK (tessera_trace_new (&run->trace));
  run->trace->has_addresses = run->trace->has_segments = true;
  run->trace->has_time = run->trace->starts_empty = true;
  return path;
}

static void
finish (Run *run, const char *path)
{
  WORKS (error, tessera_trace_save (run->trace, path, NULL, &error));
  tessera_trace_free (run->trace);
}

char *
test_followed_path (void)
{
  Run run = { NULL, 0, 0 };
  char *path = begin (&run, "followed-XXXXXX.tsr");

  OK (tessera_trace_set_meta (run.trace, "policy", "plan"));
  OK (tessera_trace_set_meta (run.trace, "plan_source", "train.tsp"));
  set_meta (&run, "plan_pool_addr", POOL);
  set_meta (&run, "plan_pool_bytes", POOL_BYTES);
  add (&run, TESSERA_SEGMENT_ALLOC, POOL, POOL_BYTES);
  add (&run, TESSERA_ALLOC, POOL, 16 * MIB); /* weights */
  for (int step = 0; step < 4; step++)
    add_step (&run, step == 2);
  tessera_trace_settle_ranges (run.trace);
  finish (&run, path);
  return path;
}

char *
test_turns_path (void)
{
  Run run = { NULL, 0, 0 };
  char *path = begin (&run, "turns-XXXXXX.tsr");

  for (int turn = 0; turn < 2; turn++)
    {
      if (turn == 1)
        OK (tessera_trace_add_stream (run.trace, 7, &run.stream));
      add (&run, TESSERA_SEGMENT_ALLOC, POOL, POOL_BYTES);
      add (&run, TESSERA_ALLOC, POOL, POOL_BYTES);
      drop (&run, POOL, POOL_BYTES);
      add (&run, TESSERA_SEGMENT_FREE, POOL, POOL_BYTES);
    }
  finish (&run, path);
  return path;
}
