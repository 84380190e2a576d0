/*
 * What streams wait for, and from when on a barrier covers what was freed.
 *
 * A barrier lets a stream's later work wait, on the device, for all that the process gave
 * to any stream before (TesseraDevice.order()). It covers the uses of a block that was
 * freed before it, whatever streams they were on, but for one thing: a program may free a
 * block and only then launch what still uses it. That launch comes before the freeing
 * thread's next call of the allocator, so a barrier covers a free from that call on, or
 * from the program's next mark on, a step's or a phase's (reference: the contract at the head of PyTorch's
 * CUDACachingAllocator.cpp).
 *
 * Moments count calls of the allocator.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pthread.h>

#include "db/status.h"

enum
{
  TESSERA_MOST_FREEING = 256 /* threads whose last call was a free, in one step; of more,
                                some frees are never covered */
};

/* The block that a thread freed last, and was not heard of since. */
typedef struct
{
  pthread_t thread;
  uint64_t freed_at;
  uint64_t begin_bytes, end_bytes; /* of the pool */
} TesseraLastFree;

typedef struct
{
  TesseraLastFree last[TESSERA_MOST_FREEING];
  size_t n_last;
  uint64_t *behind; /* [n_behind] by stream: the moment of its last barrier; 0: none */
  size_t n_behind, cap_behind;
} TesseraBarriers;

void tessera_barriers_clear (TesseraBarriers *barriers);

/* The calling thread is back in the allocator. Returns: whether it had freed something
 * that nothing covered until now. */
bool tessera_barriers_hear (TesseraBarriers *barriers, TesseraLastFree *out_free);
/* As if every thread were back: takes one, in any order. */
bool tessera_barriers_hear_all (TesseraBarriers *barriers, TesseraLastFree *out_free);
/* The calling thread frees something. */
void tessera_barriers_free (TesseraBarriers *barriers, const TesseraLastFree *freed);

/* The stream waits for all from before the moment. Without memory it is forgotten. */
void tessera_barriers_set (TesseraBarriers *barriers, uint32_t stream, uint64_t moment);

static inline uint64_t
tessera_barriers_of (const TesseraBarriers *barriers, uint32_t stream)
{
  return stream < barriers->n_behind ? barriers->behind[stream] : 0;
}
