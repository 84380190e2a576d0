/*
 * What the ring gave, as the rows of one batch: events by device, ranges with their ends.
 *
 * The writer's thread only. Labels are made here: the index of an event is its place in
 * the ring's order; nanoseconds count from the first event and never go back (clocks are
 * read before places are taken, so neighbours may be swapped); no two ends of ranges have
 * the same, so that ranges in order of begin are in the file's order. A range that is
 * open ends "now" in every batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "recorder/news.h"
#include "recorder/ring.h"

typedef struct
{
  uint32_t handle;
  uint32_t index;     /* of its row */
  TesseraRange range; /* times as the clock gave them */
} TesseraOpenRange;

typedef struct
{
  TesseraEvent *events;
  uint32_t *indices;
  size_t n_events, cap_events, cap_indices;
} TesseraDeviceRows;

typedef struct
{
  bool has_base;   /* there was an event */
  int64_t base_ns; /* its time; before: when recording began */
  int64_t last_ns;
  uint64_t n_events, n_ranges; /* in all */
  uint64_t n_refused;          /* events that name what nobody has told: not written */
  TesseraOpenRange *open;      /* ascending index */
  size_t n_open, cap_open;
  /* of this batch */
  TesseraDeviceRows *devices; /* as in the news */
  size_t n_devices, cap_devices;
  TesseraRange *ranges;
  uint32_t *range_indices;
  size_t n_changed, cap_ranges, cap_range_indices;
  int64_t ranges_later_ns;
} TesseraBatchRows;

/* @now_ns: when recording begins. */
void tessera_batch_rows_init (TesseraBatchRows *rows, int64_t now_ns);
void tessera_batch_rows_clear (TesseraBatchRows *rows);

/* After the news were taken. All but end_range: TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_batch_rows_begin (TesseraBatchRows *rows,
                                                         const TesseraNews *news);
TESSERA_MUST_USE TesseraStatus tessera_batch_rows_add (TesseraBatchRows *rows,
                                                       const TesseraNews *news,
                                                       const TesseraRingItem *item);
/* A range without events that says what is missing here. */
TESSERA_MUST_USE TesseraStatus tessera_batch_rows_add_gap (TesseraBatchRows *rows,
                                                           uint32_t name,
                                                           int64_t now_ns);
/* Returns: TESSERA_INVALID if no such range is open. */
TESSERA_MUST_USE TesseraStatus tessera_batch_rows_end_range (TesseraBatchRows *rows,
                                                             uint32_t handle,
                                                             int64_t now_ns);
/* Ends what is open for now, and puts all in @batch, whose devices are @news's. */
TESSERA_MUST_USE TesseraStatus tessera_batch_rows_fill (TesseraBatchRows *rows,
                                                        TesseraNews *news,
                                                        TesseraLiveBatch *batch);
