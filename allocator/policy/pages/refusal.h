/*
 * What the device refused to a plan's pool, and what is no use asking for again.
 *
 * Where others fill the device, each request for a page of the pool without memory would
 * ask the driver in vain, and flush the cache beside the pool, which waits for the
 * device. So the second refusal in a row stands: as much or more is not asked for again
 * before this process gave something back, or made some requests, or begins a step
 * (others may have given something back). Meanwhile such requests miss, and are served
 * beside the pool; one that would fail there forgets the refusal, and asks.
 *
 * Not thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct
{
  uint64_t bytes;      /* that the device did not have; 0: nothing stands */
  uint64_t held_bytes; /* by this process, at most, since then */
  uint32_t n_requests; /* of the run, since then */
  uint32_t n_in_a_row; /* refusals */
} TesseraRefusal;

/* The device has just refused so much; this process holds @held_bytes of it. */
void tessera_refusal_note (TesseraRefusal *refusal, uint64_t bytes, uint64_t held_bytes);
/* It gave what it was asked for. */
void tessera_refusal_end (TesseraRefusal *refusal);
/* It is to be asked whatever it refused last. Returns: whether anything stood. */
bool tessera_refusal_forget (TesseraRefusal *refusal);
/* Another request of the run. */
void tessera_refusal_count (TesseraRefusal *refusal);
/* Whether the device would refuse so much, as far as is known. */
bool
tessera_refusal_stands (TesseraRefusal *refusal, uint64_t bytes, uint64_t held_bytes);
