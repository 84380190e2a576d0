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

#include "tests/db/trace-text.h"
#include "tests/simulator/made-case.h"
#include "tests/simulator/made-trace.h"
#include "simulator/verdict.h"

#define SEED 20260613

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

static void
test_policies (void)
{
  g_test_message ("seed %d", SEED);
  for (guint k = 0; k < 6; k++)
    {
      g_auto (Case) c = case_new (case_trace (3000, 1 + k % 3, k < 3 ? 0 : 8, SEED + k));
      TesseraPlan *plan = stack_plan (&c);
      uint64_t peak = 0;

      for (int kind = TESSERA_LAYOUT_NATIVE; kind <= TESSERA_LAYOUT_PLAN; kind++)
        {
          TesseraSimulateOptions options = { .kind = kind, .plan = plan };
          g_autoptr (TesseraLayout) layout = case_simulate (&c, &options);

          case_check_layout (&c, layout, SEED + k);
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
        }
      stack_plan_free (plan);
    }
}

/* On a device that is too small some requests fail, and the rest is still right. */
static void
test_small_device (void)
{
  g_auto (Case) c = case_new (case_trace (3000, 2, 8, SEED));

  for (int kind = TESSERA_LAYOUT_NATIVE; kind <= TESSERA_LAYOUT_EXPANDABLE; kind++)
    {
      TesseraSimulateOptions options = { .kind = kind };
      g_autoptr (TesseraLayout) endless = case_simulate (&c, &options);
      size_t n_nowhere = 0;

      options.device_bytes = endless->peak_live_bytes * 3 / 4;
      g_autoptr (TesseraLayout) layout = case_simulate (&c, &options);
      case_check_layout (&c, layout, SEED);
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
    }
}

/* Nothing has room for it; the sentence names the file. */
static void
test_fits_nowhere (void)
{
  TesseraTrace *trace =
      test_trace_of ("alloc 512 9223372036854775807; alloc 1024 9223372036854775807");
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_NATIVE };
  TesseraError error = { 0 };
  TesseraNeed need;

  OK (tessera_trace_set_source (trace, "odd.csv"));
  g_auto (Case) c = case_new (trace);
  g_assert_cmpint (tessera_fit (c.trace, c.blocks, c.structure, &options, &error, &need),
                   ==, TESSERA_REFUSED);
  g_assert_true (g_str_has_prefix (error.text, "odd.csv: no device is large enough"));
}

static void
test_fit (void)
{
  for (guint k = 0; k < 3; k++)
    {
      g_auto (Case) c = case_new (case_trace (1500, 1 + k, k == 2 ? 8 : 0, SEED + k));
      TesseraPlan *plan = stack_plan (&c);

      for (int kind = TESSERA_LAYOUT_NATIVE; kind <= TESSERA_LAYOUT_PLAN; kind++)
        {
          TesseraSimulateOptions options = { .kind = kind, .plan = plan };
          TesseraError error = { 0 };
          TesseraLayout *layout = case_simulate (&c, &options);
          TesseraNeed need;

          OK (tessera_fit (c.trace, c.blocks, c.structure, &options, &error, &need));
          g_assert_cmpuint (need.endless_bytes, ==, layout->peak_reserved_bytes);
          tessera_layout_free (layout);
          options.device_bytes = need.smallest_bytes;
          layout = case_simulate (&c, &options);
          g_assert_cmpuint (layout->n_ooms, ==, 0);
          g_assert_cmpuint (need.retries, ==, layout->n_retries);
          if (kind == TESSERA_LAYOUT_PLAN)
            g_assert_cmpuint (options.device_bytes - plan->height_bytes, <, 2 * MIB);
          tessera_layout_free (layout);
          options.device_bytes -= 2 * MIB;
          layout = case_simulate (&c, &options);
          g_assert_cmpuint (layout->n_ooms, >, 0);
          tessera_layout_free (layout);
        }
      stack_plan_free (plan);
    }
}

