/*
 * Memory: one budget for all kinds of it, out of memory at the right byte; and what copies
 * bring to the host, with a clock that stands still.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "nullcuda/private.h"

#include <glib.h>
#include <string.h>

#include "nullcuda/test-calls.h"

#define N_GRANULES 32 /* of the device: 64 MiB */
#define MIB (UINT64_C (1) << 20)

/* As the runtime and NVML both say. */
static size_t
free_bytes (void)
{
  unsigned long long of_nvml[3]; /* all, free, used */
  size_t n_bytes, total_bytes;
  void *device;

  OK (cudaMemGetInfo (&n_bytes, &total_bytes));
  g_assert_cmpuint (total_bytes, ==, N_GRANULES * NULL_GRANULE);
  OK (nvmlDeviceGetHandleByIndex_v2 (0, &device));
  OK (nvmlDeviceGetMemoryInfo (device, of_nvml));
  g_assert_cmpuint (of_nvml[0], ==, total_bytes);
  g_assert_cmpuint (of_nvml[1], ==, n_bytes);
  g_assert_cmpuint (of_nvml[2], ==, total_bytes - n_bytes);
  return n_bytes;
}

static int
kind_of (const void *addr)
{
  NullPointerAttributes attributes;
  OK (cudaPointerGetAttributes (&attributes, addr));
  return attributes.type;
}

static void
test_plain (void)
{
  void *all[N_GRANULES], *more, *again;
  for (int i = 0; i < N_GRANULES; i++)
    OK (cudaMalloc (&all[i], i % 2 == 0 ? 1 : NULL_GRANULE));
  g_assert_cmpuint (free_bytes (), ==, 0);
  g_assert_cmpint (cudaMalloc (&more, 1), ==, NULL_OUT_OF_MEMORY);
  g_assert_null (more);
  g_assert_cmpint (cudaGetLastError (), ==, NULL_OUT_OF_MEMORY);
  OK (cudaGetLastError ());
  g_assert_cmpint (kind_of ((char *) all[3] + NULL_GRANULE - 1), ==, NULL_MEMORY_DEVICE);

  OK (cudaFree (all[3]));
  g_assert_cmpint (kind_of (all[3]), ==, NULL_MEMORY_UNREGISTERED);
  g_assert_cmpint (cudaFree (all[3]), ==, NULL_INVALID_VALUE);
  g_assert_cmpint (cudaMalloc (&more, NULL_GRANULE + 1), ==, NULL_OUT_OF_MEMORY);
  OK (cudaMalloc (&again, NULL_GRANULE));
  g_assert_true (again == all[3]);
  for (int i = 0; i < N_GRANULES; i++)
    OK (cudaFree (all[i]));
  g_assert_cmpuint (free_bytes (), ==, N_GRANULES * NULL_GRANULE);
  g_assert_cmpint (cudaMalloc (&more, N_GRANULES * NULL_GRANULE + 1), ==,
                   NULL_OUT_OF_MEMORY);
  g_assert_cmpint (cudaMalloc (&more, SIZE_MAX), ==, NULL_OUT_OF_MEMORY);
}

static const NullAllocationProp on_device_0 = { 1, 0, { 1, 0 }, NULL, { 0 } };

