/*
 * What the ring gave, as the rows of one batch: see rows.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/rows.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"

void
tessera_batch_rows_init (TesseraBatchRows *rows, int64_t now_ns)
{
  *rows = (TesseraBatchRows){ .base_ns = now_ns, .last_ns = now_ns };
}

void
tessera_batch_rows_clear (TesseraBatchRows *rows)
{
  for (size_t i = 0; i < rows->n_devices; i++)
    {
      free (rows->devices[i].events);
      free (rows->devices[i].indices);
    }
  free (rows->devices);
  free (rows->open);
  free (rows->ranges);
  free (rows->range_indices);
  memset (rows, 0, sizeof *rows);
}

TesseraStatus
tessera_batch_rows_begin (TesseraBatchRows *rows, const TesseraNews *news)
{
  if (!TESSERA_RESERVE (rows->devices, rows->cap_devices, news->n_devices))
    return TESSERA_NO_MEMORY;
  for (; rows->n_devices < news->n_devices; rows->n_devices++)
    rows->devices[rows->n_devices] = (TesseraDeviceRows){ 0 };
  for (size_t i = 0; i < rows->n_devices; i++)
    rows->devices[i].n_events = 0;
  rows->n_changed = 0;
  rows->ranges_later_ns = 0;
  return TESSERA_OK;
}

/* Could a reader make sense of it? */
static bool
is_sound (const TesseraEvent *event, const TesseraTrace *head, const TesseraNews *news)
{
  return event->action >= TESSERA_ALLOC && event->action <= TESSERA_MARK &&
         event->size_bytes <= INT64_MAX && event->stream < head->n_streams &&
         event->pool < head->n_pools &&
         (event->stack == TESSERA_NONE ||
          event->stack < news->n_stacks + news->n_new_stacks);
}

static TesseraStatus
add_event (TesseraBatchRows *rows, const TesseraNews *news, const TesseraRingItem *item)
{
  TesseraEvent event = item->event;
  TesseraDeviceRows *to;
  size_t place = 0;

  while (place < news->n_devices && news->heads[place]->device != item->device)
    place++;
  if (place == news->n_devices || !is_sound (&event, news->heads[place], news) ||
      rows->n_events >= TESSERA_MAX_EVENTS)
    {
      rows->n_refused++;
      return TESSERA_OK;
    }
  to = &rows->devices[place];
  if (!TESSERA_RESERVE (to->events, to->cap_events, to->n_events + 1) ||
      !TESSERA_RESERVE (to->indices, to->cap_indices, to->n_events + 1))
    return TESSERA_NO_MEMORY;
  if (event.at_ns < rows->last_ns)
    event.at_ns = rows->last_ns;
  if (!rows->has_base)
    {
      rows->ranges_later_ns = rows->base_ns - event.at_ns;
      rows->base_ns = event.at_ns;
      rows->has_base = true;
    }
  rows->last_ns = event.at_ns;
  event.at_ns -= rows->base_ns;
  event.pool_known = 1;
  to->events[to->n_events] = event;
  to->indices[to->n_events++] = (uint32_t) rows->n_events++;
  return TESSERA_OK;
}

/* Later than all before. */
static int64_t
tick (TesseraBatchRows *rows, int64_t now_ns)
{
  rows->last_ns = now_ns > rows->last_ns ? now_ns : rows->last_ns + 1;
  return rows->last_ns;
}

/* Of ranges that end now or later, the one begun last before the open one at @place: all
 * that ended before cannot hold it. */
static uint32_t
parent_of (const TesseraBatchRows *rows, size_t place)
{
  return place > 0 ? rows->open[place - 1].index : TESSERA_NONE;
}

/* The row of the open range at @place as of now. Times settle when the batch is filled,
 * for the first event may come yet. */
static TesseraStatus
change (TesseraBatchRows *rows, size_t place, int64_t end_ns)
{
  const TesseraOpenRange *open = &rows->open[place];
  TesseraRange range = open->range;

  if (!TESSERA_RESERVE (rows->ranges, rows->cap_ranges, rows->n_changed + 1) ||
      !TESSERA_RESERVE (rows->range_indices, rows->cap_range_indices,
                        rows->n_changed + 1))
    return TESSERA_NO_MEMORY;
  range.end_index = (uint32_t) rows->n_events;
  range.end_ns = end_ns;
  range.parent = parent_of (rows, place);
  rows->ranges[rows->n_changed] = range;
  rows->range_indices[rows->n_changed++] = open->index;
  return TESSERA_OK;
}

