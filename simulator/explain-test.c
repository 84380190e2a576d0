/*
 * Tests of why a block lies where it lies, against a search byte by byte; of what steps
 * keep, on traces of a few blocks a step: leaks, and what looks like one; and of traces
 * that no allocator would write: whatever they say, nothing breaks, and where a layout
 * comes of them its parts still sum up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/verdict.h"

#include <glib.h>
#include <string.h>

#include "simulator/simulate.h"
#include "tests/ok.h"
#include "tests/simulator/made-case.h"

#define SEED 20261121
#define MIB ((uint64_t) 1 << 20)
#define STEP_EVENTS 100
#define MOST_STEPS 40
#define SEED_HOSTILE 20260616

static bool
meet (const Case *c, const TesseraLayout *layout, uint32_t a, uint32_t b)
{
  return c->blocks->blocks[a].born_index < layout->died_index[b] &&
         c->blocks->blocks[b].born_index < layout->died_index[a];
}

/* Nothing but @block itself lies in [addr, addr + its bytes) during its life. */
static bool
is_free_at (const Case *c, const TesseraLayout *layout, uint32_t block, uint64_t addr)
{
  for (uint32_t i = 0; i < layout->n_blocks; i++)
    if (i != block && meet (c, layout, i, block) && layout->addr[i] != TESSERA_NOWHERE &&
        layout->addr[i] < addr + layout->block_bytes[block] &&
        addr < layout->addr[i] + layout->block_bytes[i])
      return false;
  return true;
}

static bool
contains (const uint32_t *list, size_t n, uint32_t block)
{
  for (size_t i = 0; i < n; i++)
    if (list[i] == block)
      return true;
  return false;
}

static void
check_neighbours (const Case *c,
                  const TesseraLayout *layout,
                  uint32_t block,
                  const TesseraPlaceReason *reason)
{
  for (uint32_t i = 0; i < layout->n_blocks; i++)
    {
      bool meets =
          i != block && layout->addr[i] != TESSERA_NOWHERE && meet (c, layout, i, block);

      g_assert_true (contains (reason->below, reason->n_below, i) ==
                     (meets && layout->addr[i] + layout->block_bytes[i] == reason->addr));
      g_assert_true (contains (reason->above, reason->n_above, i) ==
                     (meets && layout->addr[i] == reason->addr + reason->block_bytes));
    }
  for (size_t i = 1; i < reason->n_below; i++)
    g_assert_cmpuint (layout->block_bytes[reason->below[i - 1]], >=,
                      layout->block_bytes[reason->below[i]]);
}

static void
check_chain (const Case *c,
             const TesseraLayout *layout,
             const TesseraPlaceReason *reason,
             uint32_t block)
{
  for (size_t i = 0; i < reason->n_chain; i++)
    {
      g_assert_true (meet (c, layout, reason->chain[i], block));
      g_assert_cmpuint (layout->addr[reason->chain[i]] +
                            layout->block_bytes[reason->chain[i]],
                        ==, layout->addr[block]);
      block = reason->chain[i];
    }
}

static void
test_random (void)
{
  for (guint k = 0; k < 3; k++)
    {
      g_auto (Case) c = case_new (case_trace (250, 1 + k % 2, k == 2 ? 8 : 0, SEED + k));
      TesseraSimulateOptions options = { .kind = k == 1 ? TESSERA_LAYOUT_EXPANDABLE
                                                        : TESSERA_LAYOUT_NATIVE };
      g_autoptr (TesseraLayout) layout = case_simulate (&c, &options);
      guint n_lower = 0;

      for (uint32_t block = 0; block < layout->n_blocks; block++)
        {
          TesseraPlaceReason reason;

          g_assert_true (tessera_explain_place (c.blocks, layout, block, &reason));
          g_assert_cmpuint (reason.addr, ==, layout->addr[block]);
          g_assert_cmpuint (reason.base_addr, <=, reason.addr);
          check_neighbours (&c, layout, block, &reason);
          check_chain (&c, layout, &reason, block);
          uint64_t lowest = reason.base_addr;
          while (lowest < reason.addr && !is_free_at (&c, layout, block, lowest))
            lowest += 512;
          g_assert_cmpuint (reason.lower_addr, ==, lowest);
          n_lower += reason.lower_addr < reason.addr;
          tessera_place_reason_clear (&reason);
        }
      g_assert_cmpuint (n_lower, >, 0); /* the search was put to the test */
    }
}

