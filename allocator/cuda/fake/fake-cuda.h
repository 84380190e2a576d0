/*
 * A stand-in for the CUDA driver, for tests: keeps books, notices misuse, fails on
 * demand.
 *
 * It is built as a library of its own named libcuda.so.1, found like the real one. The
 * test finds its books by the symbol "fake_cuda".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct
{
  uint64_t device_bytes; /* may be set at any time */
  uint64_t used_bytes;
  size_t n_segments, n_reservations, n_pages, n_mapped, n_events, n_retained;
  size_t n_waited;     /* for the context */
  size_t n_recorded;   /* events */
  size_t n_of_context; /* ... of all streams' work */
  size_t n_ordered;    /* waits of a stream for an event */
  void *recorded_event, *ordered_event, *ordered_stream; /* the last ones */
  uint64_t rdma_bytes; /* pages made for network cards */
  int depth;           /* contexts pushed and not popped */
  int capture_mode;    /* of the thread; 0: captures are global */
  char misuse[160];    /* the first one */

  /* The @fail_nth call from now on gives @fail_result, once; only calls of @fail_name if
   * that is set. 0: none. */
  unsigned fail_nth;
  const char *fail_name;
  int fail_result;
  bool is_over; /* everything gives CUDA_ERROR_DEINITIALIZED */
  int query_result, capture_result, capture_status;
} FakeCuda;
