/*
 * Tests of the verdict: each cause from parts made by hand, the words it is told in, and the
 * moment and the hole that it tells of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/verdict.h"
#include "tests/db/trace-text.h"
#include "tests/ok.h"
#include "tests/simulator/made-case.h"

#include <string.h>

#define GIB ((uint64_t) 1 << 30)
#define NO_DRIVER .free_at_driver_bytes = TESSERA_NOWHERE
#define NO_OTHERS .outside_bytes = TESSERA_NOWHERE
/* Most of what is free is in segments for small requests. */
#define IN_SMALL_SEGMENTS                                                                \
  .live_bytes = 10 * GIB, .request_bytes = GIB, .soft_bytes = GIB,                       \
  .free_at_driver_bytes = GIB / 2, .other_size_bytes = 2 * GIB,                          \
  .other_size_soft_bytes = 2 * GIB, NO_OTHERS

/* A run whose blocks had @allocated_bytes at most and @active_bytes with what waited, of
 * 100 GiB reserved; one that failed with all of @parts reserved where @allocated_bytes is
 * 0. */
typedef struct
{
  const char *name;
  TesseraParts parts;
  uint64_t allocated_bytes, active_bytes;
  TesseraNeeds needs; /* nobody knows where it is empty */
  TesseraCause cause;
  const char *headline; /* NULL: any */
  const char *says;     /* a pattern of the whole sentence; NULL: any */
} Run;

static TesseraVerdict
judge (const Run *run)
{
  static const TesseraNeeds unknown;
  bool died = run->allocated_bytes == 0;
  TesseraParts parts = run->parts;
  TesseraOom oom = { .size_bytes = parts.request_bytes };
  TesseraLayout layout = { .kind = died ? TESSERA_LAYOUT_RECORDED : TESSERA_LAYOUT_NATIVE,
                           .peak_allocated_bytes = run->allocated_bytes,
                           .peak_active_bytes = run->active_bytes,
                           .ooms = &oom,
                           .n_ooms = died };
  TesseraVerdict verdict;
  g_autoptr (TesseraTrace) trace = NULL;

  OK (tessera_trace_new (&trace));
  parts.reserved_bytes = parts.live_bytes + parts.rounding_bytes + parts.pending_bytes +
                         parts.new_segment_bytes + parts.other_stream_bytes +
                         parts.other_size_bytes + parts.hard_bytes + parts.soft_bytes +
                         parts.cache_bytes;
  if (!died)
    parts.reserved_bytes = 100 * GIB;
  layout.peak_reserved_bytes = parts.reserved_bytes;
  tessera_verdict (trace, &layout, &parts,
                   memcmp (&run->needs, &unknown, sizeof unknown) ? &run->needs : NULL,
                   &verdict);
  g_test_message ("%s: %s %s", run->name, verdict.headline, verdict.sentence);
  g_assert_true (verdict.died == died);
  return verdict;
}

/* A leak of seven steps. */
#define LEAK                                                                             \
  {                                                                                      \
    .step_bytes = GIB, .kept_bytes = 6 * GIB, .n_steps = 7, .stack = TESSERA_NONE,       \
    .line = "train.py:6 main"                                                            \
  }

