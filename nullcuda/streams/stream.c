/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "nullcuda/private.h"

#define HOST_NS_PER_LAUNCH 5000.0
#define HOST_NS_PER_QUERY 200.0
#define QUEUE_NS 2e8 /* how far a stream may be behind the host before the host waits */

enum
{
  NON_BLOCKING = 1, /* cudaStreamNonBlocking */
};

static NullSlab streams = { 0x1e0000000000, sizeof (NullStream), NULL, 0, 0 };
static NullStream
    *defaults[NULL_MAX_DEVICES]; /* the legacy default stream of each device */
static double destroyed_end_ns[NULL_MAX_DEVICES]; /* of work whose stream is gone */
static unsigned long long n_made;

static NullStream *
make (int device, unsigned flags, int priority)
{
  NullStream *stream = null_slab_take (&streams);
  if (stream == NULL)
    return NULL;
  stream->device = device;
  stream->is_blocking = (flags & NON_BLOCKING) == 0;
  stream->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
  stream->id = ++n_made;
  return stream;
}

NullStream *
null_stream_find (void *handle)
{
  if ((uintptr_t) handle > 2)
    return null_slab_has (&streams, handle) ? handle : NULL;
  int device = null_device_current ();
  if (device < 0)
    return NULL;
  if (defaults[device] == NULL)
    defaults[device] = make (device, 0, 0);
  return defaults[device];
}

NullStream *
null_stream_next (const NullStream *stream)
{
  return null_slab_next (&streams, stream);
}

static double
last_end (int device, bool only_blocking)
{
  double end_ns = 0;
  for (const NullStream *stream = NULL; (stream = null_stream_next (stream)) != NULL;)
    if (stream->device == device && (stream->is_blocking || !only_blocking) &&
        stream->end_ns > end_ns)
      end_ns = stream->end_ns;
  return end_ns;
}

double
null_stream_last_end (int device)
{
  double end_ns = last_end (device, false);
  return destroyed_end_ns[device] > end_ns ? destroyed_end_ns[device] : end_ns;
}

void
null_stream_wait (NullStream *stream, double at_ns)
{
  if (stream->end_ns < at_ns)
    stream->end_ns = at_ns;
}

/* The default stream and blocking streams take turns, as CUDA's legacy rules say. */
static void
take_turns (NullStream *stream)
{
  NullStream *standard = defaults[stream->device];
  if (stream == standard)
    null_stream_wait (stream, last_end (stream->device, true));
  else if (stream->is_blocking && standard != NULL)
    null_stream_wait (stream, standard->end_ns);
}

void
null_stream_queue (NullStream *stream, double ns)
{
  null_clock_spend (HOST_NS_PER_LAUNCH);
  if (stream->capture != NULL)
    {
      null_graph_add (stream->capture, ns);
      return;
    }
  if (!null_settings ()->is_lagging)
    return;
  take_turns (stream);
  null_stream_wait (stream, null_clock_now ());
  stream->end_ns += ns;
  null_clock_reach (stream->end_ns - QUEUE_NS);
}

int
null_submit (const char *name, void *handle, double ns)
{
  null_clock_lock ();
  NullStream *stream = null_stream_find (handle);
  if (stream != NULL)
    null_stream_queue (stream, ns);
  null_clock_unlock ();
  return null_report (stream != NULL ? NULL_OK : NULL_INVALID_HANDLE, name);
}

static int
create (const char *name, void **out_stream, unsigned flags, int priority)
{
  int device = null_device_current ();
  *out_stream = NULL;
  if (device < 0)
    return null_report (NULL_NO_DEVICE, name);
  null_clock_lock ();
  *out_stream = make (device, flags, priority);
  null_clock_unlock ();
  return null_report (*out_stream != NULL ? NULL_OK : NULL_OUT_OF_MEMORY, name);
}

NULL_API (int, cudaStreamCreate, void **out_stream)
{
  return create (__func__, out_stream, 0, 0);
}

NULL_API (int, cudaStreamCreateWithFlags, void **out_stream, unsigned flags)
{
  return create (__func__, out_stream, flags, 0);
}

NULL_API (
    int, cudaStreamCreateWithPriority, void **out_stream, unsigned flags, int priority)
{
  return create (__func__, out_stream, flags, priority);
}

NULL_ALSO (cuStreamCreate, cudaStreamCreateWithFlags);

