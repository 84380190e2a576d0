/*
 * The time axis: a monotone map from event index to a position 0..1; and curves along it.
 *
 * Bytes moved: each event is as wide as the bytes it allocates or frees, so that
 * short-lived giants can be seen. Event index: all alike. Time: as the clock said.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/blocks.h"

typedef enum
{
  TESSERA_AXIS_BYTES_MOVED,
  TESSERA_AXIS_EVENTS,
  TESSERA_AXIS_TIME
} TesseraAxisKind;

typedef struct
{
  TesseraAxisKind kind;
  uint32_t n_events;
  double *at; /* [n_events + 1], at[0] = 0, at[n_events] = 1, never falling */
} TesseraAxis;

/* A trace without time gets an axis of events when asked for one of time: see kind. */
TesseraAxis *tessera_axis_new (const TesseraTrace *trace,
                               const TesseraBlocks *blocks,
                               TesseraAxisKind kind);
void tessera_axis_free (TesseraAxis *axis);
/* The last event that begins at or before @position; 0 left of the axis, the last event
 * right of it. */
uint32_t tessera_axis_event_at (const TesseraAxis *axis, double position);

/* ---- lanes.c: curves folded to pixel columns, low and high per column, so that no peak can
 * vanish ---- */

/* low[c], high[c] of column c of @n_columns over all of @axis, of a curve's @values in force after
 * each of its events; 0 where it has none. Linear in events. */
void tessera_fold_columns (const uint64_t *values,
                           const TesseraAxis *axis,
                           uint32_t n_columns,
                           uint64_t *low,
                           uint64_t *high);