static void
test_virtual (void)
{
  uint64_t addr, handles[N_GRANULES], another;
  OK (cuMemAddressReserve (&addr, 128 * MIB, 0, 0, 0));
  g_assert_cmpuint (free_bytes (), ==, N_GRANULES * NULL_GRANULE);
  for (int i = 0; i < N_GRANULES; i++)
    OK (cuMemCreate (&handles[i], NULL_GRANULE, &on_device_0, 0));
  g_assert_cmpint (cuMemCreate (&another, NULL_GRANULE, &on_device_0, 0), ==,
                   NULL_OUT_OF_MEMORY);
  g_assert_cmpint (cuMemCreate (&another, 1, &on_device_0, 0), ==, NULL_INVALID_VALUE);

  for (int i = 0; i < 2; i++)
    OK (cuMemMap (addr + i * NULL_GRANULE, NULL_GRANULE, 0, handles[i], 0));
  g_assert_cmpint (cuMemMap (addr, NULL_GRANULE, 0, handles[2], 0), ==,
                   NULL_INVALID_VALUE);
  g_assert_cmpint (cuMemMap (addr + 128 * MIB, NULL_GRANULE, 0, handles[2], 0), ==,
                   NULL_INVALID_VALUE);
  OK (cuMemSetAccess (addr, 2 * NULL_GRANULE, &on_device_0.location, 1));
  g_assert_cmpint (cuMemSetAccess (addr, 3 * NULL_GRANULE, &on_device_0.location, 1), ==,
                   NULL_INVALID_VALUE);

  /* A memset goes as far as there is memory, and no further. */
  char *start = (char *) addr;
  OK (cudaMemsetAsync (start, 0, 2 * NULL_GRANULE, NULL));
  g_assert_cmpint (cudaMemsetAsync (start, 0, 2 * NULL_GRANULE + 1, NULL), ==,
                   NULL_ILLEGAL_ADDRESS);
  g_assert_cmpint (kind_of (start + 2 * NULL_GRANULE - 1), ==, NULL_MEMORY_DEVICE);
  g_assert_cmpint (kind_of (start + 2 * NULL_GRANULE), ==, NULL_MEMORY_UNREGISTERED);

  /* Memory is given back when its handle is released and mapped nowhere. */
  for (int i = 0; i < N_GRANULES; i++)
    OK (cuMemRelease (handles[i]));
  g_assert_cmpint (cuMemRelease (handles[5]), ==, NULL_INVALID_VALUE);
  g_assert_cmpuint (free_bytes (), ==, (N_GRANULES - 2) * NULL_GRANULE);
  g_assert_cmpint (cuMemAddressFree (addr, 128 * MIB), ==, NULL_INVALID_VALUE);
  g_assert_cmpint (cuMemUnmap (addr + MIB, MIB), ==, NULL_INVALID_VALUE);
  OK (cuMemUnmap (addr, 2 * NULL_GRANULE));
  g_assert_cmpuint (free_bytes (), ==, N_GRANULES * NULL_GRANULE);
  g_assert_cmpint (cuMemAddressFree (addr, 64 * MIB), ==, NULL_INVALID_VALUE);
  OK (cuMemAddressFree (addr, 128 * MIB));
}

static void
test_kinds_share_the_budget (void)
{
  void *half, *more;
  uint64_t handle;
  OK (cudaMalloc (&half, 32 * MIB));
  OK (cuMemCreate (&handle, 32 * MIB, &on_device_0, 0));
  g_assert_cmpint (cudaMalloc (&more, 1), ==, NULL_OUT_OF_MEMORY);
  OK (cudaFree (half));
  g_assert_cmpuint (free_bytes (), ==, 32 * MIB);
  OK (cuMemRelease (handle));
  g_assert_cmpuint (free_bytes (), ==, N_GRANULES * NULL_GRANULE);
}

/* Whoever asks: the second and the third, and nobody after these. */
static void
test_refused (void)
{
  void *blocks[2], *refused;
  uint64_t handle;
  nullcuda_refuse (2, 2);
  OK (cudaMalloc (&blocks[0], MIB));
  g_assert_cmpint (cudaMalloc (&refused, MIB), ==, NULL_OUT_OF_MEMORY);
  g_assert_cmpint (cuMemCreate (&handle, NULL_GRANULE, &on_device_0, 0), ==,
                   NULL_OUT_OF_MEMORY);
  OK (cudaMalloc (&blocks[1], MIB));
  nullcuda_refuse (1, 5);
  nullcuda_refuse (1, 0);
  for (int i = 0; i < 2; i++)
    OK (cudaFree (blocks[i]));
  g_assert_cmpuint (free_bytes (), ==, N_GRANULES * NULL_GRANULE);
}

static void
test_host (void)
{
  g_autofree char *own = g_malloc0 (8192);
  void *pinned;
  OK (cudaHostAlloc (&pinned, 100, 0));
  ((char *) pinned)[99] = 1;
  g_assert_cmpint (kind_of (pinned), ==, NULL_MEMORY_HOST);
  g_assert_cmpint (kind_of (own), ==, NULL_MEMORY_UNREGISTERED);
  OK (cudaHostRegister (own, 8192, 0));
  g_assert_cmpint (kind_of (own + 8191), ==, NULL_MEMORY_HOST);
  g_assert_cmpint (cudaHostRegister (own + 1, 1, 0), ==,
                   NULL_HOST_MEMORY_ALREADY_REGISTERED);
  OK (cudaHostUnregister (own));
  g_assert_cmpint (cudaHostUnregister (own), ==, NULL_HOST_MEMORY_NOT_REGISTERED);
  OK (cudaFreeHost (pinned));
  g_assert_cmpint (cudaFreeHost (pinned), ==, NULL_INVALID_VALUE);
}

