/*
 * One transaction: what came since the last one of names, and what the ring gave, as rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "recorder/private.h"

/* What the writer has seen of the names, and what came since */

/* A stack, stream or pool that nobody told is unknown: the state is worth more. */
static void
settle (TesseraHeld *held, const TesseraTrace *head, size_t n_stacks)
{
  for (size_t i = 0; i < held->n_segments; i++)
    {
      TesseraSegment *segment = &held->segments[i];

      if (segment->stack >= n_stacks)
        segment->stack = TESSERA_NONE;
      if (segment->stream >= head->n_streams)
        segment->stream = 0;
      if (segment->pool >= head->n_pools)
        segment->pool = 0;
    }
  for (size_t i = 0; i < held->n_blocks; i++)
    if (held->blocks[i].stack >= n_stacks)
      held->blocks[i].stack = TESSERA_NONE;
}

/* Copies @from's facts of the device; streams and pools are only ever added, and it has one
 * state at the start. */
static TesseraStatus
copy_head (TesseraTrace *head, const TesseraTrace *from)
{
  TesseraStatus status = tessera_trace_set_source (head, from->source);
  uint16_t added;

  head->device = from->device;
  head->device_bytes = from->device_bytes;
  head->limit_bytes = from->limit_bytes;
  head->alignment_bytes = from->alignment_bytes;
  head->settings = from->settings;
  head->has_addresses = from->has_addresses;
  head->has_segments = from->has_segments;
  head->has_time = from->has_time;
  head->starts_empty = from->starts_empty;
  for (size_t i = head->n_streams; status == TESSERA_OK && i < from->n_streams; i++)
    status = tessera_trace_add_stream (head, from->streams[i], &added);
  for (size_t i = head->n_pools; status == TESSERA_OK && i < from->n_pools; i++)
    status = tessera_trace_add_pool (head, from->pools[i], &added);
  if (status == TESSERA_OK && head->start.n_segments == 0 &&
      !tessera_held_copy (&head->start, &from->start))
    status = TESSERA_NO_MEMORY;
  settle (&head->start, head, 0); /* no stack is older than the recording */
  return status;
}

static TesseraStatus
take_devices (TesseraNews *news, const TesseraNames *names)
{
  TesseraStatus status = TESSERA_OK;

  if (!TESSERA_RESERVE (news->heads, news->cap_heads, names->n_devices) ||
      !TESSERA_RESERVE (news->devices, news->cap_devices, names->n_devices))
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; status == TESSERA_OK && i < names->n_devices; i++)
    {
      if (i == news->n_devices)
        {
          status = tessera_trace_new (&news->heads[i]);
          if (status != TESSERA_OK)
            break;
          news->n_devices++;
        }
      news->devices[i] = (TesseraLiveDevice){ .head = news->heads[i], .has_news = true };
      status = copy_head (news->heads[i], names->devices[i]);
    }
  return status;
}

static TesseraStatus
take_meta (TesseraNews *news, const TesseraNames *names)
{
  const TesseraTrace *shared = names->shared;
  TesseraStatus status = news->meta ? TESSERA_OK : tessera_trace_new (&news->meta);

  for (size_t i = 0; status == TESSERA_OK && i < shared->n_meta; i++)
    status =
        tessera_trace_set_meta (news->meta, shared->meta[i].key, shared->meta[i].value);
  news->has_meta = true;
  return status;
}

static bool
take_new (TesseraNewItems *list, const void *from, size_t n_all, size_t item_bytes)
{
  list->n_new = n_all - list->n_seen;
  if (!tessera_array_reserve (&list->items, &list->cap, list->n_new, item_bytes))
    return false;
  if (list->n_new)
    memcpy (list->items, (const char *) from + list->n_seen * item_bytes,
            list->n_new * item_bytes);
  return true;
}

static bool
take_lists (TesseraNews *news, const TesseraNames *names)
{
  const TesseraTrace *shared = names->shared;
  const TesseraStackTree *tree = &names->tree;

  return take_new (&news->strings, tessera_strings_all (shared->strings),
                   tessera_trace_n_strings (shared), sizeof (char *)) &&
         take_new (&news->frames, shared->frames, shared->n_frames,
                   sizeof *shared->frames) &&
         take_new (&news->nodes, tree->nodes, tree->n_nodes, sizeof *tree->nodes) &&
         take_new (&news->stacks, tree->stack_nodes, tree->n_stacks,
                   sizeof *tree->stack_nodes);
}

TesseraStatus
tessera_news_take (TesseraNews *news, TesseraNames *names)
{
  TesseraStatus status = TESSERA_OK;

  pthread_mutex_lock (&names->lock);
  if (names->has_news)
    {
      status = take_devices (news, names);
      if (status == TESSERA_OK)
        status = take_meta (news, names);
      names->has_news = false;
    }
  if (status == TESSERA_OK && !take_lists (news, names))
    status = TESSERA_NO_MEMORY;
  pthread_mutex_unlock (&names->lock);
  return status;
}

