/*
 * Runs a fuzz target without a fuzzer, with any compiler: over its committed corpus, so
 * that what once was found stays found; or, without a folder, over random bytes.
 *
 * replay [FOLDER]
 *
 * TESSERA_STORMS: how many random inputs (default 300; 20,000 where tests run long);
 * TESSERA_STORM_SEED: of the first one. A failure comes after the seed of its input.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "tests/fuzz/file-input.h"
#include "tests/fuzz/storms.h"

#define FIRST_SEED 20261122
#define MOST_BYTES 6000

static void
replay (gconstpointer data)
{
  g_autofree char *contents = NULL;
  size_t n_bytes;

  g_assert_true (g_file_get_contents (data, &contents, &n_bytes, NULL));
  LLVMFuzzerTestOneInput ((const uint8_t *) contents, n_bytes);
}

static void
storm (void)
{
  guint64 first = storms_first_seed (FIRST_SEED), n = storms_number (300, 20000);

  for (guint64 seed = first; seed < first + n; seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32) seed);
      gsize n_bytes = (gsize) g_rand_int_range (rand, 200, MOST_BYTES);
      g_autofree uint8_t *bytes = g_malloc (n_bytes);

      for (gsize i = 0; i < n_bytes; i++)
        bytes[i] = (uint8_t) g_rand_int_range (rand, 0, 256);
      g_test_message ("seed %" G_GUINT64_FORMAT, seed);
      LLVMFuzzerTestOneInput (bytes, n_bytes);
    }
}

static void
add_corpus (const char *path)
{
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  const char *name;
  unsigned n_files = 0;

  g_assert_nonnull (folder);
  for (; (name = g_dir_read_name (folder)); n_files++)
    {
      g_autofree char *test_path = g_strconcat ("/fuzz/", name, NULL);

      g_test_add_data_func_full (test_path, g_build_filename (path, name, NULL), replay,
                                 g_free);
    }
  g_assert_cmpuint (n_files, >, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (argc == 2)
    add_corpus (argv[1]);
  else
    g_test_add_func ("/fuzz/storm", storm);
  return g_test_run ();
}
