/*
 * How fast a trace is run again: a million allocations under each policy.
 *
 * Prints processor time, also as a multiple of what the same requests cost with the C
 * library's malloc() and free(), which makes machines comparable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <stdlib.h>
#include <time.h>

#include "simulator/simulate.h"
#include "simulator/verdict.h"

#define MIB ((uint64_t) 1 << 20)

enum
{
  N_STEPS = 200,
  N_LAYERS = 50,
  N_PER_LAYER = 100, /* half are kept for the backward pass */
};

static double
seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static void
add (TesseraTrace *trace, uint8_t action, uint64_t addr, uint64_t size_bytes)
{
  const TesseraEvent event = {
    .action = action, .addr = addr, .size_bytes = size_bytes, .stack = TESSERA_NONE
  };

  if (tessera_trace_add_event (trace, &event) != TESSERA_OK)
    g_error ("no memory");
}

static void
add_free (TesseraTrace *trace, uint64_t addr, uint64_t size_bytes)
{
  add (trace, TESSERA_FREE_REQUESTED, addr, size_bytes);
  add (trace, TESSERA_FREE_COMPLETED, addr, size_bytes);
}

static uint64_t
size_of (guint k)
{
  return k % 5 == 0 ? 512 * (k + 1) : (k % 13 + 1) * MIB / 2;
}

/* Steps of forward and backward; one size in each step is its own. */
static TesseraTrace *
make_trace (void)
{
  TesseraTrace *trace;
  uint64_t addr = 512;

  if (tessera_trace_new (&trace) != TESSERA_OK)
    g_error ("no memory");
  trace->alignment_bytes = 512;
  trace->starts_empty = true;
  for (guint s = 0; s < N_STEPS; s++)
    {
      uint64_t first = addr;

      for (guint k = 0; k < N_LAYERS * N_PER_LAYER; k++, addr += 512)
        {
          uint64_t size = k == 7 ? (s % 9 + 1) * MIB : size_of (k % N_PER_LAYER);

          add (trace, TESSERA_ALLOC, addr, size);
          if (k % 2 == 1)
            add_free (trace, addr, size);
        }
      for (guint k = N_LAYERS * N_PER_LAYER; k-- > 0;)
        if (k % 2 == 0)
          add_free (trace, first + 512 * k, size_of (k % N_PER_LAYER));
    }
  return trace;
}

static double
time_malloc (const TesseraTrace *trace, const TesseraBlocks *blocks)
{
  g_autofree void **at = g_new0 (void *, blocks->n_blocks);
  double begin = seconds ();

  for (size_t e = 0; e < trace->n_events; e++)
    {
      uint32_t b = blocks->block_of_event[e];

      if (trace->events[e].action == TESSERA_ALLOC)
        at[b] = malloc (1 + trace->events[e].size_bytes % 1024);
      else if (trace->events[e].action == TESSERA_FREE_COMPLETED)
        free (g_steal_pointer (&at[b]));
    }
  return seconds () - begin;
}

static TesseraPlan
stack_plan (const TesseraBlocks *blocks)
{
  TesseraPlan plan = { .alignment_bytes = 512,
                       .n_slots = blocks->n_blocks,
                       .n_sections = 1 };

  plan.slots = g_new0 (TesseraSlot, plan.n_slots);
  plan.sections = g_new0 (TesseraSection, 1);
  plan.sections[0].n_slots = (uint32_t) plan.n_slots;
  for (size_t i = 0; i < plan.n_slots; i++)
    {
      plan.slots[i] = (TesseraSlot){ .block_bytes = blocks->blocks[i].block_bytes,
                                     .offset_bytes = plan.height_bytes,
                                     .born = blocks->blocks[i].born_index,
                                     .died = blocks->blocks[i].died_index,
                                     .phase = TESSERA_NONE };
      plan.height_bytes += blocks->blocks[i].block_bytes;
    }
  return plan;
}

int
main (void)
{
  static const char *const names[] = { "recorded", "native", "expandable", "plan" };
  TesseraTrace *trace = make_trace ();
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraPlan plan;
  double base;

  blocks = tessera_blocks_new (trace);
  structure = tessera_structure_new (trace, blocks);
  plan = stack_plan (blocks);
  base = time_malloc (trace, blocks);
  g_print ("%zu allocations, %zu events; malloc and free: %.3f s\n", blocks->n_blocks,
           trace->n_events, base);
  for (int kind = TESSERA_LAYOUT_NATIVE; kind <= TESSERA_LAYOUT_PLAN; kind++)
    {
      const TesseraSimulateOptions options = {
        .kind = kind, .plan = &plan, .first_step = -1, .last_step = -1
      };
      TesseraError error = { 0 };
      TesseraLayout *layout;
      double begin = seconds ();
      double taken;

      if (tessera_simulate (trace, blocks, structure, &options, &error, &layout) !=
          TESSERA_OK)
        g_error ("%s", error.text);
      taken = seconds () - begin;
      begin = seconds ();
      tessera_parts_at (trace, blocks, layout, layout->n_events / 2);
      g_print (
          "%-10s %.3f s, %.1f M events/s, %.1f x malloc; parts of one moment %.2f ms\n",
          names[kind], taken, (double) trace->n_events / taken / 1e6, taken / base,
          1e3 * (seconds () - begin));
      tessera_layout_free (layout);
    }
  g_free (plan.slots);
  g_free (plan.sections);
  tessera_structure_free (structure);
  tessera_blocks_free (blocks);
  tessera_trace_free (trace);
  return 0;
}