static TesseraStatus
open_range (TesseraBatchRows *rows, uint32_t handle, const TesseraRange *range)
{
  if (!TESSERA_RESERVE (rows->open, rows->cap_open, rows->n_open + 1))
    return TESSERA_NO_MEMORY;
  rows->open[rows->n_open] = (TesseraOpenRange){ .handle = handle,
                                                 .index = (uint32_t) rows->n_ranges++,
                                                 .range = *range };
  rows->open[rows->n_open].range.begin_index = (uint32_t) rows->n_events;
  rows->n_open++;
  return TESSERA_OK;
}

static TesseraStatus
close_range (TesseraBatchRows *rows, size_t place, int64_t end_ns)
{
  TesseraStatus status = change (rows, place, end_ns);

  rows->n_open--;
  memmove (&rows->open[place], &rows->open[place + 1],
           (rows->n_open - place) * sizeof *rows->open);
  return status;
}

TesseraStatus
tessera_batch_rows_end_range (TesseraBatchRows *rows, uint32_t handle, int64_t now_ns)
{
  for (size_t place = rows->n_open; place-- > 0;)
    if (rows->open[place].handle == handle)
      return close_range (rows, place, tick (rows, now_ns));
  return TESSERA_INVALID;
}

static TesseraStatus
begin_range (TesseraBatchRows *rows, const TesseraRingItem *item)
{
  TesseraRange range = { .name = item->range.name,
                         .kind = item->range.kind,
                         .is_inferred = item->range.is_inferred,
                         .begin_ns = tick (rows, item->range.at_ns) };

  return open_range (rows, item->range.handle, &range);
}

/* Ended twice: the first time counts. */
static TesseraStatus
end_range (TesseraBatchRows *rows, const TesseraRingItem *item)
{
  TesseraStatus status =
      tessera_batch_rows_end_range (rows, item->range.handle, item->range.at_ns);

  return status == TESSERA_INVALID ? TESSERA_OK : status;
}

TesseraStatus
tessera_batch_rows_add (TesseraBatchRows *rows,
                        const TesseraNews *news,
                        const TesseraRingItem *item)
{
  switch (item->kind)
    {
    case TESSERA_ITEM_RANGE_BEGIN:
      return begin_range (rows, item);
    case TESSERA_ITEM_RANGE_END:
      return end_range (rows, item);
    default:
      return add_event (rows, news, item);
    }
}

TesseraStatus
tessera_batch_rows_add_gap (TesseraBatchRows *rows, uint32_t name, int64_t now_ns)
{
  TesseraRange range = { .name = name, .begin_ns = tick (rows, rows->last_ns) };
  TesseraStatus status = open_range (rows, TESSERA_NONE, &range);

  return status == TESSERA_OK ? close_range (rows, rows->n_open - 1, tick (rows, now_ns))
                              : status;
}

TesseraStatus
tessera_batch_rows_fill (TesseraBatchRows *rows,
                         TesseraNews *news,
                         TesseraLiveBatch *batch)
{
  TesseraStatus status = TESSERA_OK;

  tessera_news_fill (news, batch);
  for (size_t place = 0; status == TESSERA_OK && place < rows->n_open; place++)
    status = change (rows, place, rows->last_ns + 1);
  for (size_t i = 0; i < rows->n_changed; i++)
    {
      rows->ranges[i].begin_ns -= rows->base_ns;
      rows->ranges[i].end_ns -= rows->base_ns;
    }
  for (size_t i = 0; i < rows->n_devices; i++)
    {
      news->devices[i].events = rows->devices[i].events;
      news->devices[i].event_indices = rows->devices[i].indices;
      news->devices[i].n_events = rows->devices[i].n_events;
      news->heads[i]->n_events += rows->devices[i].n_events;
    }
  batch->ranges = rows->ranges;
  batch->range_indices = rows->range_indices;
  batch->n_ranges = rows->n_changed;
  batch->ranges_later_ns = rows->ranges_later_ns;
  return status;
}
