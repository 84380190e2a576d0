/*
 * Out of memory: PyTorch's sentence, then what Tessera knows of the cause.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

#include <stdio.h>

#include "db/size-text.h"

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

void
tessera_device_fail (RuntimeDevice *device,
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