static const Run runs[] = {
  { .name = "died of fragmentation",
    .parts = { .live_bytes = 25 * GIB,
               .hard_bytes = 5 * GIB,
               .soft_bytes = 3 * GIB,
               .other_stream_bytes = 4 * MIB,
               .largest_hole_bytes = 4 * GIB,
               .request_bytes = 7 * GIB,
               .free_at_driver_bytes = 6 * GIB,
               NO_OTHERS },
    .needs = { .native_bytes = 41 * GIB,
               .expandable_bytes = 34 * GIB,
               .plan_bytes = 33 * GIB,
               .bound_bytes = 33 * GIB },
    .cause = TESSERA_CAUSE_FRAGMENTATION,
    .headline = "Died of fragmentation, not of size.",
    .says = "7.00 GiB asked with 14.00 GiB free: 6.00 GiB at the driver, 8.00 GiB in "
            "pieces inside PyTorch's segments; the largest hole is 4.00 GiB. 33.00 GiB "
            "were needed. Expandable segments fit in 34.00 GiB. The plan fits in 33.00 "
            "GiB." },
  { .name = "no cure",
    .parts = { .live_bytes = 25 * GIB,
               .hard_bytes = 8 * GIB,
               .request_bytes = 7 * GIB,
               .free_at_driver_bytes = 6 * GIB,
               .outside_bytes = 2 * GIB },
    .needs = { .expandable_bytes = 60 * GIB, .plan_bytes = 33 * GIB },
    .cause = TESSERA_CAUSE_FRAGMENTATION,
    .says = "*Expandable segments need 60.00 GiB: no cure. The plan fits in 33.00 GiB. "
            "2.00 GiB of the device are not PyTorch's." },
  { .name = "died of size",
    .parts = { .live_bytes = 38 * GIB,
               .hard_bytes = GIB,
               .request_bytes = 7 * GIB,
               .free_at_driver_bytes = GIB,
               NO_OTHERS },
    .cause = TESSERA_CAUSE_SIZE,
    .headline = "Died of size, not of fragmentation.",
    .says = "This is not fragmentation, because all that was free would not hold it: "
            "7.00 GiB asked, 2.00 GiB free, and live blocks alone take 38.00 GiB." },
  { .name = "died of another size",
    .parts = { IN_SMALL_SEGMENTS },
    .cause = TESSERA_CAUSE_OTHER_SIZE,
    .headline = "Died with its free memory kept for requests of another size.",
    .says = "* 2.00 GiB in segments for small requests.*" },
  /* Not of other streams: this program has one. */
  { .name = "died of other pools",
    .parts = { IN_SMALL_SEGMENTS, .other_stream_bytes = 4 * GIB },
    .cause = TESSERA_CAUSE_STREAMS,
    .headline = "Died with its free memory held by other pools.",
    .says = "*4.00 GiB held by other pools, 2.00 GiB in segments for small requests." },
  { .name = "died of what waits",
    .parts = { IN_SMALL_SEGMENTS, .other_stream_bytes = 4 * GIB,
               .pending_bytes = 5 * GIB },
    .cause = TESSERA_CAUSE_PENDING },
  { .name = "died of the cache",
    .parts = { IN_SMALL_SEGMENTS, .other_stream_bytes = 4 * GIB, .pending_bytes = 5 * GIB,
               .cache_bytes = 6 * GIB },
    .cause = TESSERA_CAUSE_CACHE },
  { .name = "died of a leak",
    .parts = { .live_bytes = 25 * GIB,
               .soft_bytes = GIB,
               .request_bytes = 7 * GIB,
               NO_OTHERS },
    .needs = { .leak = LEAK },
    .cause = TESSERA_CAUSE_LEAK,
    .headline = "Died of a leak, not of fragmentation.",
    .says = "Keeps 1.00 GiB more each step (train.py:6 main), in each of the 7 seen. "
            "This is not fragmentation*" },
  /* What the steps kept is less than what the request lacked. */
  { .name = "a leak that is not enough",
    .parts = { .live_bytes = 25 * GIB,
               .soft_bytes = GIB,
               .request_bytes = 8 * GIB,
               NO_OTHERS },
    .needs = { .leak = LEAK },
    .cause = TESSERA_CAUSE_SIZE },
  /* Free memory at the driver that a new segment fits into is no fragmentation. */
  { .name = "died of a limit",
    .parts = { .live_bytes = 4 * GIB,
               .hard_bytes = 300 * MIB,
               .request_bytes = 259 * MIB,
               .free_at_driver_bytes = 4 * GIB,
               NO_OTHERS },
    .cause = TESSERA_CAUSE_LIMIT,
    .says = "259.00 MiB asked with 4.00 GiB free at the driver, where a new segment "
            "would have fitted:*" },
  { .name = "no room for a segment",
    .parts = { .live_bytes = 4 * GIB,
               .hard_bytes = 300 * MIB,
               .request_bytes = 259 * MIB,
               .free_at_driver_bytes = 258 * MIB,
               NO_OTHERS },
    .cause = TESSERA_CAUSE_FRAGMENTATION },
  { .name = "went through",
    .parts = { .live_bytes = 60 * GIB,
               .hard_bytes = 15 * GIB,
               .soft_bytes = 5 * GIB,
               NO_DRIVER,
               NO_OTHERS },
    .allocated_bytes = 80 * GIB,
    .active_bytes = 80 * GIB,
    .needs = { .native_bytes = 99 * GIB,
               .expandable_bytes = 85 * GIB,
               .plan_bytes = 81 * GIB,
               .bound_bytes = 80 * GIB },
    .cause = TESSERA_CAUSE_FRAGMENTATION,
    .headline = "20.0 % of reserved is never in use, most of it in holes between blocks.",
    .says = "20.00 GiB of 100.00 GiB reserved were never allocated (peak allocated 80.00 "
            "GiB); free when reserved first peaks: 15.00 GiB between live blocks, 5.00 "
            "GiB at the edges of segments in use. Smallest device: 99.00 GiB native, "
            "85.00 GiB with expandable segments, 81.00 GiB with the plan; no layout is "
            "below 80.00 GiB." },
  { .name = "the larger share first",
    .parts = { .live_bytes = 60 * GIB,
               .hard_bytes = 5 * GIB,
               .soft_bytes = 15 * GIB,
               NO_DRIVER,
               NO_OTHERS },
    .allocated_bytes = 80 * GIB,
    .active_bytes = 80 * GIB,
    .cause = TESSERA_CAUSE_FRAGMENTATION,
    .headline =
        "20.0 % of reserved is never in use, most of it at the edges of segments in "
        "use." },
  /* A policy short of memory waits until nothing is pending: its device may be below
   * what any layout needs. */
  { .name = "below the bound",
    .parts = { .pending_bytes = 30 * GIB, NO_DRIVER, NO_OTHERS },
    .allocated_bytes = 60 * GIB,
    .active_bytes = 90 * GIB,
    .needs = { .native_bytes = 70 * GIB, .bound_bytes = 80 * GIB },
    .cause = TESSERA_CAUSE_PENDING,
    .says = "*Smallest device: 70.00 GiB native; below 80.00 GiB only by waiting for "
            "other streams." },
  { .name = "other pools",
    .parts = { .hard_bytes = GIB, .other_stream_bytes = 10 * GIB, NO_DRIVER, NO_OTHERS },
    .allocated_bytes = 60 * GIB,
    .active_bytes = 60 * GIB,
    .cause = TESSERA_CAUSE_STREAMS },
  /* Free memory of the other size class is no other stream's; its shape is the cause. */
  { .name = "another size",
    .parts = { .hard_bytes = GIB,
               .other_stream_bytes = 10 * GIB,
               .other_size_bytes = 10 * GIB,
               .other_size_soft_bytes = 10 * GIB,
               NO_DRIVER,
               NO_OTHERS },
    .allocated_bytes = 60 * GIB,
    .active_bytes = 60 * GIB,
    .cause = TESSERA_CAUSE_FRAGMENTATION },
  { .name = "the cache of another size",
    .parts = { .hard_bytes = GIB,
               .other_stream_bytes = GIB,
               .other_size_bytes = 10 * GIB,
               .other_size_cache_bytes = 9 * GIB,
               .request_bytes = 512,
               NO_DRIVER,
               NO_OTHERS },
    .allocated_bytes = 60 * GIB,
    .active_bytes = 60 * GIB,
    .cause = TESSERA_CAUSE_CACHE,
    .says = "*first peaks: 1.00 GiB between live blocks, 1.00 GiB held by other pools, "
            "10.00 GiB in segments for large requests (9.00 GiB of it in whole free "
            "segments).*" },
  { .name = "what waits",
    .parts = { .hard_bytes = GIB,
               .other_stream_bytes = GIB,
               .other_size_bytes = 10 * GIB,
               .other_size_cache_bytes = 9 * GIB,
               .request_bytes = 512,
               .pending_bytes = 20 * GIB,
               NO_DRIVER,
               NO_OTHERS },
    .allocated_bytes = 60 * GIB,
    .active_bytes = 80 * GIB,
    .cause = TESSERA_CAUSE_PENDING },
  { .name = "nothing to win",
    .parts = { .soft_bytes = GIB, NO_DRIVER, NO_OTHERS },
    .allocated_bytes = 98 * GIB + 410 * MIB,
    .active_bytes = 99 * GIB,
    .cause = TESSERA_CAUSE_NONE,
    .headline = "1.6 % of reserved is lost to fragmentation: nothing to win here.",
    .says = "1.60 GiB of 100.00 GiB reserved were never allocated (peak allocated 98.40 "
            "GiB, with what waits for other streams 99.00 GiB)." },
};

