/* SPDX-License-Identifier: Apache-2.0 */
#include "nullcuda/ranges.h"

#include <stdlib.h>
#include <string.h>

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
