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

static void *
context_of (int device)
{
  void *context;
  g_assert_cmpint (cuDevicePrimaryCtxRetain (&context, device), ==, NULL_OK);
  return context;
}

/* Done when all streams are that got work before, one that is gone among them. */
static void
test_event_of_context (void)
{
  void *first = new_stream (), *second = new_stream (), *gone = new_stream ();
  void *event = new_event (), *context = context_of (0);
  cudaDeviceSynchronize ();
  g_assert_cmpint (cuCtxRecordEvent (context, event), ==, NULL_OK);
  g_assert_cmpint (cudaEventQuery (event), ==, NULL_OK); /* nothing was queued */

  double asked_ns = nullcuda_now_ns ();
  nullcuda_delay (first, 1e6);
  nullcuda_delay (second, 3e6);
  nullcuda_delay (gone, 7e6);
  cudaStreamDestroy (gone);
  g_assert_cmpint (cuCtxRecordEvent (context, event), ==, NULL_OK);
  nullcuda_delay (first, 5e7);
  cudaStreamSynchronize (second);
  g_assert_cmpint (cudaEventQuery (event), ==, NULL_NOT_READY);
  g_assert_cmpint (cudaStreamWaitEvent (second, event, 0), ==, NULL_OK);
  cudaStreamSynchronize (second);
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, >, 6.9e6);
  g_assert_cmpfloat (nullcuda_now_ns () - asked_ns, <, 1e7);
  g_assert_cmpint (cudaEventQuery (event), ==, NULL_OK);
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
  g_assert_cmpint (cuCtxRecordEvent (second, elsewhere), ==, NULL_OK);
  g_assert_cmpint (cudaEventQuery (elsewhere), ==, NULL_OK); /* nothing is queued here */
  g_assert_cmpint (cuCtxRecordEvent (first, elsewhere), ==, NULL_INVALID_HANDLE);
  g_assert_cmpint (cuCtxRecordEvent (first, event), ==,
                   NULL_OK); /* whichever is current */
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

  g_assert_cmpint (cuGetProcAddress_v2 ("cuCtxRecordEvent", &function, 12050, 0, &found),
                   ==, NULL_OK);
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
  g_assert_cmpint (cudaStreamBeginCapture (stream, 2), ==, NULL_OK);
  record (fork, stream);
  g_assert_cmpint (cudaStreamWaitEvent (side, fork, 0), ==, NULL_OK);
  cudaSetDevice (1); /* another device's captures are not in the way */
  void *elsewhere = new_event ();
  g_assert_cmpint (cuCtxRecordEvent (context_of (1), elsewhere), ==, NULL_OK);
  cudaSetDevice (0);
  cudaStreamGetCaptureInfo (stream, &status, NULL, NULL, NULL, NULL, NULL);
  g_assert_cmpint (status, ==, 1);

  g_assert_cmpint (cuCtxRecordEvent (context_of (0), event), ==,
                   NULL_CAPTURE_UNSUPPORTED);
  g_assert_cmpint (cudaEventQuery (event), ==, NULL_OK); /* as it was */
  cudaStreamGetCaptureInfo (side, &status, NULL, NULL, NULL, NULL, NULL);
  g_assert_cmpint (status, ==, 2);
  g_assert_cmpint (cudaStreamEndCapture (stream, &graph), ==, NULL_CAPTURE_INVALIDATED);
  g_assert_null (graph);
  g_assert_cmpint (cudaStreamQuery (side), ==, NULL_OK);
  g_assert_cmpint (cuCtxRecordEvent (context_of (0), event), ==, NULL_OK);

  g_assert_cmpint (cudaStreamBeginCapture (stream, 0), ==,
                   NULL_OK); /* the next is whole */
  g_assert_cmpint (cudaStreamEndCapture (stream, &graph), ==, NULL_OK);
  g_assert_cmpint (cudaGraphDestroy (graph), ==, NULL_OK);
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
