/* SPDX-License-Identifier: Apache-2.0 */
#include "nullcuda/private.h"

#include <pthread.h>

/* Of a page up to 20 MiB, as an H100's driver takes (docs/gpu/results/h100-barriers.json);
   larger ones take a little longer. */
#define NS_PER_CREATE 10e3
#define NS_PER_MAP 1e3
#define NS_PER_ACCESS 25e3
#define NS_PER_UNMAP 17e3
#define NS_PER_RELEASE 15e3

typedef struct
{
  NullSlabHead head;
  unsigned n_references, n_mappings;
  uint64_t n_bytes;
  int device;
} Physical;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static NullRanges mappings; /* data: the physical memory */
/* Handles are addresses beside the device's. */
static NullSlab handles = { 0x1e4000000000, sizeof (Physical), NULL, 0, 0 };

/* The memory behind @handle, or NULL: a stale one is recognised. Valid until the lock is
 * left. */
static Physical *
lookup (uint64_t handle)
{
  void *physical = (void *) (uintptr_t) handle;

  return null_slab_has (&handles, physical) ? physical : NULL;
}

static void
settle (Physical *gone)
{
  if (gone->n_references > 0 || gone->n_mappings > 0)
    return;
  null_clock_pass (NS_PER_RELEASE);
  null_budget_give (gone->device, gone->n_bytes);
  null_slab_give (&handles, gone);
}

bool
null_vmm_is_mapped (uint64_t addr, uint64_t n_bytes)
{
  pthread_mutex_lock (&lock);
  bool is_mapped = null_ranges_overlap (&mappings, addr, n_bytes);
  pthread_mutex_unlock (&lock);
  return is_mapped;
}

bool
null_vmm_find (uint64_t addr, uint64_t *out_base, uint64_t *out_n_bytes, int *out_device)
{
  pthread_mutex_lock (&lock);
  const NullRange *mapping = null_ranges_find (&mappings, addr, 1);
  if (mapping != NULL)
    {
      *out_base = mapping->addr;
      *out_n_bytes = mapping->n_bytes;
      *out_device = ((const Physical *) mapping->data)->device;
    }
  pthread_mutex_unlock (&lock);
  return mapping != NULL;
}

NULL_API (int,
          cuMemAddressReserve,
          uint64_t *out_addr,
          size_t n_bytes,
          size_t alignment,
          uint64_t wanted_addr)
{
  int error = null_memory_reserve (n_bytes, alignment, wanted_addr, out_addr);
  return null_report (error, __func__);
}

NULL_API (int, cuMemAddressFree, uint64_t addr, size_t n_bytes)
{
  int error = null_memory_unreserve (addr, n_bytes);
  return null_report (error, __func__);
}

NULL_API (int,
          cuMemCreate,
          uint64_t *out_handle,
          size_t n_bytes,
          const NullAllocationProp *prop)
{
  int device = prop->location.id;
  if (n_bytes == 0 || n_bytes % NULL_GRANULE != 0 || prop->location.type != 1)
    return null_report (NULL_INVALID_VALUE, __func__);
  if (device < 0 || device >= null_settings ()->n_devices)
    return null_report (NULL_INVALID_DEVICE, __func__);
  if (!null_budget_take (device, n_bytes))
    return null_report (NULL_OUT_OF_MEMORY, __func__);
  null_clock_pass (NS_PER_CREATE);
  pthread_mutex_lock (&lock);
  Physical *made = null_slab_take (&handles);
  if (made != NULL)
    {
      made->n_references = 1;
      made->n_bytes = n_bytes;
      made->device = device;
      *out_handle = (uintptr_t) made;
    }
  pthread_mutex_unlock (&lock);
  if (made != NULL)
    return NULL_OK;
  null_budget_give (device, n_bytes);
  return null_report (NULL_OUT_OF_MEMORY, __func__);
}

NULL_API (int, cuMemRelease, uint64_t handle)
{
  pthread_mutex_lock (&lock);
  Physical *memory = lookup (handle);
  bool is_held = memory != NULL && memory->n_references > 0;
  if (is_held)
    {
      memory->n_references--;
      settle (memory);
    }
  pthread_mutex_unlock (&lock);
  return null_report (is_held ? NULL_OK : NULL_INVALID_VALUE, __func__);
}

NULL_API (int, cuMemMap, uint64_t addr, size_t n_bytes, size_t offset, uint64_t handle)
{
  int error = NULL_INVALID_VALUE;
  if (offset != 0 || addr % NULL_GRANULE != 0 || !null_memory_is_reserved (addr, n_bytes))
    return null_report (error, __func__);
  null_clock_pass (NS_PER_MAP);
  pthread_mutex_lock (&lock);
  Physical *memory = lookup (handle);
  if (memory != NULL && memory->n_references > 0 && memory->n_bytes == n_bytes &&
      !null_ranges_overlap (&mappings, addr, n_bytes))
    {
      NullRange mapping = { addr, n_bytes, 0, memory };
      error = null_ranges_insert (&mappings, mapping) ? NULL_OK : NULL_OUT_OF_MEMORY;
      memory->n_mappings += error == NULL_OK;
    }
  pthread_mutex_unlock (&lock);
  return null_report (error, __func__);
}

/* How many whole mappings, one after the other, make up the range; 0: none do. */
static unsigned
count_mappings (uint64_t addr, uint64_t n_bytes)
{
  uint64_t end = addr + n_bytes;
  unsigned n = 0;
  for (size_t i = null_ranges_at (&mappings, addr); addr < end; i++, n++)
    {
      if (i == mappings.n || mappings.items[i].addr != addr ||
          mappings.items[i].n_bytes > end - addr)
        return 0;
      addr += mappings.items[i].n_bytes;
    }
  return n;
}

NULL_API (int, cuMemUnmap, uint64_t addr, size_t n_bytes)
{
  pthread_mutex_lock (&lock);
  unsigned n_pages = count_mappings (addr, n_bytes);
  bool is_whole = n_pages > 0;
  null_clock_pass (n_pages * NS_PER_UNMAP);
  size_t index = null_ranges_at (&mappings, addr);
  if (is_whole)
    null_remembered_forget (addr, n_bytes);
  while (is_whole && index < mappings.n && mappings.items[index].addr < addr + n_bytes)
    {
      Physical *memory = mappings.items[index].data;
      null_ranges_remove (&mappings, index);
      memory->n_mappings--;
      settle (memory);
    }
  pthread_mutex_unlock (&lock);
  if (is_whole)
    null_tell (__func__, (void *) addr, (void *) n_bytes);
  return null_report (is_whole ? NULL_OK : NULL_INVALID_VALUE, __func__);
}

NULL_API (int, cuMemSetAccess, uint64_t addr, size_t n_bytes)
{
  pthread_mutex_lock (&lock);
  unsigned n_pages = count_mappings (addr, n_bytes);
  pthread_mutex_unlock (&lock);
  null_clock_pass (n_pages * NS_PER_ACCESS);
  return null_report (n_pages > 0 ? NULL_OK : NULL_INVALID_VALUE, __func__);
}

NULL_API (int, cuMemGetAllocationGranularity, size_t *out_n_bytes)
{
  *out_n_bytes = NULL_GRANULE;
  return NULL_OK;
}
