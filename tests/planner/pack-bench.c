/*
 * What packing reaches and costs, beside what it may: the instances of the shared data, steps
 * of pipelines, a compiler's graph, and many distinct buffers. Prints a table; seconds are of
 * the wall, bytes a buffer beyond items and offsets. A plan of a real file is measured by
 * `tests/evaluation/strategies.py --heights`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/planner/generate.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A height that each of minimalloc's instances is known to fit into. */
#define INSTANCE_BYTES 1048576.0

#define NO_LIMIT 1e9

typedef struct
{
  double height; /* of the bound */
  double seconds;
  double bytes; /* a buffer */
} Allowed;

/* Items are freed. In a process of its own: its peak of memory is that of this row. */
static void
print_row (const char *name, GArray *items, Allowed allowed)
{
  fflush (stdout);
  const pid_t child = fork ();
  if (child < 0)
    g_error ("no other process can be made");
  if (child == 0)
    {
      guint64 *offsets = g_new0 (guint64, items->len + 1);
      struct rusage before, after;
      TesseraPacking packing;
      getrusage (RUSAGE_SELF, &before);
      const gint64 begin_us = g_get_monotonic_time ();
      if (tessera_pack ((const TesseraItem *) items->data, items->len, NULL, offsets,
                        &packing) != TESSERA_OK)
        g_error ("%s: refused", name);
      const double seconds = (double) (g_get_monotonic_time () - begin_us) * 1e-6;
      getrusage (RUSAGE_SELF, &after);
      const double height = (double) packing.height_bytes / (double) packing.bound_bytes;
      const double bytes =
          (double) (after.ru_maxrss - before.ru_maxrss) * 1024 / (double) items->len;
      const gboolean is_ok = height <= allowed.height && seconds <= allowed.seconds &&
                             bytes <= allowed.bytes;
      g_print ("| %s | %u | %.4f | %.4f | %.2f | %.2f | %.0f | %s | %s |\n", name,
               items->len, height, allowed.height, seconds, allowed.seconds, bytes,
               is_ok ? "ok" : "not ok", packing.strategy);
      fflush (stdout);
      _exit (0);
    }
  if (waitpid (child, NULL, 0) != child)
    g_error ("%s: its process is not there", name);
  g_array_unref (items);
}

/* Of TesseraItem: the lines `id,lower,upper,size` of dsa/NAME.csv in the shared data; empty
 * where it is not there. */
static GArray *
read_instance (const char *name)
{
  const char *data = g_getenv ("TESSERA_SHARED_DATA");
  g_autofree char *path =
      g_strdup_printf ("%s/dsa/%s.csv", data != NULL ? data : ".", name);
  g_autofree char *text = NULL;
  GArray *items = g_array_new (FALSE, TRUE, sizeof (TesseraItem));
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return items;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    {
      g_auto (GStrv) cells = g_strsplit (*line, ",", 4);
      if (line == lines || g_strv_length (cells) != 4)
        continue;
      TesseraItem item = {
        .begin = (uint32_t) g_ascii_strtoull (cells[1], NULL, 10),
        .end = (uint32_t) g_ascii_strtoull (cells[2], NULL, 10),
        .size_bytes = g_ascii_strtoull (cells[3], NULL, 10),
      };
      g_array_append_val (items, item);
    }
  return items;
}

static void
print_instances (void)
{
  for (char letter = 'A'; letter <= 'G'; letter++)
    {
      g_autofree char *name = g_strdup_printf ("minimalloc-%c", letter);
      GArray *items = read_instance (name);
      uint64_t bound_bytes;
      if (items->len == 0)
        {
          g_print ("| %s | not there |\n", name);
          g_array_unref (items);
          continue;
        }
      if (tessera_pack_bound ((const TesseraItem *) items->data, items->len,
                              &bound_bytes) != TESSERA_OK)
        g_error ("%s: refused", name);
      print_row (name, items,
                 (Allowed){ INSTANCE_BYTES / (double) bound_bytes, 2, NO_LIMIT });
    }
}

static void
print_pipelines (double jitter)
{
  for (uint32_t n_chunks = 1; n_chunks <= 2; n_chunks++)
    for (uint32_t rank = 0; rank < 4; rank++)
      for (int is_recomputed = 0; is_recomputed < 2; is_recomputed++)
        {
          const GenerateSchedule schedule = { rank, n_chunks, is_recomputed, jitter };
          g_autofree char *name = g_strdup_printf (
              "%s, rank %u%s%s", n_chunks == 1 ? "1F1B" : "interleaved", rank,
              is_recomputed ? ", recomputed" : "", jitter > 0 ? ", jittered" : "");
          print_row (name, generate_schedule (&schedule),
                     (Allowed){ 1.0030, 1, NO_LIMIT });
        }
}

static void
print_generated (guint n, Allowed allowed)
{
  for (int kind = 0; kind < GENERATE_N_KINDS; kind++)
    {
      GArray *items = g_array_new (FALSE, TRUE, sizeof (TesseraItem));
      g_array_set_size (items, n);
      generate_items ((GenerateKind) kind, 1, (TesseraItem *) items->data, n);
      print_row (generate_name ((GenerateKind) kind), items, allowed);
    }
}

int
main (void)
{
  g_print (
      "| instance | buffers | height / bound | allowed | seconds | allowed | bytes a "
      "buffer | | strategy |\n|---|---|---|---|---|---|---|---|---|\n");
  print_instances ();
  print_pipelines (0);
  print_pipelines (0.1);
  print_row ("graph of a compiler", generate_graph (), (Allowed){ 1.0005, 2, NO_LIMIT });
  print_generated (50000, (Allowed){ 1.02, 5, 300 });
  print_generated (1000000, (Allowed){ 1.02, 5, 300 });
  return 0;
}
