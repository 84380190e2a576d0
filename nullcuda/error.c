/*
 * Errors: the last one of a thread, and their texts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

#include "nullcuda/private.h"

static const struct
{
  int error;
  const char *name, *driver_name, *text;
} errors[] = {
  { NULL_OK, "cudaSuccess", "CUDA_SUCCESS", "no error" },
  { NULL_INVALID_VALUE, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE",
    "invalid argument" },
  { NULL_OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY",
    "out of memory" },
  { NULL_NO_DEVICE, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE",
    "no CUDA-capable device is detected" },
  { NULL_INVALID_DEVICE, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE",
    "invalid device ordinal" },
  { NULL_INVALID_CONTEXT, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT",
    "invalid device context" },
  { NULL_PEER_ACCESS_UNSUPPORTED, "cudaErrorPeerAccessUnsupported",
    "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
    "peer access is not supported between these two devices" },
  { NULL_INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE",
    "invalid resource handle" },
  { NULL_NOT_FOUND, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND",
    "named symbol not found" },
  { NULL_NOT_READY, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY", "device not ready" },
  { NULL_ILLEGAL_ADDRESS, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS",
    "an illegal memory access was encountered" },
  { NULL_HOST_MEMORY_ALREADY_REGISTERED, "cudaErrorHostMemoryAlreadyRegistered",
    "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
    "part or all of the requested memory range is already mapped" },
  { NULL_HOST_MEMORY_NOT_REGISTERED, "cudaErrorHostMemoryNotRegistered",
    "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
    "pointer does not correspond to a registered memory region" },
  { NULL_NOT_SUPPORTED, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED",
    "operation not supported" },
  { NULL_CAPTURE_UNSUPPORTED, "cudaErrorStreamCaptureUnsupported",
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
    "operation not permitted when stream is capturing" },
  { NULL_CAPTURE_INVALIDATED, "cudaErrorStreamCaptureInvalidated",
    "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
    "operation failed due to a previous error during capture" },
  { NULL_CAPTURE_UNMATCHED, "cudaErrorStreamCaptureUnmatched",
    "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
    "capture was not ended in the same stream as it began" },
  { NULL_CAPTURED_EVENT, "cudaErrorCapturedEvent", "CUDA_ERROR_CAPTURED_EVENT",
    "operation not permitted on an event last recorded in a capturing stream" },
};
static const size_t n_errors = sizeof errors / sizeof errors[0];

static _Thread_local int last_error;
static _Thread_local char unsupported_text[256];

/* The runtime remembers its own failures, not those of other libraries. */
static void
remember (int error, const char *name)
{
  if (strncmp (name, "cuda", 4) == 0 || strncmp (name, "__cuda", 6) == 0)
    last_error = error;
}

int
null_report (int error, const char *name)
{
  if (error != NULL_OK && error != NULL_NOT_READY)
    {
      remember (error, name);
      null_log (2, "%s: error %d", name, error);
    }
  return error;
}

int
null_unsupported (const char *name, int error, atomic_flag *was_said)
{
  snprintf (unsupported_text, sizeof unsupported_text,
            "operation not supported: the null CUDA has no %s", name);
  remember (NULL_NOT_SUPPORTED, name);
  if (!atomic_flag_test_and_set (was_said))
    null_log (1, "%s is not supported; it fails with error %d", name, error);
  return error;
}

const char *
null_unsupported_text (void)
{
  return unsupported_text[0] != '\0' ? unsupported_text : NULL;
}

static size_t
find (int error)
{
  size_t i = 0;
  while (i < n_errors && errors[i].error != error)
    i++;
  return i;
}

static const char *
describe (int error)
{
  if (error == NULL_NOT_SUPPORTED && null_unsupported_text () != NULL)
    return null_unsupported_text ();
  size_t index = find (error);
  return index < n_errors ? errors[index].text : "unrecognized error code";
}

NULL_API (int, cudaGetLastError, void)
{
  int error = last_error;
  last_error = NULL_OK;
  return error;
}

NULL_API (int, cudaPeekAtLastError, void) { return last_error; }

NULL_API (const char *, cudaGetErrorString, int error) { return describe (error); }

NULL_API (const char *, cudaGetErrorName, int error)
{
  size_t index = find (error);
  return index < n_errors ? errors[index].name : "unrecognized error code";
}

NULL_API (int, cuGetErrorString, int error, const char **out_text)
{
  *out_text = describe (error);
  return NULL_OK;
}

NULL_API (int, cuGetErrorName, int error, const char **out_name)
{
  size_t index = find (error);
  *out_name = index < n_errors ? errors[index].driver_name : NULL;
  return index < n_errors ? NULL_OK : NULL_INVALID_VALUE;
}
