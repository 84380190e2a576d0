/*
 * A device that exists in numbers only: for simulation and tests.
 *
 * Addresses come from a counter (multiples of 2 MiB, never handed out twice), memory
 * costs nothing, and what exceeds the budget is refused as a driver would. No call
 * allocates host memory or fails otherwise.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/device.h"
#include "db/trace.h"

typedef struct
{
  TesseraDevice device;  /* must be first: what the policy is given */
  uint64_t device_bytes; /* 0: endless */
  uint64_t used_bytes, peak_used_bytes;
  uint64_t next_addr;
  uint64_t now_ns;   /* time stands still, unless the user of the device moves it on */
  uint64_t unmap_ns; /* that a call of unmap() takes */
  uint64_t n_allocated, n_released, n_mapped, n_unmapped, n_refused, n_synchronized,
      n_ordered;

  /* Told when the policy waits for the side streams: whoever simulates them completes
   * every pending block at the policy, in order. May be NULL. */
  void (*synchronize) (void *user);
  void *user;
} TesseraVirtual;

void tessera_virtual_init (TesseraVirtual *virtual_device, uint64_t device_bytes);

/* For a policy seeded with the state at the start of @trace: counts that memory as used
 * and keeps new addresses above all of the trace's. */
void tessera_virtual_adopt (TesseraVirtual *virtual_device, const TesseraTrace *trace);
