/*
 * Tests of the CUDA device, over whatever libcuda.so.1 the environment leads to: the fake
 * driver, which can be made to fail and notices misuse, a CUDA that computes nothing, or
 * a GPU. Tests that need the fake one are left out elsewhere, aloud.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/cuda.h"

#include <dlfcn.h>
#include <glib.h>
#include <string.h>

#include "allocator/cuda/internal.h"
#include "allocator/cuda/fake/fake-cuda.h"
#include "allocator/policy.h"
#include "tests/fail_alloc.h"
#include "tests/allocator/check.h"
#include "tests/ok.h"

#define SEED 20261124
#define MIB ((uint64_t) 1 << 20)

enum
{
  NOT_READY = 600,
  CAPTURE_IMPLICIT = 906,
  ILLEGAL_ADDRESS = 700
};

static void *library;  /* the driver */
static FakeCuda *fake; /* NULL: another driver */

/* The next call of that name. */
static void
fail_next (const char *name, int result)
{
  fake->fail_name = name;
  fake->fail_nth = 1;
  fake->fail_result = result;
}

static TesseraCuda *
open_cuda (void)
{
  TesseraCuda *cuda;

  WORKS (error, tessera_cuda_open (0, &error, &cuda));
  return cuda;
}

/* No call was made wrongly, and this thread is as it was. */
static void
check_manners (void)
{
  if (fake == NULL)
    return;
  g_assert_cmpstr (fake->misuse, ==, "");
  g_assert_cmpint (fake->depth, ==, 0);
  g_assert_cmpint (fake->capture_mode, ==, 0);
}

static void
close_cuda (TesseraCuda *cuda)
{
  tessera_cuda_close (cuda);
  check_manners ();
  if (fake == NULL)
    return;
  g_assert_cmpuint (fake->n_events, ==, 0);
  g_assert_cmpuint (fake->n_retained, ==, 0);
}

static uint64_t
free_bytes (TesseraCuda *cuda)
{
  uint64_t total_bytes, left_bytes;

  tessera_cuda_memory (cuda, &total_bytes, &left_bytes);
  g_assert_cmpuint (total_bytes, >, 0);
  g_assert_cmpuint (left_bytes, <=, total_bytes);
  return left_bytes;
}

static void
test_segments (void)
{
  TesseraCuda *cuda = open_cuda ();
  TesseraDevice *device = tessera_cuda_device (cuda);
  uint64_t before = free_bytes (cuda);
  uint64_t addr, other;

  OK (device->allocate (device, 20 * MIB, 0, &addr));
  OK (device->allocate (device, 4 * MIB, 3, &other));
  g_assert_cmpuint (addr % 512, ==, 0);
  g_assert_cmpuint (addr, !=, 0);
  g_assert_cmpuint (free_bytes (cuda), <=, before - 24 * MIB);
  device->release (device, addr, 20 * MIB);
  device->release (device, other, 4 * MIB);
  g_assert_cmpuint (free_bytes (cuda), ==, before);
  GIVES (TESSERA_OUT_OF_DEVICE, device->allocate (device, before + 64 * MIB, 0, &addr));
  g_assert_cmpuint (addr, ==, 0);
  close_cuda (cuda);
}

