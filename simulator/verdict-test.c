/*
 * Tests of the verdict: each cause from parts made by hand, and the words it is told in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/verdict.h"
#include "tests/ok.h"

#include <glib.h>
#include <string.h>

#define MIB ((uint64_t) 1 << 20)
#define GIB ((uint64_t) 1 << 30)

/* A run that failed: @parts on a device of @free_at_driver more than reserved. */
static TesseraVerdict
judge_oom (TesseraParts parts, const TesseraNeeds *needs)
{
  TesseraTrace *trace;
  TesseraOom oom = { .size_bytes = parts.request_bytes };
  TesseraLayout layout = { .kind = TESSERA_LAYOUT_RECORDED, .ooms = &oom, .n_ooms = 1 };
  TesseraVerdict verdict;

  OK (tessera_trace_new (&trace));
  parts.reserved_bytes = parts.live_bytes + parts.rounding_bytes + parts.pending_bytes +
                         parts.new_segment_bytes + parts.other_stream_bytes +
                         parts.other_size_bytes + parts.hard_bytes + parts.soft_bytes +
                         parts.cache_bytes;
  layout.peak_reserved_bytes = parts.reserved_bytes;
  tessera_verdict (trace, &layout, &parts, needs, &verdict);
  tessera_trace_free (trace);
  g_assert_true (verdict.died);
  g_test_message ("%s %s", verdict.headline, verdict.sentence);
  return verdict;
}

static void
test_died_of_fragmentation (void)
{
  const TesseraNeeds needs = { .native_bytes = 41 * GIB,
                               .expandable_bytes = 34 * GIB,
                               .plan_bytes = 33 * GIB,
                               .bound_bytes = 33 * GIB };
  TesseraVerdict verdict = judge_oom ((TesseraParts){ .live_bytes = 25 * GIB,
                                                      .hard_bytes = 5 * GIB,
                                                      .soft_bytes = 3 * GIB,
                                                      .other_stream_bytes = 4 * MIB,
                                                      .largest_hole_bytes = 4 * GIB,
                                                      .request_bytes = 7 * GIB,
                                                      .free_at_driver_bytes = 6 * GIB,
                                                      .outside_bytes = TESSERA_NOWHERE },
                                      &needs);

  g_assert_cmpint (verdict.cause, ==, TESSERA_CAUSE_FRAGMENTATION);
  g_assert_cmpstr (verdict.headline, ==, "Died of fragmentation, not of size.");
  g_assert_cmpstr (
      verdict.sentence, ==,
      "7.00 GiB asked with 14.00 GiB free: 6.00 GiB at the driver, 8.00 GiB in "
      "pieces inside PyTorch's segments; the largest hole is 4.00 GiB. "
      "33.00 GiB were needed. Expandable segments fit in 34.00 GiB. The plan "
      "fits in 33.00 GiB.");
}

static void
test_no_cure (void)
{
  const TesseraNeeds needs = { .expandable_bytes = 60 * GIB, .plan_bytes = 33 * GIB };
  TesseraVerdict verdict = judge_oom ((TesseraParts){ .live_bytes = 25 * GIB,
                                                      .hard_bytes = 8 * GIB,
                                                      .request_bytes = 7 * GIB,
                                                      .free_at_driver_bytes = 6 * GIB,
                                                      .outside_bytes = 2 * GIB },
                                      &needs);

  g_assert_nonnull (
      strstr (verdict.sentence, "Expandable segments need 60.00 GiB: no cure."));
  g_assert_nonnull (strstr (verdict.sentence, "The plan fits in 33.00 GiB."));
  g_assert_nonnull (
      strstr (verdict.sentence, "2.00 GiB of the device are not PyTorch's."));
}

static void
test_died_of_size (void)
{
  TesseraVerdict verdict = judge_oom ((TesseraParts){ .live_bytes = 38 * GIB,
                                                      .hard_bytes = GIB,
                                                      .request_bytes = 7 * GIB,
                                                      .free_at_driver_bytes = GIB,
                                                      .outside_bytes = TESSERA_NOWHERE },
                                      NULL);

  g_assert_cmpint (verdict.cause, ==, TESSERA_CAUSE_SIZE);
  g_assert_cmpstr (verdict.headline, ==, "Died of size, not of fragmentation.");
  g_assert_cmpstr (
      verdict.sentence, ==,
      "This is not fragmentation, because all that was free would not hold it: "
      "7.00 GiB asked, 2.00 GiB free, and live blocks alone take 38.00 GiB.");
}

