/*
 * Growing a plain C array by doubling, with every overflow and refusal handled.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define TESSERA_ARRAY_FIRST_ITEMS ((size_t) 16)

/*
 * tessera_array_reserve:
 * @array: address of the pointer to the items; may hold NULL with @cap 0
 * @cap: items there is room for; updated
 * @n_needed: items there must be room for afterwards
 *
 * Returns: false when the host has no memory; the array is then as it was.
 */
static inline bool
tessera_array_reserve (void **array, size_t *cap, size_t n_needed, size_t item_bytes)
{
  size_t n_items = *cap, n_bytes;
  void *grown;

  if (n_needed <= n_items)
    return true;
  if (n_items < TESSERA_ARRAY_FIRST_ITEMS)
    n_items = TESSERA_ARRAY_FIRST_ITEMS;
  while (n_items < n_needed)
    n_items = n_items <= SIZE_MAX / 2 ? n_items * 2 : SIZE_MAX;
  if (__builtin_mul_overflow (n_items, item_bytes, &n_bytes) || n_bytes > PTRDIFF_MAX)
    return false;
  grown = realloc (*array, n_bytes);
  if (!grown)
    return false;
  *array = grown;
  *cap = n_items;
  return true;
}

/* TESSERA_RESERVE (trace->events, trace->cap_events, trace->n_events + 1) */
#define TESSERA_RESERVE(array, cap, n_needed)                                            \
  tessera_array_reserve ((void **) &(array), &(cap), (n_needed), sizeof *(array))
