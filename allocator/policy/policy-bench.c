/*
 * What a call costs under each policy: the steps of a made-up training run, as planned,
 * over the virtual device. Nanoseconds of CPU time for a request with its free.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include "allocator/virtual.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MIB ((uint64_t) 1 << 20)

enum
{
  N_SLOTS = 30000, /* of a step */
  N_LANES = 1500,  /* blocks held at once; each lane holds one after the other */
  N_STEPS = 40,
  N_STREAMS = 2
};

typedef struct
{
  TesseraPlan plan;
  TesseraSection section;
  TesseraSlot slots[N_SLOTS];
} Made;

static double
cpu_seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* Half of the lanes hold blocks below 1 MiB, the others up to 8 MiB. */
static void
make_plan (Made *made)
{
  uint64_t state = 88172645463325252u;

  for (uint32_t i = 0; i < N_SLOTS; i++)
    {
      uint32_t lane = i % N_LANES;
      uint64_t n_lanes_below = lane / 2;
      bool is_small = lane % 2 == 0;

      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      made->slots[i] = (TesseraSlot){
        .block_bytes =
            is_small ? (state % 16 + 1) * (MIB / 16) : (state % 14 + 3) * (MIB / 2),
        .offset_bytes = n_lanes_below * 9 * MIB + (is_small ? 8 * MIB : 0),
        .born = i,
        .died = i + N_LANES < N_SLOTS ? i + N_LANES : N_SLOTS,
        .phase = TESSERA_NONE,
        .group = TESSERA_NONE,
        .stream = (uint16_t) (lane / 2 % N_STREAMS),
      };
      made->slots[i].size_bytes = made->slots[i].block_bytes;
    }
  made->section = (TesseraSection){ .end = N_SLOTS,
                                    .n_slots = N_SLOTS,
                                    .kind = TESSERA_SECTION_REPEATS };
  made->plan = (TesseraPlan){ .slots = made->slots,
                              .n_slots = N_SLOTS,
                              .sections = &made->section,
                              .n_sections = 1,
                              .n_positions = N_SLOTS,
                              .height_bytes = (uint64_t) N_LANES / 2 * 9 * MIB,
                              .alignment_bytes = 512,
                              .n_streams = N_STREAMS,
                              .followable = TESSERA_FOLLOWABLE_YES };
}

/* Returns: whether all requests were served. */
static bool
run_steps (TesseraPolicy *policy, const Made *made)
{
  static uint64_t held[N_LANES];

  for (size_t i = 0; i < N_LANES; i++)
    held[i] = 0;
  for (uint32_t step = 0; step < N_STEPS; step++)
    {
      tessera_policy_step (policy);
      for (uint32_t i = 0; i < N_SLOTS; i++)
        {
          const TesseraSlot *slot = &made->slots[i];
          uint64_t *addr = &held[i % N_LANES];
          TesseraPolicyGrant grant;

          if (*addr != 0)
            {
              tessera_policy_free_requested (policy, *addr);
              tessera_policy_free_completed (policy, *addr);
            }
          if (tessera_policy_malloc (policy, slot->size_bytes, slot->stream, 0, &grant) !=
              TESSERA_OK)
            return false;
          *addr = grant.grant.addr;
        }
    }
  return true;
}

static bool
bench (const char *name, TesseraPolicyKind kind, const Made *made)
{
  TesseraPolicyOptions options = { .kind = kind, .plan = &made->plan };
  TesseraVirtual device;
  TesseraPolicy *policy;
  TesseraPolicyStats stats;
  double begin = cpu_seconds ();
  bool is_served;

  tessera_settings_default (&options.caching.settings);
  tessera_virtual_init (&device, 0);
  if (tessera_policy_new (&options, &device.device, NULL, NULL, &policy) != TESSERA_OK)
    return false;
  is_served = run_steps (policy, made);
  tessera_policy_get_stats (policy, &stats);
  printf ("%-10s %4.0f ns; reserved %" PRIu64 " MiB for a peak of %" PRIu64
          " MiB; %" PRIu64 " hits\n",
          name, (cpu_seconds () - begin) * 1e9 / N_SLOTS / N_STEPS,
          stats.caching.peak_reserved_bytes / MIB,
          stats.caching.peak_allocated_bytes / MIB, stats.follower.hits);
  tessera_policy_free (policy);
  return is_served;
}

int
main (void)
{
  static Made made;
  bool is_served;

  make_plan (&made);
  is_served = bench ("native", TESSERA_POLICY_NATIVE, &made);
  is_served = bench ("expandable", TESSERA_POLICY_EXPANDABLE, &made) && is_served;
  is_served = bench ("direct", TESSERA_POLICY_DIRECT, &made) && is_served;
  is_served = bench ("plan", TESSERA_POLICY_PLAN, &made) && is_served;
  return is_served ? EXIT_SUCCESS : EXIT_FAILURE;
}