NULL_API (int, cudaStreamDestroy, void *handle)
{
  null_clock_lock ();
  NullStream *stream = (uintptr_t) handle > 2 ? null_stream_find (handle) : NULL;
  if (stream != NULL)
    {
      if (stream->end_ns > destroyed_end_ns[stream->device])
        destroyed_end_ns[stream->device] = stream->end_ns;
      null_slab_give (&streams, stream);
    }
  null_clock_unlock ();
  return null_report (stream != NULL ? NULL_OK : NULL_INVALID_HANDLE, __func__);
}

NULL_ALSO (cuStreamDestroy_v2, cudaStreamDestroy);

/* What is asked of a stream; 0 where there is none. */
#define QUESTION(name, Type, value)                                                      \
  NULL_API (int, name, void *handle, Type *out)                                          \
  {                                                                                      \
    null_clock_lock ();                                                                  \
    const NullStream *stream = null_stream_find (handle);                                \
    *out = stream != NULL ? (value) : 0;                                                 \
    null_clock_unlock ();                                                                \
    return null_report (stream != NULL ? NULL_OK : NULL_INVALID_HANDLE, #name);          \
  }

QUESTION (cudaStreamGetPriority, int, stream->priority)
/* No two streams of a process have the same one, though their handles may be. */
QUESTION (cudaStreamGetId, unsigned long long, stream->id)
NULL_ALSO (cuStreamGetId, cudaStreamGetId);

/* What a wait for, or a question about, the stream finds wrong. */
static int
objection (const NullStream *stream)
{
  if (stream == NULL)
    return NULL_INVALID_HANDLE;
  return stream->capture != NULL ? NULL_CAPTURE_UNSUPPORTED : NULL_OK;
}

NULL_API (int, cudaStreamQuery, void *handle)
{
  null_clock_lock ();
  const NullStream *stream = null_stream_find (handle);
  int error = objection (stream);
  null_clock_spend (HOST_NS_PER_QUERY);
  if (error == NULL_OK && stream->end_ns > null_clock_now ())
    error = NULL_NOT_READY;
  null_clock_unlock ();
  return null_report (error, __func__);
}

NULL_ALSO (cuStreamQuery, cudaStreamQuery);

NULL_API (int, cudaStreamSynchronize, void *handle)
{
  null_clock_lock ();
  NullStream *stream = null_stream_find (handle);
  int error = objection (stream);
  if (error == NULL_OK)
    {
      take_turns (stream);
      null_clock_reach (stream->end_ns);
    }
  null_clock_unlock ();
  return null_report (error, __func__);
}

NULL_ALSO (cuStreamSynchronize, cudaStreamSynchronize);

NULL_API (int, cudaDeviceSynchronize, void)
{
  int device = null_device_current ();
  if (device < 0)
    return null_report (NULL_NO_DEVICE, __func__);
  null_clock_wait_for_all (device);
  return NULL_OK;
}

NULL_ALSO (cuCtxSynchronize, cudaDeviceSynchronize);

/* For scripts: work of that length, such as a collective under a fake process group. */
NULL_API (void, nullcuda_delay, void *stream, double ns)
{
  (void) null_submit (__func__, stream, ns > 0 ? ns : 0);
}

/* Host functions run at once: nothing that they wait for is ever left undone. */
NULL_API (int, cudaLaunchHostFunc, void *stream, void (*function) (void *), void *user)
{
  int error = null_submit (__func__, stream, 0);
  if (error == NULL_OK)
    function (user);
  return error;
}

NULL_API (int,
          cudaStreamAddCallback,
          void *stream,
          void (*function) (void *stream, int status, void *user),
          void *user)
{
  int error = null_submit (__func__, stream, 0);
  if (error == NULL_OK)
    function (stream, NULL_OK, user);
  return error;
}

static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;
static double now_ns;

void
null_clock_lock (void)
{
  pthread_mutex_lock (&clock_lock);
}

void
null_clock_unlock (void)
{
  pthread_mutex_unlock (&clock_lock);
}

double
null_clock_now (void)
{
  return now_ns;
}

void
null_clock_spend (double ns)
{
  now_ns += ns;
}

void
null_clock_reach (double at_ns)
{
  if (at_ns > now_ns)
    now_ns = at_ns;
}

void
null_clock_wait_for_all (int device)
{
  null_clock_lock ();
  null_clock_reach (null_stream_last_end (device));
  null_clock_unlock ();
}

void
null_clock_pass (double ns)
{
  null_clock_lock ();
  null_clock_spend (ns);
  null_clock_unlock ();
}

NULL_API (double, nullcuda_now_ns, void)
{
  null_clock_lock ();
  double ns = now_ns;
  null_clock_unlock ();
  return ns;
}
