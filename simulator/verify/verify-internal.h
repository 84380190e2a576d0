/*
 * What the files of the verification share, and the way in for tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "simulator/replay.h"
#include "simulator/verify/verify.h"

typedef struct
{
  TesseraReplay replay;
  const TesseraTrace *trace;
  TesseraCaching *caching;
  TesseraVerification *verification;
  bool gives_back_early;    /* requests may give memory back without a flush */
  uint64_t *start_bytes;    /* [start.n_blocks] as tried this time */
  size_t hint_block;        /* start block that must have been larger, or n_blocks */
  uint64_t hint_tail_bytes; /* ... by this */
} TesseraVerifier;

/* verify-window.c: what the entries before a call say about it */
bool tessera_is_of_device (uint8_t action);
bool tessera_is_taken (uint8_t action);
bool tessera_is_request (const TesseraEvent *call); /* NULL is none */
/* Whether the policy would serve this request now without asking the device. */
bool tessera_window_needs_no_device (const TesseraVerifier *verifier,
                                     const TesseraEvent *call);
/* Puts an empty_cache() before the call in effect, where the window tells of one.
 *
 * Returns: whether the call's search is known to miss, because memory is given back and
 * more is taken (or refused). */
bool tessera_window_settle_flush (TesseraVerifier *verifier,
                                  const TesseraEvent *call,
                                  bool has_completed);
/* Whether the completions in front of @first come from the flush's own wait. */
bool
tessera_window_waits_in_flush (const TesseraTrace *trace, uint32_t first, uint32_t index);
/* Whether the window at @begin begins with the end of the free just requested. */
bool tessera_window_completes_at_once (const TesseraTrace *trace, uint32_t begin);

/* verify-call.c: replays all events, up to the first difference. */
TESSERA_MUST_USE TesseraStatus tessera_verify_events (TesseraVerifier *verifier,
                                                      const TesseraProgress *progress);

/* With rules altered on purpose: must disagree somewhere. */
TESSERA_MUST_USE TesseraStatus
tessera_verify_with_rules (const TesseraTrace *trace,
                           const TesseraRules *rules,
                           const TesseraProgress *progress,
                           TesseraVerification *out_verification);

/* Compares what the policy holds now with the state at the end of the trace. */
void tessera_verify_final (const TesseraCaching *caching,
                           TesseraReplay *replay,
                           TesseraVerification *verification);

/*
 * verify-back.c: the recording held against itself, from its end backwards.
 *
 * A wrong entry also makes the state at the start wrong, which was found by walking
 * backwards over it; the replay then fails earlier, at an entry that is right. Where the
 * replay found a difference, finds the last entry that does not fit what follows it and
 * the state at the end, and if it comes later, names that one instead.
 *
 * One thing makes a difference of its own: a single segment at an odd address. (Of a
 * segment that was free from before the trace until a flush in it, nothing else tells.)
 */
void tessera_verify_back (TesseraReplay *replay);
