/*
 * The time axis: widths of events, summed and scaled to 0..1.
 *
 * On the axis of bytes an event is as wide as the bytes its block takes or gives back. A
 * block's free counts where the program asked for it (free_requested): its completion
 * follows at once nearly always, and the width then belongs to the block that leaves
 * instead of to the hole behind it. All events together share 1 / SMALL_SHARE of the
 * axis evenly, so that each has some width, however small.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/axis.h"

#include <glib.h>

#define SMALL_SHARE 50.0

static void
add_bytes_moved (const TesseraBlocks *blocks, double *width, uint32_t n_events)
{
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *b = &blocks->blocks[i];
      bool was_before = (b->flags & (TESSERA_AT_START | TESSERA_UNKNOWN_START)) != 0;
      if (!was_before && b->born_index < n_events)
        width[b->born_index] += (double) b->size_bytes;
      if ((b->flags & TESSERA_FAILED) == 0 && b->freed_index < n_events)
        width[b->freed_index] += (double) b->size_bytes;
    }
}

static void
add_time (const TesseraTrace *trace, double *width, uint32_t n_events)
{
  int64_t now = n_events > 0 ? trace->events[0].at_ns : 0;
  for (uint32_t i = 1; i < n_events; i++)
    {
      int64_t at = trace->events[i].at_ns;
      if (at > now) /* clocks of several threads may step back a little */
        {
          width[i - 1] = (double) at - (double) now;
          now = at;
        }
    }
}

/* Turns widths, kept one place to the right, into sums that end at 1. */
static void
sum_up (TesseraAxis *axis)
{
  double *at = axis->at;
  uint32_t n = axis->n_events;
  double total = 0.0;
  for (uint32_t i = 1; i <= n; i++)
    total += at[i];
  double least = total > 0.0 ? total / (n * SMALL_SHARE) : 1.0;
  double scale = 1.0 / (total + n * least), sum = 0.0;
  at[0] = 0.0;
  for (uint32_t i = 1; i <= n; i++)
    {
      sum += at[i] + least;
      at[i] = sum * scale < 1.0 ? sum * scale : 1.0;
    }
  at[n] = 1.0;
}

TesseraAxis *
tessera_axis_new (const TesseraTrace *trace,
                  const TesseraBlocks *blocks,
                  TesseraAxisKind kind)
{
  uint32_t n_events = blocks->n_events;
  TesseraAxis *axis = g_new0 (TesseraAxis, 1);
  double *at = g_new0 (double, (size_t) n_events + 2);
  if (kind == TESSERA_AXIS_TIME && !trace->has_time)
    kind = TESSERA_AXIS_EVENTS;
  axis->kind = kind;
  axis->n_events = n_events;
  axis->at = at;
  if (kind == TESSERA_AXIS_BYTES_MOVED)
    add_bytes_moved (blocks, at + 1, n_events);
  else if (kind == TESSERA_AXIS_TIME)
    add_time (trace, at + 1, n_events);
  if (n_events > 0)
    sum_up (axis);
  return axis;
}

void
tessera_axis_free (TesseraAxis *axis)
{
  if (axis != NULL)
    g_free (axis->at);
  g_free (axis);
}

uint32_t
tessera_axis_event_at (const TesseraAxis *axis, double position)
{
  uint32_t low = 0, high = axis->n_events; /* at[low] <= position < at[high] */
  if (high == 0)
    return 0;
  while (high - low > 1)
    {
      uint32_t middle = low + (high - low) / 2;
      if (axis->at[middle] <= position)
        low = middle;
      else
        high = middle;
    }
  return low;
}
