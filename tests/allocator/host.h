/*
 * A device over the host's memory: for tests and demonstrations.
 *
 * What it hands out can be written and read, so that a test sees by content whether two
 * blocks overlap. Memory is mapped as the kernel gives it (zeros, multiples of a host
 * page); what exceeds the budget is refused as a driver would. Not thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/device.h"

typedef struct
{
  TesseraDevice device;  /* must be first: what the policy is given */
  uint64_t device_bytes; /* 0: endless */
  uint64_t used_bytes, peak_used_bytes;

  /* As in TesseraVirtual. */
  void (*synchronize) (void *user);
  void *user;
} TesseraHost;

/* @device_bytes: the budget; 0: endless. Takes nothing yet, so there is nothing to clear;
 * what is held goes back block by block, or with the process. */
void tessera_host_init (TesseraHost *host, uint64_t device_bytes);
