/* SPDX-License-Identifier: Apache-2.0 */
#include "nullcuda/private.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum
{
  PINNED,
  REGISTERED, /* the program's own memory, which we never free */
  MANAGED,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static NullRanges host; /* value: one of the kinds */

static bool
remember (void *addr, size_t n_bytes, int kind)
{
  pthread_mutex_lock (&lock);
  bool is_kept = !null_ranges_overlap (&host, (uint64_t) addr, n_bytes) &&
                 null_ranges_insert (&host, (NullRange){ (uint64_t) addr, n_bytes,
                                                         (uint64_t) kind, NULL });
  pthread_mutex_unlock (&lock);
  return is_kept;
}

/* Takes out the range that begins at @addr. */
static bool
forget (void *addr, NullRange *out_range)
{
  pthread_mutex_lock (&lock);
  size_t index = null_ranges_at (&host, (uint64_t) addr);
  bool is_there = index < host.n && host.items[index].addr == (uint64_t) addr;
  if (is_there)
    {
      *out_range = host.items[index];
      null_ranges_remove (&host, index);
    }
  pthread_mutex_unlock (&lock);
  return is_there;
}

/* Pages that read as zeros until somebody writes them: large pinned buffers cost nothing.
 */
static int
allocate (const char *name, void **out_addr, size_t n_bytes, int kind)
{
  *out_addr = NULL;
  if (null_device_current () < 0)
    return null_report (NULL_NO_DEVICE, name);
  if (n_bytes == 0)
    return NULL_OK;
  void *addr =
      mmap (NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (addr == MAP_FAILED)
    return null_report (NULL_OUT_OF_MEMORY, name);
  if (!remember (addr, n_bytes, kind))
    {
      munmap (addr, n_bytes);
      return null_report (NULL_OUT_OF_MEMORY, name);
    }
  *out_addr = addr;
  return NULL_OK;
}

NULL_API (int, cudaHostAlloc, void **out_addr, size_t n_bytes, unsigned flags)
{
  return allocate (__func__, out_addr, n_bytes, PINNED);
}

NULL_API (int, cudaMallocHost, void **out_addr, size_t n_bytes)
{
  return allocate (__func__, out_addr, n_bytes, PINNED);
}

NULL_API (int, cudaMallocManaged, void **out_addr, size_t n_bytes, unsigned flags)
{
  return allocate (__func__, out_addr, n_bytes, MANAGED);
}

NULL_API (int, cudaFreeHost, void *addr)
{
  NullRange range;
  if (addr == NULL)
    return NULL_OK;
  if (!forget (addr, &range))
    return null_report (NULL_INVALID_VALUE, __func__);
  if (range.value != REGISTERED)
    munmap (addr, range.n_bytes);
  return NULL_OK;
}

NULL_API (int, cudaHostRegister, void *addr, size_t n_bytes, unsigned flags)
{
  if (null_device_current () < 0)
    return null_report (NULL_NO_DEVICE, __func__);
  if (addr == NULL || n_bytes == 0 || null_memory_is_ours ((uint64_t) addr))
    return null_report (NULL_INVALID_VALUE, __func__);
  return null_report (remember (addr, n_bytes, REGISTERED)
                          ? NULL_OK
                          : NULL_HOST_MEMORY_ALREADY_REGISTERED,
                      __func__);
}

NULL_API (int, cudaHostUnregister, void *addr)
{
  NullRange range;
  return null_report (forget (addr, &range) ? NULL_OK : NULL_HOST_MEMORY_NOT_REGISTERED,
                      __func__);
}

NULL_API (int, cudaHostGetDevicePointer, void **out_addr, void *addr, unsigned flags)
{
  *out_addr = addr;
  return null_report (null_host_kind ((uint64_t) addr) != NULL_MEMORY_UNREGISTERED
                          ? NULL_OK
                          : NULL_INVALID_VALUE,
                      __func__);
}

int
null_host_kind (uint64_t addr)
{
  pthread_mutex_lock (&lock);
  const NullRange *range = null_ranges_find (&host, addr, 1);
  int kind = range == NULL             ? NULL_MEMORY_UNREGISTERED
             : range->value == MANAGED ? NULL_MEMORY_MANAGED
                                       : NULL_MEMORY_HOST;
  pthread_mutex_unlock (&lock);
  return kind;
}

#define PAGE_BYTES UINT64_C (4096)

static bool
is_pinned (uint64_t addr, uint64_t n_bytes)
{
  pthread_mutex_lock (&lock);
  const NullRange *range = null_ranges_find (&host, addr, n_bytes);
  bool is_ours = range != NULL && range->value == PINNED;
  pthread_mutex_unlock (&lock);
  return is_ours;
}

void
null_host_clear (void *addr, size_t n_bytes)
{
  uint64_t from = (uint64_t) addr, to = from + n_bytes;
  uint64_t first = (from + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  uint64_t last = to / PAGE_BYTES * PAGE_BYTES;
  if (first >= last || !is_pinned (from, n_bytes) ||
      madvise ((void *) first, last - first, MADV_DONTNEED) != 0)
    {
      memset (addr, 0, n_bytes);
      return;
    }
  memset (addr, 0, first - from);
  memset ((void *) last, 0, to - last);
}
