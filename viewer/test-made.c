/*
 * A made-up trace of as many blocks as are wanted, for benchmarks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/test-made.h"

#include "db/store.h"

#include <glib/gstdio.h>

/* As many alive at once as a large model's step has. */
#define N_ALIVE 4096

static void
add (TesseraTrace *trace, TesseraAction action, uint64_t addr, uint64_t size_bytes)
{
  TesseraEvent event = { .addr = addr,
                         .size_bytes = size_bytes,
                         .at_ns = (int64_t) trace->n_events * 1000,
                         .stack = TESSERA_NONE,
                         .action = (uint8_t) action };

  g_assert_cmpint (tessera_trace_add_event (trace, &event), ==, TESSERA_OK);
}

char *
test_made_new (uint32_t n_blocks)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autofree gboolean *is_taken = g_new0 (gboolean, N_ALIVE);
  g_autofree char *folder = g_dir_make_tmp ("made-XXXXXX", NULL);
  char *path = g_build_filename (folder, "made.tsr", NULL);
  TesseraTrace *trace = NULL;
  TesseraError error = { 0 };

  g_assert_cmpint (tessera_trace_new (&trace), ==, TESSERA_OK);
  trace->has_time = trace->starts_empty = true;
  for (uint32_t i = 0; i < n_blocks; i++)
    {
      uint32_t at = (uint32_t) g_rand_int_range (random, 0, N_ALIVE);
      uint64_t size_bytes = (uint64_t) 512 << at % 14;

      if (is_taken[at])
        {
          add (trace, TESSERA_FREE_REQUESTED, at + 1, size_bytes);
          add (trace, TESSERA_FREE_COMPLETED, at + 1, size_bytes);
        }
      is_taken[at] = TRUE;
      add (trace, TESSERA_ALLOC, at + 1, size_bytes);
    }
  g_assert_cmpint (tessera_trace_save (trace, path, NULL, &error), ==, TESSERA_OK);
  tessera_trace_free (trace);
  return path;
}

void
test_made_free (char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);

  g_unlink (path);
  g_rmdir (folder);
  g_free (path);
}
