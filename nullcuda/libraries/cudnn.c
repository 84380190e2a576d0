/*
 * cuDNN's handles and older descriptors. The graph interface is in cudnn-graph.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "nullcuda/libraries/cudnn.h"

#include <stdlib.h>

#include "nullcuda/device.h"
#include "nullcuda/settings.h"

enum
{
  CUDNN_MAJOR = 9,
  CUDNN_MINOR = 26,
  CUDNN_PATCH = 0,
};

NULL_API (int, cudnnCreate, NullCudnn **out_handle)
{
  *out_handle = null_device_current () < 0 ? NULL : calloc (1, sizeof (NullCudnn));
  return *out_handle != NULL ? NULL_OK : CUDNN_NOT_INITIALIZED;
}

NULL_API (int, cudnnDestroy, NullCudnn *handle)
{
  free (handle);
  return NULL_OK;
}

NULL_API (int, cudnnSetStream, NullCudnn *handle, void *stream)
{
  handle->stream = stream;
  return NULL_OK;
}

NULL_API (int, cudnnGetStream, NullCudnn *handle, void **out_stream)
{
  *out_stream = handle->stream;
  return NULL_OK;
}

/* PyTorch takes any version of its major number that is not older than its own. */
NULL_API (size_t, cudnnGetVersion, void)
{
  return CUDNN_MAJOR * 10000 + CUDNN_MINOR * 100 + CUDNN_PATCH;
}

/* libraryPropertyType: major 0, minor 1, patch 2. */
NULL_API (int, cudnnGetProperty, int property, int *out_value)
{
  static const int version[] = { CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCH };
  if (property < 0 || property > 2)
    return CUDNN_BAD_PARAM;
  *out_value = version[property];
  return NULL_OK;
}

NULL_API (size_t, cudnnGetCudartVersion, void)
{
  return (size_t) null_settings ()->cuda_version;
}

NULL_API (const char *, cudnnGetErrorString, int status)
{
  const char *text = null_unsupported_text ();
  return status == NULL_OK ? "CUDNN_STATUS_SUCCESS"
         : text != NULL    ? text
                           : "CUDNN_STATUS";
}

NULL_API (void, cudnnGetLastErrorString, char *out_text, size_t n_bytes)
{
  if (n_bytes > 0)
    *out_text = '\0';
}

/* Descriptors whose contents nobody asks back: something to point at. */
#define DESCRIPTOR(noun)                                                                 \
  NULL_API (int, cudnnCreate##noun##Descriptor, void **out_descriptor)                   \
  {                                                                                      \
    *out_descriptor = calloc (1, 1);                                                     \
    return *out_descriptor != NULL ? NULL_OK : CUDNN_ALLOC_FAILED;                       \
  }                                                                                      \
  NULL_API (int, cudnnDestroy##noun##Descriptor, void *descriptor)                       \
  {                                                                                      \
    free (descriptor);                                                                   \
    return NULL_OK;                                                                      \
  }

DESCRIPTOR (Activation)
DESCRIPTOR (Convolution)
DESCRIPTOR (Dropout)
DESCRIPTOR (Filter)
DESCRIPTOR (Pooling)
DESCRIPTOR (SpatialTransformer)

/* Batch normalisation in PyTorch's own layout wants neither workspace nor reserve. */
NULL_API (int,
          cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize,
          NullCudnn *handle,
          int mode,
          int operations,
          void *x,
          void *z,
          void *y,
          void *parameters,
          void *activation,
          size_t *out_n_bytes)
{
  *out_n_bytes = 0;
  return NULL_OK;
}

NULL_API (int,
          cudnnGetBatchNormalizationBackwardExWorkspaceSize,
          NullCudnn *handle,
          int mode,
          int operations,
          void *x,
          void *y,
          void *dy,
          void *dz,
          void *dx,
          void *parameters,
          void *activation,
          size_t *out_n_bytes)
{
  *out_n_bytes = 0;
  return NULL_OK;
}

NULL_API (int,
          cudnnGetBatchNormalizationTrainingExReserveSpaceSize,
          NullCudnn *handle,
          int mode,
          int operations,
          void *activation,
          void *x,
          size_t *out_n_bytes)
{
  *out_n_bytes = 0;
  return NULL_OK;
}
