/*
 * From the records of a snapshot to a trace: the steps of snapshot.c, one file each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "recorder/import/capture.h"
#include "recorder/import/import.h"

/* Reads a snapshot from a stream that stands at its first byte. */
TESSERA_MUST_USE TesseraStatus tessera_import_snapshot (TesseraStream *stream,
                                                        const TesseraOpenOptions *options,
                                                        TesseraError *error,
                                                        TesseraTrace **out_trace);

/* Where the parts of the snapshot are; NULL or absent where the file has none. */
typedef struct
{
  const TesseraObject *segments;
  const TesseraObject *device_traces;
  const TesseraObject *annotations;
  TesseraValue settings;
  bool has_settings;
  uint64_t n_host_entries;
  uint64_t n_host_segments;
  bool is_bare; /* a list of segments, as 1.13 and memory_snapshot() give */
} TesseraSnapshotParts;

/* devices.c: lists the file's devices, chooses one (TESSERA_NONE: that with most events)
 * and leaves its events alone in the trace, numbered and timed from the first. */
TESSERA_MUST_USE TesseraStatus tessera_snapshot_choose_device (
    TesseraCapture *capture, const TesseraSnapshotParts *parts, uint32_t wanted);
TESSERA_MUST_USE TesseraStatus tessera_snapshot_take_events (
    TesseraCapture *capture, const TesseraSnapshotParts *parts, int64_t *out_zero_us);

/* end.c: the segments and blocks at the end, of the chosen device. */
TESSERA_MUST_USE TesseraStatus
tessera_snapshot_take_end (TesseraCapture *capture, const TesseraSnapshotParts *parts);

/* settings.c: the allocator's settings and which PyTorch wrote the file. */
TESSERA_MUST_USE TesseraStatus tessera_snapshot_take_settings (
    TesseraCapture *capture, const TesseraSnapshotParts *parts);

/* annotations.c: ranges from the pairs START and END. */
TESSERA_MUST_USE TesseraStatus tessera_snapshot_take_annotations (
    TesseraCapture *capture, const TesseraSnapshotParts *parts, int64_t zero_us);

/* start.c: walks from the end state backwards. Fills trace->start and the events' pools.
 */
TESSERA_MUST_USE TesseraStatus tessera_rewind (TesseraTrace *trace);

/* note.c: "note.KEY" of the trace's meta, where @n is not 0: "@n @text". */
TESSERA_MUST_USE TesseraStatus tessera_note (TesseraTrace *trace,
                                             const char *key,
                                             uint64_t n,
                                             const char *text);

/* annotations.c: STEP for "step 7", "ProfilerStep#7" and the like, else PHASE. */
TesseraRangeKind tessera_range_kind_of (const char *name);
