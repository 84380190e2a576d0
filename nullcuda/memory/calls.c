/*
 * What programs call: memory of the device, plain and of pools, and what an address is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "nullcuda/device.h"
#include "nullcuda/memory/memory.h"
#include "nullcuda/remembered.h"
#include "nullcuda/settings.h"
#include "nullcuda/streams/stream.h"

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

NULL_API (
    int, cuMemGetAddressRange_v2, uint64_t *out_base, size_t *out_n_bytes, uint64_t addr)
{
  uint64_t base, n_bytes;
  int device;
  if (!null_memory_find (addr, &base, &n_bytes, &device))
    return null_report (NULL_NOT_FOUND, __func__);
  if (out_base != NULL)
    *out_base = base;
  if (out_n_bytes != NULL)
    *out_n_bytes = n_bytes;
  return NULL_OK;
}

/* Memory pools of the driver: cudaMallocAsync.
 *
 * A pool here keeps nothing back: what is freed goes to the budget at once, as with a
 * release threshold of zero. Attributes are kept and given back; what a pool holds is
 * answered. */

#define MALLOC_ASYNC_NS 0.0 /* bookkeeping on the host */
#define N_ATTRIBUTES 9      /* cudaMemPoolAttr begins with 1 */

enum
{
  USED_BYTES_CURRENT = 7,
  USED_BYTES_HIGH = 8,
  RESERVED_BYTES_CURRENT = 5,
  RESERVED_BYTES_HIGH = 6,
};

typedef struct
{
  uint64_t attributes[N_ATTRIBUTES];
} Pool;

static Pool pools[NULL_MAX_DEVICES]; /* the default pool of each device */

static Pool *
find_pool (void *handle)
{
  for (int device = 0; device < null_settings ()->n_devices; device++)
    if (handle == &pools[device])
      return handle;
  return NULL;
}

NULL_API (int, cudaDeviceGetDefaultMemPool, void **out_pool, int device)
{
  *out_pool = NULL;
  if (device < 0 || device >= null_settings ()->n_devices)
    return null_report (NULL_INVALID_DEVICE, __func__);
  *out_pool = &pools[device];
  return NULL_OK;
}

/* The widths of the first three attributes are an int, of the others 64 bits. */
static size_t
attribute_bytes (int attribute)
{
  return attribute <= 3 ? sizeof (int) : sizeof (uint64_t);
}

NULL_API (int, cudaMemPoolSetAttribute, void *handle, int attribute, void *value)
{
  Pool *pool = find_pool (handle);
  if (pool == NULL || attribute < 1 || attribute >= N_ATTRIBUTES)
    return null_report (NULL_INVALID_VALUE, __func__);
  null_clock_lock ();
  if (attribute == USED_BYTES_HIGH || attribute == RESERVED_BYTES_HIGH)
    pool->attributes[attribute] = pool->attributes[attribute - 1]; /* only ever reset */
  else
    memcpy (&pool->attributes[attribute], value, attribute_bytes (attribute));
  null_clock_unlock ();
  return NULL_OK;
}

NULL_API (int, cudaMemPoolGetAttribute, void *handle, int attribute, void *out)
{
  const Pool *pool = find_pool (handle);
  if (pool == NULL || attribute < 1 || attribute >= N_ATTRIBUTES)
    return null_report (NULL_INVALID_VALUE, __func__);
  null_clock_lock ();
  memcpy (out, &pool->attributes[attribute], attribute_bytes (attribute));
  null_clock_unlock ();
  return NULL_OK;
}

NULL_API (int, cudaMemPoolTrimTo, void *handle, size_t n_bytes)
{
  return null_report (find_pool (handle) != NULL ? NULL_OK : NULL_INVALID_VALUE,
                      __func__);
}

NULL_API (int, cudaMemPoolSetAccess, void *handle, const void *descriptions, size_t n)
{
  return null_report (find_pool (handle) != NULL ? NULL_OK : NULL_INVALID_VALUE,
                      __func__);
}

static void
account (int device, uint64_t n_bytes, bool is_taken)
{
  uint64_t *attributes = pools[device].attributes;
  null_clock_lock ();
  for (int current = RESERVED_BYTES_CURRENT; current <= USED_BYTES_CURRENT; current += 2)
    {
      attributes[current] += is_taken ? n_bytes : -n_bytes;
      if (attributes[current + 1] < attributes[current])
        attributes[current + 1] = attributes[current];
    }
  null_clock_unlock ();
}

NULL_API (int, cudaMallocAsync, void **out_addr, size_t n_bytes, void *stream)
{
  int device = null_device_current ();
  uint64_t addr = 0, base, whole_bytes;
  int error = device < 0 ? NULL_NO_DEVICE : null_memory_allocate (device, n_bytes, &addr);
  *out_addr = (void *) addr;
  if (error != NULL_OK)
    return null_report (error, __func__);
  if (null_memory_find (addr, &base, &whole_bytes, &device))
    account (device, whole_bytes, true);
  return null_submit (__func__, stream, MALLOC_ASYNC_NS);
}

NULL_API (int, cudaFreeAsync, void *addr, void *stream)
{
  uint64_t base, whole_bytes;
  int device;
  if (addr == NULL)
    return NULL_OK;
  if (!null_memory_find ((uint64_t) addr, &base, &whole_bytes, &device) ||
      base != (uint64_t) addr)
    return null_report (NULL_INVALID_VALUE, __func__);
  null_remembered_forget (base, whole_bytes); /* before somebody else may write there */
  if (null_memory_release (base) != NULL_OK)
    return null_report (NULL_INVALID_VALUE, __func__);
  account (device, whole_bytes, false);
  return null_submit (__func__, stream, MALLOC_ASYNC_NS);
}

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

/* CUpointer_attribute */
enum
{
  CONTEXT = 1,
  MEMORY_TYPE = 2,
  DEVICE_POINTER = 3,
  IS_MANAGED = 8,
  DEVICE_ORDINAL = 9,
  RANGE_START_ADDR = 11,
  RANGE_SIZE = 12,
};

NULL_API (int, cuPointerGetAttribute, void *out, int attribute, uint64_t addr)
{
  uint64_t base = 0, n_bytes = 0;
  int device = 0;
  bool is_device = null_memory_find (addr, &base, &n_bytes, &device);
  int kind = is_device ? NULL_MEMORY_DEVICE : null_host_kind (addr);
  if (kind == NULL_MEMORY_UNREGISTERED)
    return null_report (NULL_INVALID_VALUE, __func__);
  switch (attribute)
    {
    case CONTEXT:
      *(void **) out = (void *) (uintptr_t) (device + 1);
      return NULL_OK;
    case MEMORY_TYPE: /* CUmemorytype: host 1, device 2 */
      *(unsigned *) out = is_device ? 2 : 1;
      return NULL_OK;
    case DEVICE_POINTER:
      *(uint64_t *) out = addr;
      return NULL_OK;
    case IS_MANAGED:
      *(int *) out = kind == NULL_MEMORY_MANAGED;
      return NULL_OK;
    case DEVICE_ORDINAL:
      *(int *) out = device;
      return NULL_OK;
    case RANGE_START_ADDR:
      *(uint64_t *) out = base;
      return NULL_OK;
    case RANGE_SIZE:
      *(size_t *) out = n_bytes;
      return NULL_OK;
    default:
      return null_unsupported ("cuPointerGetAttribute of that kind", NULL_NOT_SUPPORTED);
    }
}
