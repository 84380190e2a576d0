/*
 * Numbers sorted by keys, in linear time.
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
