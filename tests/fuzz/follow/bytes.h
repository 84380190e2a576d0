/*
 * Numbers out of a fuzzer's bytes, one after the other; zeros once they are used up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct
{
  const uint8_t *next;
  size_t n_left;
} Bytes;

static inline uint32_t
bytes_take (Bytes *bytes)
{
  if (bytes->n_left == 0)
    return 0;
  bytes->n_left--;
  return *bytes->next++;
}

/* Below @n, which is not 0. */
static inline uint32_t
bytes_below (Bytes *bytes, uint32_t n)
{
  uint32_t number = bytes_take (bytes);

  if (n > UINT8_MAX)
    number = number << 8 | bytes_take (bytes);
  return number % n;
}
