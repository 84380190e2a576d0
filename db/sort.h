/*
 * Numbers sorted by keys, in linear time; where a number is among sorted ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

typedef struct
{
  uint64_t key;
  uint32_t value;
} TesseraKeyed;

/*
 * tessera_sort_keyed:
 *
 * Ascending keys; those of equal keys stay in the order in which they came. A counting
 * sort for each byte in which keys differ, from the lowest up. Any thread; takes as much
 * memory again while it works.
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY: nothing has changed then
 */
TESSERA_MUST_USE TesseraStatus tessera_sort_keyed (TesseraKeyed *keyed, size_t n);

/* Returns: how many of the ascending numbers are below @value. */
static inline uint32_t
tessera_count_below (const uint64_t *numbers, uint32_t n, uint64_t value)
{
  uint32_t low = 0, high = n;

  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;

      if (numbers[middle] < value)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}
