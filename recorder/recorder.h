/*
 * Recording into a trace while the program runs.
 *
 * Producers put events into a ring of fixed size and never wait; one thread of the
 * recorder's own writes them into a .tsr file, a transaction every flush interval. The
 * place in the ring is the event's index, taken at the call: whoever holds the lock that
 * orders two operations on memory calls under that lock, and a free before the address
 * can be used again. When the ring is full the event is lost and counted; so is every
 * later one of the same burst.
 *
 * The file is a whole trace after every transaction: killed, the process leaves one that
 * opens and lacks at most the flush interval. What is lost, and events that name what
 * nobody has told, are counted in meta "lost_events" and shown by a range without events
 * where they would be. A forked child records nothing and never touches its parent's
 * file. Guest code: libc, pthreads, SQLite.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

typedef struct TesseraRecorder TesseraRecorder;

typedef struct
{
  const char *path;     /* no pattern; a trace that is there is replaced, once there is an
                           event to record */
  bool overwrites;      /* what is no trace as well */
  const char *source;   /* shown as where the trace comes from */
  uint32_t ring_events; /* rounded up to a power of two; 0: 262144 */
  uint32_t flush_ms;    /* 0: 250; written from half of it on, a batch at a time */
  bool stacks;          /* capture Python stacks; needs a Python in the process by now */
  const TesseraMeta *meta; /* borrowed for the call */
  size_t n_meta;
} TesseraRecorderOptions;

/* TESSERA_IO and a sentence where the file cannot be made, or another process records
 * into it. The thread runs on return. */
TESSERA_MUST_USE TesseraStatus
tessera_recorder_open (const TesseraRecorderOptions *options,
                       TesseraError *error,
                       TesseraRecorder **out_recorder);

/* A device before its first event, a stream and a pool before their first. Cold: they may
 * take a lock and allocate. Indices as in TesseraTrace (stream and pool 0 need no call).
 */
typedef struct
{
  uint32_t device;
  uint64_t memory_bytes; /* 0: not told */
  uint64_t limit_bytes;  /* 0: none */
  uint32_t alignment_bytes;
  TesseraSettings settings;
} TesseraRecordedDevice;

void tessera_recorder_device (TesseraRecorder *recorder,
                              const TesseraRecordedDevice *device);
void tessera_recorder_stream (TesseraRecorder *recorder,
                              uint32_t device,
                              uint16_t stream,
                              uint64_t handle);
void tessera_recorder_pool (TesseraRecorder *recorder,
                            uint32_t device,
                            uint16_t pool,
                            TesseraPoolId id);
/* Later news of the kind (key, value) of the trace's meta; a known key is replaced. */
void
tessera_recorder_meta (TesseraRecorder *recorder, const char *key, const char *value);

/* The calling thread's Python stack, innermost first: TESSERA_NONE where there is none,
 * where stacks are off or the interpreter ends. Takes the interpreter's lock: call it
 * before any lock of one's own. */
uint32_t tessera_recorder_stack (TesseraRecorder *recorder);

/* Hot: no wait, no allocation, no system call but the clock. at_ns is filled in; stack is
 * what tessera_recorder_stack() gave; pool_known is ignored. Returns: false when lost. */
bool tessera_recorder_event (TesseraRecorder *recorder,
                             uint32_t device,
                             const TesseraEvent *event);

/* A range of all devices begins or ends now; ranges of one thread are nested, those of
 * different threads need not be. Names are copied (interned). Returns a handle for the
 * end, TESSERA_NONE when lost. */
uint32_t tessera_recorder_range_begin (TesseraRecorder *recorder,
                                       TesseraRangeKind kind,
                                       const char *name,
                                       bool is_inferred);
void tessera_recorder_range_end (TesseraRecorder *recorder, uint32_t range);

/* A tensor's storage begins at @addr of the device now, after all events so far. One of a
 * device that was not told is left out of the file. Returns: false when lost, or of no kind.
 */
bool tessera_recorder_tensor (TesseraRecorder *recorder,
                              uint32_t device,
                              uint64_t addr,
                              TesseraTensorKind kind,
                              const char *name);

typedef struct
{
  uint64_t n_events;  /* recorded */
  uint64_t n_lost;    /* the ring was full */
  uint64_t n_written; /* in the file */
  bool has_failed;    /* a full disk, say: recording has ended, see error */
  TesseraError error;
} TesseraRecorderStats;
void tessera_recorder_get_stats (TesseraRecorder *recorder,
                                 TesseraRecorderStats *out_stats);

/* Waits until all events so far are in the file. */
TESSERA_MUST_USE TesseraStatus tessera_recorder_flush (TesseraRecorder *recorder,
                                                       TesseraError *error);
/* What the driver has given and what lies in it. At the end: before closing. At the start,
 * where the device held something before it was recorded: once its streams and pools are
 * told, before its first event; live and pending blocks alone. Copied, and put in order. */
void tessera_recorder_state (TesseraRecorder *recorder,
                             uint32_t device,
                             const TesseraHeld *held,
                             bool at_end);
/* Writes the rest, checkpoints, joins the thread, frees; waits on the disk. No other call
 * may be going on or follow. In a forked child: frees only. NULL is fine. */
void tessera_recorder_close (TesseraRecorder *recorder);
