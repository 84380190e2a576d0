/*
 * Tests of running a trace again: what is drawn must be what happened.
 *
 * Made-up traces of several streams, with late completions, run under every policy; what
 * the layout says is worked out again from its blocks and spans, event by event.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/simulate.h"

#include <glib.h>

#include "simulator/made-trace.h"
#include "simulator/verdict.h"
#include "tests/fail_alloc.h"

#define MIB ((uint64_t) 1 << 20)
#define SEED 20260613

static void
add_event (TesseraTrace *trace,
           uint8_t action,
           uint64_t addr,
           uint64_t size_bytes,
           uint16_t stream)
{
  TesseraEvent event = { .action = action,
                         .addr = addr,
                         .size_bytes = size_bytes,
                         .stream = stream,
                         .stack = TESSERA_NONE };

  g_assert_cmpint (tessera_trace_add_event (trace, &event), ==, TESSERA_OK);
}

typedef struct
{
  uint64_t addr, size_bytes;
  uint16_t stream;
} Live;

static uint64_t
random_size (GRand *rand)
{
  switch (g_rand_int_range (rand, 0, 4))
    {
    case 0:
      return (uint64_t) g_rand_int_range (rand, 1, 4096);
    case 1:
      return (uint64_t) g_rand_int_range (rand, 1, 40) * MIB;
    default:
      return (uint64_t) g_rand_int_range (rand, 1, 3 * (gint32) MIB);
    }
}

/* @late: one free in so many waits for a while before it completes; 0: none. */
static TesseraTrace *
make_trace (guint n_calls, guint n_streams, guint late, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (GArray) live = g_array_new (FALSE, FALSE, sizeof (Live));
  g_autoptr (GArray) waiting = g_array_new (FALSE, FALSE, sizeof (Live));
  TesseraTrace *trace;
  uint64_t next_addr = 512;

  g_assert_cmpint (tessera_trace_new (&trace), ==, TESSERA_OK);
  trace->alignment_bytes = 512;
  trace->starts_empty = true;
  for (guint s = 1; s < n_streams; s++)
    {
      uint16_t stream;

      g_assert_cmpint (tessera_trace_add_stream (trace, 1000 + s, &stream), ==,
                       TESSERA_OK);
    }
  for (guint i = 0; i < n_calls; i++)
    {
      if (waiting->len > 0 && g_rand_int_range (rand, 0, 12) == 0)
        {
          Live block = g_array_index (waiting, Live, 0);

          add_event (trace, TESSERA_FREE_COMPLETED, block.addr, block.size_bytes,
                     block.stream);
          g_array_remove_index (waiting, 0);
        }
      if (live->len < 30 || (live->len < 200 && g_rand_boolean (rand)))
        {
          Live block = { .addr = next_addr,
                         .size_bytes = random_size (rand),
                         .stream =
                             (uint16_t) g_rand_int_range (rand, 0, (gint32) n_streams) };

          next_addr += 512;
          g_array_append_val (live, block);
          add_event (trace, TESSERA_ALLOC, block.addr, block.size_bytes, block.stream);
        }
      else
        {
          guint at = (guint) g_rand_int_range (rand, 0, (gint32) live->len);
          Live block = g_array_index (live, Live, at);

          g_array_remove_index (live, at);
          add_event (trace, TESSERA_FREE_REQUESTED, block.addr, block.size_bytes,
                     block.stream);
          if (late > 0 && g_rand_int_range (rand, 0, (gint32) late) == 0)
            g_array_append_val (waiting, block);
          else
            add_event (trace, TESSERA_FREE_COMPLETED, block.addr, block.size_bytes,
                       block.stream);
        }
    }
  return trace;
}

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
} Case;

static Case
case_new (TesseraTrace *trace)
{
  Case c = { .trace = trace };

  g_assert_cmpint (tessera_blocks_new (trace, &c.blocks), ==, TESSERA_OK);
  g_assert_cmpint (tessera_structure_new (trace, c.blocks, &c.structure), ==, TESSERA_OK);
  return c;
}

static void
case_clear (Case *c)
{
  tessera_structure_free (c->structure);
  tessera_blocks_free (c->blocks);
  tessera_trace_free (c->trace);
}