static void
test_pages (void)
{
  TesseraCuda *cuda = open_cuda ();
  TesseraDevice *device = tessera_cuda_device (cuda);
  uint64_t before = free_bytes (cuda);
  uint64_t addr, size, small, small_size;

  OK (device->reserve (device, 0, 20 * MIB, &addr, &size));
  OK (device->reserve (device, 0, 2 * MIB, &small, &small_size));
  g_assert_cmpuint (size % (20 * MIB), ==, 0);
  g_assert_cmpuint (size, >, before);
  g_assert_cmpuint (free_bytes (cuda), ==, before);
  OK (device->map (device, addr + 40 * MIB, 60 * MIB, 0));
  OK (device->map (device, small, 6 * MIB, 0));
  g_assert_cmpuint (free_bytes (cuda), ==, before - 66 * MIB);
  device->unmap (device, addr + 60 * MIB, 20 * MIB);
  g_assert_cmpuint (free_bytes (cuda), ==, before - 46 * MIB);
  OK (device->map (device, addr + 60 * MIB, 20 * MIB, 0));
  /* More than there is: as if it had not been tried. */
  GIVES (TESSERA_OUT_OF_DEVICE,
         device->map (device, addr + 100 * MIB, (before / (20 * MIB) - 2) * 20 * MIB, 0));
  g_assert_cmpuint (free_bytes (cuda), ==, before - 66 * MIB);

  GIVES (TESSERA_INVALID, device->map (device, addr + 5 * MIB, 20 * MIB, 0));
  /* Of the last page no more is taken than was asked for, in what the driver takes at
     least; pages of one call go back one by one. */
  OK (device->map (device, addr, 25 * MIB, 0));
  g_assert_cmpuint (free_bytes (cuda), ==, before - 92 * MIB);
  device->unmap (device, addr, 20 * MIB);
  g_assert_cmpuint (free_bytes (cuda), ==, before - 72 * MIB);
  device->unmap (device, addr + 20 * MIB, 5 * MIB);
  g_assert_cmpuint (free_bytes (cuda), ==, before - 66 * MIB);
  GIVES (TESSERA_INVALID, device->map (device, 4096, 20 * MIB, 0));
  device->unmap (device, 4096, 20 * MIB);
  device->unmap (device, addr + 40 * MIB, 60 * MIB);
  device->unmap (device, small, 6 * MIB);
  device->unreserve (device, addr, size);
  device->unreserve (device, small, small_size);
  GIVES (TESSERA_INVALID, device->map (device, small, 2 * MIB, 0));
  GIVES (TESSERA_INVALID, device->reserve (device, 0, 3 * MIB, &addr, &size));
  g_assert_cmpuint (free_bytes (cuda), ==, before);
  if (fake != NULL)
    {
      g_assert_cmpuint (fake->n_pages, ==, 0);
      g_assert_cmpuint (fake->rdma_bytes, >=, 126 * MIB);
      g_assert_cmpuint (fake->n_waited, ==, 5);
    }
  close_cuda (cuda);
}

static void
test_events (void)
{
  TesseraCuda *cuda = open_cuda ();
  TesseraCudaEvent *event = tessera_cuda_event_record (cuda, 0);

  g_assert_nonnull (event);
  g_assert_true (tessera_cuda_event_wait (cuda, event));
  g_assert_true (tessera_cuda_event_is_done (cuda, event));
  g_assert_false (tessera_cuda_stream_is_capturing (cuda, 0));
  g_assert_true (tessera_cuda_stream_wait (cuda, 0));
  tessera_cuda_event_release (cuda, event);
  TesseraCudaEvent *again = tessera_cuda_event_record (cuda, 0);
  g_assert_true (again == event);
  if (fake != NULL)
    {
      g_assert_cmpuint (fake->n_events, ==, 1);
      fake->query_result = NOT_READY;
      g_assert_false (tessera_cuda_event_is_done (cuda, again));
      fake->query_result = ILLEGAL_ADDRESS;
      g_assert_false (tessera_cuda_event_is_done (cuda, again));
      fail_next ("cuEventSynchronize", ILLEGAL_ADDRESS);
      g_assert_false (tessera_cuda_event_wait (cuda, again));
      fail_next ("cuStreamSynchronize", ILLEGAL_ADDRESS);
      g_assert_false (tessera_cuda_stream_wait (cuda, 0));
      g_assert_true (tessera_cuda_event_wait (cuda, again));
      g_assert_true (tessera_cuda_event_is_done (cuda, again));
      fake->capture_status = 1;
      g_assert_true (tessera_cuda_stream_is_capturing (cuda, 0));
      fake->capture_status = 0;
      fake->capture_result = CAPTURE_IMPLICIT;
      g_assert_true (tessera_cuda_stream_is_capturing (cuda, 0));
      fake->capture_result = 0;
    }
  tessera_cuda_event_release (cuda, again);
  close_cuda (cuda);
}

