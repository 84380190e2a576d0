/*
 * Memory pools of the driver: cudaMallocAsync.
 *
 * A pool here keeps nothing back: what is freed goes to the budget at once, as with a
 * release threshold of zero. Attributes are kept and given back; what a pool holds is
 * answered.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "nullcuda/device.h"
#include "nullcuda/memory/memory.h"
#include "nullcuda/remembered.h"
#include "nullcuda/settings.h"
#include "nullcuda/streams/stream.h"

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
find (void *handle)
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
    return null_fail (NULL_INVALID_DEVICE, "cudaDeviceGetDefaultMemPool");
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
  Pool *pool = find (handle);
  if (pool == NULL || attribute < 1 || attribute >= N_ATTRIBUTES)
    return null_fail (NULL_INVALID_VALUE, "cudaMemPoolSetAttribute");
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
  const Pool *pool = find (handle);
  if (pool == NULL || attribute < 1 || attribute >= N_ATTRIBUTES)
    return null_fail (NULL_INVALID_VALUE, "cudaMemPoolGetAttribute");
  null_clock_lock ();
  memcpy (out, &pool->attributes[attribute], attribute_bytes (attribute));
  null_clock_unlock ();
  return NULL_OK;
}

NULL_API (int, cudaMemPoolTrimTo, void *handle, size_t n_bytes)
{
  return find (handle) != NULL ? NULL_OK
                               : null_fail (NULL_INVALID_VALUE, "cudaMemPoolTrimTo");
}

NULL_API (int, cudaMemPoolSetAccess, void *handle, const void *descriptions, size_t n)
{
  return find (handle) != NULL ? NULL_OK
                               : null_fail (NULL_INVALID_VALUE, "cudaMemPoolSetAccess");
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
    return null_fail (error, "cudaMallocAsync");
  if (null_memory_find (addr, &base, &whole_bytes, &device))
    account (device, whole_bytes, true);
  return null_submit ("cudaMallocAsync", stream, MALLOC_ASYNC_NS);
}

NULL_API (int, cudaFreeAsync, void *addr, void *stream)
{
  uint64_t base, whole_bytes;
  int device;
  if (addr == NULL)
    return NULL_OK;
  if (!null_memory_find ((uint64_t) addr, &base, &whole_bytes, &device) ||
      base != (uint64_t) addr)
    return null_fail (NULL_INVALID_VALUE, "cudaFreeAsync");
  null_remembered_forget (base, whole_bytes); /* before somebody else may write there */
  if (null_memory_release (base) != NULL_OK)
    return null_fail (NULL_INVALID_VALUE, "cudaFreeAsync");
  account (device, whole_bytes, false);
  return null_submit ("cudaFreeAsync", stream, MALLOC_ASYNC_NS);
}