static void
test_failed (void)
{
  TesseraTrace *trace;
  TesseraEvent oom = { .action = TESSERA_OOM,
                       .size_bytes = 1 << 20,
                       .stack = TESSERA_NONE };
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_NATIVE };
  TesseraPlaceReason reason;

  OK (tessera_trace_new (&trace));
  trace->alignment_bytes = 512;
  case_add_event (trace, TESSERA_ALLOC, 512, 512, 0);
  OK (tessera_trace_add_event (trace, &oom));
  g_auto (Case) c = case_new (trace);
  g_autoptr (TesseraLayout) layout = case_simulate (&c, &options);
  g_assert_cmpuint (layout->n_blocks, ==, 2);
  g_assert_false (tessera_explain_place (c.blocks, layout, 2, &reason));
  layout->addr[1] = TESSERA_NOWHERE;
  g_assert_false (tessera_explain_place (c.blocks, layout, 1, &reason));
}

/* What a program keeps of its steps, a block of each. */
typedef struct
{
  uint64_t bytes;
  uint64_t more_bytes; /* by so much each, times up to 12, steps differ */
  uint32_t first_step, end_step;
  uint32_t n_steps; /* so long it is kept; 0: for good, */
  uint32_t until;   /* or until a multiple of so many steps */
  uint32_t stack;
  uint32_t stack_end; /* steps before this one have their stacks; 0: all */
} Keep;

/* Of all steps, and of the first one alone: the optimizer's state. */
#define OUTPUTS .bytes = 64 * MIB, .end_step = MOST_STEPS, .stack = 7
#define STATE .bytes = 500 * MIB, .end_step = 1, .stack = 3

static TesseraLeak
find_leak (uint32_t n_steps, const Keep keeps[4])
{
  TesseraStep steps[MOST_STEPS];
  TesseraBlock all[MOST_STEPS * 4];
  TesseraStructure structure = { .steps = steps, .n_steps = n_steps };
  TesseraBlocks blocks = { .blocks = all, .n_events = n_steps * STEP_EVENTS };
  const TesseraTrace trace = { .n_stacks = 0 };

  for (uint32_t step = 0; step < n_steps; step++)
    {
      steps[step] = (TesseraStep){ .begin_index = step * STEP_EVENTS,
                                   .end_index = (step + 1) * STEP_EVENTS };
      for (uint32_t i = 0; i < 4; i++)
        {
          const Keep *keep = &keeps[i];
          uint64_t bytes = keep->bytes + step * 7 % 13 * keep->more_bytes;
          uint32_t born = step * STEP_EVENTS + i, end = blocks.n_events;
          bool has_stack =
              keep->stack > 0 && (keep->stack_end == 0 || step < keep->stack_end);
          uint32_t n_kept =
              keep->until > 0 ? keep->until - step % keep->until : keep->n_steps;

          if (bytes == 0 || step < keep->first_step || step >= keep->end_step)
            continue;
          if (n_kept > 0)
            end = MIN (end, born + n_kept * STEP_EVENTS);
          all[blocks.n_blocks++] =
              (TesseraBlock){ .size_bytes = bytes,
                              .block_bytes = bytes,
                              .born_index = born,
                              .freed_index = end,
                              .died_index = end,
                              .stack = has_stack ? keep->stack : TESSERA_NONE,
                              .step = step };
        }
    }
  return tessera_leak_find (&trace, &blocks, &structure);
}