static void
test_causes (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (runs); i++)
    {
      TesseraVerdict verdict = judge (&runs[i]);

      g_assert_cmpint (verdict.cause, ==, runs[i].cause);
      if (runs[i].headline)
        g_assert_cmpstr (verdict.headline, ==, runs[i].headline);
      if (runs[i].says)
        g_assert_true (g_pattern_match_simple (runs[i].says, verdict.sentence));
    }
}

/* The longest sentences end within their room. */
static void
test_room (void)
{
  const uint64_t big = UINT64_MAX / 16;
  Run run = { .name = "room",
              .parts = { .hard_bytes = big,
                         .soft_bytes = big,
                         .pending_bytes = big,
                         .cache_bytes = big,
                         .other_stream_bytes = big,
                         .other_size_bytes = big,
                         .other_size_cache_bytes = big,
                         .largest_hole_bytes = big,
                         .request_bytes = big,
                         .free_at_driver_bytes = big,
                         .outside_bytes = big },
              .active_bytes = big,
              .needs = { big, big, big, big } };

  for (; run.allocated_bytes <= GIB; run.allocated_bytes += GIB)
    g_assert_cmpuint (strlen (judge (&run).sentence), <,
                      sizeof (TesseraVerdict){ 0 }.sentence - 1);
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
      g_autoptr (TesseraTrace) trace = NULL;

      OK (tessera_trace_new (&trace));
      if (cases[i].closed != NULL)
        OK (tessera_trace_set_meta (trace, TESSERA_META_CLOSED, cases[i].closed));
      tessera_verdict (trace, &layout, &parts, NULL, &verdict);
      g_assert_cmpint (strstr (verdict.sentence, "has no end") != NULL, ==,
                       cases[i].is_cut);
    }
}

