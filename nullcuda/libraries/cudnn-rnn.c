/*
 * cuDNN's recurrent networks: where each weight lies, and how much memory they ask for.
 *
 * The weights of a layer and direction follow each other: the input's matrices, the
 * hidden state's, the projection, then their biases. The sizes of workspace and reserve
 * are estimates (cuDNN does not document its own): what a backward pass needs of each
 * step, and the products of one layer's input.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "nullcuda/libraries/cudnn.h"

#include <stdlib.h>

#include "nullcuda/device.h"
#include "nullcuda/settings.h"

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
          int n_layers,
          void *dropout,
          unsigned flags)
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
          int n_rows,
          int width,
          const int *lengths,
          void *padding)
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
