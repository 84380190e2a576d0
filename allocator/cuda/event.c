/*
 * Events and streams of a GPU.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/cuda/internal.h"

#include <stdlib.h>

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
  return cuda->driver.context_record != NULL && cuda->driver.stream_wait_event != NULL;
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
  CudaScope scope;
  int result = tessera_cuda_enter (cuda, &scope);

  if (result == CUDA_OK)
    {
      result = cuda->driver.event_query (event->event);
      tessera_cuda_leave (cuda, &scope);
    }
  return result == CUDA_OK || has_ended (result);
}

bool
tessera_cuda_event_wait (TesseraCuda *cuda, TesseraCudaEvent *event)
{
  CudaScope scope;
  int result = tessera_cuda_enter (cuda, &scope);

  if (result == CUDA_OK)
    {
      result = cuda->driver.event_wait (event->event);
      tessera_cuda_leave (cuda, &scope);
    }
  return result == CUDA_OK || has_ended (result);
}

bool
tessera_cuda_event_order (TesseraCuda *cuda, TesseraCudaEvent *event, uint64_t stream)
{
  CudaScope scope;
  int result;

  if (!tessera_cuda_can_order (cuda))
    return false;
  result = tessera_cuda_enter (cuda, &scope);
  if (result == CUDA_OK)
    {
      result = cuda->driver.stream_wait_event (stream_of (stream), event->event, 0);
      tessera_cuda_leave (cuda, &scope);
    }
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
  CudaScope scope;
  int status = 0;
  int result = tessera_cuda_enter (cuda, &scope);

  if (result == CUDA_OK)
    {
      result = cuda->driver.stream_is_capturing (stream_of (stream), &status);
      tessera_cuda_leave (cuda, &scope);
    }
  /* The legacy stream may not even be asked while another one captures. */
  return !has_ended (result) && (result != CUDA_OK || status != 0);
}

bool
tessera_cuda_stream_wait (TesseraCuda *cuda, uint64_t stream)
{
  CudaScope scope;
  int result = tessera_cuda_enter (cuda, &scope);

  if (result == CUDA_OK)
    {
      result = cuda->driver.stream_wait (stream_of (stream));
      tessera_cuda_leave (cuda, &scope);
    }
  return result == CUDA_OK || has_ended (result);
}