/* Under a plan of another program most requests miss. What the run reserves with memory to
 * spare is then not always enough. */
static void
test_fit_of_other_plan (void)
{
  guint n_more = 0;

  for (guint k = 0; k < 24; k++)
    {
      g_auto (Case) c = case_new (case_trace (600, 1 + k % 3, 8 * (k % 2), SEED + k));
      g_auto (Case) other = case_new (case_trace (40 + 10 * k, 1, 0, SEED + 100 + k));
      TesseraPlan *plan = stack_plan (&other);
      TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_PLAN, .plan = plan };
      TesseraError error = { 0 };
      TesseraNeed need;

      OK (tessera_fit (c.trace, c.blocks, c.structure, &options, &error, &need));
      n_more += need.smallest_bytes > need.endless_bytes + 2 * MIB;
      options.device_bytes = need.smallest_bytes;
      g_autoptr (TesseraLayout) layout = case_simulate (&c, &options);
      g_assert_cmpuint (layout->n_ooms, ==, 0);
      g_assert_cmpuint (need.retries, ==, layout->n_retries);
      stack_plan_free (plan);
    }
  g_assert_cmpuint (n_more, >, 0);
}

/* The parts of a layout small enough to work out by hand. */
static void
test_three_blocks (void)
{
  /* A 20 MiB segment with three blocks; the middle one is freed, then 5 MiB are asked
     for, which fit at its end only. */
  TesseraTrace *trace = test_trace_of (
      "alloc 1 6M-100; alloc 2 4M; alloc 3 4M; free 2 4M; alloc 4 5M; alloc 5 100");
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_NATIVE };

  trace->has_addresses = trace->has_segments = false;
  g_auto (Case) c = case_new (trace);
  g_autoptr (TesseraLayout) layout = case_simulate (&c, &options);
  g_assert_cmpuint (layout->n_spans, ==, 2);
  g_assert_cmpuint (layout->spans[0].size_bytes, ==, 20 * MIB);
  g_assert_cmpuint (layout->addr[3] - layout->spans[0].addr, ==, 14 * MIB);
  g_assert_cmpuint (layout->block_bytes[0], ==, 6 * MIB);

  TesseraParts parts = tessera_parts_at (trace, c.blocks, layout, 3);
  g_assert_cmpuint (parts.live_bytes, ==, 10 * MIB - 100);
  g_assert_cmpuint (parts.rounding_bytes, ==, 100);
  g_assert_cmpuint (parts.pending_bytes, ==, 4 * MIB);
  g_assert_cmpuint (parts.soft_bytes, ==, 6 * MIB);
  g_assert_cmpuint (parts.request_bytes, ==, 5 * MIB);
  g_assert_cmpuint (parts.largest_hole_bytes, ==, 6 * MIB);

  parts = tessera_parts_at (trace, c.blocks, layout, 4);
  g_assert_cmpuint (parts.pending_bytes, ==, 0);
  g_assert_cmpuint (parts.hard_bytes, ==, 4 * MIB);
  g_assert_cmpuint (parts.soft_bytes, ==, 6 * MIB);

  /* The last request is a small one: the large segment's space is of no use to it. The
     block before kept its tail of 1 MiB. */
  parts = tessera_parts_at (trace, c.blocks, layout, 6);
  g_assert_cmpuint (layout->block_bytes[3], ==, 6 * MIB);
  g_assert_cmpuint (parts.other_size_bytes, ==, 4 * MIB);
  g_assert_cmpuint (parts.other_stream_bytes, ==, 0);
  g_assert_cmpuint (parts.soft_bytes, ==, 2 * MIB - 512);
  g_assert_cmpuint (parts.hard_bytes, ==, 0);
}