static void
test_died_of_others (void)
{
  TesseraParts parts = { .live_bytes = 10 * GIB,
                         .request_bytes = GIB,
                         .soft_bytes = GIB,
                         .free_at_driver_bytes = GIB / 2,
                         .outside_bytes = TESSERA_NOWHERE };
  TesseraVerdict verdict;

  parts.other_size_bytes = parts.other_size_soft_bytes = 2 * GIB;
  verdict = judge_oom (parts, NULL);
  g_assert_cmpint (verdict.cause, ==, TESSERA_CAUSE_OTHER_SIZE);
  g_assert_cmpstr (verdict.headline, ==,
                   "Died with its free memory kept for requests of another size.");
  g_assert_nonnull (
      strstr (verdict.sentence, " 2.00 GiB in segments for small requests."));
  parts.other_stream_bytes = 4 * GIB;
  verdict = judge_oom (parts, NULL);
  g_assert_cmpint (verdict.cause, ==, TESSERA_CAUSE_STREAMS);
  /* This program has one stream. */
  g_assert_cmpstr (verdict.headline, ==,
                   "Died with its free memory held by other pools.");
  g_assert_null (strstr (verdict.sentence, "other stream"));
  parts.pending_bytes = 5 * GIB;
  g_assert_cmpint (judge_oom (parts, NULL).cause, ==, TESSERA_CAUSE_PENDING);
  parts.cache_bytes = 6 * GIB;
  g_assert_cmpint (judge_oom (parts, NULL).cause, ==, TESSERA_CAUSE_CACHE);
}

/* A run that went through: peak allocated and reserved, and parts at the peak. */
static TesseraVerdict
judge_peak (uint64_t allocated,
            uint64_t active,
            TesseraParts parts,
            const TesseraNeeds *needs)
{
  TesseraTrace *trace;
  TesseraLayout layout = { .kind = TESSERA_LAYOUT_NATIVE,
                           .peak_allocated_bytes = allocated,
                           .peak_active_bytes = active,
                           .peak_reserved_bytes = 100 * GIB };
  TesseraVerdict verdict;

  OK (tessera_trace_new (&trace));
  parts.reserved_bytes = 100 * GIB;
  parts.free_at_driver_bytes = parts.outside_bytes = TESSERA_NOWHERE;
  tessera_verdict (trace, &layout, &parts, needs, &verdict);
  tessera_trace_free (trace);
  g_assert_false (verdict.died);
  g_test_message ("%s %s", verdict.headline, verdict.sentence);
  return verdict;
}

static void
test_went_through (void)
{
  TesseraParts parts = { .live_bytes = 60 * GIB,
                         .hard_bytes = 15 * GIB,
                         .soft_bytes = 5 * GIB };
  const TesseraNeeds needs = { .native_bytes = 99 * GIB,
                               .expandable_bytes = 85 * GIB,
                               .plan_bytes = 81 * GIB,
                               .bound_bytes = 80 * GIB };
  TesseraVerdict verdict = judge_peak (80 * GIB, 80 * GIB, parts, &needs);

  g_assert_cmpint (verdict.cause, ==, TESSERA_CAUSE_FRAGMENTATION);
  g_assert_cmpstr (
      verdict.headline, ==,
      "20.0 % of reserved is never in use, most of it in holes between blocks.");
  g_assert_cmpstr (
      verdict.sentence, ==,
      "20.00 GiB of 100.00 GiB reserved were never allocated (peak allocated 80.00 GiB); "
      "free when reserved first peaks: 15.00 GiB between live blocks, 5.00 GiB "
      "at the edges of segments in use. Smallest device: 99.00 GiB native, "
      "85.00 GiB with expandable segments, 81.00 GiB with the plan; no layout "
      "is below 80.00 GiB.");
  /* Where it lies is what the sentence says, the larger share first. */
  parts.hard_bytes = 5 * GIB;
  parts.soft_bytes = 15 * GIB;
  verdict = judge_peak (80 * GIB, 80 * GIB, parts, &needs);
  g_assert_cmpint (verdict.cause, ==, TESSERA_CAUSE_FRAGMENTATION);
  g_assert_cmpstr (verdict.headline, ==,
                   "20.0 % of reserved is never in use, most of it at the edges of "
                   "segments in use.");
}

/* A policy short of memory waits until nothing is pending: its device may be below what
 * any layout needs. */
