/*
 * What programs call: memory of the device, and what an address is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "nullcuda/private.h"

/* As an H100's driver takes for segments of PyTorch's sizes, the wait apart
   (docs/gpu/results/h100-barriers.json). */
#define NS_PER_ALLOCATION 55e3
#define NS_PER_RELEASE 60e3

static int
allocate (const char *name, uint64_t n_bytes, uint64_t *out_addr)
{
  int device = null_device_current ();
  *out_addr = 0;
  if (device < 0)
    return null_report (NULL_NO_DEVICE, name);
  null_clock_pass (NS_PER_ALLOCATION);
  int error = null_memory_allocate (device, n_bytes, out_addr);
  null_log (2, "%s (%llu) -> %d, 0x%llx", name, (unsigned long long) n_bytes, error,
            (unsigned long long) *out_addr);
  return null_report (error, name);
}

/* The driver unmaps only what no kernel uses any more: it waits for the device. */
static int
release (const char *name, uint64_t addr)
{
  null_log (2, "%s (0x%llx)", name, (unsigned long long) addr);
  if (addr == 0)
    return NULL_OK;
  uint64_t base, n_bytes;
  int device;
  if (!null_memory_find (addr, &base, &n_bytes, &device))
    return null_report (NULL_INVALID_VALUE, name);
  null_clock_wait_for_all (device);
  null_clock_pass (NS_PER_RELEASE);
  /* Before the range is free: another thread may have it, and written to it, at once. */
  if (addr == base)
    null_remembered_forget (base, n_bytes);
  int error = null_memory_release (addr);
  return null_report (error, name);
}

NULL_API (int, cudaMalloc, void **out_addr, size_t n_bytes)
{
  uint64_t addr;
  int error = allocate (__func__, n_bytes, &addr);
  *out_addr = (void *) addr;
  return error;
}

NULL_API (int, cudaFree, void *addr) { return release (__func__, (uint64_t) addr); }

NULL_API (int, cuMemAlloc_v2, uint64_t *out_addr, size_t n_bytes)
{
  return n_bytes == 0 ? null_report (NULL_INVALID_VALUE, __func__)
                      : allocate (__func__, n_bytes, out_addr);
}

NULL_API (int, cuMemFree_v2, uint64_t addr) { return release (__func__, addr); }

/* What kind of memory an address is. */

NULL_API (int, cudaPointerGetAttributes, NullPointerAttributes *out, const void *pointer)
{
  uint64_t base, n_bytes;
  int device = 0;
  memset (out, 0, sizeof *out);
  bool is_device = null_memory_find ((uint64_t) pointer, &base, &n_bytes, &device);
  out->type = is_device ? NULL_MEMORY_DEVICE : null_host_kind ((uint64_t) pointer);
  out->device = out->type == NULL_MEMORY_UNREGISTERED ? -2 : device;
  if (out->type != NULL_MEMORY_UNREGISTERED)
    out->device_pointer = (void *) (uintptr_t) pointer;
  if (!is_device)
    out->host_pointer = (void *) (uintptr_t) pointer;
  return NULL_OK;
}
