/*
 * A device that answers from a recording.
 *
 * The entries that one call of the program produced are its window. What the policy asks
 * of the device is held against the next entry of the window: the driver's own choices
 * (base addresses, refusals) are answered, the policy's are compared. The first thing
 * that does not agree is kept; from then on the answers mean nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/caching-replay.h"
#include "allocator/device.h"

#define TESSERA_DIFFERENCE_BYTES 256

typedef struct
{
  TesseraDevice device; /* must be first */
  const TesseraTrace *trace;
  TesseraCaching *caching;
  uint32_t begin;      /* of the window */
  uint32_t next, end;  /* what is left of it */
  uint32_t call_index; /* the program's call that the window leads to */
  bool is_oom;         /* ... which failed */
  uint64_t made_up_addr;
  uint64_t n_segments_right;

  uint32_t difference_index; /* TESSERA_NONE: none so far */
  char difference[TESSERA_DIFFERENCE_BYTES];
} TesseraReplay;

void tessera_replay_init (TesseraReplay *replay, const TesseraTrace *trace);
void
tessera_replay_differs (TesseraReplay *replay, uint32_t index, const char *format, ...)
    TESSERA_PRINTF (3, 4);
/* Applies the frees that complete next in the window. */
void tessera_replay_complete (TesseraReplay *replay);
