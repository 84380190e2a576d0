/*
 * Requests and frees of one device, each recorded in the order in which it took effect.
 *
 * A freed block that other streams still use waits for an event on each of these streams.
 * Later, at a request, the queues are looked at from their heads, each up to the first
 * event that is not done. While a graph is captured events can neither be recorded nor
 * asked: blocks freed then are put off until no pool is open. A request that fails says
 * PyTorch's sentence, then what Tessera knows of the cause.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "db/hash.h"
#include "db/size-text.h"
#include "runtime/guest.h"

/* ---- Blocks and waits, from stocks ---- */

enum
{
  STOCK = 512 /* made at once; never given back: a run needs them again */
};

static void
give_item (RuntimeItem **stock, RuntimeItem *item)
{
  item->next = *stock;
  *stock = item;
}

/* NULL: no memory. */
static void *
take_item (RuntimeItem **stock, size_t n_bytes)
{
  RuntimeItem *item = *stock;

  if (item == NULL)
    {
      char *items = calloc (STOCK, n_bytes);

      for (size_t i = 0; items != NULL && i < STOCK; i++)
        give_item (stock, (RuntimeItem *) (items + i * n_bytes));
      item = *stock;
    }
  if (item != NULL)
    *stock = item->next;
  return item;
}

static void
give_block (RuntimeDevice *device, RuntimeBlock *block)
{
  give_item (&device->spare_blocks, &block->item);
}

/* ---- Freed blocks that other streams still use ---- */

/* @block is in use on the stream too. */
static void
note_side (RuntimeDevice *device, RuntimeBlock *block, uint64_t handle)
{
  uint16_t stream;
  size_t i = 0;

  if (handle == device->streams[block->stream].handle)
    return;
  /* A stream that only ever computes is one of several all the same: planner and policy
     must know, since what they keep apart then, a program may rely on. */
  if (!tessera_device_stream (device, handle, &stream))
    {
      block->is_stuck = true;
      return;
    }
  while (i < block->n_sides && block->sides[i] != stream)
    i++;
  if (i == MAX_SIDES)
    block->uses_all_streams = true;
  else if (i == block->n_sides)
    block->sides[block->n_sides++] = stream;
}

/* Whether the end of a free has to wait. */
static bool
must_pend (RuntimeDevice *device, const RuntimeBlock *block)
{
  return block->n_sides != 0 || block->is_stuck ||
         (!device->has_record_stream && device->n_streams > 1);
}

static void
count_splits (RuntimeDevice *device)
{
  if (device->native_stats != NULL)
    tessera_stats_splits (&device->stats, device->native_stats);
}

static void
forget (RuntimeDevice *device, const RuntimeBlock *block)
{
  tessera_table_remove (&device->table, block->addr);
  tessera_stats_active (&device->stats, block, false);
  count_splits (device);
}

static void
complete (RuntimeDevice *device, RuntimeBlock *block)
{
  /* Recorded first: from the next line on the address may be used again. */
  tessera_device_record (device, TESSERA_FREE_COMPLETED, block, TESSERA_NONE);
  (void) !tessera_policy_free_completed (device->policy, block->addr);
  forget (device, block);
  give_block (device, block);
}

static void
count_down (RuntimeDevice *device, RuntimeBlock *block)
{
  if (--block->n_waits > 0)
    return;
  if (block->has_passed)
    give_block (device, block);
  else if (!block->is_stuck)
    complete (device, block);
}

/* Where no event can be had, the stream itself is waited for: slow, and safe. Where not
 * even that is to be had, nobody will ever know. */
static void
wait_on (RuntimeDevice *device, RuntimeBlock *block, size_t index)
{
  RuntimeStream *stream = &device->streams[index];
  RuntimeWait *wait = take_item (&device->spare_waits, sizeof *wait);
  TesseraCudaEvent *event =
      wait != NULL ? tessera_cuda_event_record (device->cuda, stream->handle) : NULL;

  if (event == NULL)
    {
      if (wait != NULL)
        give_item (&device->spare_waits, &wait->item);
      if (!tessera_cuda_stream_wait (device->cuda, stream->handle))
        block->is_stuck = true;
      return;
    }
  *wait = (RuntimeWait){ .event = event, .block = block };
  if (stream->last != NULL)
    stream->last->item.next = &wait->item;
  else
    stream->first = wait;
  stream->last = wait;
  device->n_waits++;
  block->n_waits++;
}

