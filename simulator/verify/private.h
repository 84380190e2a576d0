/*
 * What the files of simulator/verify/ share: the replay of a recording.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/caching-replay.h"
#include "allocator/device.h"
#include "simulator/verify/verify.h"

/*
 * replay.c: a device that answers from a recording.
 *
 * The entries that one call of the program produced are its window. What the policy asks
 * of the device is held against the next entry of the window: the driver's own choices
 * (base addresses, refusals) are answered, the policy's are compared. The first thing
 * that does not agree is kept; from then on the answers mean nothing.
 */
typedef struct
{
  TesseraDevice device; /* must be first */
  const TesseraTrace *trace;
  TesseraVerification *verification;
  TesseraCaching *caching;
  uint32_t next, end;  /* what is left of the window */
  uint32_t call_index; /* the program's call that the window leads to */
  bool is_oom;         /* ... which failed */
  uint64_t made_up_addr;
  bool gives_back_early;    /* requests may give memory back without a flush */
  size_t hint_block;        /* start block that must have been larger, or n_blocks */
  uint64_t hint_tail_bytes; /* ... by this */
} TesseraReplay;

/* Counts and compares anew, from the first event. */
void tessera_replay_begin (TesseraReplay *replay);
void
tessera_replay_differs (TesseraReplay *replay, uint32_t index, const char *format, ...)
    TESSERA_PRINTF (3, 4);
/* Applies the frees that complete next in the window. */
void tessera_replay_complete (TesseraReplay *replay);

/* verify-call.c: whether it is an entry that comes before the entry of the call that caused
 * it */
bool tessera_is_of_device (uint8_t action);
/* Replays all events, up to the first difference. */
TESSERA_MUST_USE TesseraStatus tessera_verify_events (TesseraReplay *replay,
                                                      const TesseraProgress *progress);

/* With rules altered on purpose: must disagree somewhere. */
TESSERA_MUST_USE TesseraStatus
tessera_verify_with_rules (const TesseraTrace *trace,
                           const TesseraRules *rules,
                           const TesseraProgress *progress,
                           TesseraVerification *out_verification);