static TesseraLayout *
simulate (const Case *c, const TesseraSimulateOptions *options)
{
  TesseraLayout *layout;
  TesseraError error = { 0 };
  TesseraStatus status =
      tessera_simulate (c->trace, c->blocks, c->structure, options, &error, &layout);

  if (status != TESSERA_OK)
    g_test_message ("%s", error.text);
  g_assert_cmpint (status, ==, TESSERA_OK);
  return layout;
}

/* Every slot on top of the one before: wasteful, and never wrong. */
static TesseraPlan *
stack_plan (const Case *c)
{
  TesseraPlan *plan = g_new0 (TesseraPlan, 1);

  plan->alignment_bytes = 512;
  plan->n_slots = c->blocks->n_blocks;
  plan->slots = g_new0 (TesseraSlot, plan->n_slots);
  plan->n_sections = 1;
  plan->sections = g_new0 (TesseraSection, 1);
  plan->sections[0] =
      (TesseraSection){ .end = c->blocks->n_events, .n_slots = (uint32_t) plan->n_slots };
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraBlock *block = &c->blocks->blocks[i];

      plan->slots[i] = (TesseraSlot){ .size_bytes = block->size_bytes,
                                      .block_bytes = block->block_bytes,
                                      .offset_bytes = plan->height_bytes,
                                      .born = block->born_index,
                                      .died = block->died_index,
                                      .phase = TESSERA_NONE,
                                      .stream = block->stream };
      plan->height_bytes += block->block_bytes;
    }
  return plan;
}

static void
stack_plan_free (TesseraPlan *plan)
{
  g_free (plan->slots);
  g_free (plan->sections);
  g_free (plan);
}

static bool
spans_hold (const TesseraLayout *layout, uint32_t at, uint64_t addr, uint64_t size_bytes)
{
  uint64_t held = 0;

  for (size_t i = 0; i < layout->n_spans; i++)
    {
      const TesseraSpan *span = &layout->spans[i];
      uint64_t begin = MAX (span->addr, addr);
      uint64_t end = MIN (span->addr + span->size_bytes, addr + size_bytes);

      if (span->born_index <= at && at < span->died_index && begin < end)
        held += end - begin;
    }
  return held == size_bytes;
}

/* The figures after one event, from the plain arrays. */
static void
check_moment (const Case *c, const TesseraLayout *layout, uint32_t at)
{
  g_autoptr (GArray) alive = g_array_new (FALSE, FALSE, sizeof (size_t));
  uint64_t live = 0, allocated = 0, active = 0, reserved = 0;
  TesseraParts parts;

  for (size_t i = 0; i < layout->n_blocks; i++)
    {
      const TesseraBlock *block = &c->blocks->blocks[i];

      if (block->born_index > at || layout->died_index[i] <= at ||
          layout->addr[i] == TESSERA_NOWHERE)
        continue;
      active += layout->block_bytes[i];
      if (block->freed_index > at)
        {
          live += block->size_bytes;
          allocated += layout->block_bytes[i];
        }
      g_assert_true (spans_hold (layout, at, layout->addr[i], layout->block_bytes[i]));
      for (guint k = 0; k < alive->len; k++)
        {
          size_t other = g_array_index (alive, size_t, k);

          g_assert_true (layout->addr[other] + layout->block_bytes[other] <=
                             layout->addr[i] ||
                         layout->addr[i] + layout->block_bytes[i] <= layout->addr[other]);
        }
      g_array_append_val (alive, i);
    }
  for (size_t i = 0; i < layout->n_spans; i++)
    if (layout->spans[i].born_index <= at && at < layout->spans[i].died_index)
      reserved += layout->spans[i].size_bytes;
  g_assert_cmpuint (layout->curves.live_bytes[at], ==, live);
  g_assert_cmpuint (layout->curves.allocated_bytes[at], ==, allocated);
  g_assert_cmpuint (layout->curves.active_bytes[at], ==, active);
  g_assert_cmpuint (layout->curves.reserved_bytes[at], ==, reserved);

  g_assert_cmpint (tessera_parts_at (c->trace, c->blocks, layout, at, &parts), ==,
                   TESSERA_OK);
  g_assert_cmpuint (parts.reserved_bytes, ==, reserved);
  g_assert_cmpuint (parts.live_bytes, ==, live);
  g_assert_cmpuint (parts.rounding_bytes, ==, allocated - live);
  g_assert_cmpuint (parts.pending_bytes, ==, active - allocated);
  g_assert_cmpuint (parts.live_bytes + parts.rounding_bytes + parts.pending_bytes +
                        parts.other_stream_bytes + parts.hard_bytes + parts.soft_bytes +
                        parts.cache_bytes,
                    ==, reserved);
}