static void
test_refusals (void)
{
  g_auto (Case) c = case_new (case_trace (10, 1, 0, SEED));
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
        g_auto (Case) c = case_new (made_trace (seed, skip, 800));
        TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_RECORDED };
        TesseraLayout *layout = case_simulate (&c, &options);

        g_assert_cmpstr (layout->note, ==, "");
        case_check_layout (&c, layout, seed);
        tessera_layout_free (layout);
        options.device_bytes = c.trace->device_bytes;
        for (int kind = TESSERA_LAYOUT_NATIVE; kind <= TESSERA_LAYOUT_EXPANDABLE; kind++)
          {
            options.kind = kind;
            layout = case_simulate (&c, &options);
            case_check_layout (&c, layout, seed);
            tessera_layout_free (layout);
          }
      }
}

static TesseraTrace *
followed_trace (const char *policy, const char *pool_bytes)
{
  /* The last is of unknown origin. */
  TesseraTrace *trace = test_trace_of (
      "segment_alloc 1M 4M; alloc 1M 700; alloc 5M-512 512;"
      "segment_alloc 5M 2M; alloc 5M 1000; oom 0 8M; free_completed 9M 512");

  trace->starts_empty = true;
  OK (tessera_trace_set_meta (trace, "policy", policy));
  OK (tessera_trace_set_meta (trace, "plan_pool_addr", "1048576"));
  OK (tessera_trace_set_meta (trace, "plan_pool_bytes", pool_bytes));
  return trace;
}

/* Which misses were planned the events say; a hit is none. */
static void
test_left (void)
{
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_RECORDED };
  TesseraTrace *trace = followed_trace ("plan", "4194304");

  trace->events[1].is_left = trace->events[4].is_left = 1;
  g_auto (Case) c = case_new (trace);
  g_autoptr (TesseraLayout) layout = case_simulate (&c, &options);
  g_assert_cmpuint (layout->n_misses, ==, 1);
  g_assert_cmpuint (layout->n_planned_misses, ==, 1);
  g_assert_cmpuint (layout->planned_miss_bytes, ==, 1000);
  for (size_t i = 0; i < c.blocks->n_blocks; i++)
    g_assert_cmpuint (layout->is_left[i], ==, c.blocks->blocks[i].size_bytes == 1000);
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
  TesseraLayout *layout = case_simulate (&c, &options);

  g_assert_cmpuint (layout->pool_bytes, ==, 4 * MIB);
  g_assert_cmpuint (layout->n_hits, ==, 2);
  g_assert_cmpuint (layout->n_misses, ==, 1);
  g_assert_cmpuint (layout->miss_bytes, ==, 1000);
  g_assert_true (layout->spans[0].is_plan_pool);
  g_assert_false (layout->spans[1].is_plan_pool);
  for (size_t i = 0; i < c.blocks->n_blocks; i++)
    g_assert_cmpint (layout->is_hit[i], ==, c.blocks->blocks[i].addr - MIB < 4 * MIB);
  tessera_layout_free (layout);
  case_clear (&c);
  for (size_t i = 0; i < G_N_ELEMENTS (others); i++)
    {
      TesseraTrace *trace = followed_trace (others[i].policy, others[i].pool_bytes);

      if (others[i].device != NULL)
        OK (tessera_trace_set_meta (trace, "plan_device", others[i].device));
      c = case_new (trace);
      layout = case_simulate (&c, &options);
      g_assert_cmpuint (layout->pool_bytes + layout->n_hits + layout->n_misses, ==, 0);
      g_assert_null (layout->is_hit);
      tessera_layout_free (layout);
      case_clear (&c);
    }
}

/* The policy that keeps nothing gives back at each free. Nobody called empty_cache() for
 * that: natively the first block stays in the cache, where the second, larger, has no room. */
