/*
 * What the two halves of cuDNN share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "nullcuda/api.h"

enum
{
  CUDNN_NOT_INITIALIZED = 1001,
  CUDNN_BAD_PARAM = 2000,
  CUDNN_ALLOC_FAILED = 4001,
};

typedef struct
{
  void *stream;
} NullCudnn;

/* A tensor's descriptor, of which only those of a recurrent network's weights are read. */
typedef struct
{
  int type, n_dims, dims[3];
} NullTensor;