static void
check_layout (const Case *c, const TesseraLayout *layout, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  uint64_t peak = 0;

  for (guint i = 0; i < 60; i++)
    check_moment (c, layout,
                  (uint32_t) g_rand_int_range (rand, 0, (gint32) layout->n_events));
  for (uint32_t e = 0; e < layout->n_events; e++)
    peak = MAX (peak, layout->curves.reserved_bytes[e]);
  g_assert_cmpuint (layout->peak_reserved_bytes, ==, peak);
  g_assert_cmpuint (layout->curves.reserved_bytes[layout->peak_reserved_index], ==, peak);
  for (size_t i = 1; i < layout->n_spans; i++)
    g_assert_cmpuint (layout->spans[i - 1].born_index, <=, layout->spans[i].born_index);
}

static void
test_policies (void)
{
  g_test_message ("seed %d", SEED);
  for (guint k = 0; k < 6; k++)
    {
      Case c = case_new (make_trace (3000, 1 + k % 3, k < 3 ? 0 : 8, SEED + k));
      TesseraPlan *plan = stack_plan (&c);
      uint64_t peak = 0;

      for (int kind = TESSERA_LAYOUT_NATIVE; kind <= TESSERA_LAYOUT_PLAN; kind++)
        {
          TesseraSimulateOptions options = {
            .kind = kind, .plan = plan, .first_step = -1, .last_step = -1
          };
          TesseraLayout *layout = simulate (&c, &options);

          check_layout (&c, layout, SEED + k);
          g_assert_cmpuint (layout->n_ooms, ==, 0);
          if (kind == TESSERA_LAYOUT_PLAN)
            {
              g_assert_cmpuint (layout->n_misses, ==, 0);
              g_assert_cmpuint (layout->n_hits, ==, c.blocks->n_blocks);
              g_assert_cmpuint (layout->peak_reserved_bytes, ==, plan->height_bytes);
            }
          if (kind == TESSERA_LAYOUT_NATIVE)
            peak = layout->peak_live_bytes;
          g_assert_cmpuint (layout->peak_live_bytes, ==, peak);
          tessera_layout_free (layout);
        }
      stack_plan_free (plan);
      case_clear (&c);
    }
}

/* On a device that is too small some requests fail, and the rest is still right. */
static void
test_small_device (void)
{
  Case c = case_new (make_trace (3000, 2, 8, SEED));

  for (int kind = TESSERA_LAYOUT_NATIVE; kind <= TESSERA_LAYOUT_EXPANDABLE; kind++)
    {
      TesseraSimulateOptions options = { .kind = kind };
      TesseraLayout *endless = simulate (&c, &options);
      TesseraLayout *layout;
      size_t n_nowhere = 0;

      options.device_bytes = endless->peak_live_bytes * 3 / 4;
      layout = simulate (&c, &options);
      check_layout (&c, layout, SEED);
      g_assert_cmpuint (layout->n_ooms, >, 0);
      g_assert_cmpuint (layout->n_retries, >, 0);
      g_assert_cmpuint (layout->peak_reserved_bytes, <=, options.device_bytes);
      for (size_t i = 0; i < layout->n_blocks; i++)
        n_nowhere += layout->addr[i] == TESSERA_NOWHERE;
      g_assert_cmpuint (n_nowhere, ==, layout->n_ooms);
      for (size_t i = 0; i < layout->n_ooms; i++)
        {
          uint32_t at = layout->ooms[i].event_index;

          g_assert_cmpuint (layout->ooms[i].free_at_driver_bytes, ==,
                            options.device_bytes - layout->curves.reserved_bytes[at]);
        }
      tessera_layout_free (layout);
      tessera_layout_free (endless);
    }
  case_clear (&c);
}

