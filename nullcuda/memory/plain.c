/*
 * Plain memory under CUDA's names: cudaMalloc and its relatives of runtime and driver.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "nullcuda/streams/clock.h"
#include "nullcuda/device.h"
#include "nullcuda/memory/memory.h"
#include "nullcuda/remembered.h"
#include "nullcuda/settings.h"

static int
allocate (const char *name, uint64_t n_bytes, uint64_t *out_addr)
{
  int device = null_device_current ();
  *out_addr = 0;
  if (device < 0)
    return null_fail (NULL_NO_DEVICE, name);
  int error = null_memory_allocate (device, n_bytes, out_addr);
  null_log (2, "%s (%llu) -> %d, 0x%llx", name, (unsigned long long) n_bytes, error,
            (unsigned long long) *out_addr);
  return error == NULL_OK ? NULL_OK : null_fail (error, name);
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
    return null_fail (NULL_INVALID_VALUE, name);
  null_clock_wait_for_all (device);
  /* Before the range is free: another thread may have it, and written to it, at once. */
  if (addr == base)
    null_remembered_forget (base, n_bytes);
  int error = null_memory_release (addr);
  return error == NULL_OK ? NULL_OK : null_fail (error, name);
}

NULL_API (int, cudaMalloc, void **out_addr, size_t n_bytes)
{
  uint64_t addr;
  int error = allocate ("cudaMalloc", n_bytes, &addr);
  *out_addr = (void *) addr;
  return error;
}

NULL_API (int, cudaFree, void *addr) { return release ("cudaFree", (uint64_t) addr); }

NULL_API (int, cuMemAlloc_v2, uint64_t *out_addr, size_t n_bytes)
{
  return n_bytes == 0 ? null_fail (NULL_INVALID_VALUE, "cuMemAlloc_v2")
                      : allocate ("cuMemAlloc_v2", n_bytes, out_addr);
}

NULL_API (int, cuMemFree_v2, uint64_t addr) { return release ("cuMemFree_v2", addr); }

NULL_API (
    int, cuMemGetAddressRange_v2, uint64_t *out_base, size_t *out_n_bytes, uint64_t addr)
{
  uint64_t base, n_bytes;
  int device;
  if (!null_memory_find (addr, &base, &n_bytes, &device))
    return null_fail (NULL_NOT_FOUND, "cuMemGetAddressRange_v2");
  if (out_base != NULL)
    *out_base = base;
  if (out_n_bytes != NULL)
    *out_n_bytes = n_bytes;
  return NULL_OK;
}
