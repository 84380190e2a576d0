/*
 * The fuzz target of following a plan (follow-fuzz.c), fed with random bytes: what a
 * compiler without a fuzzer can do, and what is easily run for longer.
 *
 * TESSERA_STORMS: how many inputs (default 300; 20,000 where tests run long);
 * TESSERA_STORM_SEED: of the first one. A failure comes after the seed of its input.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "tests/fuzz/fuzz.h"

#define FIRST_SEED 20261122
#define N_STORMS 300
#define N_LONG_STORMS 20000
#define MOST_BYTES 6000

static guint64
number_of (const char *variable, guint64 otherwise)
{
  const char *text = g_getenv (variable);

  return text != NULL ? g_ascii_strtoull (text, NULL, 10) : otherwise;
}

static void
test_storm (void)
{
  guint64 first = number_of ("TESSERA_STORM_SEED", FIRST_SEED);
  bool is_long = g_getenv ("TESSERA_TEST_LONG") != NULL;
  guint64 n = number_of ("TESSERA_STORMS", is_long ? N_LONG_STORMS : N_STORMS);

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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/follow/storm", test_storm);
  return g_test_run ();
}
