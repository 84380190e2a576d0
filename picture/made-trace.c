/*
 * A made-up training run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/made-trace.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#define MIB (UINT64_C (1) << 20)

typedef struct
{
  TesseraTrace *trace;
  uint64_t next_addr;
  int64_t now_ns;
} Run;

typedef struct
{
  uint64_t addr;
  uint64_t size_bytes;
} Tensor;

static void
add_event (Run *run, TesseraAction action, Tensor tensor, uint32_t stack)
{
  TesseraEvent event = { .addr = tensor.addr,
                         .size_bytes = tensor.size_bytes,
                         .at_ns = run->now_ns,
                         .stack = stack,
                         .action = (uint8_t) action };
  run->now_ns += 1000;
  g_assert_cmpint (tessera_trace_add_event (run->trace, &event), ==, TESSERA_OK);
}

static uint32_t
intern (Run *run, const char *text)
{
  uint32_t id;
  g_assert_cmpint (tessera_trace_intern (run->trace, text, strlen (text), &id), ==,
                   TESSERA_OK);
  return id;
}

static Tensor
take (Run *run, uint64_t size_bytes, const char *file, const char *function)
{
  TesseraFrame frames[2] = { { intern (run, "linear"),
                               intern (run, "/x/torch/nn/functional.py"), 12 },
                             { intern (run, function), intern (run, file), 7 } };
  uint32_t ids[2], stack;
  for (int i = 0; i < 2; i++)
    g_assert_cmpint (tessera_trace_add_frame (run->trace, &frames[i], &ids[i]), ==,
                     TESSERA_OK);
  g_assert_cmpint (tessera_trace_add_stack (run->trace, ids, 2, &stack), ==, TESSERA_OK);
  Tensor tensor = { run->next_addr, size_bytes };
  run->next_addr += (size_bytes + 2 * MIB) / 512 * 512;
  add_event (run, TESSERA_ALLOC, tensor, stack);
  return tensor;
}

static void
give (Run *run, Tensor tensor)
{
  add_event (run, TESSERA_FREE_REQUESTED, tensor, TESSERA_NONE);
  add_event (run, TESSERA_FREE_COMPLETED, tensor, TESSERA_NONE);
}

static uint32_t
now (const Run *run)
{
  return (uint32_t) run->trace->n_events;
}

static void
add_range (Run *run, const char *name, uint32_t begin, TesseraRangeKind kind)
{
  TesseraRange range = { .name = intern (run, name),
                         .begin_index = begin,
                         .end_index = now (run),
                         .begin_ns = begin * 1000,
                         .end_ns = run->now_ns,
                         .parent = TESSERA_NONE,
                         .kind = (uint8_t) kind };
  g_assert_cmpint (tessera_trace_add_range (run->trace, &range), ==, TESSERA_OK);
}

static void
forward (Run *run, Tensor *kept, uint64_t length)
{
  for (int layer = 0; layer < MADE_TRACE_LAYERS; layer++)
    {
      kept[layer] = take (run, 24 * length * MIB, "/x/model.py", "attention");
      Tensor inner[3];
      for (int i = 0; i < 3; i++)
        inner[i] =
            take (run, (16 + 8 * (uint64_t) i) * length * MIB, "/x/model.py", "mlp");
      for (int i = 0; i < 3; i++)
        give (run, inner[i]);
    }
}

static void
backward (Run *run, const Tensor *kept, Tensor *gradients, uint64_t length)
{
  for (int layer = MADE_TRACE_LAYERS - 1; layer >= 0; layer--)
    {
      Tensor again = take (run, 40 * length * MIB, "/x/model.py", "mlp");
      gradients[layer] = take (run, 160 * MIB, "/x/train.py", "backward");
      give (run, again);
      give (run, kept[layer]);
    }
}

/* Returns false once a request has failed. */
static bool
step (Run *run, int number, bool is_last)
{
  Tensor kept[MADE_TRACE_LAYERS], gradients[MADE_TRACE_LAYERS];
  uint64_t length = 2 + (uint64_t) number;
  uint32_t begin = now (run), part = begin;
  char name[32];
  forward (run, kept, length);
  Tensor logits = take (run, 900 * length * MIB, "/x/train.py", "loss");
  add_range (run, "forward", part, TESSERA_RANGE_PHASE);
  part = now (run);
  if (is_last)
    add_event (run, TESSERA_OOM, (Tensor){ 800 * MIB, 900 * length * MIB }, TESSERA_NONE);
  else
    {
      Tensor slope = take (run, 900 * length * MIB, "/x/train.py", "loss");
      give (run, logits);
      backward (run, kept, gradients, length);
      give (run, slope);
      add_range (run, "backward", part, TESSERA_RANGE_PHASE);
      part = now (run);
      for (int i = 0; i < MADE_TRACE_LAYERS; i++)
        give (run, gradients[i]);
      add_range (run, "optimizer", part, TESSERA_RANGE_PHASE);
    }
  snprintf (name, sizeof name, "step %d", number);
  add_range (run, name, begin, TESSERA_RANGE_STEP);
  return !is_last;
}

TesseraTrace *
made_trace_new (void)
{
  Run run = { .next_addr = UINT64_C (1) << 40 };
  g_assert_cmpint (tessera_trace_new (&run.trace), ==, TESSERA_OK);
  g_assert_cmpint (tessera_trace_set_source (run.trace, "made-up-training-run.pickle"),
                   ==, TESSERA_OK);
  run.trace->starts_empty = true;
  run.trace->has_time = true;
  run.trace->device_bytes = 10240 * MIB;
  for (int i = 0; i < MADE_TRACE_LAYERS; i++)
    take (&run, 160 * MIB, "/x/model.py", "__init__");
  for (int i = 0; step (&run, i, i == MADE_TRACE_STEPS - 1);)
    i++;
  tessera_trace_settle_ranges (run.trace);
  return run.trace;
}
