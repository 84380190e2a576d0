/*
 * What a request and its free cost inside the library.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/tessera.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum
{
  N_LIVE = 3000,
  N_ROUNDS = 2000000
};

/* Of this thread alone: the machine may have other things to do. */
static double
now_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * (double) now.tv_sec + (double) now.tv_nsec;
}

static void
measure (const char *policy, size_t size)
{
  static void *live[N_LIVE];
  double begin;

  for (size_t i = 0; i < N_LIVE; i++)
    live[i] = tessera_torch_alloc ((ssize_t) size, 0, NULL);
  begin = now_ns ();
  for (size_t i = 0; i < N_ROUNDS; i++)
    {
      size_t k = i * 7919 % N_LIVE;

      tessera_torch_free (live[k], size, 0, NULL);
      live[k] = tessera_torch_alloc ((ssize_t) size, 0, NULL);
    }
  printf ("%s: %zu bytes, %d live: %.0f ns a request and its free\n", policy, size,
          N_LIVE, (now_ns () - begin) / N_ROUNDS);
  for (size_t i = 0; i < N_LIVE; i++)
    tessera_torch_free (live[i], size, 0, NULL);
}

/* runtime-bench POLICY [TRACE]: the library starts once in a process. */
int
main (int argc, char **argv)
{
  if (argc < 2 || tessera_configure ("policy", argv[1]) != 0 ||
      (argc > 2 && tessera_configure ("record", argv[2]) != 0) || tessera_start () != 0)
    {
      fprintf (stderr, "%s\n", argc < 2 ? "which policy?" : tessera_last_error ());
      return EXIT_FAILURE;
    }
  tessera_torch_has_record_stream (1);
  measure (argv[1], 4096);
  measure (argv[1], 4 << 20);
  tessera_stop ();
  return EXIT_SUCCESS;
}