/* Nothing has room for it; the sentence names the file. */
static void
test_fits_nowhere (void)
{
  TesseraTrace *trace;
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_NATIVE };
  TesseraError error = { 0 };
  uint64_t device_bytes;
  Case c;

  g_assert_cmpint (tessera_trace_new (&trace), ==, TESSERA_OK);
  g_assert_cmpint (tessera_trace_set_source (trace, "odd.csv"), ==, TESSERA_OK);
  add_event (trace, TESSERA_ALLOC, 512, INT64_MAX, 0);
  add_event (trace, TESSERA_ALLOC, 1024, INT64_MAX, 0);
  c = case_new (trace);
  g_assert_cmpint (
      tessera_fit (c.trace, c.blocks, c.structure, &options, &error, &device_bytes), ==,
      TESSERA_REFUSED);
  g_assert_true (g_str_has_prefix (error.text, "odd.csv: no device is large enough"));
  case_clear (&c);
}

static void
test_fit (void)
{
  for (guint k = 0; k < 3; k++)
    {
      Case c = case_new (make_trace (1500, 1 + k, k == 2 ? 8 : 0, SEED + k));
      TesseraPlan *plan = stack_plan (&c);

      for (int kind = TESSERA_LAYOUT_NATIVE; kind <= TESSERA_LAYOUT_PLAN; kind++)
        {
          TesseraSimulateOptions options = {
            .kind = kind, .plan = plan, .first_step = -1, .last_step = -1
          };
          TesseraError error = { 0 };
          TesseraLayout *layout;

          g_assert_cmpint (tessera_fit (c.trace, c.blocks, c.structure, &options, &error,
                                        &options.device_bytes),
                           ==, TESSERA_OK);
          layout = simulate (&c, &options);
          g_assert_cmpuint (layout->n_ooms, ==, 0);
          if (kind == TESSERA_LAYOUT_PLAN)
            g_assert_cmpuint (options.device_bytes - plan->height_bytes, <, 2 * MIB);
          tessera_layout_free (layout);
          options.device_bytes -= 2 * MIB;
          layout = simulate (&c, &options);
          g_assert_cmpuint (layout->n_ooms, >, 0);
          tessera_layout_free (layout);
        }
      stack_plan_free (plan);
      case_clear (&c);
    }
}

/* The parts of a layout small enough to work out by hand. */
static void
test_three_blocks (void)
{
  TesseraTrace *trace;
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_NATIVE };
  TesseraLayout *layout;
  TesseraParts parts;
  Case c;

  /* A 20 MiB segment with three blocks; the middle one is freed, then 5 MiB are asked
     for, which fit at its end only. */
  g_assert_cmpint (tessera_trace_new (&trace), ==, TESSERA_OK);
  trace->alignment_bytes = 512;
  add_event (trace, TESSERA_ALLOC, 1, 6 * MIB - 100, 0);
  add_event (trace, TESSERA_ALLOC, 2, 4 * MIB, 0);
  add_event (trace, TESSERA_ALLOC, 3, 4 * MIB, 0);
  add_event (trace, TESSERA_FREE_REQUESTED, 2, 4 * MIB, 0);
  add_event (trace, TESSERA_FREE_COMPLETED, 2, 4 * MIB, 0);
  add_event (trace, TESSERA_ALLOC, 4, 5 * MIB, 0);
  add_event (trace, TESSERA_ALLOC, 5, 100, 0);
  c = case_new (trace);
  layout = simulate (&c, &options);
  g_assert_cmpuint (layout->n_spans, ==, 2);
  g_assert_cmpuint (layout->spans[0].size_bytes, ==, 20 * MIB);
  g_assert_cmpuint (layout->addr[3] - layout->spans[0].addr, ==, 14 * MIB);
  g_assert_cmpuint (layout->block_bytes[0], ==, 6 * MIB);

  g_assert_cmpint (tessera_parts_at (trace, c.blocks, layout, 3, &parts), ==, TESSERA_OK);
  g_assert_cmpuint (parts.live_bytes, ==, 10 * MIB - 100);
  g_assert_cmpuint (parts.rounding_bytes, ==, 100);
  g_assert_cmpuint (parts.pending_bytes, ==, 4 * MIB);
  g_assert_cmpuint (parts.soft_bytes, ==, 6 * MIB);
  g_assert_cmpuint (parts.request_bytes, ==, 5 * MIB);
  g_assert_cmpuint (parts.largest_hole_bytes, ==, 6 * MIB);

  g_assert_cmpint (tessera_parts_at (trace, c.blocks, layout, 4, &parts), ==, TESSERA_OK);
  g_assert_cmpuint (parts.pending_bytes, ==, 0);
  g_assert_cmpuint (parts.hard_bytes, ==, 4 * MIB);
  g_assert_cmpuint (parts.soft_bytes, ==, 6 * MIB);

  /* The last request is a small one: the large segment's space is of no use to it. The
     block before kept its tail of 1 MiB. */
  g_assert_cmpint (tessera_parts_at (trace, c.blocks, layout, 6, &parts), ==, TESSERA_OK);
  g_assert_cmpuint (layout->block_bytes[3], ==, 6 * MIB);
  g_assert_cmpuint (parts.other_stream_bytes, ==, 4 * MIB);
  g_assert_cmpuint (parts.soft_bytes, ==, 2 * MIB - 512);
  g_assert_cmpuint (parts.hard_bytes, ==, 0);
  tessera_layout_free (layout);
  case_clear (&c);
}

