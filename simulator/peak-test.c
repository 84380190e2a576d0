/*
 * The moment that explains what was reserved, and the hole that is told of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/db/trace-text.h"
#include "tests/simulator/made-case.h"
#include "simulator/verdict.h"

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
  Case c = warm_case (warm_bytes);
  TesseraLayout *layout = case_simulate (&c, &options);

  g_assert_cmpuint (layout->peak_reserved_bytes, ==, peak_bytes);
  g_assert_cmpuint (layout->peak_reserved_index, ==, index);
  tessera_layout_free (layout);
  case_clear (&c);
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
  Case c = warm_case (88 * MIB);
  TesseraLayout *layout = case_simulate (&c, &options);
  TesseraVerdict verdict;
  TesseraParts parts;

  parts = tessera_parts_at (c.trace, c.blocks, layout, 4);
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
  tessera_layout_free (layout);
  case_clear (&c);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulator/peak/moment", test_moment);
  g_test_add_func ("/simulator/peak/hole", test_hole);
  return g_test_run ();
}
