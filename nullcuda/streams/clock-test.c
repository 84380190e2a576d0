/*
 * The virtual clock: work takes its modelled time on its stream, and events come late.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "nullcuda/test-calls.h"

enum
{
  NON_BLOCKING = 1,
  DISABLE_TIMING = 2,
};

static void *
new_stream (void)
{
  void *stream;
  g_assert_cmpint (cudaStreamCreateWithFlags (&stream, NON_BLOCKING), ==, NULL_OK);
  return stream;
}

static void *
new_event (void)
{
  void *event;
  g_assert_cmpint (cudaEventCreateWithFlags (&event, 0), ==, NULL_OK);
  return event;
}

static void
record (void *event, void *stream)
{
  g_assert_cmpint (cudaEventRecord (event, stream), ==, NULL_OK);
}

static float
elapsed_ms (void *from, void *to)
{
  float ms = -1;
  g_assert_cmpint (cudaEventElapsedTime (&ms, from, to), ==, NULL_OK);
  return ms;
}

static void
test_event_is_late (void)
{
  void *stream = new_stream (), *before = new_event (), *after = new_event ();
  float ms;
  g_assert_cmpint (cudaEventQuery (after), ==, NULL_OK); /* never recorded */
  record (before, stream);
  nullcuda_delay (stream, 3e6);
  record (after, stream);
  g_assert_cmpint (cudaEventQuery (after), ==, NULL_NOT_READY);
  g_assert_cmpint (cudaStreamQuery (stream), ==, NULL_NOT_READY);
  g_assert_cmpint (cudaEventElapsedTime (&ms, before, after), ==, NULL_NOT_READY);
  g_assert_cmpint (cudaGetLastError (), ==, NULL_OK); /* not ready is no error */

  double asked_ns = nullcuda_now_ns ();
  g_assert_cmpint (cudaEventSynchronize (after), ==, NULL_OK);
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, >, 2.9e6);
  g_assert_cmpint (cudaEventQuery (after), ==, NULL_OK);
  g_assert_cmpint (cudaStreamQuery (stream), ==, NULL_OK);
  g_assert_cmpfloat_with_epsilon (elapsed_ms (before, after), 3, 0.01);
  cudaEventDestroy (before);
  g_assert_cmpint (cudaEventDestroy (after), ==, NULL_OK);
  g_assert_cmpint (cudaEventDestroy (after), ==, NULL_INVALID_HANDLE);
  g_assert_cmpint (cudaStreamDestroy (stream), ==, NULL_OK);
  g_assert_cmpint (cudaStreamQuery (stream), ==, NULL_INVALID_HANDLE);
}

/* Work done takes the time that its launch configuration says. */
static void
test_kernel (void)
{
  void *stream = new_stream (), *before = new_event (), *after = new_event ();
  NullDim grid = { 1000, 10, 1 }, block = { 256, 1, 1 };
  nullcuda_delay (stream, 1e6); /* so that the host is ahead of the stream */
  record (before, stream);
  g_assert_cmpint (cudaLaunchKernel (NULL, grid, block, NULL, 0, stream), ==, NULL_OK);
  record (after, stream);
  cudaStreamSynchronize (stream);
  g_assert_cmpfloat_with_epsilon (elapsed_ms (before, after), 2.56e6 * 0.016e-6 + 0.0025,
                                  1e-4);
  cudaStreamDestroy (stream);
}

static void
test_wait_orders_streams (void)
{
  void *first = new_stream (), *second = new_stream (), *event = new_event ();
  nullcuda_delay (first, 5e6);
  record (event, first);
  g_assert_cmpint (cudaStreamQuery (second), ==,
                   NULL_OK); /* streams run beside each other */
  g_assert_cmpint (cudaStreamWaitEvent (second, event, 0), ==, NULL_OK);
  double asked_ns = nullcuda_now_ns ();
  g_assert_cmpint (cudaStreamSynchronize (second), ==, NULL_OK);
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, >, 4.9e6);
  g_assert_cmpint (cudaEventQuery (event), ==, NULL_OK);
  cudaStreamDestroy (first);
  cudaStreamDestroy (second);
}

static void
test_host_waits (void)
{
  void *stream = new_stream (), *memory;
  double asked_ns = nullcuda_now_ns ();
  nullcuda_delay (stream, 1e9); /* a queue is at most 200 ms deep */
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, >, 7.9e8);
  g_assert_cmpint (cudaStreamQuery (stream), ==, NULL_NOT_READY);
  g_assert_cmpint (cudaMalloc (&memory, 1), ==, NULL_OK);
  g_assert_cmpint (cudaStreamQuery (stream), ==, NULL_NOT_READY);
  g_assert_cmpint (cudaFree (memory), ==, NULL_OK); /* waits for the device */
  g_assert_cmpint (cudaStreamQuery (stream), ==, NULL_OK);
  nullcuda_delay (stream, 1e6);
  g_assert_cmpint (cudaDeviceSynchronize (), ==, NULL_OK);
  g_assert_cmpint (cudaStreamQuery (stream), ==, NULL_OK);
  cudaStreamDestroy (stream);
}

