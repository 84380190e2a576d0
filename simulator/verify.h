/*
 * Replays a recorded snapshot through our own allocator and compares every decision.
 *
 * The policy sees requests, frees, completions, empty_cache calls, the base addresses
 * that the driver gave or that it refused. Everything else it decides; it is compared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

typedef struct
{
  uint64_t addresses_right, addresses; /* allocations */
  uint64_t segments_right, segments;   /* segment alloc, free, map, unmap */
  uint64_t ooms_right, ooms;
  uint64_t final_right, final_blocks; /* blocks of the state at the end */
  bool has_history;            /* false: no allocation in the file: nothing verified */
  uint32_t first_difference;   /* event index, or TESSERA_NONE; n_events: final state */
  char difference[256];        /* expected and found, or "" */
  uint64_t *block_bytes;       /* [n_events] of each alloc event: what it took; 0 where
                                  the replay did not get there. Caller frees */
  uint64_t *start_block_bytes; /* [start.n_blocks]. Caller frees */
} TesseraVerification;

TESSERA_MUST_USE TesseraStatus tessera_verify (const TesseraTrace *trace,
                                               const TesseraProgress *progress,
                                               TesseraVerification *out_verification);
void tessera_verification_clear (TesseraVerification *verification);
bool tessera_verification_is_exact (const TesseraVerification *verification);
