/*
 * The virtual clock: work takes its modelled time on its stream, and events come late.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
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
  OK (cudaStreamCreateWithFlags (&stream, NON_BLOCKING));
  return stream;
}

static void *
new_event (void)
{
  void *event;
  OK (cudaEventCreateWithFlags (&event, 0));
  return event;
}

static void
record (void *event, void *stream)
{
  OK (cudaEventRecord (event, stream));
}

static float
elapsed_ms (void *from, void *to)
{
  float ms = -1;
  OK (cudaEventElapsedTime (&ms, from, to));
  return ms;
}

static void
test_event_is_late (void)
{
  void *stream = new_stream (), *before = new_event (), *after = new_event ();
  float ms;
  OK (cudaEventQuery (after)); /* never recorded */
  record (before, stream);
  nullcuda_delay (stream, 3e6);
  record (after, stream);
  g_assert_cmpint (cudaEventQuery (after), ==, NULL_NOT_READY);
  g_assert_cmpint (cudaStreamQuery (stream), ==, NULL_NOT_READY);
  g_assert_cmpint (cudaEventElapsedTime (&ms, before, after), ==, NULL_NOT_READY);
  OK (cudaGetLastError ()); /* not ready is no error */

  double asked_ns = nullcuda_now_ns ();
  OK (cudaEventSynchronize (after));
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, >, 2.9e6);
  OK (cudaEventQuery (after));
  OK (cudaStreamQuery (stream));
  g_assert_cmpfloat_with_epsilon (elapsed_ms (before, after), 3, 0.01);
  cudaEventDestroy (before);
  OK (cudaEventDestroy (after));
  g_assert_cmpint (cudaEventDestroy (after), ==, NULL_INVALID_HANDLE);
  OK (cudaStreamDestroy (stream));
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
  OK (cudaLaunchKernel (NULL, grid, block, NULL, 0, stream));
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
  OK (cudaStreamQuery (second)); /* streams run beside each other */
  OK (cudaStreamWaitEvent (second, event, 0));
  double asked_ns = nullcuda_now_ns ();
  OK (cudaStreamSynchronize (second));
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, >, 4.9e6);
  OK (cudaEventQuery (event));
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
  OK (cudaMalloc (&memory, 1));
  g_assert_cmpint (cudaStreamQuery (stream), ==, NULL_NOT_READY);
  OK (cudaFree (memory)); /* waits for the device */
  OK (cudaStreamQuery (stream));
  nullcuda_delay (stream, 1e6);
  OK (cudaDeviceSynchronize ());
  OK (cudaStreamQuery (stream));
  cudaStreamDestroy (stream);
}

/* The default stream waits for blocking streams, and they for it. */
static void
test_default_stream (void)
{
  void *blocking, *apart = new_stream ();
  OK (cudaStreamCreateWithFlags (&blocking, 0));
  nullcuda_delay (blocking, 1e6);
  nullcuda_delay (apart, 9e7);
  double asked_ns = nullcuda_now_ns ();
  OK (cudaStreamSynchronize (NULL));
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, >, 0.9e6);
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, <, 2e6);
  OK (cudaStreamQuery (blocking));
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
  OK (cudaStreamBeginCapture (stream, 0));
  g_assert_cmpint (
      cudaStreamGetCaptureInfo (stream, &status, &id, NULL, NULL, NULL, NULL), ==, 0);
  g_assert_cmpint (status, ==, 1);
  g_assert_cmpuint (id, >, 0);
  record (event, stream);
  OK (cudaStreamWaitEvent (side, event, 0));
  g_assert_cmpint (
      cudaStreamGetCaptureInfo_v2 (side, &status, &side_id, NULL, NULL, NULL), ==, 0);
  g_assert_cmpuint (side_id, ==, id);
  nullcuda_delay (side, 4e6);
  nullcuda_delay (stream, 1e6);
  g_assert_cmpint (cudaStreamSynchronize (stream), ==, NULL_CAPTURE_UNSUPPORTED);
  g_assert_cmpint (cudaEventQuery (event), ==, NULL_CAPTURED_EVENT);
  g_assert_cmpint (cudaStreamEndCapture (side, &nothing), ==, NULL_CAPTURE_UNMATCHED);
  OK (cudaStreamEndCapture (stream, &graph));
  OK (cudaStreamQuery (stream)); /* nothing ran yet */
  OK (cudaStreamQuery (side));

  OK (cudaGraphGetNodes (graph, NULL, &n_nodes));
  g_assert_cmpuint (n_nodes, ==, 2);
  OK (cudaGraphInstantiate (&executable, graph, 0));
  OK (cudaGraphDestroy (graph)); /* the executable lives on */
  double asked_ns = nullcuda_now_ns ();
  OK (cudaGraphLaunch (executable, stream));
  OK (cudaStreamSynchronize (stream));
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, >, 4.9e6);
  OK (cudaGraphExecDestroy (executable));
  g_assert_cmpint (cudaGraphExecDestroy (executable), ==, NULL_INVALID_VALUE);
  cudaStreamDestroy (stream);
  cudaStreamDestroy (side);
}

static void *
context_of (int device)
{
  void *context;
  OK (cuDevicePrimaryCtxRetain (&context, device));
  return context;
}

