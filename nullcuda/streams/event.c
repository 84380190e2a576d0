/*
 * Events: marks in a stream's queue.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "nullcuda/private.h"

#define HOST_NS_PER_RECORD 500.0
#define HOST_NS_PER_QUERY 200.0

enum
{
  DISABLE_TIMING = 2, /* cudaEventDisableTiming */
};

/* For a test that judges who waits for whom: see docs/NULLCUDA.md. */
typedef void NullWatch (const char *call, void *stream, void *event);
static NullWatch *_Atomic watch;

struct NullEvent
{
  NullSlabHead head;
  bool has_time;
  int device;
  double at_ns;                  /* 0: never recorded, which counts as done */
  unsigned long long capture_id; /* of the capture that recorded it last; 0: none */
};

static NullSlab events = { 0x1e1000000000, sizeof (NullEvent), NULL, 0, 0 };

NULL_API (void, nullcuda_watch, NullWatch *watcher) { watch = watcher; }

void
null_tell (const char *call, void *stream, void *event)
{
  NullWatch *watcher = watch;
  if (watcher != NULL)
    watcher (call, stream, event);
}

static NullEvent *
find (void *handle)
{
  return null_slab_has (&events, handle) ? handle : NULL;
}

NULL_API (int, cudaEventCreateWithFlags, void **out_event, unsigned flags)
{
  int device = null_device_current ();
  if (device < 0)
    return null_report (NULL_NO_DEVICE, __func__);
  null_clock_lock ();
  NullEvent *event = null_slab_take (&events);
  if (event != NULL)
    {
      event->has_time = (flags & DISABLE_TIMING) == 0;
      event->device = device;
    }
  null_clock_unlock ();
  *out_event = event;
  return null_report (event != NULL ? NULL_OK : NULL_OUT_OF_MEMORY, __func__);
}

NULL_API (int, cudaEventCreate, void **out_event)
{
  return cudaEventCreateWithFlags (out_event, 0);
}

NULL_ALSO (cuEventCreate, cudaEventCreateWithFlags);

NULL_API (int, cudaEventDestroy, void *handle)
{
  null_clock_lock ();
  NullEvent *event = find (handle);
  if (event != NULL)
    null_slab_give (&events, event);
  null_clock_unlock ();
  return null_report (event != NULL ? NULL_OK : NULL_INVALID_HANDLE, __func__);
}

NULL_ALSO (cuEventDestroy_v2, cudaEventDestroy);

/* The event is reached when what ends at @end_ns is done, and no sooner than now. */
static void
record (NullEvent *event, double end_ns, unsigned long long capture_id)
{
  null_clock_spend (HOST_NS_PER_RECORD);
  event->capture_id = capture_id;
  event->at_ns = end_ns > null_clock_now () ? end_ns : null_clock_now ();
}

NULL_API (int, cudaEventRecord, void *handle, void *stream_handle)
{
  null_clock_lock ();
  NullEvent *event = find (handle);
  const NullStream *stream = null_stream_find (stream_handle);
  bool is_valid = event != NULL && stream != NULL;
  if (is_valid)
    record (event, stream->end_ns,
            stream->capture != NULL ? null_graph_id (stream->capture) : 0);
  null_clock_unlock ();
  if (is_valid)
    null_tell ("cuEventRecord", stream_handle, handle);
  return null_report (is_valid ? NULL_OK : NULL_INVALID_HANDLE, __func__);
}

NULL_ALSO (cudaEventRecordWithFlags, cudaEventRecord);
NULL_ALSO (cuEventRecord, cudaEventRecord);

/* All that the context's streams were given so far. Where one of them captures it fails,
 * and so does that capture: an H100 does both, in whatever mode the capture is. */
NULL_API (int, cuCtxRecordEvent, void *context, void *handle)
{
  uintptr_t number = (uintptr_t) context; /* of the device, plus one */
  if (number == 0 || number > (uintptr_t) null_settings ()->n_devices)
    return null_report (NULL_INVALID_CONTEXT, __func__);
  int device = (int) number - 1, error = NULL_OK;
  null_clock_lock ();
  NullEvent *event = find (handle);
  if (event == NULL || event->device != device)
    error = NULL_INVALID_HANDLE;
  else if (null_graph_invalidate (device))
    error = NULL_CAPTURE_UNSUPPORTED;
  else
    record (event, null_stream_last_end (device), 0);
  null_clock_unlock ();
  if (error == NULL_OK)
    null_tell (__func__, NULL, handle);
  return null_report (error, __func__);
}

/* What a wait for, or a question about, the event finds wrong. */
static int
objection (const NullEvent *event)
{
  if (event == NULL)
    return NULL_INVALID_HANDLE;
  return event->capture_id != 0 ? NULL_CAPTURED_EVENT : NULL_OK;
}

NULL_API (int, cudaEventQuery, void *handle)
{
  null_clock_lock ();
  const NullEvent *event = find (handle);
  int error = objection (event);
  null_clock_spend (HOST_NS_PER_QUERY);
  if (error == NULL_OK && event->at_ns > null_clock_now ())
    error = NULL_NOT_READY;
  null_clock_unlock ();
  return null_report (error, __func__);
}

NULL_ALSO (cuEventQuery, cudaEventQuery);

NULL_API (int, cudaEventSynchronize, void *handle)
{
  null_clock_lock ();
  const NullEvent *event = find (handle);
  int error = objection (event);
  if (error == NULL_OK)
    null_clock_reach (event->at_ns);
  null_clock_unlock ();
  return null_report (error, __func__);
}

NULL_ALSO (cuEventSynchronize, cudaEventSynchronize);

NULL_API (int, cudaEventElapsedTime, float *out_ms, void *from_handle, void *to_handle)
{
  null_clock_lock ();
  const NullEvent *from = find (from_handle);
  const NullEvent *to = find (to_handle);
  int error = NULL_OK;
  if (from == NULL || to == NULL || !from->has_time || !to->has_time ||
      from->at_ns <= 0 || to->at_ns <= 0)
    error = NULL_INVALID_HANDLE;
  else if (from->at_ns > null_clock_now () || to->at_ns > null_clock_now ())
    error = NULL_NOT_READY;
  else
    *out_ms = (float) ((to->at_ns - from->at_ns) / 1e6);
  null_clock_unlock ();
  return null_report (error, __func__);
}

/* CUDA 13 calls the same so. */
NULL_ALSO (cudaEventElapsedTime_v2, cudaEventElapsedTime);

/* A stream that waits for an event of a capture joins that capture. */
NULL_API (int, cudaStreamWaitEvent, void *stream_handle, void *handle, unsigned flags)
{
  null_clock_lock ();
  NullStream *stream = null_stream_find (stream_handle);
  const NullEvent *event = find (handle);
  bool is_valid = stream != NULL && event != NULL;
  if (is_valid)
    {
      null_clock_spend (HOST_NS_PER_RECORD);
      if (event->capture_id != 0)
        null_graph_join (stream, event->capture_id);
      else
        null_stream_wait (stream, event->at_ns);
    }
  null_clock_unlock ();
  if (is_valid)
    null_tell ("cuStreamWaitEvent", stream_handle, handle);
  return null_report (is_valid ? NULL_OK : NULL_INVALID_HANDLE, __func__);
}

NULL_ALSO (cuStreamWaitEvent, cudaStreamWaitEvent);
