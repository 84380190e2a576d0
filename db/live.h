/*
 * A trace file that grows: written batch after batch while the program runs.
 *
 * A batch is one transaction, after which the file is a whole trace. The file is in
 * SQLite's WAL mode under exclusive locking (no shared memory, so that it works on
 * network file systems) until it is closed: its newest pages lie in a "-wal" file beside
 * it, which tessera_trace_load() of another process reads along, also where a process was
 * killed. A kill loses no batch. Power loss may lose those since the last checkpoint (some
 * MiB of them), never the file: synchronous is NORMAL. Any failure ends it: what was
 * written before stays.
 *
 * One thread at a time; it blocks SIGXFSZ or dies of it. Calls wait on the disk. The
 * process itself must not open the file meanwhile: closing it again would lose the lock
 * that keeps other processes out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/intern.h"
#include "db/trace.h"

typedef struct TesseraLive TesseraLive;

typedef struct
{
  /* Its device, source, settings, streams, pools and state at the start, and how many
   * events and tensors there are in all; its other arrays are not looked at. A device keeps
   * its place in the batch. */
  const TesseraTrace *head;
  bool has_news; /* of these, but the counts, some differ from the batch before */
  const TesseraEvent *events; /* new ones */
  const uint32_t *event_indices;
  size_t n_events;
  const TesseraTensor *tensors; /* new ones */
  size_t n_tensors;
  const TesseraHeld *end; /* (nullable): ascending addr; once */
} TesseraLiveDevice;

typedef struct
{
  const TesseraLiveDevice *devices; /* all, the first from the beginning on */
  size_t n_devices;
  /* New names; they are numbered on from those before. */
  const char *const *strings;
  size_t n_strings;
  const TesseraFrame *frames;
  size_t n_frames;
  const TesseraStackNode *nodes;
  size_t n_nodes;
  const uint32_t *stack_nodes; /* innermost node of each stack */
  size_t n_stacks;
  const TesseraMeta *meta; /* all of it, where something is new; else none */
  size_t n_meta;
  /* New and changed ones, ascending index, of all devices. */
  const TesseraRange *ranges;
  const uint32_t *range_indices;
  size_t n_ranges;
  int64_t ranges_later_ns; /* ranges of earlier batches move by this */
} TesseraLiveBatch;

/* TESSERA_IO and a sentence where no trace can be made at @path: also where another process
 * records there or, unless it @overwrites, where a file is that is no trace. What is there
 * is this process's to replace until @*out_claim (-1: none) is closed: for others it is
 * being recorded. */
TESSERA_MUST_USE TesseraStatus tessera_live_claim (const char *path,
                                                   bool overwrites,
                                                   TesseraError *error,
                                                   int *out_claim);
/* Makes the file with its first batch in it, or leaves what was there. TESSERA_IO also
 * where another process records into it. */
TESSERA_MUST_USE TesseraStatus tessera_live_create (const char *path,
                                                    const TesseraLiveBatch *batch,
                                                    TesseraError *error,
                                                    TesseraLive **out_live);
/* TESSERA_INVALID for a batch that could not be loaded again; nothing of it is written.
 */
TESSERA_MUST_USE TesseraStatus tessera_live_write (TesseraLive *live,
                                                   const TesseraLiveBatch *batch,
                                                   TesseraError *error);
/* Brings the file back to a plain single one. @live is freed in any case. Where it fails
 * the "-wal" file stays, and the trace is as whole as before. */
TESSERA_MUST_USE TesseraStatus tessera_live_close (TesseraLive *live,
                                                   TesseraError *error);
