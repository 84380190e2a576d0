/*
 * Ends of blocks that other streams use as well (record_stream).
 *
 * PyTorch holds a block that other streams use back after its free until the host has
 * seen an event on each of them. But what has to be done before its memory can be used
 * again is known when it is freed: these events are recorded then, and whoever takes the
 * range may wait for them on the device. So to a plan across streams such a block is at
 * an end when it is freed, and the slot says that its range is not to be had without that
 * wait. A correct program relies on no more: the events may be done at once, and then
 * PyTorch gives the block to the owner's next request.
 *
 * Not those of private pools: their memory is in use whenever a graph is replayed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/run.h"

/* When the host saw that the blocks of a slot were done, after they had been freed: the
 * longest of all steps. */
typedef struct
{
  int64_t ns; /* TESSERA_NO_SLACK: the trace has no clock */
  uint32_t n_events;
} TesseraLag;

/* Ends blocks of at least @from_bytes at their free. @out_noticed: NULL where there is
 * none, else [n_blocks] the events at which the host saw that they were done. */
TESSERA_MUST_USE TesseraStatus tessera_order_ends (TesseraBlocks *blocks,
                                                   uint64_t from_bytes,
                                                   uint32_t **out_noticed);
/* Whether other streams use the block, or one of another step that its slot stands for.
 */
bool tessera_has_lag (const TesseraRun *run,
                      const uint32_t *noticed,
                      uint32_t block,
                      TesseraLag *out_lag);
