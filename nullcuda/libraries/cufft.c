/*
 * cuFFT: plans that know how much memory they work in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "nullcuda/private.h"

#define TRANSFORM_NS 5000.0

enum
{
  TYPE_COMPLEX_DOUBLE = 5,
  TYPE_COMPLEX_HALF = 6,
  CUFFT_SETUP_FAILED = 7,
};

/* A plan's stream is set before each transform. */
static _Thread_local void *current_stream;

NULL_API (int, cufftCreate, int *out_plan)
{
  *out_plan = 1;
  return null_device_current () < 0 ? CUFFT_SETUP_FAILED : NULL_OK;
}

/* The work area is a guess: a complex number for each that goes through a transform. Of
 * numbers that are real on one side that is half of them in the last dimension. */
NULL_API (int,
          cufftXtMakePlanMany,
          int plan,
          int rank,
          const long long *sizes,
          const long long *in_embed,
          long long in_stride,
          long long in_distance,
          int in_type,
          const long long *out_embed,
          long long out_stride,
          long long out_distance,
          int out_type,
          long long n_transforms,
          size_t *out_n_bytes,
          int type)
{
  size_t n_bytes = type == TYPE_COMPLEX_DOUBLE ? 16 : type == TYPE_COMPLEX_HALF ? 4 : 8;

  for (int i = 0; i < rank; i++)
    n_bytes *=
        (size_t) (i == rank - 1 && in_type != out_type ? sizes[i] / 2 + 1 : sizes[i]);
  *out_n_bytes = n_bytes * (size_t) n_transforms;
  return NULL_OK;
}

NULL_API (int, cufftSetStream, int plan, void *stream)
{
  current_stream = stream;
  return NULL_OK;
}

NULL_API (int, cufftXtExec, int plan, void *input, void *output, int direction)
{
  return null_submit ("cufftXtExec", current_stream, TRANSFORM_NS);
}
