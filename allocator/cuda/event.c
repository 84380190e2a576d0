/*
 * Events and streams of a GPU.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/cuda/internal.h"

#include <stdlib.h>
#include <time.h>

static CudaStream
stream_of (uint64_t handle)
{
  return (CudaStream) (uintptr_t) handle;
}

static TesseraCudaEvent *
make_event (TesseraCuda *cuda)
{
  TesseraCudaEvent *event = calloc (1, sizeof *event);

  if (event != NULL &&
      cuda->driver.event_create (&event->event, CUDA_DISABLE_TIMING) != CUDA_OK)
    {
      free (event);
      return NULL;
    }
  return event;
}

/* Of the work of @stream, or of the whole context's where that is NULL. */
static TesseraCudaEvent *
record (TesseraCuda *cuda, const uint64_t *stream)
{
  TesseraCudaEvent *event = cuda->free_events;
  CudaScope scope;
  int result = CUDA_OK;

  if (tessera_cuda_enter (cuda, &scope) != CUDA_OK)
    return NULL;
  if (event != NULL)
    cuda->free_events = event->next;
  else
    event = make_event (cuda);
  if (event != NULL)
    result = stream != NULL
                 ? cuda->driver.event_record (event->event, stream_of (*stream))
                 : cuda->driver.context_record (cuda->context, event->event);
  if (result != CUDA_OK)
    {
      tessera_cuda_event_release (cuda, event);
      event = NULL;
    }
  tessera_cuda_leave (cuda, &scope);
  return event;
}

TesseraCudaEvent *
tessera_cuda_event_record (TesseraCuda *cuda, uint64_t stream)
{
  return record (cuda, &stream);
}

bool
tessera_cuda_can_order (const TesseraCuda *cuda)
{
  return cuda->driver.context_record != NULL && cuda->driver.stream_wait_event != NULL &&
         cuda->driver.stream_id != NULL;
}

uint64_t
tessera_cuda_stream_id (TesseraCuda *cuda, uint64_t stream)
{
  unsigned long long id = 0;
  int result;

  if (cuda->driver.stream_id == NULL)
    return 0;
  TESSERA_CUDA_INSIDE (cuda, result, cuda->driver.stream_id (stream_of (stream), &id));
  return result == CUDA_OK ? id : 0;
}

TesseraCudaEvent *
tessera_cuda_event_record_all (TesseraCuda *cuda)
{
  return tessera_cuda_can_order (cuda) ? record (cuda, NULL) : NULL;
}

static bool
has_ended (int result)
{
  return result == CUDA_DEINITIALIZED || result == CUDA_CONTEXT_DESTROYED;
}

bool
tessera_cuda_event_is_done (TesseraCuda *cuda, TesseraCudaEvent *event)
{
  int result;

  TESSERA_CUDA_INSIDE (cuda, result, cuda->driver.event_query (event->event));
  return result == CUDA_OK || has_ended (result);
}

bool
tessera_cuda_event_wait (TesseraCuda *cuda, TesseraCudaEvent *event)
{
  int result;

  TESSERA_CUDA_INSIDE (cuda, result, cuda->driver.event_wait (event->event));
  return result == CUDA_OK || has_ended (result);
}

bool
tessera_cuda_event_order (TesseraCuda *cuda, TesseraCudaEvent *event, uint64_t stream)
{
  int result;

  if (!tessera_cuda_can_order (cuda))
    return false;
  TESSERA_CUDA_INSIDE (
      cuda, result, cuda->driver.stream_wait_event (stream_of (stream), event->event, 0));
  return result == CUDA_OK || has_ended (result);
}

void
tessera_cuda_event_release (TesseraCuda *cuda, TesseraCudaEvent *event)
{
  event->next = cuda->free_events;
  cuda->free_events = event;
}

bool
tessera_cuda_stream_is_capturing (TesseraCuda *cuda, uint64_t stream)
{
  int status = 0, result;

  TESSERA_CUDA_INSIDE (cuda, result,
                       cuda->driver.stream_is_capturing (stream_of (stream), &status));
  /* The legacy stream may not even be asked while another one captures. */
  return !has_ended (result) && (result != CUDA_OK || status != 0);
}

bool
tessera_cuda_stream_wait (TesseraCuda *cuda, uint64_t stream)
{
  int result;

  TESSERA_CUDA_INSIDE (cuda, result, cuda->driver.stream_wait (stream_of (stream)));
  return result == CUDA_OK || has_ended (result);
}

/* ---- Barriers ---- */

static void *
mark (TesseraDevice *device, uint32_t stream)
{
  TesseraCuda *cuda = (TesseraCuda *) device;

  return cuda->owner.may_mark (cuda->owner.user, stream)
             ? tessera_cuda_event_record_all (cuda)
             : NULL;
}

static void
forget_mark (TesseraDevice *device, void *mark)
{
  tessera_cuda_event_release ((TesseraCuda *) device, mark);
}

static uint64_t
clock_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (uint64_t) now.tv_sec * UINT64_C (1000000000) + (uint64_t) now.tv_nsec;
}

/* Looks all the time: as a rule it takes microseconds. */
static bool
ends (TesseraDevice *device, void *mark, uint64_t within_ns)
{
  TesseraCuda *cuda = (TesseraCuda *) device;
  bool is_done = tessera_cuda_event_is_done (cuda, mark);
  uint64_t begin_ns = is_done || within_ns == 0 ? 0 : clock_ns ();

  while (!is_done && within_ns != 0 && clock_ns () - begin_ns < within_ns)
    is_done = tessera_cuda_event_is_done (cuda, mark);
  return is_done;
}

static bool
order (TesseraDevice *device, uint32_t stream, void *mark)
{
  TesseraCuda *cuda = (TesseraCuda *) device;

  return cuda->owner.may_mark (cuda->owner.user, stream) &&
         tessera_cuda_event_order (cuda, mark,
                                   cuda->owner.handle_of (cuda->owner.user, stream));
}

void
tessera_cuda_fill_barriers (TesseraDevice *device)
{
  device->mark = mark;
  device->forget_mark = forget_mark;
  device->ends = ends;
  device->order = order;
}
