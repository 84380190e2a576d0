/* SPDX-License-Identifier: Apache-2.0 */
#include "nullcuda/private.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

/* Where Linux maps nothing by itself, and where address sanitizer lets programs map.
 * Always the same, so that two runs give equal addresses. */
#define ARENA_ADDR UINT64_C (0x200000000000)
#define ARENA_BYTES (UINT64_C (32) << 40)
#define ARENA_LEAST_BYTES (UINT64_C (64) << 30)

/* As an H100's driver takes for segments of PyTorch's sizes, the wait apart
   (docs/gpu/results/h100-barriers.json). */
#define NS_PER_ALLOCATION 55e3
#define NS_PER_RELEASE 60e3

enum
{
  RESERVED =
      NULL_MAX_DEVICES, /* a range's value: below it the device whose memory it is */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static NullRanges ranges; /* allocations and reservations */
static uint64_t used_bytes[NULL_MAX_DEVICES];
static uint64_t arena_addr, arena_bytes;
static unsigned long n_until_refused, n_to_refuse; /* takings, as asked for */
static pthread_once_t arena_once = PTHREAD_ONCE_INIT;

/* Address space may be limited (ulimit -v, thread sanitizer): take what there is. */
static void
reserve_arena (void)
{
  for (uint64_t n_bytes = ARENA_BYTES; n_bytes >= ARENA_LEAST_BYTES; n_bytes /= 2)
    {
      void *map = mmap ((void *) ARENA_ADDR, n_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (map == MAP_FAILED)
        continue;
      arena_addr = (uint64_t) (uintptr_t) map;
      arena_bytes = n_bytes;
      return;
    }
  null_log (0, "no address space for the device's memory: every allocation will fail");
}

bool
null_memory_is_ours (uint64_t addr)
{
  pthread_once (&arena_once, reserve_arena);
  return addr >= arena_addr && addr - arena_addr < arena_bytes;
}

/* Of a taking: with the lock held. */
static bool
is_refused (void)
{
  if (n_to_refuse == 0 || --n_until_refused > 0)
    return false;
  n_until_refused = 1;
  n_to_refuse--;
  return true;
}

NULL_API (void, nullcuda_refuse, unsigned long nth, unsigned long n)
{
  pthread_mutex_lock (&lock);
  n_until_refused = nth > 0 ? nth : 1;
  n_to_refuse = n;
  pthread_mutex_unlock (&lock);
}

bool
null_budget_take (int device, uint64_t n_bytes)
{
  uint64_t budget_bytes = null_settings ()->budget_bytes;
  pthread_mutex_lock (&lock);
  bool fits = !is_refused () && n_bytes <= budget_bytes &&
              used_bytes[device] <= budget_bytes - n_bytes;
  if (fits)
    used_bytes[device] += n_bytes;
  pthread_mutex_unlock (&lock);
  return fits;
}

void
null_budget_give (int device, uint64_t n_bytes)
{
  pthread_mutex_lock (&lock);
  used_bytes[device] -= n_bytes;
  pthread_mutex_unlock (&lock);
}

/* A free range of the arena, marked with @value. */
static int
place (uint64_t n_bytes,
       uint64_t alignment,
       uint64_t wanted_addr,
       uint64_t value,
       uint64_t *out_addr)
{
  pthread_once (&arena_once, reserve_arena);
  pthread_mutex_lock (&lock);
  uint64_t end = arena_addr + arena_bytes;
  uint64_t addr = wanted_addr;
  if (addr < arena_addr || addr >= end || end - addr < n_bytes || addr % alignment != 0 ||
      null_ranges_overlap (&ranges, addr, n_bytes))
    addr = null_ranges_gap (&ranges, arena_addr, end, n_bytes, alignment);
  bool is_placed = addr != 0 && null_ranges_insert (
                                    &ranges, (NullRange){ addr, n_bytes, value, NULL });
  pthread_mutex_unlock (&lock);
  *out_addr = is_placed ? addr : 0;
  return is_placed ? NULL_OK : NULL_OUT_OF_MEMORY;
}

/* Takes the range that begins at @addr out, where its value fits, and its size (0: any). */
static bool
unplace (uint64_t addr, uint64_t n_bytes, bool is_reservation, NullRange *out_range)
{
  pthread_mutex_lock (&lock);
  size_t index = null_ranges_at (&ranges, addr);
  const NullRange *range = &ranges.items[index];
  bool is_there = index < ranges.n && range->addr == addr &&
                  (n_bytes == 0 || range->n_bytes == n_bytes) &&
                  (range->value == RESERVED) == is_reservation;
  if (is_there)
    {
      *out_range = *range;
      null_ranges_remove (&ranges, index);
    }
  pthread_mutex_unlock (&lock);
  return is_there;
}

/* Whole granules, since that is what the driver takes from the device. *@out_addr stays where
 * there is none. */
static int
take_memory (int device, uint64_t n_bytes, uint64_t *out_addr)
{
  if (n_bytes == 0)
    return NULL_OK;
  if (n_bytes > UINT64_MAX / 2)
    return NULL_OUT_OF_MEMORY;
  uint64_t whole_bytes = (n_bytes + NULL_GRANULE - 1) / NULL_GRANULE * NULL_GRANULE;
  if (!null_budget_take (device, whole_bytes))
    return NULL_OUT_OF_MEMORY;
  int error = place (whole_bytes, NULL_GRANULE, 0, (uint64_t) device, out_addr);
  if (error != NULL_OK)
    null_budget_give (device, whole_bytes);
  return error;
}

int
null_memory_reserve (uint64_t n_bytes,
                     uint64_t alignment,
                     uint64_t wanted_addr,
                     uint64_t *out_addr)
{
  *out_addr = 0;
  if (n_bytes == 0 || n_bytes % NULL_GRANULE != 0 || (alignment & (alignment - 1)) != 0)
    return NULL_INVALID_VALUE;
  if (alignment < NULL_GRANULE)
    alignment = NULL_GRANULE;
  return place (n_bytes, alignment, wanted_addr, RESERVED, out_addr);
}

int
null_memory_unreserve (uint64_t addr, uint64_t n_bytes)
{
  NullRange range;
  return !null_vmm_is_mapped (addr, n_bytes) && unplace (addr, n_bytes, true, &range)
             ? NULL_OK
             : NULL_INVALID_VALUE;
}

bool
null_memory_is_reserved (uint64_t addr, uint64_t n_bytes)
{
  pthread_mutex_lock (&lock);
  const NullRange *range = null_ranges_find (&ranges, addr, n_bytes);
  bool is_reserved = range != NULL && range->value == RESERVED;
  pthread_mutex_unlock (&lock);
  return is_reserved;
}

bool
null_memory_find (uint64_t addr,
                  uint64_t *out_base,
                  uint64_t *out_n_bytes,
                  int *out_device)
{
  if (!null_memory_is_ours (addr))
    return false;
  pthread_mutex_lock (&lock);
  const NullRange *range = null_ranges_find (&ranges, addr, 1);
  bool is_plain = range != NULL && range->value != RESERVED;
  if (is_plain)
    {
      *out_base = range->addr;
      *out_n_bytes = range->n_bytes;
      *out_device = (int) range->value;
    }
  pthread_mutex_unlock (&lock);
  return is_plain || null_vmm_find (addr, out_base, out_n_bytes, out_device);
}

bool
null_memory_is_backed (uint64_t addr, uint64_t n_bytes)
{
  while (n_bytes > 0 && null_memory_is_ours (addr))
    {
      uint64_t base, size_bytes;
      int device;
      if (!null_memory_find (addr, &base, &size_bytes, &device))
        return false;
      uint64_t here_bytes = base + size_bytes - addr;
      if (here_bytes >= n_bytes)
        return true;
      addr += here_bytes;
      n_bytes -= here_bytes;
    }
  return true;
}

/* What programs call. */

void
null_memory_info (int device, size_t *out_free_bytes, size_t *out_total_bytes)
{
  uint64_t total_bytes = null_settings ()->profile.total_bytes;
  uint64_t budget_bytes = null_settings ()->budget_bytes;
  uint64_t ceiling_bytes = budget_bytes < total_bytes ? budget_bytes : total_bytes;
  pthread_mutex_lock (&lock);
  uint64_t used = used_bytes[device];
  pthread_mutex_unlock (&lock);
  *out_free_bytes = used < ceiling_bytes ? ceiling_bytes - used : 0;
  *out_total_bytes = total_bytes;
}

NULL_API (int, cudaMemGetInfo, size_t *out_free_bytes, size_t *out_total_bytes)
{
  int device = null_device_current ();
  if (device < 0)
    return null_report (NULL_NO_DEVICE, __func__);
  null_memory_info (device, out_free_bytes, out_total_bytes);
  return NULL_OK;
}

NULL_ALSO (cuMemGetInfo_v2, cudaMemGetInfo);

static int
allocate (const char *name, uint64_t n_bytes, uint64_t *out_addr)
{
  int device = null_device_current ();
  *out_addr = 0;
  if (device < 0)
    return null_report (NULL_NO_DEVICE, name);
  null_clock_pass (NS_PER_ALLOCATION);
  int error = take_memory (device, n_bytes, out_addr);
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
  NullRange range;
  bool was_there = unplace (addr, 0, false, &range);
  if (was_there)
    null_budget_give ((int) range.value, range.n_bytes);
  return null_report (was_there ? NULL_OK : NULL_INVALID_VALUE, name);
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
