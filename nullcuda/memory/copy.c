/*
 * Copies and memsets: they take time on their stream, and what comes to the host is
 * filled by rule: an answer laid ready, else what the program sent there itself, else
 * zeros; a single number of 8 bytes is 1. That is PyTorch's int64, a count nearly always,
 * which programs divide by; as a float64 it is nothing.
 *
 * A copy or memset that touches device addresses without memory behind them fails with
 * cudaErrorIllegalAddress: an allocator under test hears of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdatomic.h>
#include <string.h>

#include "nullcuda/private.h"

#define COPY_NS 2000.0
#define BYTES_PER_NS_DEVICE 1500.0 /* 1.5 TB/s read and written again */
#define BYTES_PER_NS_HOST 50.0     /* PCI express */
#define BYTES_PER_NS_SET 2500.0

static atomic_ulong n_made_up;

/* How many copies to the host gave what no program sent and nothing computed: an error of
 * the program may be about such a value. */
NULL_API (unsigned long, nullcuda_made_up, void) { return n_made_up; }

static void
fill_host (void *out, uint64_t addr, size_t n_bytes)
{
  static const uint64_t one = 1;
  null_host_clear (out, n_bytes);
  const bool is_answered = null_answer_take (out, n_bytes);
  if (!is_answered && null_remembered_take (addr, out, n_bytes))
    return;
  n_made_up++;
  if (!is_answered && n_bytes == sizeof one)
    memcpy (out, &one, sizeof one);
}

/* What the copy does to bytes, as far as there are any. */
static void
move (void *to, const void *from, size_t n_bytes)
{
  bool to_device = null_memory_is_ours ((uint64_t) to);
  bool from_device = null_memory_is_ours ((uint64_t) from);
  if (!to_device && !from_device)
    memmove (to, from, n_bytes);
  else if (!to_device)
    fill_host (to, (uint64_t) from, n_bytes);
  else if (from_device)
    null_remembered_forget ((uint64_t) to, n_bytes);
  else
    null_remembered_put ((uint64_t) to, from, n_bytes);
}

static double
copy_ns (const void *to, const void *from, size_t n_bytes)
{
  bool is_inside =
      null_memory_is_ours ((uint64_t) to) && null_memory_is_ours ((uint64_t) from);
  return COPY_NS +
         (double) n_bytes / (is_inside ? BYTES_PER_NS_DEVICE : BYTES_PER_NS_HOST);
}

static int
copy (const char *name, void *to, const void *from, size_t n_bytes, void *stream)
{
  if (!null_memory_is_backed ((uint64_t) to, n_bytes) ||
      !null_memory_is_backed ((uint64_t) from, n_bytes))
    return null_report (NULL_ILLEGAL_ADDRESS, name);
  int error = null_submit (name, stream, copy_ns (to, from, n_bytes));
  if (error == NULL_OK && n_bytes > 0)
    move (to, from, n_bytes);
  return error;
}

int cudaStreamSynchronize (void *stream);

NULL_API (int,
          cudaMemcpyAsync,
          void *to,
          const void *from,
          size_t n_bytes,
          int kind,
          void *stream)
{
  return copy (__func__, to, from, n_bytes, stream);
}

NULL_API (int, cudaMemcpy, void *to, const void *from, size_t n_bytes, int kind)
{
  int error = copy (__func__, to, from, n_bytes, NULL);
  return error == NULL_OK ? cudaStreamSynchronize (NULL) : error;
}

NULL_API (int,
          cudaMemcpyPeerAsync,
          void *to,
          int to_device,
          const void *from,
          int from_device,
          size_t n_bytes,
          void *stream)
{
  return copy (__func__, to, from, n_bytes, stream);
}

NULL_API (int,
          cudaMemcpy2DAsync,
          void *to,
          size_t to_pitch,
          const void *from,
          size_t from_pitch,
          size_t n_bytes,
          size_t n_rows,
          int kind,
          void *stream)
{
  for (size_t row = 0; row < n_rows; row++)
    if (!null_memory_is_backed ((uint64_t) to + row * to_pitch, n_bytes) ||
        !null_memory_is_backed ((uint64_t) from + row * from_pitch, n_bytes))
      return null_report (NULL_ILLEGAL_ADDRESS, __func__);
  int error = null_submit (__func__, stream, copy_ns (to, from, n_bytes * n_rows));
  for (size_t row = 0; row < n_rows && error == NULL_OK; row++)
    move ((char *) to + row * to_pitch, (const char *) from + row * from_pitch, n_bytes);
  return error;
}

static int
set (const char *name, void *to, int value, size_t n_bytes, void *stream)
{
  if (!null_memory_is_backed ((uint64_t) to, n_bytes))
    return null_report (NULL_ILLEGAL_ADDRESS, name);
  int error = null_submit (name, stream, COPY_NS + (double) n_bytes / BYTES_PER_NS_SET);
  if (error == NULL_OK && null_memory_is_ours ((uint64_t) to))
    null_remembered_forget ((uint64_t) to, n_bytes);
  else if (error == NULL_OK)
    memset (to, value, n_bytes);
  return error;
}

NULL_API (int, cudaMemsetAsync, void *to, int value, size_t n_bytes, void *stream)
{
  return set (__func__, to, value, n_bytes, stream);
}

NULL_API (int, cudaMemset, void *to, int value, size_t n_bytes)
{
  return set (__func__, to, value, n_bytes, NULL);
}

/* An allocator that keeps freed memory says so here: what was sent there belongs to nobody
 * now, whichever block comes to lie there next. */
NULL_API (void, nullcuda_forget, uint64_t addr, size_t n_bytes)
{
  null_remembered_forget (addr, n_bytes);
}
