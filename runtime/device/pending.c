/*
 * Freed blocks that other streams still use: events, in order, per stream.
 *
 * An event is recorded on each of these streams when the block is freed. Later, at a
 * request, the queues are looked at from their heads, each up to the first event that is
 * not done. While a graph is captured events can neither be recorded nor asked: blocks
 * freed then are put off until no pool is open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

#include "db/array.h"

static bool
queue_of (RuntimeDevice *device, uint64_t handle, uint16_t *out_queue)
{
  size_t n = device->n_queues;

  for (size_t i = 0; i < n; i++)
    if (device->queues[i].handle == handle)
      {
        *out_queue = (uint16_t) i;
        return true;
      }
  if (n > UINT16_MAX || !TESSERA_RESERVE (device->queues, device->cap_queues, n + 1))
    return false;
  device->queues[n] = (RuntimeQueue){ .handle = handle };
  *out_queue = (uint16_t) device->n_queues++;
  return true;
}

void
tessera_device_note_side (RuntimeDevice *device, RuntimeBlock *block, uint64_t handle)
{
  uint16_t queue, stream;
  size_t i = 0;

  if (handle == device->streams[block->stream])
    return;
  /* A stream that only ever computes is one of several all the same: planner and policy
     must know, since what they keep apart then, a program may rely on. */
  if (!tessera_device_stream (device, handle, &stream) ||
      !queue_of (device, handle, &queue))
    {
      block->is_stuck = true;
      return;
    }
  while (i < block->n_sides && block->sides[i] != queue)
    i++;
  if (i == MAX_SIDES)
    block->uses_all_streams = true;
  else if (i == block->n_sides)
    block->sides[block->n_sides++] = queue;
}

bool
tessera_device_must_pend (RuntimeDevice *device, const RuntimeBlock *block)
{
  return block->n_sides != 0 || block->is_stuck ||
         (!device->has_record_stream && device->n_streams > 1);
}

static void
count_down (RuntimeDevice *device, RuntimeBlock *block)
{
  if (--block->n_waits == 0 && !block->is_stuck)
    tessera_device_complete (device, block);
}

/* Where no event can be had, the stream itself is waited for: slow, and safe. Where not
 * even that is to be had, nobody will ever know. */
static void
wait_on (RuntimeDevice *device, RuntimeBlock *block, size_t index)
{
  RuntimeQueue *queue = &device->queues[index];
  RuntimeWait *wait = tessera_device_take_wait (device);
  TesseraCudaEvent *event =
      wait != NULL ? tessera_cuda_event_record (device->cuda, queue->handle) : NULL;

  if (event == NULL)
    {
      if (wait != NULL)
        tessera_device_give_wait (device, wait);
      if (!tessera_cuda_stream_wait (device->cuda, queue->handle))
        block->is_stuck = true;
      return;
    }
  *wait = (RuntimeWait){ .event = event, .block = block };
  if (queue->last != NULL)
    queue->last->next = wait;
  else
    queue->first = wait;
  queue->last = wait;
  device->n_waits++;
  block->n_waits++;
}

/* Without the hook nobody says which streams use a block: any that is known may. */
static void
wait_on_all (RuntimeDevice *device, RuntimeBlock *block)
{
  uint16_t queue;

  for (size_t i = 0; i < device->n_streams; i++)
    if (!queue_of (device, device->streams[i], &queue))
      block->is_stuck = true;
  for (size_t i = 0; i < device->n_queues; i++)
    if (device->queues[i].handle != device->streams[block->stream])
      wait_on (device, block, i);
}

static void
record_events (RuntimeDevice *device, RuntimeBlock *block)
{
  block->n_waits = 1; /* until all of them are recorded */
  if (block->uses_all_streams || !device->has_record_stream)
    wait_on_all (device, block);
  else
    for (size_t i = 0; i < block->n_sides; i++)
      wait_on (device, block, block->sides[i]);
  count_down (device, block);
}

void
tessera_device_pend (RuntimeDevice *device, RuntimeBlock *block)
{
  if (device->n_routes == 0)
    {
      record_events (device, block);
      return;
    }
  block->next = NULL;
  *device->put_off_end = block;
  device->put_off_end = &block->next;
}

static void
record_put_off (RuntimeDevice *device)
{
  RuntimeBlock *block = device->put_off, *next;

  device->put_off = NULL;
  device->put_off_end = &device->put_off;
  for (; block != NULL; block = next)
    {
      next = block->next;
      record_events (device, block);
    }
}

static void
pop (RuntimeDevice *device, RuntimeQueue *queue)
{
  RuntimeWait *wait = queue->first;
  RuntimeBlock *block = wait->block;

  queue->first = wait->next;
  if (queue->first == NULL)
    queue->last = NULL;
  device->n_waits--;
  tessera_cuda_event_release (device->cuda, wait->event);
  tessera_device_give_wait (device, wait);
  count_down (device, block);
}

void
tessera_device_poll (RuntimeDevice *device)
{
  if (device->n_routes != 0)
    return;
  if (device->put_off != NULL)
    record_put_off (device);
  for (size_t i = 0; i < device->n_queues && device->n_waits != 0; i++)
    {
      RuntimeQueue *queue = &device->queues[i];

      while (queue->first != NULL &&
             tessera_cuda_event_is_done (device->cuda, queue->first->event))
        pop (device, queue);
    }
}

/* What the driver refuses to wait for (a stream that captures behind our back, its
 * events ever after) stays pending, unless the stream as a whole is done. */
static void
wait_for_queue (RuntimeDevice *device, RuntimeQueue *queue)
{
  while (queue->first != NULL &&
         (tessera_cuda_event_wait (device->cuda, queue->first->event) ||
          tessera_cuda_stream_wait (device->cuda, queue->handle)))
    pop (device, queue);
}

void
tessera_device_wait (RuntimeDevice *device)
{
  if (device->n_routes != 0)
    return;
  device->stats.n_sync_all_streams++;
  if (device->put_off != NULL)
    record_put_off (device);
  for (size_t i = 0; i < device->n_queues && device->n_waits != 0; i++)
    wait_for_queue (device, &device->queues[i]);
}
