/*
 * Big arrays, by huge pages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/scene/big-alloc.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES ((size_t) 2 << 20)

void *
tessera_big_alloc (size_t n_bytes)
{
  if (n_bytes < 2 * HUGE_PAGE_BYTES)
    return malloc (n_bytes > 0 ? n_bytes : 1);
  size_t rounded = (n_bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
  void *array = aligned_alloc (HUGE_PAGE_BYTES, rounded);
  if (array != NULL)
    madvise (array, rounded, MADV_HUGEPAGE); /* a wish: refusal changes nothing */
  return array;
}
