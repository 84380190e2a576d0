/*
 * 64-bit FNV-1a, fed piece by piece. Numbers go in as eight little-endian bytes, so a
 * digest is the same on every machine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Offset basis and prime as published by Fowler, Noll and Vo. */
#define TESSERA_HASH_START UINT64_C (0xcbf29ce484222325)
#define TESSERA_HASH_PRIME UINT64_C (0x100000001b3)

static inline uint64_t
tessera_hash_bytes (uint64_t hash, const void *bytes, size_t n_bytes)
{
  const unsigned char *at = bytes;

  for (size_t i = 0; i < n_bytes; i++)
    hash = (hash ^ at[i]) * TESSERA_HASH_PRIME;
  return hash;
}

static inline uint64_t
tessera_hash_number (uint64_t hash, uint64_t number)
{
  for (int i = 0; i < 8; i++)
    {
      hash = (hash ^ (number & 0xff)) * TESSERA_HASH_PRIME;
      number >>= 8;
    }
  return hash;
}

static inline uint64_t
tessera_hash_numbers (uint64_t hash, const uint64_t *numbers, size_t n)
{
  for (size_t i = 0; i < n; i++)
    hash = tessera_hash_number (hash, numbers[i]);
  return hash;
}