static void
test_below_the_bound (void)
{
  const TesseraParts parts = { .pending_bytes = 30 * GIB };
  const TesseraNeeds needs = { .native_bytes = 70 * GIB, .bound_bytes = 80 * GIB };
  TesseraVerdict verdict = judge_peak (60 * GIB, 90 * GIB, parts, &needs);

  g_assert_true (g_str_has_suffix (verdict.sentence,
                                   "Smallest device: 70.00 GiB native; below 80.00 GiB "
                                   "only by waiting for other streams."));
}

static void
test_went_through_causes (void)
{
  TesseraParts parts = { .hard_bytes = GIB };
  TesseraVerdict verdict;

  parts.other_stream_bytes = 10 * GIB;
  g_assert_cmpint (judge_peak (60 * GIB, 60 * GIB, parts, NULL).cause, ==,
                   TESSERA_CAUSE_STREAMS);
  /* Free memory of the other size class is no other stream's; its shape is the cause. */
  parts.other_size_bytes = parts.other_size_soft_bytes = 10 * GIB;
  g_assert_cmpint (judge_peak (60 * GIB, 60 * GIB, parts, NULL).cause, ==,
                   TESSERA_CAUSE_FRAGMENTATION);
  parts.other_size_soft_bytes = 0;
  parts.other_stream_bytes = GIB;
  parts.other_size_cache_bytes = 9 * GIB;
  parts.request_bytes = 512;
  verdict = judge_peak (60 * GIB, 60 * GIB, parts, NULL);
  g_assert_cmpint (verdict.cause, ==, TESSERA_CAUSE_CACHE);
  g_assert_nonnull (strstr (verdict.sentence,
                            "first peaks: 1.00 GiB between live blocks, 1.00 GiB held by "
                            "other pools, 10.00 GiB in segments for large requests "
                            "(9.00 GiB of it in whole free segments)."));
  parts.pending_bytes = 20 * GIB;
  g_assert_cmpint (judge_peak (60 * GIB, 80 * GIB, parts, NULL).cause, ==,
                   TESSERA_CAUSE_PENDING);
}

static void
test_nothing_to_win (void)
{
  const TesseraParts parts = { .soft_bytes = GIB };
  TesseraVerdict verdict = judge_peak (98 * GIB + 410 * MIB, 99 * GIB, parts, NULL);

  g_assert_cmpint (verdict.cause, ==, TESSERA_CAUSE_NONE);
  g_assert_cmpstr (verdict.headline, ==,
                   "1.6 % of reserved is lost to fragmentation: nothing to win here.");
  g_assert_cmpstr (
      verdict.sentence, ==,
      "1.60 GiB of 100.00 GiB reserved were never allocated (peak allocated 98.40 GiB, "
      "with what waits for other streams 99.00 GiB).");
}

/* The longest sentences end within their room. */
static void
test_room (void)
{
  const uint64_t big = UINT64_MAX / 16;
  const TesseraNeeds needs = { big, big, big, big };
  const TesseraParts parts = { .hard_bytes = big,
                               .soft_bytes = big,
                               .pending_bytes = big,
                               .cache_bytes = big,
                               .other_stream_bytes = big,
                               .other_size_bytes = big,
                               .other_size_cache_bytes = big,
                               .largest_hole_bytes = big,
                               .request_bytes = big,
                               .free_at_driver_bytes = big,
                               .outside_bytes = big };
  TesseraVerdict verdict = judge_oom (parts, &needs);

  g_assert_cmpuint (strlen (verdict.sentence), <, sizeof verdict.sentence - 1);
  verdict = judge_peak (GIB, big, parts, &needs);
  g_assert_cmpuint (strlen (verdict.sentence), <, sizeof verdict.sentence - 1);
}

/* Steps that kept what the request lacked. */
static void
test_died_of_a_leak (void)
{
  const TesseraNeeds needs = { .leak = { .step_bytes = GIB,
                                         .kept_bytes = 6 * GIB,
                                         .n_steps = 7,
                                         .stack = TESSERA_NONE },
                               .leak_line = "train.py:6 main" };
  TesseraVerdict verdict = judge_oom ((TesseraParts){ .live_bytes = 25 * GIB,
                                                      .soft_bytes = GIB,
                                                      .request_bytes = 7 * GIB,
                                                      .outside_bytes = TESSERA_NOWHERE },
                                      &needs);

  g_assert_cmpint (verdict.cause, ==, TESSERA_CAUSE_LEAK);
  g_assert_cmpstr (verdict.headline, ==, "Died of a leak, not of fragmentation.");
  g_assert_true (g_str_has_prefix (verdict.sentence,
                                   "Keeps 1.00 GiB more each step (train.py:6 main), in "
                                   "each of the 7 seen. This is not fragmentation"));
  /* What they kept would not have been enough. */
  verdict = judge_oom ((TesseraParts){ .live_bytes = 25 * GIB,
                                       .soft_bytes = GIB,
                                       .request_bytes = 8 * GIB,
                                       .outside_bytes = TESSERA_NOWHERE },
                       &needs);
  g_assert_cmpint (verdict.cause, ==, TESSERA_CAUSE_SIZE);
}

