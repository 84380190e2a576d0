/*
 * Where a number is among sorted ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdint.h>

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