enum
{
  N_THREADS = 4,
  N_ROUNDS = 2000,
  N_HELD = 8,
};

/* What a thread wrote to its memory nobody else overwrote, and all of it is given back.
 */
static gpointer
allocate_and_free (gpointer user)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (GPOINTER_TO_UINT (user));
  void *held[N_HELD] = { NULL };
  for (int i = 0; i < N_ROUNDS; i++)
    {
      int which = g_rand_int_range (random, 0, N_HELD);
      if (held[which] != NULL)
        {
          gpointer mark = NULL;
          OK (cudaMemcpy (&mark, held[which], sizeof mark, NULL_DEVICE_TO_HOST));
          g_assert_true (mark == user);
          OK (cudaFree (held[which]));
          held[which] = NULL;
        }
      else if (cudaMalloc (&held[which],
                           (size_t) g_rand_int_range (random, 1, 5000000)) == NULL_OK)
        OK (cudaMemcpy (held[which], &user, sizeof user, NULL_HOST_TO_DEVICE));
    }
  for (int which = 0; which < N_HELD; which++)
    OK (cudaFree (held[which]));
  return NULL;
}

static void
test_threads (void)
{
  GThread *threads[N_THREADS];
  for (guint i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("memory", allocate_and_free, GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  g_assert_cmpuint (free_bytes (), ==, N_GRANULES * NULL_GRANULE);
}

static void
expect (const void *from, const char *expected, size_t n_bytes)
{
  char got[64];
  memset (got, '?', sizeof got);
  OK (cudaMemcpy (got, from, n_bytes, NULL_DEVICE_TO_HOST));
  g_assert_true (memcmp (got, expected, n_bytes) == 0);
}

static void
send (void *to, const void *from, size_t n_bytes)
{
  OK (cudaMemcpy (to, from, n_bytes, NULL_HOST_TO_DEVICE));
}

static void
test_given_back_once (void)
{
  char *device;
  OK (cudaMalloc ((void **) &device, 4096));
  expect (device, "\0\0\0\0", 4);
  send (device, "abcdefgh", 8);
  expect (device + 2, "cd", 2);
  expect (device, "ab\0\0efgh", 8);
  expect (device, "\0\0\0\0\0\0\0", 7);
  expect (device, "\1\0\0\0\0\0\0\0", 8); /* a count that nobody knows */
  send (device, "\0\0\0\0\0\0\0\0", 8);
  expect (device, "\0\0\0\0\0\0\0\0", 8);
  OK (cudaFree (device));
}

static void
test_forgotten (void)
{
  char *device, *large = g_malloc0 (NULL_REMEMBERED_COPY_BYTES + 1);
  OK (cudaMalloc ((void **) &device, 1 << 20));
  send (device, "abcdefgh", 8);
  OK (cudaMemsetAsync (device + 1, 0, 2, NULL));
  OK (cudaMemcpy (device + 4, device + 100, 1, NULL_DEVICE_TO_DEVICE));
  send (device + 6, "XY", 2);
  expect (device, "a\0\0d\0fXY", 8);

  send (device, "abcd", 4); /* a copy too long to remember is one that overwrites */
  memset (large, 'z', NULL_REMEMBERED_COPY_BYTES + 1);
  send (device, large, NULL_REMEMBERED_COPY_BYTES + 1);
  expect (device, "\0\0\0\0", 4);
  send (device, large, NULL_REMEMBERED_COPY_BYTES);
  expect (device + NULL_REMEMBERED_COPY_BYTES - 2, "zz\0", 3);

  send (device, "abcd", 4);
  OK (cudaFree (device));
  void *same;
  OK (cudaMalloc (&same, 1 << 20));
  g_assert_true (same == device);
  expect (same, "\0\0\0\0", 4);
  OK (cudaFree (same));
  g_free (large);
}

static void
launch (unsigned n_kernels)
{
  NullDim one = { 1, 1, 1 };
  for (unsigned i = 0; i < n_kernels; i++)
    OK (cudaLaunchKernel (NULL, one, one, NULL, 0, NULL));
}

/* A program that runs on has other tensors there by now. */
static void
test_too_old (void)
{
  char *device;
  OK (cudaMalloc ((void **) &device, 4096));
  send (device, "abcd", 4);
  launch (NULL_REMEMBERED_KERNELS);
  expect (device, "abcd", 4);
  send (device, "abcd", 4);
  launch (NULL_REMEMBERED_KERNELS + 1);
  expect (device, "\0\0\0\0", 4);
  send (device, "abcd", 4);
  expect (device, "ab", 2);
  launch (1);
  expect (device + 3, "\0", 1);
  OK (cudaFree (device));
}

/* Pinned memory is cleared by pages: no byte more, no byte less. */
static void
test_pinned (void)
{
  enum
  {
    N_BYTES = 5 * 4096
  };
  char *device, *pinned;
  OK (cudaMalloc ((void **) &device, N_BYTES));
  OK (cudaHostAlloc ((void **) &pinned, N_BYTES, 0));
  for (size_t from = 0; from < 9000; from += 1000)
    for (size_t to = from; to <= N_BYTES; to += 1024)
      {
        memset (pinned, 'x', N_BYTES);
        OK (cudaMemcpy (pinned + from, device, to - from, NULL_DEVICE_TO_HOST));
        for (size_t i = 0; i < N_BYTES; i++)
          g_assert_cmpint (pinned[i], ==, i >= from && i < to ? 0 : 'x');
      }
  OK (cudaFreeHost (pinned));
  OK (cudaFree (device));
}

static void
test_answers (void)
{
  char *device;
  OK (cudaMalloc ((void **) &device, 4096));
  const unsigned long n_before = nullcuda_made_up ();
  nullcuda_answer ("1111", 4);
  nullcuda_answer ("22", 2);
  nullcuda_answer ("3333", 4);
  expect (device, "\0\0\0", 3); /* no answer of that length */
  expect (device, "22", 2);
  expect (device, "1111", 4);
  nullcuda_answer ("4444", 4);
  expect (device, "3333", 4);
  expect (device, "4444", 4);
  expect (device, "\0\0\0\0", 4);
  g_assert_cmpuint (nullcuda_made_up () - n_before, ==, 6);
  OK (cudaMemcpy (device, "sent", 4, NULL_HOST_TO_DEVICE));
  expect (device, "sent", 4);
  g_assert_cmpuint (nullcuda_made_up () - n_before, ==, 6);
  OK (cudaFree (device));
}

static void
test_illegal (void)
{
  char *device, host[16] = "host";
  OK (cudaMalloc ((void **) &device, 4096));
  OK (cudaFree (device));
  g_assert_cmpint (cudaMemcpy (host, device, 16, NULL_DEVICE_TO_HOST), ==,
                   NULL_ILLEGAL_ADDRESS);
  g_assert_cmpstr (host, ==, "host");
  g_assert_cmpint (cudaMemcpy (device, host, 16, NULL_COPY_DEFAULT), ==,
                   NULL_ILLEGAL_ADDRESS);
  g_assert_cmpint (cudaGetLastError (), ==, NULL_ILLEGAL_ADDRESS);
}

static void
test_at_once (void)
{
  void *event;
  OK (cudaEventCreateWithFlags (&event, 0));
  nullcuda_delay (NULL, 1e9);
  OK (cudaEventRecord (event, NULL));
  OK (cudaEventQuery (event));
  OK (cudaStreamQuery (NULL));
}

int
main (int argc, char **argv)
{
  g_setenv ("NULLCUDA_DEVICE", "64MiB", TRUE);
  g_setenv ("NULLCUDA_FORCE", "1", TRUE);
  g_setenv ("NULLCUDA_LAG", "0", TRUE);

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/memory/plain", test_plain);
  g_test_add_func ("/memory/virtual", test_virtual);
  g_test_add_func ("/memory/refused", test_refused);
  g_test_add_func ("/memory/kinds", test_kinds_share_the_budget);
  g_test_add_func ("/memory/host", test_host);
  g_test_add_func ("/memory/threads", test_threads);
  g_test_add_func ("/copy/given-back-once", test_given_back_once);
  g_test_add_func ("/copy/forgotten", test_forgotten);
  g_test_add_func ("/copy/too-old", test_too_old);
  g_test_add_func ("/copy/pinned", test_pinned);
  g_test_add_func ("/copy/answers", test_answers);
  g_test_add_func ("/copy/illegal", test_illegal);
  g_test_add_func ("/copy/at-once", test_at_once);
  return g_test_run ();
}