/* What a run reserved that failed requests is less than it needed. */
static void
test_worse_than_needed (void)
{
  TesseraLayout layout = { .peak_reserved_bytes = 4 * GIB };
  g_autofree char *text = tessera_describe_worse (5 * GIB, &layout);

  g_assert_nonnull (strstr (text, "reserved 4.00 GiB: following it would be worse"));
  g_assert_null (tessera_describe_worse (4 * GIB, &layout));
  layout.n_ooms = 5;
  g_assert_null (tessera_describe_worse (5 * GIB, &layout));
}

/* A warm-up's caches of @warm_bytes are there, and go; then two segments of 40 MiB come,
 * the second while the first has only holes of 10 MiB. */
static Case
warm_case (uint64_t warm_bytes)
{
  g_autofree char *warm = g_strdup_printf ("start segment 1000M %" G_GUINT64_FORMAT
                                           "; segment_free 1000M %" G_GUINT64_FORMAT,
                                           warm_bytes, warm_bytes);
  TesseraTrace *trace = test_trace_of (warm_bytes > 0 ? warm : "");

  test_tell (trace, "segment_alloc 100M 40M; alloc 100M 10M; alloc 120M 10M;"
                    "segment_alloc 200M 40M; alloc 200M 30M");
  return case_new (trace);
}

static void
check_peak (uint64_t warm_bytes, uint64_t peak_bytes, uint32_t index)
{
  const TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_RECORDED };
  g_auto (Case) c = warm_case (warm_bytes);
  g_autoptr (TesseraLayout) layout = case_simulate (&c, &options);

  g_assert_cmpuint (layout->peak_reserved_bytes, ==, peak_bytes);
  g_assert_cmpuint (layout->peak_reserved_index, ==, index);
}

/* What the run itself grew to is what is explained, where it comes near what was there
 * before; the peak stays what it was. */
static void
test_moment (void)
{
  check_peak (0, 80 * MIB, 3);
  check_peak (80 * MIB, 80 * MIB, 4);
  check_peak (88 * MIB, 88 * MIB, 4);
  check_peak (90 * MIB, 90 * MIB, 0);
}

/* The segment that came for the request was no hole that it could have used. */
static void
test_hole (void)
{
  const TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_RECORDED };
  g_auto (Case) c = warm_case (88 * MIB);
  g_autoptr (TesseraLayout) layout = case_simulate (&c, &options);
  TesseraVerdict verdict;
  TesseraParts parts = tessera_parts_at (c.trace, c.blocks, layout, 4);

  g_assert_cmpuint (parts.request_bytes, ==, 30 * MIB);
  g_assert_cmpuint (parts.new_segment_bytes, ==, 40 * MIB);
  g_assert_cmpuint (parts.cache_bytes, ==, 0);
  g_assert_cmpuint (parts.largest_hole_bytes, ==, 10 * MIB);
  g_assert_cmpuint (parts.largest_hole_addr, ==, 110 * MIB);
  tessera_verdict (c.trace, layout, &parts, NULL, &verdict);
  g_assert_cmpstr (
      verdict.sentence, ==,
      "38.00 MiB of 88.00 MiB reserved were never allocated (peak allocated 50.00 "
      "MiB); free when reserved comes back, to 80.00 MiB: 10.00 MiB between "
      "live blocks, 10.00 MiB at the edges of segments in use.");
  /* After the request, what is left of it is one. */
  parts = tessera_parts_at (c.trace, c.blocks, layout, 1);
  g_assert_cmpuint (parts.largest_hole_bytes, ==, 0);
  parts = tessera_parts_at (c.trace, c.blocks, layout, 2);
  g_assert_cmpuint (parts.largest_hole_bytes, ==, 30 * MIB);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulator/verdict/causes", test_causes);
  g_test_add_func ("/simulator/verdict/room", test_room);
  g_test_add_func ("/simulator/verdict/cut-off", test_cut_off);
  g_test_add_func ("/simulator/verdict/worse-than-needed", test_worse_than_needed);
  g_test_add_func ("/simulator/verdict/moment", test_moment);
  g_test_add_func ("/simulator/verdict/hole", test_hole);
  return g_test_run ();
}