/* A stream waits for all that others were given, where the driver can: an older one is
 * served as well. */
static void
test_order (void)
{
  TesseraCuda *cuda = open_cuda ();
  TesseraCudaEvent *event;
  uint64_t stream = fake != NULL ? 7 : 2; /* 2: that of the thread, in each driver */

  g_assert_cmpint (tessera_cuda_can_order (cuda), ==,
                   dlsym (library, "cuCtxRecordEvent") != NULL);
  if (!tessera_cuda_can_order (cuda))
    {
      g_assert_null (tessera_cuda_event_record_all (cuda));
      event = tessera_cuda_event_record (cuda, 0);
      g_assert_nonnull (event);
      g_assert_false (tessera_cuda_event_order (cuda, event, 0));
      tessera_cuda_event_release (cuda, event);
      close_cuda (cuda);
      return;
    }
  event = tessera_cuda_event_record_all (cuda);
  g_assert_nonnull (event);
  g_assert_true (tessera_cuda_event_order (cuda, event, stream));
  if (fake != NULL)
    {
      g_assert_cmpuint (fake->n_of_context, ==, 1);
      g_assert_cmpuint (fake->n_ordered, ==, 1);
      g_assert_nonnull (fake->recorded_event);
      g_assert_true (fake->ordered_event == fake->recorded_event);
      g_assert_cmpuint ((uintptr_t) fake->ordered_stream, ==, stream);
      g_assert_cmpuint (fake->n_events, ==, 1);
      fail_next ("cuStreamWaitEvent", ILLEGAL_ADDRESS);
      g_assert_false (tessera_cuda_event_order (cuda, event, stream));
      tessera_cuda_event_release (cuda, event);
      fail_next ("cuCtxRecordEvent", ILLEGAL_ADDRESS);
      g_assert_null (tessera_cuda_event_record_all (cuda));
      event = tessera_cuda_event_record_all (cuda); /* the same, back in the pool */
      g_assert_nonnull (event);
      g_assert_cmpuint (fake->n_events, ==, 1);
    }
  g_assert_true (tessera_cuda_stream_wait (cuda, stream));
  g_assert_true (tessera_cuda_event_wait (cuda, event));
  g_assert_true (tessera_cuda_event_is_done (cuda, event));
  tessera_cuda_event_release (cuda, event);
  close_cuda (cuda);
}

typedef struct
{
  TesseraPolicy *policy;
  GArray *pending; /* addresses */
  guint n_waits;
} Run;

static void
complete_all (void *user)
{
  Run *run = user;

  run->n_waits++;
  for (guint i = 0; i < run->pending->len; i++)
    OK (tessera_policy_free_completed (run->policy,
                                       g_array_index (run->pending, uint64_t, i)));
  g_array_set_size (run->pending, 0);
}

/* Requests and frees at random, one free in five put off. Returns: requests that failed.
 */
static guint
run_at_random (Run *run, GRand *rand, GArray *live)
{
  guint n_failed = 0;

  for (guint n = 0; n < 1500; n++)
    if (live->len == 0 || g_rand_int_range (rand, 0, 100) < 58)
      {
        uint64_t size =
            (uint64_t) g_rand_int_range (rand, 1, n % 2 == 0 ? 60000000 : 100000);
        TesseraPolicyGrant grant;
        TesseraStatus status = tessera_policy_malloc (
            run->policy, size, (uint32_t) g_rand_int_range (rand, 0, 2), 0, &grant);

        n_failed += status == TESSERA_OUT_OF_DEVICE;
        if (status == TESSERA_OK)
          g_array_append_val (live, grant.grant.addr);
        else
          g_assert_cmpint (status, ==, TESSERA_OUT_OF_DEVICE);
      }
    else
      {
        guint i = (guint) g_rand_int_range (rand, 0, (gint32) live->len);
        uint64_t addr = g_array_index (live, uint64_t, i);

        g_array_remove_index_fast (live, i);
        OK (tessera_policy_free_requested (run->policy, addr));
        if (n % 5 == 0)
          g_array_append_val (run->pending, addr);
        else
          OK (tessera_policy_free_completed (run->policy, addr));
      }
  return n_failed;
}

