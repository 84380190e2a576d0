/*
 * Tests of finding a run's place in the planned sequence: signatures are letters here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/matching.h"

#include <glib.h>
#include <string.h>

/* Which planned request each letter of @run was taken for, as a text: "-" for none, else
 * the place's last digit. */
static char *
align_text (const char *planned, const char *next, const char *run)
{
  guint32 now[128];
  guint32 after[128];
  TesseraRoute route = { .now = now, .next = after };
  TesseraAlign align;
  GString *out = g_string_new (NULL);

  for (const char *p = planned; *p != '\0'; p++)
    now[route.n_now++] = (guint32) *p;
  for (const char *p = next; *p != '\0'; p++)
    after[route.n_next++] = (guint32) *p;
  tessera_align_reset (&align, 0);
  for (const char *p = run; *p != '\0'; p++)
    {
      int64_t place;

      if (tessera_align_request (&align, &route,
                                 &(TesseraAlignRequest){ (guint32) *p, UINT64_MAX },
                                 &place) == TESSERA_ALIGN_PLANNED)
        g_string_append_c (out, (char) ('0' + place % 10));
      else
        g_string_append_c (out, '-');
    }
  return g_string_free (out, FALSE);
}

static void
check (const char *planned, const char *next, const char *run, const char *expected)
{
  g_autofree char *found = align_text (planned, next, run);

  g_assert_cmpstr (found, ==, expected);
}

static void
test_as_planned (void)
{
  check ("ABCABC", "", "ABCABC", "012345");
  check ("ABC", "XYZ", "ABCXYZ", "012345");
}

static void
test_left_out (void)
{
  check ("ABCDEF", "", "ABDEF", "01345");
  check ("ABCDEF", "", "CDEF", "-345"); /* two at once: the first is not believed */
  check ("ABC", "XYZ", "ABXYZ", "01345");
}

static void
test_extra (void)
{
  check ("ABCDEF", "", "ABFCDEF", "01-2345");
  check ("ABCDEF", "", "ABQCDEF", "01-2345");
  /* C was taken for the planned one; its true one comes and has the same place */
  check ("ABCABC", "", "ACBCABC", "0212345");
}

static void
test_swapped (void)
{
  check ("ABCDEFGH", "", "ABDCEFGH", "01324567");
}

/* A random run of a long plan: an edit costs its own request and no other. */
static void
test_one_edit (void)
{
  const guint n = 1000;
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_autofree guint32 *planned = g_new (guint32, n);

  for (guint i = 0; i < n; i++)
    planned[i] = (guint32) g_rand_int_range (rand, 0, 12);
  for (guint at = 100; at < 900; at++)
    {
      TesseraRoute route = { .now = planned, .n_now = n };
      TesseraAlign align;
      guint n_wrong = 0;

      tessera_align_reset (&align, 0);
      for (guint i = 0; i < n; i++)
        {
          int64_t place;

          if (i == at)
            continue;
          if (tessera_align_request (&align, &route,
                                     &(TesseraAlignRequest){ planned[i], UINT64_MAX },
                                     &place) != TESSERA_ALIGN_PLANNED ||
              place != i)
            n_wrong++;
        }
      /* Equal neighbours of the one left out may change places with it. */
      g_assert_cmpuint (n_wrong, <=, 4);
      g_assert_cmpint (align.cursor, ==, n);
      g_assert_true (align.is_sure);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/allocator/align/as-planned", test_as_planned);
  g_test_add_func ("/allocator/align/left-out", test_left_out);
  g_test_add_func ("/allocator/align/extra", test_extra);
  g_test_add_func ("/allocator/align/swapped", test_swapped);
  g_test_add_func ("/allocator/align/one-edit", test_one_edit);
  return g_test_run ();
}
