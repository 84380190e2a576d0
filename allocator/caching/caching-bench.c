/*
 * How fast the policy is: a million allocations and their frees over the virtual device,
 * as multiples of the time that a bare hash table takes for the same addresses.
 *
 * CPU time, so that other work on the machine counts little.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/caching.h"
#include "allocator/table.h"
#include "allocator/virtual.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MIB ((uint64_t) 1 << 20)

enum
{
  N_ALLOCATIONS = 1000000,
  N_HELD = 1500 /* as many blocks as a large model holds at once */
};

typedef struct
{
  uint64_t size_bytes[N_ALLOCATIONS];
  uint32_t slot[N_ALLOCATIONS]; /* whose block goes first */
} Stream;

static double
cpu_seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* Sizes as in training: half of them below 1 MiB, some of hundreds. */
static void
fill (Stream *stream)
{
  uint64_t state = 88172645463325252u;

  for (size_t i = 0; i < N_ALLOCATIONS; i++)
    {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      stream->slot[i] = (uint32_t) (state >> 40) % N_HELD;
      stream->size_bytes[i] =
          1 + state % (i % 2 == 0 ? MIB : (i % 64 == 1 ? 200 : 8) * MIB);
    }
}

/* Returns: the CPU time, or a negative number when the host's memory did not suffice. */
static double
run_policy (const Stream *stream, bool is_expandable)
{
  static uint64_t held[N_HELD];
  TesseraCachingOptions options = { 0 };
  TesseraVirtual device;
  TesseraCaching *caching;
  TesseraCachingStats stats;
  double begin = cpu_seconds ();

  tessera_settings_default (&options.settings);
  options.settings.is_expandable = is_expandable;
  tessera_virtual_init (&device, 0);
  for (size_t i = 0; i < N_HELD; i++)
    held[i] = 0;
  if (tessera_caching_new (&options, &device.device, NULL, &caching) != TESSERA_OK)
    return -1;
  for (size_t i = 0; i < N_ALLOCATIONS; i++)
    {
      uint64_t *addr = &held[stream->slot[i]];
      TesseraGrant grant;

      if (*addr != 0)
        {
          tessera_caching_free_requested (caching, *addr);
          tessera_caching_free_completed (caching, *addr);
        }
      if (tessera_caching_malloc (caching, stream->size_bytes[i], 0, 0, &grant) !=
          TESSERA_OK)
        return -1;
      *addr = grant.addr;
    }
  stats = *tessera_caching_stats (caching);
  printf ("%-10s reserved %" PRIu64 " MiB for a peak of %" PRIu64 " MiB\n",
          is_expandable ? "expandable" : "native", stats.peak_reserved_bytes / MIB,
          stats.peak_allocated_bytes / MIB);
  tessera_caching_free (caching);
  return cpu_seconds () - begin;
}

static double
run_baseline (const Stream *stream)
{
  static uint64_t held[N_HELD];
  TesseraTable table = { 0 };
  uint64_t next_addr = MIB;
  double begin = cpu_seconds ();

  for (size_t i = 0; i < N_ALLOCATIONS; i++)
    {
      uint64_t *addr = &held[stream->slot[i]];

      if (*addr != 0)
        tessera_table_remove (&table, *addr);
      if (tessera_table_reserve (&table) != TESSERA_OK)
        return -1;
      *addr = next_addr;
      next_addr += (stream->size_bytes[i] | 511) + 1;
      tessera_table_add (&table, *addr, addr);
    }
  tessera_table_clear (&table);
  return cpu_seconds () - begin;
}

int
main (void)
{
  Stream *stream = malloc (sizeof *stream);
  double baseline, native, expandable;

  if (stream == NULL)
    return EXIT_FAILURE;
  fill (stream);
  baseline = run_baseline (stream);
  native = run_policy (stream, false);
  expandable = run_policy (stream, true);
  free (stream);
  if (baseline < 0 || native < 0 || expandable < 0)
    return EXIT_FAILURE;
  printf ("hash table %.3f s; native %.3f s (%.1f x, %.1f M events/s); "
          "expandable %.3f s (%.1f x, %.1f M events/s)\n",
          baseline, native, native / baseline, 3 * N_ALLOCATIONS / native / 1e6,
          expandable, expandable / baseline, 3 * N_ALLOCATIONS / expandable / 1e6);
  return EXIT_SUCCESS;
}
