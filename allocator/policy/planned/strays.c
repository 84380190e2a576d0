/*
 * See strays.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/planned/strays.h"

#include <stdlib.h>

/* In [begin_bytes, end_bytes), which nobody needs. */
static bool
find_in (const TesseraGuard *guard,
         uint64_t begin_bytes,
         uint64_t end_bytes,
         const TesseraGuardRequest *request,
         uint64_t *out_offset_bytes)
{
  while (begin_bytes < end_bytes && request->block_bytes <= end_bytes - begin_bytes)
    {
      uint64_t next_bytes;

      if (tessera_guard_ask (guard, begin_bytes, request, &next_bytes) ==
          TESSERA_GUARD_GRANTED)
        {
          *out_offset_bytes = begin_bytes;
          return true;
        }
      if (next_bytes <= begin_bytes)
        return false;
      begin_bytes = next_bytes;
    }
  return false;
}

bool
tessera_strays_find (const TesseraLengthsFollower *follower,
                     const TesseraGrowth *growth,
                     uint64_t fixed_bytes,
                     const TesseraGuardRequest *request,
                     uint64_t *out_offset_bytes)
{
  uint64_t page_bytes = growth->pages->page_bytes;
  uint64_t end_bytes = growth->step_bytes < growth->pages->held_bytes
                           ? growth->step_bytes
                           : growth->pages->held_bytes;
  uint32_t first = (uint32_t) ((fixed_bytes + page_bytes - 1) / page_bytes);
  uint32_t end = (uint32_t) (end_bytes / page_bytes);
  uint32_t *needs = malloc (((size_t) end + 1) * sizeof *needs);
  bool is_found = false;

  if (needs == NULL)
    return false;
  tessera_lengths_follower_forecast (follower, page_bytes, end, needs);
  while (end > first && !is_found)
    {
      uint32_t begin = end;

      while (begin > first && needs[begin - 1] == UINT32_MAX)
        begin--;
      is_found = find_in (growth->guard, begin * page_bytes, end * page_bytes, request,
                          out_offset_bytes);
      end = begin < end ? begin : end - 1;
    }
  free (needs);
  return is_found;
}
