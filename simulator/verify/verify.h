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
  /* "right" counts what agreed before the first difference; the final blocks are
   * compared one by one, but only if the replay got to the end (else 0 are right). */
  uint64_t addresses_right, addresses; /* allocations */
  uint64_t segments_right, segments;   /* segment alloc, free, map, unmap */
  uint64_t ooms_right, ooms;
  uint64_t final_right, final_blocks; /* blocks of the state at the end; 0 where a killed
                                         recording has none */
  bool has_history;            /* false: no allocation in the file: nothing verified */
  uint32_t first_difference;   /* event index, or TESSERA_NONE; n_events: final state */
  char difference[256];        /* expected and found, or "" */
  uint64_t *block_bytes;       /* [n_events] of each alloc event: what it took; 0 where
                                  the replay did not get there. Caller frees */
  uint64_t *start_block_bytes; /* [start.n_blocks]. Caller frees */
} TesseraVerification;

/* Returns TESSERA_OK with or without differences; TESSERA_NO_MEMORY, TESSERA_CANCELLED,
 * or TESSERA_INVALID for settings that make no sense, with nothing to clear. */
TESSERA_MUST_USE TesseraStatus tessera_verify (const TesseraTrace *trace,
                                               const TesseraProgress *progress,
                                               TesseraVerification *out_verification);
void tessera_verification_clear (TesseraVerification *verification);
/* No difference; also where there was nothing to verify: look at has_history first. */
bool tessera_verification_is_exact (const TesseraVerification *verification);