/* Without the hook nobody says which streams use a block: any that is known may. */
static void
wait_on_all (RuntimeDevice *device, RuntimeBlock *block)
{
  for (size_t i = 0; i < device->n_streams; i++)
    if (i != block->stream)
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

static void
pend (RuntimeDevice *device, RuntimeBlock *block)
{
  if (device->n_routes == 0)
    {
      record_events (device, block);
      return;
    }
  block->item.next = NULL;
  *device->put_off_end = &block->item;
  device->put_off_end = &block->item.next;
}

static void
record_put_off (RuntimeDevice *device)
{
  RuntimeItem *item = device->put_off, *next;

  device->put_off = NULL;
  device->put_off_end = &device->put_off;
  for (; item != NULL; item = next)
    {
      next = item->next;
      record_events (device, (RuntimeBlock *) item);
    }
}

static void
pop (RuntimeDevice *device, RuntimeStream *stream)
{
  RuntimeWait *wait = stream->first;
  RuntimeBlock *block = wait->block;

  stream->first = (RuntimeWait *) wait->item.next;
  if (stream->first == NULL)
    stream->last = NULL;
  device->n_waits--;
  tessera_cuda_event_release (device->cuda, wait->event);
  give_item (&device->spare_waits, &wait->item);
  count_down (device, block);
}

static void
poll (RuntimeDevice *device)
{
  if (device->n_routes != 0)
    return;
  if (device->put_off != NULL)
    record_put_off (device);
  for (size_t i = 0; i < device->n_streams && device->n_waits != 0; i++)
    {
      RuntimeStream *stream = &device->streams[i];

      while (stream->first != NULL &&
             tessera_cuda_event_is_done (device->cuda, stream->first->event))
        pop (device, stream);
    }
}

/* What the driver refuses to wait for (a stream that captures behind our back, its
 * events ever after) stays pending, unless the stream as a whole is done. */
static void
wait_for_stream (RuntimeDevice *device, RuntimeStream *stream)
{
  while (stream->first != NULL &&
         (tessera_cuda_event_wait (device->cuda, stream->first->event) ||
          tessera_cuda_stream_wait (device->cuda, stream->handle)))
    pop (device, stream);
}

void
tessera_device_wait (RuntimeDevice *device)
{
  if (device->n_routes != 0)
    return;
  device->stats.n_sync_all_streams++;
  if (device->put_off != NULL)
    record_put_off (device);
  for (size_t i = 0; i < device->n_streams && device->n_waits != 0; i++)
    wait_for_stream (device, &device->streams[i]);
}

/* ---- Out of memory ---- */

/* Free memory that is reserved, as the request finds it. */
typedef struct
{
  uint64_t wanted_bytes;
  uint16_t stream, pool;
  bool is_small;
  uint64_t own_bytes, own_largest_bytes; /* where it may look */
  uint64_t elsewhere_bytes;              /* other streams, pools, size classes */
} Census;

static void
count_free (void *user, const TesseraBlockInfo *info)
{
  Census *census = user;

  if (info->state != TESSERA_BLOCK_FREE)
    return;
  if (info->stream != census->stream || info->pool != census->pool ||
      info->is_small != census->is_small)
    {
      census->elsewhere_bytes += info->block_bytes;
      return;
    }
  census->own_bytes += info->block_bytes;
  if (info->block_bytes > census->own_largest_bytes)
    census->own_largest_bytes = info->block_bytes;
}

static void
write_verdict (const Census *census, uint64_t free_bytes, char *out_text, size_t n_bytes)
{
  if (census->own_bytes + free_bytes >= census->wanted_bytes &&
      census->own_bytes > free_bytes)
    snprintf (out_text, n_bytes,
              "Tessera: fragmentation; %s is free in the cache of this stream, but in "
              "pieces of at most %s.",
              TESSERA_SIZE (census->own_bytes), TESSERA_SIZE (census->own_largest_bytes));
  else if (census->own_bytes + census->elsewhere_bytes + free_bytes >=
           census->wanted_bytes)
    snprintf (out_text, n_bytes,
              "Tessera: fragmentation; %s is free, but held for other streams, pools or "
              "sizes, and %s for this one.",
              TESSERA_SIZE (census->elsewhere_bytes), TESSERA_SIZE (census->own_bytes));
  else
    snprintf (out_text, n_bytes,
              "Tessera: not fragmentation; even all that is free together lacks %s.",
              TESSERA_SIZE (census->wanted_bytes - census->own_bytes -
                            census->elsewhere_bytes - free_bytes));
}

static void
record_oom (RuntimeDevice *device,
            const RuntimeRequest *request,
            uint16_t stream,
            uint64_t free_bytes)
{
  const RuntimeBlock failed = {
    .addr = free_bytes,
    .size_bytes = tessera_round_size (&device->settings, request->size_bytes),
    .stream = stream,
    .pool = device->n_routes != 0 ? tessera_device_route (device, request->stream) : 0,
  };

  tessera_device_record (device, TESSERA_OOM, &failed, request->stack);
}

/* @out_text: the sentence of the exception. */
static void
fail (RuntimeDevice *device,
      const RuntimeRequest *request,
      uint16_t stream,
      TesseraStatus status,
      char *out_text,
      size_t n_bytes)
{
  uint64_t rounded = tessera_round_size (&device->settings, request->size_bytes);
  uint64_t total_bytes, free_bytes, allocated, reserved;
  char verdict[256] = "";
  Census census = { .wanted_bytes = rounded,
                    .stream = stream,
                    .is_small = rounded <= TESSERA_SMALL_BYTES };

  if (status != TESSERA_OUT_OF_DEVICE)
    {
      snprintf (
          out_text, n_bytes, "CUDA out of memory. Tried to allocate %s. Tessera: %s.",
          TESSERA_SIZE (request->size_bytes),
          status == TESSERA_NO_MEMORY ? "the host has no memory left to keep count of it"
                                      : "the driver failed, and not for lack of memory");
      return;
    }
  tessera_cuda_memory (device->cuda, &total_bytes, &free_bytes);
  device->stats.n_ooms++;
  record_oom (device, request, stream, free_bytes);
  tessera_policy_each (device->policy, count_free, &census);
  write_verdict (&census, free_bytes, verdict, sizeof verdict);
  allocated = device->stats.allocated_bytes[0].current;
  reserved = device->stats.reserved_bytes[0].current;
  snprintf (
      out_text, n_bytes,
      "CUDA out of memory. Tried to allocate %s. GPU %d has a total capacity of %s "
      "of which %s is free. Of the allocated memory %s is allocated by PyTorch, and "
      "%s is reserved by PyTorch but unallocated. %s",
      TESSERA_SIZE (tessera_segment_size (&device->settings, rounded)), device->ordinal,
      TESSERA_SIZE (total_bytes), TESSERA_SIZE (free_bytes), TESSERA_SIZE (allocated),
      TESSERA_SIZE (reserved > allocated ? reserved - allocated : 0), verdict);
}

/* ---- Requests and frees ---- */

static void
record (RuntimeDevice *device,
        TesseraAction action,
        const RuntimeBlock *block,
        uint32_t stack,
        bool is_left)
{
  const TesseraEvent event = { .addr = block->addr,
                               .size_bytes = block->size_bytes,
                               .stack = stack,
                               .stream = block->stream,
                               .pool = block->pool,
                               .action = (uint8_t) action,
                               .is_left = is_left };

  if (device->recorder != NULL)
    tessera_recorder_event (device->recorder, (uint32_t) device->ordinal, &event);
}

void
tessera_device_record (RuntimeDevice *device,
                       TesseraAction action,
                       const RuntimeBlock *block,
                       uint32_t stack)
{
  record (device, action, block, stack, false);
}

static uint64_t
grant (RuntimeDevice *device,
       RuntimeBlock *block,
       const RuntimeRequest *request,
       const TesseraPolicyGrant *served)
{
  const TesseraGrant *granted = &served->grant;
  uint64_t rounded = tessera_round_size (&device->settings, request->size_bytes);

  block->addr = granted->addr;
  block->size_bytes = request->size_bytes;
  block->block_bytes = granted->block_bytes;
  block->is_small = rounded <= TESSERA_SMALL_BYTES;
  block->uses_all_streams = block->is_stuck = block->has_passed = false;
  block->n_sides = 0;
  tessera_table_add (&device->table, block->addr, block);
  tessera_stats_live (&device->stats, block, true);
  tessera_stats_active (&device->stats, block, true);
  count_splits (device);
  record (device, TESSERA_ALLOC, block, request->stack, served->is_unplanned);
  /* FNV-1a by words: the hot path has no time for bytes. */
  device->step_hash =
      (device->step_hash ^ block->size_bytes ^ (uint64_t) block->stream << 48) *
      TESSERA_HASH_PRIME;
  return block->addr;
}

uint64_t
tessera_device_malloc (RuntimeDevice *device,
                       const RuntimeRequest *request,
                       char *out_text,
                       size_t n_bytes)
{
  TesseraPolicyGrant granted = { 0 };
  RuntimeBlock *block;
  TesseraStatus status = TESSERA_NO_MEMORY;
  uint16_t stream = 0;
  uint64_t addr = 0;

  tessera_device_enter (device);
  tessera_device_tell_marks (device);
  poll (device);
  block = take_item (&device->spare_blocks, sizeof *block);
  if (block != NULL && tessera_table_reserve (&device->table) == TESSERA_OK &&
      tessera_device_stream (device, request->stream, &stream))
    {
      tessera_device_watch_stream (device, stream);
      block->stream = stream;
      block->pool =
          device->n_routes != 0 ? tessera_device_route (device, request->stream) : 0;
      status = tessera_policy_malloc (device->policy, request->size_bytes, stream,
                                      block->pool, &granted);
    }
  if (status == TESSERA_OK)
    addr = grant (device, block, request, &granted);
  else
    {
      if (block != NULL)
        give_block (device, block);
      fail (device, request, stream, status, out_text, n_bytes);
    }
  tessera_device_unlock (device);
  return addr;
}

void
tessera_device_pass (void *user, uint64_t addr)
{
  RuntimeDevice *device = user;
  RuntimeBlock *block = tessera_table_get (&device->table, addr);

  if (block == NULL)
    return;
  tessera_device_record (device, TESSERA_FREE_COMPLETED, block, TESSERA_NONE);
  forget (device, block);
  block->has_passed = true;
  if (block->n_waits == 0) /* nothing is known that would ever end it */
    give_block (device, block);
}

bool
tessera_device_free (RuntimeDevice *device, uint64_t addr)
{
  RuntimeBlock *block;

  tessera_device_enter (device);
  tessera_device_tell_marks (device);
  block = tessera_table_get (&device->table, addr);
  /* A block that was freed already is pending, and unknown to the policy as a live one.
   */
  if (block != NULL && tessera_policy_free_requested (device->policy, addr) == TESSERA_OK)
    {
      tessera_device_record (device, TESSERA_FREE_REQUESTED, block, TESSERA_NONE);
      tessera_cuda_forget (device->cuda, block->addr, block->block_bytes);
      tessera_stats_live (&device->stats, block, false);
      if (must_pend (device, block))
        pend (device, block);
      else
        complete (device, block);
    }
  tessera_device_unlock (device);
  return block != NULL;
}

bool
tessera_device_record_stream (RuntimeDevice *device, uint64_t addr, uint64_t stream)
{
  RuntimeBlock *block;

  tessera_device_enter (device);
  block = tessera_table_get (&device->table, addr);
  if (block != NULL)
    note_side (device, block, stream);
  tessera_device_unlock (device);
  return block != NULL;
}

void
tessera_device_empty_cache (RuntimeDevice *device)
{
  tessera_device_enter (device);
  if (device->n_routes == 0) /* a graph that is captured allows no frees */
    tessera_policy_empty_cache (device->policy);
  count_splits (device);
  tessera_device_unlock (device);
}