/* Free memory at the driver that a new segment fits into is no fragmentation. */
static void
test_died_of_a_limit (void)
{
  TesseraParts parts = { .live_bytes = 4 * GIB,
                         .hard_bytes = 300 * MIB,
                         .request_bytes = 259 * MIB,
                         .free_at_driver_bytes = 4 * GIB,
                         .outside_bytes = TESSERA_NOWHERE };
  TesseraVerdict verdict = judge_oom (parts, NULL);

  g_assert_cmpint (verdict.cause, ==, TESSERA_CAUSE_LIMIT);
  g_assert_true (g_str_has_prefix (verdict.sentence,
                                   "259.00 MiB asked with 4.00 GiB free at the driver, "
                                   "where a new segment would have fitted:"));
  parts.free_at_driver_bytes = 258 * MIB;
  verdict = judge_oom (parts, NULL);
  g_assert_cmpint (verdict.cause, ==, TESSERA_CAUSE_FRAGMENTATION);
}

static void
test_cut_off (void)
{
  const struct
  {
    const char *closed;
    gboolean is_cut;
  } cases[] = { { NULL, FALSE }, { "yes", FALSE }, { "no", TRUE } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const TesseraLayout layout = { .kind = TESSERA_LAYOUT_RECORDED };
      const TesseraParts parts = { .free_at_driver_bytes = TESSERA_NOWHERE,
                                   .outside_bytes = TESSERA_NOWHERE };
      TesseraVerdict verdict;
      TesseraTrace *trace;

      OK (tessera_trace_new (&trace));
      if (cases[i].closed != NULL)
        OK (tessera_trace_set_meta (trace, TESSERA_META_CLOSED, cases[i].closed));
      tessera_verdict (trace, &layout, &parts, NULL, &verdict);
      g_assert_cmpint (strstr (verdict.sentence, "was cut off") != NULL, ==,
                       cases[i].is_cut);
      tessera_trace_free (trace);
    }
}

/* What a run reserved that failed requests is less than it needed. */
static void
test_worse_than_needed (void)
{
  TesseraLayout layout = { .peak_reserved_bytes = 4 * GIB };
  char text[160];

  g_assert_true (tessera_describe_worse (5 * GIB, &layout, text, sizeof text));
  g_assert_nonnull (strstr (text, "reserved 4.00 GiB: following it would be worse"));
  g_assert_false (tessera_describe_worse (4 * GIB, &layout, text, sizeof text));
  g_assert_cmpstr (text, ==, "");
  layout.n_ooms = 5;
  g_assert_false (tessera_describe_worse (5 * GIB, &layout, text, sizeof text));
  g_assert_cmpstr (text, ==, "");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulator/verdict/died-of-fragmentation",
                   test_died_of_fragmentation);
  g_test_add_func ("/simulator/verdict/no-cure", test_no_cure);
  g_test_add_func ("/simulator/verdict/died-of-size", test_died_of_size);
  g_test_add_func ("/simulator/verdict/died-of-others", test_died_of_others);
  g_test_add_func ("/simulator/verdict/went-through", test_went_through);
  g_test_add_func ("/simulator/verdict/below-the-bound", test_below_the_bound);
  g_test_add_func ("/simulator/verdict/went-through-causes", test_went_through_causes);
  g_test_add_func ("/simulator/verdict/nothing-to-win", test_nothing_to_win);
  g_test_add_func ("/simulator/verdict/room", test_room);
  g_test_add_func ("/simulator/verdict/died-of-a-leak", test_died_of_a_leak);
  g_test_add_func ("/simulator/verdict/died-of-a-limit", test_died_of_a_limit);
  g_test_add_func ("/simulator/verdict/cut-off", test_cut_off);
  g_test_add_func ("/simulator/verdict/worse-than-needed", test_worse_than_needed);
  return g_test_run ();
}
