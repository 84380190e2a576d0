/*
 * cuDNN's graph interface: descriptors that know how many elements hang below them.
 *
 * A program builds tensors, operations, a graph of them, asks a heuristic for engines,
 * and makes plans. Here each graph has two engines. Where the graph holds a convolution,
 * the first asks for a workspace of two bytes for each element of its tensors, what a
 * change of their layout would take; the real engines ask for other sizes
 * (docs/NULLCUDA.md). The second asks for none: where memory is out, PyTorch goes on to it. Attention asks for none: what its backward pass accumulates, the
 * front end allocates itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "nullcuda/libraries/cudnn.h"
#include "nullcuda/device.h"
#include "nullcuda/slab.h"
#include "nullcuda/streams/stream.h"

/* cudnnBackendDescriptorType_t */
enum
{
  CONVOLUTION_FORWARD = 10,
  CONVOLUTION_BACKWARD_DATA = 12, /* that of the filter lies between */
};

/* cudnnBackendAttributeName_t */
enum
{
  HEURISTIC_RESULTS = 202,
  ENGINE_CONFIG_WORKSPACE = 303,
  ENGINE_CONFIG_SHARED_MEMORY = 304, /* bytes that it wants, an int32 */
  PLAN_WORKSPACE = 402,
  N_ENGINES = 802,
  TENSOR_DIMENSIONS = 902,
  TENSOR_IS_VIRTUAL = 907, /* it is never in memory */
};

/* cudnnBackendAttributeType_t */
enum
{
  TYPE_INT64 = 3,
  TYPE_DESCRIPTOR = 15,
};

#define N_RESULTS 2 /* of a heuristic */
#define WORKSPACE_BYTES_PER_ELEMENT 2
#define WORKSPACE_ALIGNMENT 512
#define EXECUTE_NS 20000.0
#define ELEMENT_NS 0.004 /* read, written and read again, two bytes each, at 1.5 TB/s */

typedef struct
{
  NullSlabHead head;
  bool is_virtual;
  int type;
  int64_t n_elements;  /* of the tensors that were put into it */
  int64_t n_reordered; /* those of convolutions */
} Descriptor;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static NullSlab descriptors = { 0x1e3000000000, sizeof (Descriptor), NULL, 0, 0 };

/* Under the lock: the object of that handle, or NULL. */
static Descriptor *
find (void *handle)
{
  return null_slab_has (&descriptors, handle) ? handle : NULL;
}

/* Under the lock: @part becomes part of @whole. */
static void
put_in (Descriptor *whole, const Descriptor *part)
{
  bool is_convolution =
      whole->type >= CONVOLUTION_FORWARD && whole->type <= CONVOLUTION_BACKWARD_DATA;
  if (part == NULL || part->is_virtual)
    return;
  whole->n_elements += part->n_elements;
  whole->n_reordered += is_convolution ? part->n_elements : part->n_reordered;
}

NULL_API (int, cudnnBackendCreateDescriptor, int type, void **out_descriptor)
{
  pthread_mutex_lock (&lock);
  Descriptor *descriptor = null_slab_take (&descriptors);
  if (descriptor != NULL)
    descriptor->type = type;
  pthread_mutex_unlock (&lock);
  *out_descriptor = descriptor;
  return descriptor != NULL ? NULL_OK : CUDNN_ALLOC_FAILED;
}

NULL_API (int, cudnnBackendDestroyDescriptor, void *descriptor)
{
  pthread_mutex_lock (&lock);
  if (null_slab_has (&descriptors, descriptor))
    null_slab_give (&descriptors, descriptor);
  pthread_mutex_unlock (&lock);
  return NULL_OK;
}

NULL_API (int, cudnnBackendFinalize, void *descriptor) { return NULL_OK; }

NULL_API (int,
          cudnnBackendSetAttribute,
          void *handle,
          int attribute,
          int type,
          int64_t n,
          const void *elements)
{
  int error = NULL_OK;
  pthread_mutex_lock (&lock);
  Descriptor *descriptor = find (handle);
  if (descriptor == NULL)
    error = CUDNN_BAD_PARAM;
  else if (attribute == TENSOR_DIMENSIONS && type == TYPE_INT64)
    {
      descriptor->n_elements = 1;
      for (int64_t i = 0; i < n; i++)
        descriptor->n_elements *= ((const int64_t *) elements)[i];
    }
  else if (attribute == TENSOR_IS_VIRTUAL && n == 1)
    descriptor->is_virtual = *(const bool *) elements;
  else if (type == TYPE_DESCRIPTOR)
    for (int64_t i = 0; i < n; i++)
      put_in (descriptor, find (((void *const *) elements)[i]));
  pthread_mutex_unlock (&lock);
  return error;
}

/* Into the descriptors that the program made for them. Returns how many there are. */
static int64_t
give_engines (const Descriptor *heuristic, int64_t n_wanted, void **results)
{
  if (n_wanted <= 0 || results == NULL)
    return N_RESULTS;
  for (int64_t i = 0; i < n_wanted && i < N_RESULTS; i++)
    {
      Descriptor *result = find (results[i]);
      if (result == NULL)
        continue;
      put_in (result, heuristic);
      if (i > 0)
        result->n_reordered = 0;
    }
  return n_wanted < N_RESULTS ? n_wanted : N_RESULTS;
}

NULL_API (int,
          cudnnBackendGetAttribute,
          void *handle,
          int attribute,
          int type,
          int64_t n_wanted,
          int64_t *out_n,
          void *out)
{
  pthread_mutex_lock (&lock);
  const Descriptor *descriptor = find (handle);
  int64_t n = descriptor != NULL, value = 0;
  if (n == 1 && attribute == HEURISTIC_RESULTS)
    n = give_engines (descriptor, n_wanted, out);
  else if (n == 1 &&
           (attribute == PLAN_WORKSPACE || attribute == ENGINE_CONFIG_WORKSPACE))
    value = (descriptor->n_reordered * WORKSPACE_BYTES_PER_ELEMENT + WORKSPACE_ALIGNMENT -
             1) /
            WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
  else if (n == 1 && attribute == N_ENGINES)
    value = 1;
  else if (n == 1 && attribute == ENGINE_CONFIG_SHARED_MEMORY)
    *(int32_t *) out = 0;
  else
    n = 0; /* no knobs, no notes, nothing else to tell */
  pthread_mutex_unlock (&lock);
  if (out_n != NULL)
    *out_n = n;
  if (type == TYPE_INT64 && n_wanted > 0 && out != NULL)
    *(int64_t *) out = value;
  return descriptor != NULL ? NULL_OK : CUDNN_BAD_PARAM;
}

NULL_API (int, cudnnBackendExecute, NullCudnn *handle, void *plan, void *pack)
{
  pthread_mutex_lock (&lock);
  const Descriptor *descriptor = find (plan);
  double n_elements = descriptor != NULL ? (double) descriptor->n_elements : 0;
  pthread_mutex_unlock (&lock);
  return null_submit ("cudnnBackendExecute", handle->stream,
                      EXECUTE_NS + n_elements * ELEMENT_NS);
}
