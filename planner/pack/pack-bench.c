/*
 * What packing costs and reaches: the planner instances of the shared data, and made-up
 * traces of growing size. Prints a table; seconds are of the wall, on all processors, and
 * beside them how many times as long as sorting as many numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/planner/generate.h"
#include "tests/planner/instances.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int
compare_numbers (const void *a, const void *b)
{
  const guint64 *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* The baseline: sorting @n random numbers. */
static double
sort_seconds (gsize n)
{
  GRand *random = g_rand_new_with_seed (1);
  guint64 *numbers = g_new (guint64, n);
  for (gsize i = 0; i < n; i++)
    numbers[i] = (guint64) g_rand_int (random) << 32 | g_rand_int (random);
  gint64 begin_us = g_get_monotonic_time ();
  qsort (numbers, n, sizeof *numbers, compare_numbers);
  double seconds = (double) (g_get_monotonic_time () - begin_us) * 1e-6;
  g_free (numbers);
  g_rand_free (random);
  return seconds;
}

static void
print_row (const char *name, const GArray *items)
{
  TesseraPacking packing;
  guint64 *offsets = g_new (guint64, items->len + 1);
  gint64 begin_us = g_get_monotonic_time ();
  TesseraStatus status = tessera_pack ((const TesseraItem *) items->data, items->len,
                                       NULL, offsets, &packing);
  double seconds = (double) (g_get_monotonic_time () - begin_us) * 1e-6;
  if (status != TESSERA_OK)
    g_print ("| %s | %u | refused: status %d |\n", name, items->len, status);
  else
    g_print ("| %s | %u | %.4f | %.0f | %.5f | %s |\n", name, items->len, seconds,
             seconds / sort_seconds (items->len),
             (double) packing.height_bytes / (double) packing.bound_bytes,
             packing.strategy);
  g_free (offsets);
}

/* Like training: most blocks live for some events, one in eight for up to a tenth of the
 * trace, one in a hundred to its end; sizes from 512 bytes to 512 MiB, small ones more.
 */
static GArray *
make_trace (guint n)
{
  GRand *random = g_rand_new_with_seed (n);
  GArray *items = g_array_new (FALSE, TRUE, sizeof (TesseraItem));
  for (guint i = 0; i < n; i++)
    {
      gint kind = g_rand_int_range (random, 0, 100);
      guint longest = kind == 0 ? 3 * n : kind < 13 ? n / 10 + 2 : 40;
      guint life = 1 + (guint) g_rand_int_range (random, 0, (gint) longest);
      TesseraItem item = {
        .begin = 2 * i,
        .end = kind == 0 ? 2 * n : MIN (2 * i + life, 2 * n),
        .size_bytes = UINT64_C (512) << g_rand_int_range (random, 0, 20),
      };
      g_array_append_val (items, item);
    }
  g_rand_free (random);
  return items;
}

static double
processor_s (void)
{
  struct timespec now;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

/* Generated, and large: processor seconds, and bytes a block beyond items and offsets.
 * The peak of the process grows only, so the largest come first to be seen. */
static void
print_generated (TesseraGenerateKind kind, guint n)
{
  TesseraItem *items = g_new0 (TesseraItem, n);
  guint64 *offsets = g_new0 (guint64, n);
  struct rusage before, after;
  TesseraPacking packing;
  if (tessera_generate (kind, 1, items, n) != TESSERA_OK)
    g_error ("not enough memory");
  getrusage (RUSAGE_SELF, &before);
  double begin_s = processor_s ();
  if (tessera_pack (items, n, NULL, offsets, &packing) != TESSERA_OK)
    g_error ("not enough memory");
  double seconds = processor_s () - begin_s;
  getrusage (RUSAGE_SELF, &after);
  g_print ("| %s | %u | %.2f | %.0f | ", tessera_generate_name (kind), n, seconds,
           (double) (after.ru_maxrss - before.ru_maxrss) * 1024 / n);
  g_print ("%.4f | %s |\n", (double) packing.height_bytes / (double) packing.bound_bytes,
           packing.strategy);
  g_free (items);
  g_free (offsets);
}

static void
print_all_generated (void)
{
  static const guint sizes[] = { 1000000, 50000 };
  g_print ("| generated | number | processor s | bytes a block | "
           "height / bound | strategy |\n|---|---|---|---|---|---|\n");
  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (int kind = 0; kind < TESSERA_N_GENERATE_KINDS; kind++)
      {
        /* A process of its own: its peak of memory is that of this row. */
        fflush (stdout);
        pid_t child = fork ();
        if (child == 0)
          {
            print_generated ((TesseraGenerateKind) kind, sizes[i]);
            fflush (stdout);
            _exit (0);
          }
        if (child < 0 || waitpid (child, NULL, 0) != child)
          g_error ("no other process can be made");
      }
  g_print ("\n");
}

int
main (void)
{
  static const char *const names[] = { "minimalloc-A", "minimalloc-B",  "minimalloc-C",
                                       "minimalloc-D", "minimalloc-E",  "minimalloc-F",
                                       "minimalloc-G", "somas-resnet50" };
  static const guint sizes[] = { 1000, 10000, 100000, 300000 };
  print_all_generated ();
  g_print ("| items | number | seconds | x sorting | height / bound | strategy |\n"
           "|---|---|---|---|---|---|\n");
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      GArray *items = test_instance_read (names[i]);
      if (items->len > 0)
        print_row (names[i], items);
      else
        g_print ("| %s | not there |\n", names[i]);
      g_array_free (items, TRUE);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      GArray *items = make_trace (sizes[i]);
      print_row ("made up", items);
      g_array_free (items, TRUE);
    }
  return 0;
}
