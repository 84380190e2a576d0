/*
 * Random programs of several streams and threads, and a plan for each that lets streams
 * share addresses, served by a policy over a device that feeds clocks (clocks.h).
 *
 * Programs keep PyTorch's contract, and use what it leaves open:
 *   - who uses a block on another stream has ordered that behind the allocation;
 *   - of what used a block on another stream the block's own stream is behind before the
 *     free; or record_stream() was called; or, the trap, it waits only before its next
 *     allocation that PyTorch could serve from the block;
 *   - a thread may free a block and launch its last use after that, up to its next call
 *     of the allocator and to whatever could get the block from PyTorch;
 *   - threads take turns. They hand over where the one goes on with a block or a stream
 *     of the other, else only the allocator's lock is between them;
 *   - graphs use their private pools without asking, until those are released.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/occupancy.h"
#include "tests/fuzz/follow/clocks.h"

/* What is left out or done wrong. */
typedef struct
{
  TesseraOccupancyLaws laws;
  bool orders_nothing;       /* the device */
  bool marks_too_early;      /* ... its marks are those of the time before */
  bool marks_all_but_one;    /* ... and lack a stream */
  bool unmaps_at_once;       /* ... and does not wait */
  bool waits_too_early;      /* the program: other streams wait before the allocation */
  bool keeps_streams_apart;  /* the plan: nothing passes between streams */
  bool memory_goes_any_time; /* ... before a launch that comes after the free, too */
} StreamsFault;

typedef struct
{
  guint n_requests;
  guint n_hits;
  guint n_passed; /* blocks that another stream's block had lain under */
  guint n_barriers, n_unmapped, n_late, n_replays, n_ended_by_passing;
  guint n_harms[CLOCKS_N_HARMS];
  char first_harm[256];
} StreamsResult;

/* Adds to what is in @result. Returns: whether harm was done. */
bool streams_run (uint32_t seed, const StreamsFault *fault, StreamsResult *result);
/* The step of FSDP2 with two dimensions: gradients are made on one stream, scattered on a
 * second and reduced on a third, and what was scattered is freed before any stream waits
 * for the third. */
bool streams_run_sharded (const StreamsFault *fault, StreamsResult *result);