static void
test_direct (void)
{
  static const struct
  {
    const char *policy;
    uint64_t reserved_bytes;
  } ways[] = { { "direct", 40 * MIB }, { "native", 30 * MIB } };
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_NATIVE };

  for (size_t i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      TesseraTrace *trace =
          test_trace_of ("segment_alloc 100M 10M; alloc 100M 10M; free 100M 10M;"
                         "segment_free 100M 10M; segment_alloc 200M 30M; alloc 200M 30M");

      trace->starts_empty = true;
      trace->device_bytes = 1000 * MIB;
      OK (tessera_trace_set_meta (trace, "policy", ways[i].policy));
      g_auto (Case) c = case_new (trace);
      g_autoptr (TesseraLayout) layout = case_simulate (&c, &options);
      g_assert_cmpuint (layout->peak_reserved_bytes, ==, ways[i].reserved_bytes);
    }
}

/* From the event on at which it was declined nothing is the plan's any more, and what
 * goes of its pool was nobody's call. */
static void
test_declined (void)
{
  const struct
  {
    const char *key, *value;
  } meta[] = { { "policy", "plan" },
               { "plan_pool_addr", "1048576" },
               { "plan_pool_bytes", "7340032" },
               { "plan_declined", "8" } };
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_RECORDED };
  TesseraTrace *trace = test_trace_of (
      "segment_map 1M 7M; alloc 1M 700; segment_map 100M 20M;"
      "alloc 100M 2M; free 100M 2M; segment_unmap 3M 2M; segment_unmap 5M 3M;"
      "alloc 100M 2M; alloc 102M 2M");

  trace->starts_empty = trace->settings.is_expandable = true;
  for (size_t i = 0; i < G_N_ELEMENTS (meta); i++)
    OK (tessera_trace_set_meta (trace, meta[i].key, meta[i].value));
  g_auto (Case) c = case_new (trace);
  TesseraLayout *layout = case_simulate (&c, &options);
  g_assert_cmpuint (layout->declined_index, ==, 8);
  g_assert_cmpuint (layout->n_hits, ==, 1);
  g_assert_cmpuint (layout->n_misses, ==, 1);
  g_assert_cmpuint (layout->miss_bytes, ==, 2 * MIB);
  g_assert_cmpuint (layout->curves.reserved_bytes[5], ==, 27 * MIB);
  g_assert_cmpuint (layout->curves.reserved_bytes[9], ==, 22 * MIB);
  for (size_t i = 0; i < layout->n_spans; i++)
    {
      g_assert_cmpint (layout->spans[i].is_plan_pool, ==,
                       layout->spans[i].addr < 8 * MIB);
      g_assert_cmpint (layout->spans[i].is_expandable, !=, layout->spans[i].is_plan_pool);
      g_assert_false (layout->spans[i].is_small);
    }
  tessera_layout_free (layout);
  options.kind = TESSERA_LAYOUT_EXPANDABLE; /* what was mapped stays */
  layout = case_simulate (&c, &options);
  g_assert_cmpuint (layout->curves.reserved_bytes[7], ==,
                    layout->curves.reserved_bytes[5]);
  g_assert_cmpuint (layout->declined_index, ==, 0);
  tessera_layout_free (layout);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulator/direct", test_direct);
  g_test_add_func ("/simulator/simulate/three-blocks", test_three_blocks);
  g_test_add_func ("/simulator/simulate/policies", test_policies);
  g_test_add_func ("/simulator/simulate/small-device", test_small_device);
  g_test_add_func ("/simulator/simulate/fit", test_fit);
  g_test_add_func ("/simulator/simulate/fit-of-other-plan", test_fit_of_other_plan);
  g_test_add_func ("/simulator/simulate/fits-nowhere", test_fits_nowhere);
  g_test_add_func ("/simulator/simulate/refusals", test_refusals);
  g_test_add_func ("/simulator/simulate/recorded", test_recorded);
  g_test_add_func ("/simulator/simulate/followed", test_followed);
  g_test_add_func ("/simulator/simulate/left", test_left);
  g_test_add_func ("/simulator/simulate/declined", test_declined);
  return g_test_run ();
}