/* Done when all streams are that got work before, one that is gone among them. */
static void
test_event_of_context (void)
{
  void *first = new_stream (), *second = new_stream (), *gone = new_stream ();
  void *event = new_event (), *context = context_of (0);
  cudaDeviceSynchronize ();
  OK (cuCtxRecordEvent (context, event));
  OK (cudaEventQuery (event)); /* nothing was queued */

  double asked_ns = nullcuda_now_ns ();
  nullcuda_delay (first, 1e6);
  nullcuda_delay (second, 3e6);
  nullcuda_delay (gone, 7e6);
  cudaStreamDestroy (gone);
  OK (cuCtxRecordEvent (context, event));
  nullcuda_delay (first, 5e7);
  cudaStreamSynchronize (second);
  g_assert_cmpint (cudaEventQuery (event), ==, NULL_NOT_READY);
  OK (cudaStreamWaitEvent (second, event, 0));
  cudaStreamSynchronize (second);
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, >, 6.9e6);
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, <, 1e7);
  OK (cudaEventQuery (event));
  g_assert_cmpint (cudaStreamQuery (first), ==, NULL_NOT_READY);
  cudaStreamDestroy (first);
  cudaStreamDestroy (second);
  cudaEventDestroy (event);
}

static void
test_other_contexts (void)
{
  void *event = new_event (), *first = context_of (0), *second = context_of (1);
  void *stream = new_stream (), *elsewhere, *function;
  int found = -1;
  nullcuda_delay (stream, 3e6);
  cudaSetDevice (1);
  elsewhere = new_event ();
  OK (cuCtxRecordEvent (second, elsewhere));
  OK (cudaEventQuery (elsewhere)); /* nothing is queued here */
  g_assert_cmpint (cuCtxRecordEvent (first, elsewhere), ==, NULL_INVALID_HANDLE);
  OK (cuCtxRecordEvent (first, event)); /* whichever is current */
  g_assert_cmpint (cudaEventQuery (event), ==, NULL_NOT_READY);
  cudaSetDevice (0);
  g_assert_cmpint (cuCtxRecordEvent (second, event), ==, NULL_INVALID_HANDLE);
  g_assert_cmpint (cuCtxRecordEvent (first, stream), ==, NULL_INVALID_HANDLE);
  g_assert_cmpint (cuCtxRecordEvent (NULL, event), ==, NULL_INVALID_CONTEXT);
  g_assert_cmpint (cuCtxRecordEvent (context_of (2), event), ==, NULL_INVALID_CONTEXT);
  cudaEventDestroy (elsewhere);
  g_assert_cmpint (cuCtxRecordEvent (second, elsewhere), ==, NULL_INVALID_HANDLE);
  cudaStreamDestroy (stream);
  cudaEventDestroy (event);

  OK (cuGetProcAddress_v2 ("cuCtxRecordEvent", &function, 12050, 0, &found));
  g_assert_cmpint (found, ==, 0);
  g_assert_nonnull (function);
  g_assert_true (function == dlsym (RTLD_DEFAULT, "cuCtxRecordEvent"));
  g_assert_nonnull (dlsym (RTLD_DEFAULT, "cuStreamWaitEvent"));
}

/* Recording a context's event while one of its streams captures ends that capture. */
static void
test_event_of_context_in_capture (void)
{
  void *stream = new_stream (), *side = new_stream (), *event = new_event ();
  void *fork = new_event (), *graph = stream;
  int status;
  OK (cudaStreamBeginCapture (stream, 2));
  record (fork, stream);
  OK (cudaStreamWaitEvent (side, fork, 0));
  cudaSetDevice (1); /* another device's captures are not in the way */
  void *elsewhere = new_event ();
  OK (cuCtxRecordEvent (context_of (1), elsewhere));
  cudaSetDevice (0);
  cudaStreamGetCaptureInfo (stream, &status, NULL, NULL, NULL, NULL, NULL);
  g_assert_cmpint (status, ==, 1);

  g_assert_cmpint (cuCtxRecordEvent (context_of (0), event), ==,
                   NULL_CAPTURE_UNSUPPORTED);
  OK (cudaEventQuery (event)); /* as it was */
  cudaStreamGetCaptureInfo (side, &status, NULL, NULL, NULL, NULL, NULL);
  g_assert_cmpint (status, ==, 2);
  g_assert_cmpint (cudaStreamEndCapture (stream, &graph), ==, NULL_CAPTURE_INVALIDATED);
  g_assert_null (graph);
  OK (cudaStreamQuery (side));
  OK (cuCtxRecordEvent (context_of (0), event));

  OK (cudaStreamBeginCapture (stream, 0)); /* the next is whole */
  OK (cudaStreamEndCapture (stream, &graph));
  OK (cudaGraphDestroy (graph));
  cudaStreamDestroy (stream);
  cudaStreamDestroy (side);
  cudaEventDestroy (fork);
  cudaEventDestroy (event);
  cudaEventDestroy (elsewhere);
}

static void
test_no_time (void)
{
  void *stream = new_stream (), *event;
  float ms;
  OK (cudaEventCreateWithFlags (&event, DISABLE_TIMING));
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
  g_setenv ("NULLCUDA_COUNT", "2", TRUE);
  g_setenv ("NULLCUDA_FORCE", "1", TRUE);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/clock/event-is-late", test_event_is_late);
  g_test_add_func ("/clock/kernel", test_kernel);
  g_test_add_func ("/clock/wait-orders-streams", test_wait_orders_streams);
  g_test_add_func ("/clock/host-waits", test_host_waits);
  g_test_add_func ("/clock/default-stream", test_default_stream);
  g_test_add_func ("/clock/capture", test_capture);
  g_test_add_func ("/clock/event-of-context", test_event_of_context);
  g_test_add_func ("/clock/other-contexts", test_other_contexts);
  g_test_add_func ("/clock/event-of-context-in-capture",
                   test_event_of_context_in_capture);
  g_test_add_func ("/clock/no-time", test_no_time);
  return g_test_run ();
}
