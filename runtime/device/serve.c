/*
 * Requests and frees of one device, each recorded in the order in which it took effect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/hash.h"
#include "runtime/device/device-internal.h"
#include "runtime/process/recording.h"

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

static void
count_splits (RuntimeDevice *device)
{
  if (device->native_stats != NULL)
    tessera_stats_splits (&device->stats, device->native_stats);
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
  block->uses_all_streams = block->is_stuck = false;
  block->n_sides = 0;
  tessera_table_add (&device->table, block->addr, block);
  tessera_stats_alloc (&device->stats, block->is_small, block->size_bytes,
                       block->block_bytes);
  count_splits (device);
  record (device, TESSERA_ALLOC, block, request->stack, served->is_placeless);
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

  tessera_device_enter (device, request->recorder);
  tessera_device_tell_marks (device);
  tessera_device_poll (device);
  block = tessera_device_take_block (device);
  if (block != NULL && tessera_table_reserve (&device->table) == TESSERA_OK &&
      tessera_device_stream (device, request->stream, &stream))
    {
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
        tessera_device_give_block (device, block);
      tessera_device_fail (device, request, stream, status, out_text, n_bytes);
    }
  tessera_device_unlock (device);
  return addr;
}

void
tessera_device_complete (RuntimeDevice *device, RuntimeBlock *block)
{
  /* Recorded first: from the next line on the address may be used again. */
  tessera_device_record (device, TESSERA_FREE_COMPLETED, block, TESSERA_NONE);
  (void) !tessera_policy_free_completed (device->policy, block->addr);
  tessera_table_remove (&device->table, block->addr);
  tessera_stats_complete (&device->stats, block->is_small, block->size_bytes,
                          block->block_bytes);
  count_splits (device);
  tessera_device_give_block (device, block);
}

bool
tessera_device_free (RuntimeDevice *device, uint64_t addr, TesseraRecorder *recorder)
{
  RuntimeBlock *block;

  tessera_device_enter (device, recorder);
  tessera_device_tell_marks (device);
  block = tessera_table_get (&device->table, addr);
  /* A block that was freed already is pending, and unknown to the policy as a live one.
   */
  if (block != NULL && tessera_policy_free_requested (device->policy, addr) == TESSERA_OK)
    {
      tessera_device_record (device, TESSERA_FREE_REQUESTED, block, TESSERA_NONE);
      tessera_cuda_forget (device->cuda, block->addr, block->block_bytes);
      tessera_stats_free (&device->stats, block->is_small, block->block_bytes);
      if (tessera_device_must_pend (device, block))
        tessera_device_pend (device, block);
      else
        tessera_device_complete (device, block);
    }
  tessera_device_unlock (device);
  return block != NULL;
}

bool
tessera_device_record_stream (RuntimeDevice *device, uint64_t addr, uint64_t stream)
{
  TesseraRecorder *recorder = tessera_recorder_enter ();
  RuntimeBlock *block;

  tessera_device_enter (device, recorder);
  block = tessera_table_get (&device->table, addr);
  if (block != NULL)
    tessera_device_note_side (device, block, stream);
  tessera_device_unlock (device);
  tessera_recorder_leave (recorder);
  return block != NULL;
}

void
tessera_device_empty_cache (RuntimeDevice *device, TesseraRecorder *recorder)
{
  tessera_device_enter (device, recorder);
  if (device->n_routes == 0) /* a graph that is captured allows no frees */
    tessera_policy_empty_cache (device->policy);
  count_splits (device);
  tessera_device_unlock (device);
}

bool
tessera_device_base (RuntimeDevice *device,
                     uint64_t addr,
                     uint64_t *out_base,
                     uint64_t *out_size_bytes)
{
  const RuntimeSpan *span;

  tessera_device_lock (device);
  span = tessera_spans_at (&device->spans, addr);
  if (span != NULL)
    {
      *out_base = span->addr;
      *out_size_bytes = span->size_bytes;
    }
  tessera_device_unlock (device);
  return span != NULL;
}