/* The default stream waits for blocking streams, and they for it. */
static void
test_default_stream (void)
{
  void *blocking, *apart = new_stream ();
  g_assert_cmpint (cudaStreamCreateWithFlags (&blocking, 0), ==, NULL_OK);
  nullcuda_delay (blocking, 1e6);
  nullcuda_delay (apart, 9e7);
  double asked_ns = nullcuda_now_ns ();
  g_assert_cmpint (cudaStreamSynchronize (NULL), ==, NULL_OK);
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, >, 0.9e6);
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, <, 2e6);
  g_assert_cmpint (cudaStreamQuery (blocking), ==, NULL_OK);
  g_assert_cmpint (cudaStreamQuery (apart), ==, NULL_NOT_READY);
  cudaStreamDestroy (blocking);
  cudaStreamDestroy (apart);
}

static void
test_capture (void)
{
  void *stream = new_stream (), *side = new_stream (), *event = new_event ();
  void *graph, *executable, *nothing;
  int status;
  unsigned long long id = 0, side_id = 0;
  size_t n_nodes;

  g_assert_cmpint (cudaStreamBeginCapture (NULL, 0), ==, NULL_CAPTURE_UNSUPPORTED);
  g_assert_cmpint (cudaStreamBeginCapture (stream, 0), ==, NULL_OK);
  g_assert_cmpint (
      cudaStreamGetCaptureInfo (stream, &status, &id, NULL, NULL, NULL, NULL), ==, 0);
  g_assert_cmpint (status, ==, 1);
  g_assert_cmpuint (id, >, 0);
  record (event, stream);
  g_assert_cmpint (cudaStreamWaitEvent (side, event, 0), ==, NULL_OK);
  g_assert_cmpint (
      cudaStreamGetCaptureInfo_v2 (side, &status, &side_id, NULL, NULL, NULL), ==, 0);
  g_assert_cmpuint (side_id, ==, id);
  nullcuda_delay (side, 4e6);
  nullcuda_delay (stream, 1e6);
  g_assert_cmpint (cudaStreamSynchronize (stream), ==, NULL_CAPTURE_UNSUPPORTED);
  g_assert_cmpint (cudaEventQuery (event), ==, NULL_CAPTURED_EVENT);
  g_assert_cmpint (cudaStreamEndCapture (side, &nothing), ==, NULL_CAPTURE_UNMATCHED);
  g_assert_cmpint (cudaStreamEndCapture (stream, &graph), ==, NULL_OK);
  g_assert_cmpint (cudaStreamQuery (stream), ==, NULL_OK); /* nothing ran yet */
  g_assert_cmpint (cudaStreamQuery (side), ==, NULL_OK);

  g_assert_cmpint (cudaGraphGetNodes (graph, NULL, &n_nodes), ==, NULL_OK);
  g_assert_cmpuint (n_nodes, ==, 2);
  g_assert_cmpint (cudaGraphInstantiate (&executable, graph, 0), ==, NULL_OK);
  g_assert_cmpint (cudaGraphDestroy (graph), ==, NULL_OK); /* the executable lives on */
  double asked_ns = nullcuda_now_ns ();
  g_assert_cmpint (cudaGraphLaunch (executable, stream), ==, NULL_OK);
  g_assert_cmpint (cudaStreamSynchronize (stream), ==, NULL_OK);
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, >, 4.9e6);
  g_assert_cmpint (cudaGraphExecDestroy (executable), ==, NULL_OK);
  g_assert_cmpint (cudaGraphExecDestroy (executable), ==, NULL_INVALID_VALUE);
  cudaStreamDestroy (stream);
  cudaStreamDestroy (side);
}

static void
test_no_time (void)
{
  void *stream = new_stream (), *event;
  float ms;
  g_assert_cmpint (cudaEventCreateWithFlags (&event, DISABLE_TIMING), ==, NULL_OK);
  record (event, stream);
  g_assert_cmpint (cudaEventElapsedTime (&ms, event, event), ==, NULL_INVALID_HANDLE);
  cudaGetLastError ();
  cudaEventDestroy (event);
  cudaStreamDestroy (stream);
}

int
main (int argc, char **argv)
{
  g_setenv ("NULLCUDA_LAG", "1", TRUE);
  g_setenv ("NULLCUDA_FORCE", "1", TRUE);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/clock/event-is-late", test_event_is_late);
  g_test_add_func ("/clock/kernel", test_kernel);
  g_test_add_func ("/clock/wait-orders-streams", test_wait_orders_streams);
  g_test_add_func ("/clock/host-waits", test_host_waits);
  g_test_add_func ("/clock/default-stream", test_default_stream);
  g_test_add_func ("/clock/capture", test_capture);
  g_test_add_func ("/clock/no-time", test_no_time);
  return g_test_run ();
}
