/*
 * What kind of memory an address is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "nullcuda/device.h"
#include "nullcuda/memory/host.h"
#include "nullcuda/memory/memory.h"

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
    return null_fail (NULL_INVALID_VALUE, "cuPointerGetAttribute");
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
