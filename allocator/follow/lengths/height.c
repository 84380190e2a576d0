/*
 * The pool of a plan for every length at the most that it is for: see lengths.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/lengths/lengths.h"

#include <stdlib.h>

#include "allocator/follow/lengths/sweep.h"

/* The longest length that is not above and no multiple of what some requests depend on,
 * where @length is one; else that is one. */
static uint64_t
other_length (const TesseraLengths *lengths, uint64_t length, bool is_second)
{
  uint64_t multiple = tessera_sweep_multiple (lengths, is_second);
  uint64_t beyond = length % multiple;

  return multiple == 1 || length < multiple ? length
         : beyond > 0                       ? length - beyond
                                            : length - 1;
}

/* What no step of at most these lengths takes more than, 0 where nothing is swept: of two
 * lengths each has the lowest order, of one that of its range. Returns: false where a law
 * gives no sizes. */
static bool
most_of_orders (const TesseraLengths *lengths,
                const TesseraParameters *at,
                uint64_t *sizes,
                uint64_t *tops,
                uint64_t *out_bytes)
{
  uint64_t bytes = 0;

  if (!tessera_sweep_sizes (lengths, at, sizes))
    return false;
  for (uint32_t k = 0; k < lengths->n_orders && !lengths->orders[k].is_first; k++)
    {
      uint64_t height = tessera_sweep (lengths, &lengths->orders[k], sizes, tops);

      if (bytes == 0 || (lengths->most.second > 0 ? height < bytes : height > bytes))
        bytes = height;
    }
  *out_bytes = bytes;
  return true;
}

TesseraStatus
tessera_lengths_height (const TesseraLengths *lengths, uint64_t *out_height_bytes)
{
  uint64_t *sizes = malloc (((size_t) lengths->n_laws + 1) * sizeof *sizes);
  uint64_t *tops = malloc (((size_t) lengths->n_swept + 1) * sizeof *tops);
  TesseraStatus status = sizes && tops ? TESSERA_OK : TESSERA_NO_MEMORY;

  *out_height_bytes = lengths->start_bytes;
  for (int i = 0; i < (lengths->most.second > 0 ? 4 : 1) && status == TESSERA_OK; i++)
    {
      TesseraParameters at = lengths->most;
      uint64_t height = 0;

      if (i & 1)
        at.length = other_length (lengths, at.length, false);
      if (i & 2)
        at.second = other_length (lengths, at.second, true);
      if (!most_of_orders (lengths, &at, sizes, tops, &height) && i == 0)
        status = TESSERA_INVALID;
      if (height > *out_height_bytes)
        *out_height_bytes = height;
    }
  free (sizes);
  free (tops);
  return status;
}