/* What the policy says it holds is what the driver gave; in the end, nothing. */
static void
test_policy (gconstpointer user)
{
  const TesseraPolicyOptions options = {
    .kind = (TesseraPolicyKind) GPOINTER_TO_INT (user),
    .caching = { .settings = { .max_split_bytes = UINT64_MAX,
                               .large_segment_bytes = 20 * MIB },
                 .limit_bytes = 700 * MIB },
  };
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  g_autoptr (GArray) live = g_array_new (FALSE, FALSE, sizeof (uint64_t));
  g_autoptr (GArray) pending = g_array_new (FALSE, FALSE, sizeof (uint64_t));
  Run run = { .pending = pending };
  TesseraCuda *cuda = open_cuda ();
  TesseraPolicyStats stats;
  uint64_t before = free_bytes (cuda);

  g_test_message ("seed %d", SEED);
  tessera_cuda_set_owner (
      cuda, &(TesseraCudaOwner){ .synchronize = complete_all, .user = &run });
  WORKS (error, tessera_policy_new (&options, tessera_cuda_device (cuda), NULL, &error,
                                    &run.policy));
  guint n_failed = run_at_random (&run, rand, live);
  tessera_policy_get_stats (run.policy, &stats);
  /* A driver may round segments of odd sizes. */
  if (options.kind != TESSERA_POLICY_DIRECT)
    g_assert_cmpuint (before - free_bytes (cuda), ==, stats.caching.reserved_bytes);
  /* PyTorch holds against the limit what a segment would take, not the last whole page.
   */
  g_assert_cmpuint (stats.caching.peak_reserved_bytes, <,
                    (options.kind == TESSERA_POLICY_EXPANDABLE ? 720 : 701) * MIB);
  g_assert_cmpuint (n_failed, >, 0);
  g_assert_cmpuint (run.n_waits, >, 0);
  WORKS (error, tessera_policy_check (run.policy, &error));
  for (guint i = 0; i < live->len; i++)
    {
      tessera_policy_free_requested (run.policy, g_array_index (live, uint64_t, i));
      tessera_policy_free_completed (run.policy, g_array_index (live, uint64_t, i));
    }
  tessera_policy_empty_cache (run.policy);
  g_assert_cmpuint (free_bytes (cuda), ==, before);
  tessera_policy_free (run.policy);
  close_cuda (cuda);
}

/* A little of everything. Returns: the first status that is not TESSERA_OK. */
static TesseraStatus
do_all (TesseraError *error)
{
  TesseraCuda *cuda;
  uint64_t addr, base, size;
  TesseraStatus status = tessera_cuda_open (0, error, &cuda);

  if (status != TESSERA_OK)
    return status;
  TesseraDevice *device = tessera_cuda_device (cuda);
  status = device->allocate (device, 2 * MIB, 0, &addr);
  if (status == TESSERA_OK)
    device->release (device, addr, 2 * MIB);
  if (status == TESSERA_OK)
    status = device->reserve (device, 0, 2 * MIB, &base, &size);
  if (status == TESSERA_OK)
    {
      status = device->map (device, base, 6 * MIB, 0);
      if (status == TESSERA_OK)
        device->unmap (device, base, 6 * MIB);
      device->unreserve (device, base, size);
    }
  TesseraCudaEvent *event = tessera_cuda_event_record (cuda, 7);
  if (event == NULL)
    status = TESSERA_IO;
  else
    tessera_cuda_event_release (cuda, event);
  event = tessera_cuda_event_record_all (cuda);
  if (tessera_cuda_can_order (cuda) &&
      (event == NULL || !tessera_cuda_event_order (cuda, event, 7)))
    status = TESSERA_IO;
  if (event != NULL)
    tessera_cuda_event_release (cuda, event);
  tessera_cuda_close (cuda);
  return status;
}