static void
test_refusals (void)
{
  Case c = case_new (make_trace (10, 1, 0, SEED));
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_RECORDED };
  TesseraError error = { 0 };
  TesseraLayout *layout;

  g_assert_cmpint (tessera_simulate (c.trace, c.blocks, NULL, &options, &error, &layout),
                   ==, TESSERA_REFUSED);
  g_assert_null (layout);
  g_assert_cmpstr (error.text, !=, "");
  options.kind = TESSERA_LAYOUT_PLAN;
  g_assert_cmpint (tessera_simulate (c.trace, c.blocks, NULL, &options, NULL, &layout),
                   ==, TESSERA_INVALID);
  case_clear (&c);
}

/* Recordings of our own policy under all its settings: what is drawn of them is what they
 * say, from whichever moment they begin, and simulating the policy tells the same story.
 */
static void
test_recorded (void)
{
  for (guint32 seed = 1; seed <= 24; seed++)
    for (guint skip = 0; skip <= 400; skip += 400)
      {
        Case c = case_new (made_trace (seed, skip, 800));
        TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_RECORDED };
        TesseraLayout *layout = simulate (&c, &options);

        g_assert_cmpstr (layout->note, ==, "");
        check_layout (&c, layout, seed);
        tessera_layout_free (layout);
        options.device_bytes = c.trace->device_bytes;
        for (int kind = TESSERA_LAYOUT_NATIVE; kind <= TESSERA_LAYOUT_EXPANDABLE; kind++)
          {
            options.kind = kind;
            layout = simulate (&c, &options);
            check_layout (&c, layout, seed);
            tessera_layout_free (layout);
          }
        case_clear (&c);
      }
}

static TesseraTrace *
followed_trace (const char *policy, const char *pool_bytes)
{
  TesseraTrace *trace;

  g_assert_cmpint (tessera_trace_new (&trace), ==, TESSERA_OK);
  trace->has_addresses = trace->has_segments = trace->starts_empty = true;
  g_assert_cmpint (tessera_trace_set_meta (trace, "policy", policy), ==, TESSERA_OK);
  g_assert_cmpint (tessera_trace_set_meta (trace, "plan_pool_addr", "1048576"), ==,
                   TESSERA_OK);
  g_assert_cmpint (tessera_trace_set_meta (trace, "plan_pool_bytes", pool_bytes), ==,
                   TESSERA_OK);
  add_event (trace, TESSERA_SEGMENT_ALLOC, MIB, 4 * MIB, 0);
  add_event (trace, TESSERA_ALLOC, MIB, 700, 0);
  add_event (trace, TESSERA_ALLOC, 5 * MIB - 512, 512, 0);
  add_event (trace, TESSERA_SEGMENT_ALLOC, 5 * MIB, 2 * MIB, 0);
  add_event (trace, TESSERA_ALLOC, 5 * MIB, 1000, 0);
  add_event (trace, TESSERA_OOM, 0, 8 * MIB, 0);
  add_event (trace, TESSERA_FREE_COMPLETED, 9 * MIB, 512, 0); /* of unknown origin */
  return trace;
}

