/*
 * Runs a fuzz target over its committed corpus, without a fuzzer: what once was found
 * stays found, with any compiler.
 *
 * replay FOLDER
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "tests/fuzz/file-input.h"

static void
replay (gconstpointer data)
{
  g_autofree char *contents = NULL;
  size_t n_bytes;

  g_assert_true (g_file_get_contents (data, &contents, &n_bytes, NULL));
  LLVMFuzzerTestOneInput ((const uint8_t *) contents, n_bytes);
}

int
main (int argc, char **argv)
{
  g_autoptr (GDir) folder = NULL;
  const char *name;
  unsigned n_files = 0;

  g_test_init (&argc, &argv, NULL);
  g_assert_cmpint (argc, ==, 2);
  folder = g_dir_open (argv[1], 0, NULL);
  g_assert_nonnull (folder);
  for (; (name = g_dir_read_name (folder)); n_files++)
    {
      g_autofree char *test_path = g_strconcat ("/fuzz/", name, NULL);

      g_test_add_data_func_full (test_path, g_build_filename (argv[1], name, NULL),
                                 replay, g_free);
    }
  g_assert_cmpuint (n_files, >, 0);
  return g_test_run ();
}
