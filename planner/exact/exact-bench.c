/*
 * What the exact search needs for MiniMalloc's challenging instances and a compiler's.
 * Prints a table; seconds are of the processor.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/exact.h"

#include "tests/planner/instances.h"

#include <time.h>

static double
processor_seconds (void)
{
  struct timespec now;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

static void
print_row (const char *name, const GArray *instance, uint64_t capacity_bytes)
{
  static const char *const answers[] = { "not known", "fits", "impossible" };
  uint64_t *offsets = g_new (uint64_t, instance->len + 1);
  TesseraExactItem *items = g_new (TesseraExactItem, instance->len + 1);
  for (guint i = 0; i < instance->len; i++)
    {
      const TesseraItem *item = &g_array_index (instance, TesseraItem, i);
      items[i] = (TesseraExactItem){ .size_bytes = item->size_bytes,
                                     .begin = item->begin,
                                     .end = item->end };
    }
  TesseraExactOptions options = { .capacity_bytes = capacity_bytes,
                                  .work_budget = UINT64_C (1) << 34 };
  TesseraExactResult result;
  double begin = processor_seconds ();
  TesseraStatus status =
      tessera_exact_search (items, instance->len, &options, offsets, &result);
  double seconds = processor_seconds () - begin;
  if (status != TESSERA_OK)
    g_print ("| %s | %u | refused: status %d |\n", name, instance->len, status);
  else
    g_print ("| %s | %u | %u | %" G_GUINT64_FORMAT " | %s | %" G_GUINT64_FORMAT
             " | %u | %.3f |\n",
             name, instance->len, result.n_in_core, capacity_bytes,
             answers[result.answer], result.n_decisions, result.n_restarts, seconds);
  g_free (offsets);
  g_free (items);
}

int
main (void)
{
  static const struct
  {
    const char *name;
    uint64_t capacity_bytes;
  } rows[] = {
    { "minimalloc-A", 1048576 }, { "minimalloc-B", 1048576 },
    { "minimalloc-C", 1048576 }, { "minimalloc-C", 1039360 },
    { "minimalloc-C", 1039359 }, { "minimalloc-D", 1048576 },
    { "minimalloc-E", 1048576 }, { "minimalloc-F", 1048576 },
    { "minimalloc-G", 1048576 }, { "somas-resnet50", 1515472556 },
  };
  g_print ("| items | number | in cores | capacity | answer | decisions | restarts | "
           "processor s |\n|---|---|---|---|---|---|---|---|\n");
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GArray *items = test_instance_read (rows[i].name);
      if (items->len > 0)
        print_row (rows[i].name, items, rows[i].capacity_bytes);
      else
        g_print ("| %s | not there |\n", rows[i].name);
      g_array_free (items, TRUE);
    }
  return 0;
}
