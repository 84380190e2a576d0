/*
 * cuDNN: handles and older descriptors, recurrent networks, the graph interface.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdlib.h>

#include "nullcuda/private.h"

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

/* Type: what is asked back; char: nothing. */
#define DESCRIPTOR(noun, Type)                                                           \
  NULL_API (int, cudnnCreate##noun##Descriptor, Type **out_descriptor)                   \
  {                                                                                      \
    *out_descriptor = calloc (1, sizeof (Type));                                         \
    return *out_descriptor != NULL ? NULL_OK : CUDNN_ALLOC_FAILED;                       \
  }                                                                                      \
  NULL_API (int, cudnnDestroy##noun##Descriptor, Type *descriptor)                       \
  {                                                                                      \
    free (descriptor);                                                                   \
    return NULL_OK;                                                                      \
  }

DESCRIPTOR (Activation, char)
DESCRIPTOR (Convolution, char)
DESCRIPTOR (Dropout, char)
DESCRIPTOR (Filter, char)
DESCRIPTOR (Pooling, char)
DESCRIPTOR (SpatialTransformer, char)

/* Batch normalisation in PyTorch's own layout wants neither workspace nor reserve. The size
 * is asked for by the last argument. */
#define WANTS_NONE(name, ...)                                                            \
  NULL_API (int, cudnnGetBatchNormalization##name, __VA_ARGS__, size_t *out_n_bytes)     \
  {                                                                                      \
    *out_n_bytes = 0;                                                                    \
    return NULL_OK;                                                                      \
  }

WANTS_NONE (ForwardTrainingExWorkspaceSize,
            NullCudnn *handle,
            int mode,
            int operations,
            void *x,
            void *z,
            void *y,
            void *parameters,
            void *activation)
WANTS_NONE (BackwardExWorkspaceSize,
            NullCudnn *handle,
            int mode,
            int operations,
            void *x,
            void *y,
            void *dy,
            void *dz,
            void *dx,
            void *parameters,
            void *activation)
WANTS_NONE (TrainingExReserveSpaceSize,
            NullCudnn *handle,
            int mode,
            int operations,
            void *activation,
            void *x)

/* cuDNN's recurrent networks: where each weight lies, and how much memory they ask for.
 *
 * The weights of a layer and direction follow each other: the input's matrices, the
 * hidden state's, the projection, then their biases. The sizes of workspace and reserve
 * are estimates (cuDNN does not document its own): what a backward pass needs of each
 * step, and the products of one layer's input. */

enum
{
  CELL_LSTM = 2,
  CELL_GRU = 3,
  NO_BIAS = 0,
  BIDIRECTIONAL = 1,
  TYPE_DOUBLE = 1,
  TYPE_HALF = 2,
  TYPE_BFLOAT16 = 9,
  FOR_TRAINING = 1,
  N_DIMS = 3,
  STATE_BYTES = 48, /* of a generator of random numbers, one a thread */
};

typedef struct
{
  int cell, n_gates, n_directions, n_layers, type;
  size_t element_bytes, input, hidden, projected; /* projected: of the output */
  bool has_bias;
} Rnn;

typedef struct
{
  size_t n_steps, n_rows;
} RnnData;

DESCRIPTOR (RNN, Rnn)
DESCRIPTOR (RNNData, RnnData)
DESCRIPTOR (Tensor, NullTensor)

NULL_API (int,
          cudnnSetRNNDescriptor_v8,
          Rnn *rnn,
          int algorithm,
          int cell,
          int bias,
          int direction,
          int input_mode,
          int type,
          int math_type,
          int math,
          int input,
          int hidden,
          int projected,
          int n_layers)
{
  *rnn = (Rnn){
    .cell = cell,
    .n_gates = cell == CELL_LSTM  ? 4
               : cell == CELL_GRU ? 3
                                  : 1,
    .n_directions = direction == BIDIRECTIONAL ? 2 : 1,
    .n_layers = n_layers,
    .type = type,
    .element_bytes = type == TYPE_DOUBLE                          ? 8
                     : type == TYPE_HALF || type == TYPE_BFLOAT16 ? 2
                                                                  : 4,
    .input = (size_t) input,
    .hidden = (size_t) hidden,
    .projected = (size_t) projected,
    .has_bias = bias != NO_BIAS,
  };
  return NULL_OK;
}

NULL_API (int,
          cudnnSetRNNDataDescriptor,
          RnnData *data,
          int type,
          int layout,
          int n_steps,
          int n_rows)
{
  *data = (RnnData){ .n_steps = (size_t) n_steps, .n_rows = (size_t) n_rows };
  return NULL_OK;
}

static bool
is_projected (const Rnn *rnn)
{
  return rnn->projected != rnn->hidden;
}

/* Numbers: the columns of a matrix of the layer @layer. */
static size_t
n_columns (const Rnn *rnn, int layer, int linear)
{
  if (linear == 2 * rnn->n_gates)
    return rnn->hidden; /* the projection */
  if (linear >= rnn->n_gates)
    return rnn->projected;
  return layer == 0 ? rnn->input : rnn->projected * (size_t) rnn->n_directions;
}

static size_t
n_rows (const Rnn *rnn, int linear)
{
  return linear == 2 * rnn->n_gates ? rnn->projected : rnn->hidden;
}

/* The elements before the matrix @linear of a layer; all of them: before the biases. */
static size_t
n_before (const Rnn *rnn, int layer, int linear)
{
  size_t n = 0;
  for (int before = 0; before < linear; before++)
    n += n_rows (rnn, before) * n_columns (rnn, layer, before);
  return n;
}

static int
n_matrices (const Rnn *rnn)
{
  return 2 * rnn->n_gates + (is_projected (rnn) ? 1 : 0);
}

static size_t
n_of_layer (const Rnn *rnn, int layer)
{
  return n_before (rnn, layer, n_matrices (rnn)) +
         (rnn->has_bias ? 2 * (size_t) rnn->n_gates * rnn->hidden : 0);
}

NULL_API (
    int, cudnnGetRNNWeightSpaceSize, NullCudnn *handle, const Rnn *rnn, size_t *out_bytes)
{
  *out_bytes = 0;
  for (int layer = 0; layer < rnn->n_layers; layer++)
    *out_bytes +=
        n_of_layer (rnn, layer) * (size_t) rnn->n_directions * rnn->element_bytes;
  return NULL_OK;
}

static void
describe (NullTensor *tensor, const Rnn *rnn, size_t rows, size_t columns)
{
  *tensor = (NullTensor){ rnn->type, N_DIMS, { 1, (int) rows, (int) columns } };
}

NULL_API (int,
          cudnnGetRNNWeightParams,
          NullCudnn *handle,
          const Rnn *rnn,
          int pseudo_layer,
          size_t space_bytes,
          char *space,
          int linear,
          NullTensor *matrix,
          void **out_matrix,
          NullTensor *bias,
          void **out_bias)
{
  int layer = pseudo_layer / rnn->n_directions;
  size_t first = 0;
  for (int before = 0; before < pseudo_layer; before++)
    first += n_of_layer (rnn, before / rnn->n_directions);
  bool has_bias = rnn->has_bias && linear < 2 * rnn->n_gates;

  if (matrix != NULL)
    describe (matrix, rnn, n_rows (rnn, linear), n_columns (rnn, layer, linear));
  if (out_matrix != NULL)
    *out_matrix = space + (first + n_before (rnn, layer, linear)) * rnn->element_bytes;
  if (bias != NULL)
    describe (bias, rnn, has_bias ? rnn->hidden : 0, 1);
  if (out_bias != NULL)
    *out_bias = !has_bias ? NULL
                          : space + (first + n_before (rnn, layer, n_matrices (rnn)) +
                                     (size_t) linear * rnn->hidden) *
                                        rnn->element_bytes;
  return NULL_OK;
}

NULL_API (int,
          cudnnGetTensorNdDescriptor,
          const NullTensor *tensor,
          int n_wanted,
          int *out_type,
          int *out_n,
          int *out_dims,
          int *out_strides)
{
  int stride = 1;
  *out_type = tensor->type;
  *out_n = tensor->n_dims;
  for (int i = tensor->n_dims - 1; i >= 0; i--)
    {
      if (i < n_wanted)
        {
          out_dims[i] = tensor->dims[i];
          out_strides[i] = stride;
        }
      stride *= tensor->dims[i];
    }
  return NULL_OK;
}

NULL_API (int,
          cudnnGetRNNTempSpaceSizes,
          NullCudnn *handle,
          const Rnn *rnn,
          int mode,
          const RnnData *x,
          size_t *out_workspace_bytes,
          size_t *out_reserve_bytes)
{
  size_t state_bytes = x->n_steps * x->n_rows * rnn->hidden * rnn->element_bytes *
                       (size_t) rnn->n_directions;
  /* Gates, the state behind them, and an LSTM's cell. */
  size_t n_kept = (size_t) rnn->n_gates + (rnn->cell == CELL_LSTM ? 2 : 1);
  if (out_workspace_bytes != NULL)
    *out_workspace_bytes = state_bytes * (size_t) rnn->n_gates;
  if (out_reserve_bytes != NULL)
    *out_reserve_bytes =
        mode == FOR_TRAINING ? state_bytes * n_kept * (size_t) rnn->n_layers : 0;
  return NULL_OK;
}

NULL_API (int, cudnnDropoutGetStatesSize, NullCudnn *handle, size_t *out_bytes)
{
  const NullProfile *profile = &null_settings ()->profile;
  *out_bytes = (size_t) profile->n_multiprocessors *
               (size_t) profile->max_threads_per_multiprocessor * STATE_BYTES;
  return NULL_OK;
}

/* cuDNN's graph interface: descriptors that know how many elements hang below them.
 *
 * A program builds tensors, operations, a graph of them, asks a heuristic for engines,
 * and makes plans. Here each graph has two engines. Where the graph holds a convolution,
 * the first asks for a workspace of two bytes for each element of its tensors, what a
 * change of their layout would take; the real engines ask for other sizes
 * (docs/NULLCUDA.md). The second asks for none: where memory is out, PyTorch goes on to it.
 * Attention asks for 256 bytes, as cuDNN 9 does on an H100 and an H200: what its backward
 * pass accumulates, the front end allocates itself. */

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
#define ATTENTION_WORKSPACE_BYTES 256
#define EXECUTE_NS 20000.0
#define ELEMENT_NS 0.004 /* read, written and read again, two bytes each, at 1.5 TB/s */

typedef struct
{
  NullSlabHead head;
  bool is_virtual;
  int type;
  int64_t n_elements; /* of the tensors that were put into it */
  int64_t
      n_reordered; /* those of convolutions; negative: by an engine that wants no workspace */
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
        result->n_reordered = -result->n_reordered;
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
    value = descriptor->n_reordered == 0
                ? ATTENTION_WORKSPACE_BYTES
                : ((descriptor->n_reordered < 0 ? 0 : descriptor->n_reordered) *
                       WORKSPACE_BYTES_PER_ELEMENT +
                   511) /
                      512 * 512;
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
  return null_submit (__func__, handle->stream, EXECUTE_NS + n_elements * ELEMENT_NS);
}