static void
test_leaks (void)
{
  static const struct
  {
    uint64_t step_mib;
    uint32_t stack; /* 0: none */
    uint32_t n_steps[4];
    Keep keeps[4];
  } cases[] = {
    { 0, 0, { 2 }, { { OUTPUTS }, { STATE } } }, /* nothing can be known yet */
    { 64, 7, { 3, 12, 40 }, { { OUTPUTS }, { STATE } } },
    { 64, 0, { 3, 12 }, { { .bytes = 64 * MIB, .end_step = MOST_STEPS }, { STATE } } },
    /* Only the first three steps were recorded with stacks. */
    { 64, 7, { 6, 12 }, { { OUTPUTS, .stack_end = 3 }, { STATE } } },
    /* Batches of other lengths, whose later steps nobody took stacks of. */
    { 46,
      7,
      { 40 },
      { { 40 * MIB, MIB, 0, MOST_STEPS, .stack = 7, .stack_end = 4 }, { STATE } } },
    /* Buckets are made anew in the second step. */
    { 0, 0, { 3, 12 }, { { STATE }, { 25 * MIB, 0, 1, 2, .stack = 4 } } },
    /* Experts that got their first token later get their state later. */
    { 0,
      0,
      { 3, 12 },
      { { STATE }, { STATE }, { STATE }, { 500 * MIB, 0, 1, 2, .stack = 3 } } },
    { 0, 0, { 3, 12 }, { { OUTPUTS, .n_steps = 1 } } },
    { 0, 0, { 40 }, { { OUTPUTS, .until = 5 } } }, /* Python's collector comes by */
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint k = 0; k < 4 && cases[i].n_steps[k] > 0; k++)
      {
        TesseraLeak leak = find_leak (cases[i].n_steps[k], cases[i].keeps);

        g_test_message ("case %u, %u steps", i, cases[i].n_steps[k]);
        g_assert_cmpuint (leak.step_bytes / MIB, ==, cases[i].step_mib);
        g_assert_cmpuint (leak.n_steps, ==, cases[i].n_steps[k]);
        g_assert_cmpuint (leak.stack, ==,
                          cases[i].stack != 0 ? cases[i].stack : TESSERA_NONE);
      }
}

static void
test_words (void)
{
  const struct
  {
    uint64_t step_bytes, needed_bytes, device_bytes;
    const char *text;
  } cases[] = {
    { 64 * MIB, 440 * MIB, 2990 * MIB,
      "Keeps 64.00 MiB more each step (train.py:6 main): dies at about step 43 of this "
      "device." },
    { 64 * MIB, 0, 0,
      "Keeps 64.00 MiB more each step (train.py:6 main), in each of the "
      "3 seen." },
    { 64 * MIB, 4000 * MIB, 3000 * MIB,
      "Keeps 64.00 MiB more each step (train.py:6 main)." },
    { 512, 440 * MIB, 2990 * MIB, NULL }, /* a list of losses: in 5 million steps */
    { 512, 0, 0, NULL },
    { 0, 440 * MIB, 2990 * MIB, NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      TesseraLeak leak = { .step_bytes = cases[i].step_bytes,
                           .kept_bytes = 2 * cases[i].step_bytes,
                           .n_steps = 3,
                           .stack = 7,
                           .line = "train.py:6 main" };
      g_autofree char *text =
          tessera_leak_describe (&leak, cases[i].needed_bytes, cases[i].device_bytes);

      g_assert_cmpstr (text, ==, cases[i].text);
    }
}

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
      TesseraParts p = tessera_parts_at (trace, blocks, layout, e);
      TesseraVerdict verdict;

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
test_hostile_random (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED_HOSTILE);
  guint n_layouts = 0;

  g_test_message ("seed %d", SEED_HOSTILE);
  for (guint i = 0; i < N_TRACES; i++)
    {
      g_autoptr (TesseraTrace) trace = make_trace (rand);
      g_autoptr (TesseraBlocks) blocks = tessera_blocks_new (trace);

      for (int kind = TESSERA_LAYOUT_RECORDED; kind <= TESSERA_LAYOUT_EXPANDABLE; kind++)
        {
          const TesseraSimulateOptions options = { .kind = kind,
                                                   .device_bytes = trace->device_bytes };
          TesseraError error = { 0 };
          g_autoptr (TesseraLayout) layout = NULL;
          TesseraStatus status =
              tessera_simulate (trace, blocks, NULL, &options, &error, &layout);

          if (status == TESSERA_OK)
            {
              check_layout (trace, blocks, layout);
              n_layouts++;
            }
          else
            g_assert_cmpstr (error.text, !=, "");
        }
    }
  g_test_message ("%u layouts of %u", n_layouts, 3 * N_TRACES);
  g_assert_cmpuint (n_layouts, >, N_TRACES);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulator/explain/random", test_random);
  g_test_add_func ("/simulator/explain/failed", test_failed);
  g_test_add_func ("/leak/leaks", test_leaks);
  g_test_add_func ("/leak/words", test_words);
  g_test_add_func ("/simulator/hostile/random", test_hostile_random);
  return g_test_run ();
}