/* Each call that takes something fails in turn: what was taken before it is given back,
 * and lack of memory is told from other failures. */
static void
test_faults (void)
{
  static const char *const taking[] = {
    "cuInit",           "cuDeviceGet",
    "cuMemAlloc_v2",    "cuDevicePrimaryCtxRetain",
    "cuMemCreate",      "cuMemGetAllocationGranularity",
    "cuMemMap",         "cuMemAddressReserve",
    "cuMemGetInfo_v2",  "cuMemSetAccess",
    "cuEventCreate",    "cuEventRecord",
    "cuCtxRecordEvent", "cuStreamWaitEvent",
  };
  TesseraError error = { 0 };

  OK (do_all (&error));
  for (guint i = 0; i < G_N_ELEMENTS (taking); i++)
    for (unsigned nth = 1;; nth++)
      {
        error = (TesseraError){ 0 };
        fake->fail_name = taking[i];
        fake->fail_nth = nth;
        fake->fail_result = nth % 2 == 0 ? 999 : CUDA_OUT_OF_MEMORY;
        TesseraStatus status = do_all (&error);
        bool has_failed = fake->fail_nth == 0;

        fake->fail_nth = 0;
        g_assert_cmpint (status == TESSERA_OK, ==, !has_failed);
        if (status == TESSERA_REFUSED)
          g_assert_cmpstr (error.text, !=, "");
        if (has_failed && g_str_has_prefix (taking[i], "cuMem") &&
            status != TESSERA_REFUSED)
          g_assert_cmpint (status, ==, nth % 2 == 0 ? TESSERA_IO : TESSERA_OUT_OF_DEVICE);
        check_manners ();
        g_assert_cmpuint (fake->used_bytes, ==, 0);
        g_assert_cmpuint (fake->n_pages + fake->n_mapped + fake->n_segments, ==, 0);
        g_assert_cmpuint (fake->n_events + fake->n_reservations + fake->n_retained, ==,
                          0);
        if (!has_failed)
          break;
      }
}

/* The same for each allocation of the host. */
static void
test_host_faults (void)
{
  long held = tessera_fail_alloc_held ();
  unsigned nth = 1;
  bool has_failed = true;

  for (; has_failed; nth++)
    {
      TesseraError error = { 0 };

      tessera_fail_alloc_at (nth);
      TesseraStatus status = do_all (&error);
      has_failed = tessera_fail_alloc_stop ();
      g_assert_cmpint (status == TESSERA_OK, ==, !has_failed);
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
      check_manners ();
      g_assert_cmpuint (fake->used_bytes + fake->n_pages + fake->n_mapped, ==, 0);
      g_assert_cmpuint (fake->n_events + fake->n_reservations + fake->n_retained, ==, 0);
    }
  g_assert_cmpuint (nth, >, 4); /* the device, its reservations, an event */
}

/* A wait that the driver refuses leaves the pages where a kernel may still need them. */
static void
test_refused_wait (void)
{
  TesseraCuda *cuda = open_cuda ();
  TesseraDevice *device = tessera_cuda_device (cuda);
  uint64_t addr, size;

  OK (device->reserve (device, 0, 2 * MIB, &addr, &size));
  OK (device->map (device, addr, 4 * MIB, 0));
  fail_next ("cuCtxSynchronize", 900);
  device->unmap (device, addr, 4 * MIB);
  g_assert_cmpuint (fake->n_mapped, ==, 2);
  device->unmap (device, addr, 4 * MIB);
  g_assert_cmpuint (fake->n_mapped, ==, 0);
  device->unreserve (device, addr, size);
  close_cuda (cuda);
}