bool
tessera_news_any (const TesseraNews *news)
{
  return news->has_meta || news->strings.n_new || news->frames.n_new ||
         news->nodes.n_new || news->stacks.n_new;
}

void
tessera_news_fill (const TesseraNews *news, TesseraLiveBatch *batch)
{
  *batch = (TesseraLiveBatch){ .devices = news->devices,
                               .n_devices = news->n_devices,
                               .strings = news->strings.items,
                               .n_strings = news->strings.n_new,
                               .frames = news->frames.items,
                               .n_frames = news->frames.n_new,
                               .nodes = news->nodes.items,
                               .n_nodes = news->nodes.n_new,
                               .stack_nodes = news->stacks.items,
                               .n_stacks = news->stacks.n_new,
                               .meta = news->meta->meta,
                               .n_meta = news->has_meta ? news->meta->n_meta : 0 };
}

static void
count_seen (TesseraNewItems *list)
{
  list->n_seen += list->n_new;
  list->n_new = 0;
}

void
tessera_news_written (TesseraNews *news)
{
  count_seen (&news->strings);
  count_seen (&news->frames);
  count_seen (&news->nodes);
  count_seen (&news->stacks);
  news->has_meta = false;
  for (size_t i = 0; i < news->n_devices; i++)
    news->devices[i] = (TesseraLiveDevice){ .head = news->heads[i] };
}

bool
tessera_news_lend_ends (TesseraNews *news, const TesseraNames *names)
{
  bool is_any = false;

  for (size_t i = 0; i < news->n_devices; i++)
    {
      TesseraHeld *end = &names->devices[i]->end;

      settle (end, news->heads[i], news->stacks.n_seen);
      news->devices[i].end = end;
      is_any |= end->n_segments > 0 || end->n_blocks > 0;
    }
  return is_any;
}

void
tessera_news_clear (TesseraNews *news)
{
  for (size_t i = 0; i < news->n_devices; i++)
    tessera_trace_free (news->heads[i]);
  free (news->heads);
  free (news->devices);
  tessera_trace_free (news->meta);
  free (news->strings.items);
  free (news->frames.items);
  free (news->nodes.items);
  free (news->stacks.items);
  memset (news, 0, sizeof *news);
}

/* What the ring gave */

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
      free (rows->devices[i].tensors);
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
    rows->devices[i].n_events = rows->devices[i].n_tensors = 0;
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
          event->stack < news->stacks.n_seen + news->stacks.n_new);
}

/* Returns: n_devices where nobody has told it. */
static size_t
find_device (const TesseraNews *news, uint32_t device)
{
  size_t place = 0;

  while (place < news->n_devices && news->heads[place]->device != device)
    place++;
  return place;
}

static TesseraStatus
add_event (TesseraBatchRows *rows, const TesseraNews *news, const TesseraRingItem *item)
{
  TesseraEvent event = item->event;
  TesseraDeviceRows *to;
  size_t place = find_device (news, item->device);

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

static TesseraStatus
add_tensor (TesseraBatchRows *rows, const TesseraNews *news, const TesseraRingItem *item)
{
  TesseraTensor tensor = item->tensor;
  TesseraDeviceRows *to;
  size_t place = find_device (news, item->device);

  if (place == news->n_devices ||
      tensor.name >= news->strings.n_seen + news->strings.n_new)
    return TESSERA_OK;
  to = &rows->devices[place];
  if (!TESSERA_RESERVE (to->tensors, to->cap_tensors, to->n_tensors + 1))
    return TESSERA_NO_MEMORY;
  tensor.event_index = (uint32_t) rows->n_events;
  to->tensors[to->n_tensors++] = tensor;
  return TESSERA_OK;
}

/* Later than all before. */
static int64_t
tick (TesseraBatchRows *rows, int64_t now_ns)
{
  rows->last_ns = now_ns > rows->last_ns ? now_ns : rows->last_ns + 1;
  return rows->last_ns;
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
  /* Of ranges that end now or later, the one begun last before it: all that ended before
     cannot hold it. */
  range.parent = place > 0 ? rows->open[place - 1].index : TESSERA_NONE;
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
    case TESSERA_ITEM_TENSOR:
      return add_tensor (rows, news, item);
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
      news->devices[i].tensors = rows->devices[i].tensors;
      news->devices[i].n_tensors = rows->devices[i].n_tensors;
      news->heads[i]->n_tensors += rows->devices[i].n_tensors;
    }
  batch->ranges = rows->ranges;
  batch->range_indices = rows->range_indices;
  batch->n_ranges = rows->n_changed;
  batch->ranges_later_ns = rows->ranges_later_ns;
  return status;
}
