/*
 * What copies bring to the host, with a clock that stands still.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <string.h>

#include "nullcuda/private.h"
#include "nullcuda/test-calls.h"

static void
expect (const void *from, const char *expected, size_t n_bytes)
{
  char got[64];
  memset (got, '?', sizeof got);
  g_assert_cmpint (cudaMemcpy (got, from, n_bytes, NULL_DEVICE_TO_HOST), ==, NULL_OK);
  g_assert_true (memcmp (got, expected, n_bytes) == 0);
}

static void
send (void *to, const void *from, size_t n_bytes)
{
  g_assert_cmpint (cudaMemcpy (to, from, n_bytes, NULL_HOST_TO_DEVICE), ==, NULL_OK);
}

static void
test_given_back_once (void)
{
  char *device;
  g_assert_cmpint (cudaMalloc ((void **) &device, 4096), ==, NULL_OK);
  expect (device, "\0\0\0\0", 4);
  send (device, "abcdefgh", 8);
  expect (device + 2, "cd", 2);
  expect (device, "ab\0\0efgh", 8);
  expect (device, "\0\0\0\0\0\0\0\0", 8);
  g_assert_cmpint (cudaFree (device), ==, NULL_OK);
}

static void
test_forgotten (void)
{
  char *device, *large = g_malloc0 (NULL_REMEMBERED_COPY_BYTES + 1);
  g_assert_cmpint (cudaMalloc ((void **) &device, 1 << 20), ==, NULL_OK);
  send (device, "abcdefgh", 8);
  g_assert_cmpint (cudaMemsetAsync (device + 1, 0, 2, NULL), ==, NULL_OK);
  g_assert_cmpint (cudaMemcpy (device + 4, device + 100, 1, NULL_DEVICE_TO_DEVICE), ==,
                   NULL_OK);
  send (device + 6, "XY", 2);
  expect (device, "a\0\0d\0fXY", 8);

  send (device, "abcd", 4); /* a copy too long to remember is one that overwrites */
  memset (large, 'z', NULL_REMEMBERED_COPY_BYTES + 1);
  send (device, large, NULL_REMEMBERED_COPY_BYTES + 1);
  expect (device, "\0\0\0\0", 4);
  send (device, large, NULL_REMEMBERED_COPY_BYTES);
  expect (device + NULL_REMEMBERED_COPY_BYTES - 2, "zz\0", 3);

  send (device, "abcd", 4);
  g_assert_cmpint (cudaFree (device), ==, NULL_OK);
  void *same;
  g_assert_cmpint (cudaMalloc (&same, 1 << 20), ==, NULL_OK);
  g_assert_true (same == device);
  expect (same, "\0\0\0\0", 4);
  g_assert_cmpint (cudaFree (same), ==, NULL_OK);
  g_free (large);
}

static void
launch (unsigned n_kernels)
{
  NullDim one = { 1, 1, 1 };
  for (unsigned i = 0; i < n_kernels; i++)
    g_assert_cmpint (cudaLaunchKernel (NULL, one, one, NULL, 0, NULL), ==, NULL_OK);
}

/* A program that runs on has other tensors there by now. */
static void
test_too_old (void)
{
  char *device;
  g_assert_cmpint (cudaMalloc ((void **) &device, 4096), ==, NULL_OK);
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
  g_assert_cmpint (cudaFree (device), ==, NULL_OK);
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
  g_assert_cmpint (cudaMalloc ((void **) &device, N_BYTES), ==, NULL_OK);
  g_assert_cmpint (cudaHostAlloc ((void **) &pinned, N_BYTES, 0), ==, NULL_OK);
  for (size_t from = 0; from < 9000; from += 1000)
    for (size_t to = from; to <= N_BYTES; to += 1024)
      {
        memset (pinned, 'x', N_BYTES);
        g_assert_cmpint (
            cudaMemcpy (pinned + from, device, to - from, NULL_DEVICE_TO_HOST), ==,
            NULL_OK);
        for (size_t i = 0; i < N_BYTES; i++)
          g_assert_cmpint (pinned[i], ==, i >= from && i < to ? 0 : 'x');
      }
  g_assert_cmpint (cudaFreeHost (pinned), ==, NULL_OK);
  g_assert_cmpint (cudaFree (device), ==, NULL_OK);
}

static void
test_answers (void)
{
  char *device;
  g_assert_cmpint (cudaMalloc ((void **) &device, 4096), ==, NULL_OK);
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
  g_assert_cmpint (cudaFree (device), ==, NULL_OK);
}

static void
test_illegal (void)
{
  char *device, host[16] = "host";
  g_assert_cmpint (cudaMalloc ((void **) &device, 4096), ==, NULL_OK);
  g_assert_cmpint (cudaFree (device), ==, NULL_OK);
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
  g_assert_cmpint (cudaEventCreateWithFlags (&event, 0), ==, NULL_OK);
  nullcuda_delay (NULL, 1e9);
  g_assert_cmpint (cudaEventRecord (event, NULL), ==, NULL_OK);
  g_assert_cmpint (cudaEventQuery (event), ==, NULL_OK);
  g_assert_cmpint (cudaStreamQuery (NULL), ==, NULL_OK);
}

int
main (int argc, char **argv)
{
  g_setenv ("NULLCUDA_LAG", "0", TRUE);
  g_setenv ("NULLCUDA_FORCE", "1", TRUE);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/copy/given-back-once", test_given_back_once);
  g_test_add_func ("/copy/forgotten", test_forgotten);
  g_test_add_func ("/copy/too-old", test_too_old);
  g_test_add_func ("/copy/pinned", test_pinned);
  g_test_add_func ("/copy/answers", test_answers);
  g_test_add_func ("/copy/illegal", test_illegal);
  g_test_add_func ("/copy/at-once", test_at_once);
  return g_test_run ();
}