/* Each allocation of the host refused once: the same answer, and nothing kept. */
static void
check_faults (const Case *c, const TesseraSimulateOptions *options)
{
  long held = tessera_fail_alloc_held ();

  for (unsigned long nth = 1;; nth++)
    {
      TesseraLayout *layout;
      TesseraError error = { 0 };
      TesseraStatus status;

      tessera_fail_alloc_at (nth);
      status =
          tessera_simulate (c->trace, c->blocks, c->structure, options, &error, &layout);
      if (!tessera_fail_alloc_stop ())
        {
          g_assert_cmpint (status, ==, TESSERA_OK);
          g_assert_cmpuint (nth, >, 10);
          tessera_layout_free (layout);
          break;
        }
      g_assert_cmpint (status, ==, TESSERA_NO_MEMORY);
      g_assert_cmpstr (error.text, !=, "");
      g_assert_null (layout);
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
    }
  g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
}

static void
test_faults (void)
{
  Case c = case_new (make_trace (300, 2, 8, SEED));
  TesseraPlan *plan = stack_plan (&c);
  TesseraSimulateOptions options = { .plan = plan, .first_step = -1, .last_step = -1 };
  TesseraLayout *layout;
  long held;

  for (int kind = TESSERA_LAYOUT_NATIVE; kind <= TESSERA_LAYOUT_PLAN; kind++)
    {
      options.kind = kind;
      check_faults (&c, &options);
    }
  layout = simulate (&c, &options);
  held = tessera_fail_alloc_held ();
  for (unsigned long nth = 1; nth <= 2; nth++)
    {
      TesseraParts parts;

      tessera_fail_alloc_at (nth);
      g_assert_cmpint (tessera_parts_at (c.trace, c.blocks, layout, 100, &parts), ==,
                       TESSERA_NO_MEMORY);
      g_assert_true (tessera_fail_alloc_stop ());
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
    }
  tessera_layout_free (layout);
  /* A recording of the same: the file's word for what lies where. */
  c.trace->has_addresses = c.trace->has_segments = true;
  options.kind = TESSERA_LAYOUT_RECORDED;
  check_faults (&c, &options);
  stack_plan_free (plan);
  case_clear (&c);
}

/* What a recording says of the plan that it followed. */
static void
test_followed (void)
{
  static const struct
  {
    const char *policy, *pool_bytes, *device;
  } others[] = { { "native", "4194304", NULL },
                 { "plan", "4194304x", NULL },
                 { "plan", "-4194304", NULL },
                 { "plan", "99999999999999999999", NULL },
                 { "plan", "4194304", "3" } };
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_RECORDED };
  Case c = case_new (followed_trace ("plan", "4194304"));
  TesseraLayout *layout = simulate (&c, &options);

  g_assert_cmpuint (layout->pool_bytes, ==, 4 * MIB);
  g_assert_cmpuint (layout->n_hits, ==, 2);
  g_assert_cmpuint (layout->n_misses, ==, 1);
  g_assert_cmpuint (layout->miss_bytes, ==, 1000);
  g_assert_true (layout->spans[0].is_plan_pool);
  g_assert_false (layout->spans[1].is_plan_pool);
  for (size_t i = 0; i < c.blocks->n_blocks; i++)
    g_assert_cmpint (layout->is_hit[i], ==, c.blocks->blocks[i].addr - MIB < 4 * MIB);
  tessera_layout_free (layout);
  check_faults (&c, &options);
  case_clear (&c);
  for (size_t i = 0; i < G_N_ELEMENTS (others); i++)
    {
      TesseraTrace *trace = followed_trace (others[i].policy, others[i].pool_bytes);

      if (others[i].device != NULL)
        g_assert_cmpint (tessera_trace_set_meta (trace, "plan_device", others[i].device),
                         ==, TESSERA_OK);
      c = case_new (trace);
      layout = simulate (&c, &options);
      g_assert_cmpuint (layout->pool_bytes + layout->n_hits + layout->n_misses, ==, 0);
      g_assert_null (layout->is_hit);
      tessera_layout_free (layout);
      case_clear (&c);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulator/simulate/three-blocks", test_three_blocks);
  g_test_add_func ("/simulator/simulate/policies", test_policies);
  g_test_add_func ("/simulator/simulate/small-device", test_small_device);
  g_test_add_func ("/simulator/simulate/fit", test_fit);
  g_test_add_func ("/simulator/simulate/fits-nowhere", test_fits_nowhere);
  g_test_add_func ("/simulator/simulate/refusals", test_refusals);
  g_test_add_func ("/simulator/simulate/recorded", test_recorded);
  g_test_add_func ("/simulator/simulate/followed", test_followed);
  g_test_add_func ("/simulator/simulate/faults", test_faults);
  return g_test_run ();
}