/* The interpreter still frees tensors when CUDA has shut down. */
static void
test_over (void)
{
  TesseraCuda *cuda = open_cuda ();
  TesseraDevice *device = tessera_cuda_device (cuda);
  TesseraCudaEvent *event = tessera_cuda_event_record (cuda, 0);
  uint64_t addr, base, size, total, left;

  OK (device->allocate (device, 2 * MIB, 0, &addr));
  OK (device->reserve (device, 0, 2 * MIB, &base, &size));
  OK (device->map (device, base, 4 * MIB, 0));
  fake->query_result = NOT_READY;
  fake->is_over = true;
  g_assert_true (tessera_cuda_event_is_done (cuda, event));
  g_assert_null (tessera_cuda_event_record (cuda, 0));
  g_assert_false (tessera_cuda_stream_is_capturing (cuda, 0));
  g_assert_true (tessera_cuda_event_wait (cuda, event));
  g_assert_true (tessera_cuda_stream_wait (cuda, 0));
  g_assert_null (tessera_cuda_event_record_all (cuda));
  g_assert_cmpint (tessera_cuda_event_order (cuda, event, 0), ==,
                   tessera_cuda_can_order (cuda));
  tessera_cuda_event_release (cuda, event);
  tessera_cuda_memory (cuda, &total, &left);
  g_assert_cmpuint (total, ==, 0);
  g_assert_cmpuint (left, ==, 0);
  device->synchronize (device);
  device->release (device, addr, 2 * MIB);
  device->unmap (device, base, 4 * MIB);
  GIVES (TESSERA_IO, device->map (device, base + 4 * MIB, 2 * MIB, 0));
  GIVES (TESSERA_IO, device->allocate (device, 2 * MIB, 0, &addr));
  device->unreserve (device, base, size);
  tessera_cuda_close (cuda);
  check_manners ();
  g_assert_cmpuint (fake->n_mapped, ==, 2); /* the driver's own business now */
}

static void
assert_refused (int number, const char *part)
{
  TesseraError error = { 0 };
  TesseraCuda *cuda;

  GIVES (TESSERA_REFUSED, tessera_cuda_open (number, &error, &cuda));
  g_assert_null (cuda);
  g_assert_nonnull (strstr (error.text, part));
}

static void
test_missing (void)
{
  tessera_cuda_close (NULL);
  if (fake != NULL)
    assert_refused (9, "device 9");
  else
    g_test_skip ("only the fake driver has one device for certain");
}

/* Instead of all others, over a driver without one of the calls. */
static void
test_lacking (void)
{
  assert_refused (0, "lacks cuMemSetAccess");
}

/* Instead of all others, where no driver is. */
static void
test_no_driver (void)
{
  assert_refused (0, "no CUDA driver");
}

int
main (int argc, char **argv)
{
  library = dlopen ("libcuda.so.1", RTLD_NOW);
  g_test_init (&argc, &argv, NULL);
  if (library == NULL)
    {
      g_test_add_func ("/cuda/no-driver", test_no_driver);
      return g_test_run ();
    }
  if (dlsym (library, "cuMemSetAccess") == NULL)
    {
      g_test_add_func ("/cuda/lacking", test_lacking);
      return g_test_run ();
    }
  fake = dlsym (library, "fake_cuda");
  g_test_add_func ("/cuda/segments", test_segments);
  g_test_add_func ("/cuda/pages", test_pages);
  g_test_add_func ("/cuda/events", test_events);
  g_test_add_func ("/cuda/order", test_order);
  g_test_add_data_func ("/cuda/native", GINT_TO_POINTER (TESSERA_POLICY_NATIVE),
                        test_policy);
  g_test_add_data_func ("/cuda/expandable", GINT_TO_POINTER (TESSERA_POLICY_EXPANDABLE),
                        test_policy);
  g_test_add_data_func ("/cuda/direct", GINT_TO_POINTER (TESSERA_POLICY_DIRECT),
                        test_policy);
  g_test_add_func ("/cuda/missing", test_missing);
  if (fake != NULL)
    {
      g_test_add_func ("/cuda/faults", test_faults);
      g_test_add_func ("/cuda/host-faults", test_host_faults);
      g_test_add_func ("/cuda/refused-wait", test_refused_wait);
      g_test_add_func ("/cuda/over", test_over);
    }
  return g_test_run ();
}
