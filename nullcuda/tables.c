/* SPDX-License-Identifier: Apache-2.0 */
#include "nullcuda/private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

size_t
null_ranges_at (const NullRanges *ranges, uint64_t addr)
{
  size_t low = 0, high = ranges->n;
  while (low < high)
    {
      size_t middle = low + (high - low) / 2;
      if (ranges->items[middle].addr + ranges->items[middle].n_bytes <= addr)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

NullRange *
null_ranges_find (const NullRanges *ranges, uint64_t addr, uint64_t n_bytes)
{
  size_t index = null_ranges_at (ranges, addr);
  if (index == ranges->n || ranges->items[index].addr > addr)
    return NULL;
  NullRange *range = &ranges->items[index];
  return n_bytes <= range->addr + range->n_bytes - addr ? range : NULL;
}

bool
null_ranges_overlap (const NullRanges *ranges, uint64_t addr, uint64_t n_bytes)
{
  size_t index = null_ranges_at (ranges, addr);
  return index < ranges->n && ranges->items[index].addr < addr + n_bytes;
}

bool
null_ranges_insert (NullRanges *ranges, NullRange range)
{
  if (ranges->n == ranges->capacity)
    {
      size_t capacity = ranges->capacity == 0 ? 256 : 2 * ranges->capacity;
      NullRange *items = realloc (ranges->items, capacity * sizeof *items);
      if (items == NULL)
        return false;
      ranges->items = items;
      ranges->capacity = capacity;
    }
  size_t index = null_ranges_at (ranges, range.addr);
  memmove (ranges->items + index + 1, ranges->items + index,
           (ranges->n - index) * sizeof *ranges->items);
  ranges->items[index] = range;
  ranges->n++;
  return true;
}

void
null_ranges_remove (NullRanges *ranges, size_t index)
{
  ranges->n--;
  memmove (ranges->items + index, ranges->items + index + 1,
           (ranges->n - index) * sizeof *ranges->items);
}

uint64_t
null_ranges_gap (const NullRanges *ranges,
                 uint64_t from,
                 uint64_t to,
                 uint64_t n_bytes,
                 uint64_t alignment)
{
  uint64_t addr = (from + alignment - 1) / alignment * alignment;
  for (size_t i = null_ranges_at (ranges, addr); i < ranges->n; i++)
    {
      const NullRange *taken = &ranges->items[i];
      if (taken->addr >= addr && taken->addr - addr >= n_bytes)
        break;
      addr = (taken->addr + taken->n_bytes + alignment - 1) / alignment * alignment;
    }
  return addr < to && to - addr >= n_bytes ? addr : 0;
}

#define MAX_OBJECTS                                                                      \
  (UINT32_C (1) << 22) /* addresses only: memory comes when it is used */

static bool
map (NullSlab *slab)
{
  void *objects =
      mmap ((void *) slab->wanted_addr, MAX_OBJECTS * slab->object_bytes,
            PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (objects == MAP_FAILED)
    return false;
  slab->objects = objects;
  return true;
}

static NullSlabHead *
object_at (const NullSlab *slab, size_t index)
{
  return (NullSlabHead *) (slab->objects + index * slab->object_bytes);
}

static size_t
number_of (const NullSlab *slab, const void *object)
{
  return (size_t) ((const char *) object - slab->objects) / slab->object_bytes;
}

void *
null_slab_take (NullSlab *slab)
{
  if (slab->objects == NULL && !map (slab))
    return NULL;
  NullSlabHead *object;
  if (slab->first_vacant > 0)
    {
      object = object_at (slab, slab->first_vacant - 1);
      slab->first_vacant = object->next_vacant;
    }
  else if (slab->n_objects < MAX_OBJECTS)
    object = object_at (slab, slab->n_objects++);
  else
    return NULL;
  memset (object, 0, slab->object_bytes);
  object->is_used = true;
  return object;
}

bool
null_slab_has (const NullSlab *slab, const void *handle)
{
  uintptr_t offset = (uintptr_t) handle - (uintptr_t) slab->objects;
  return offset < slab->n_objects * slab->object_bytes &&
         offset % slab->object_bytes == 0 && ((const NullSlabHead *) handle)->is_used;
}

void
null_slab_give (NullSlab *slab, void *object)
{
  NullSlabHead *head = object;
  head->is_used = false;
  head->next_vacant = slab->first_vacant;
  slab->first_vacant = (uint32_t) number_of (slab, object) + 1;
}

void *
null_slab_next (const NullSlab *slab, const void *object)
{
  size_t at = object == NULL ? 0 : number_of (slab, object) + 1;
  while (at < slab->n_objects && !object_at (slab, at)->is_used)
    at++;
  return at < slab->n_objects ? object_at (slab, at) : NULL;
}
