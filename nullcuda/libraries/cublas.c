/*
 * cuBLAS: handles that remember their stream, products that take time.
 *
 * What only computes is in policy.txt and does nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "nullcuda/private.h"

#define PRODUCT_NS 3000.0
#define FLOP_PER_NS 6e5

/* How much slower than 16-bit products on tensor cores. */
#define NULL_SLOWNESS_HALF 1.0
#define NULL_SLOWNESS_SINGLE 10.0
#define NULL_SLOWNESS_DOUBLE 10.0

enum
{
  CUBLAS_ALLOC_FAILED = 3,
};

typedef struct
{
  void *stream;
  int math_mode, pointer_mode;
} Handle;

/* @n_products products of m x k by k x n, at 600 TFLOP/s divided by @slowness. */
static int
multiply (const char *name,
          void *stream,
          double m,
          double n,
          double k,
          double n_products,
          double slowness)
{
  double flop = 2 * m * n * k * n_products;
  return null_submit (name, stream, PRODUCT_NS + flop * slowness / FLOP_PER_NS);
}

NULL_API (int, cublasCreate_v2, Handle **out_handle)
{
  *out_handle = null_device_current () < 0 ? NULL : calloc (1, sizeof (Handle));
  return *out_handle != NULL ? NULL_OK : CUBLAS_ALLOC_FAILED;
}

NULL_API (int, cublasDestroy_v2, Handle *handle)
{
  free (handle);
  return NULL_OK;
}

NULL_API (int, cublasSetStream_v2, Handle *handle, void *stream)
{
  handle->stream = stream;
  return NULL_OK;
}

NULL_API (int, cublasSetMathMode, Handle *handle, int mode)
{
  handle->math_mode = mode;
  return NULL_OK;
}

NULL_API (int, cublasGetMathMode, Handle *handle, int *out_mode)
{
  *out_mode = handle->math_mode;
  return NULL_OK;
}

NULL_API (int, cublasSetPointerMode_v2, Handle *handle, int mode)
{
  handle->pointer_mode = mode;
  return NULL_OK;
}

NULL_API (int, cublasGetPointerMode_v2, Handle *handle, int *out_mode)
{
  *out_mode = handle->pointer_mode;
  return NULL_OK;
}

/* All kinds of one product have these arguments first; what follows is not read. */
#define PRODUCT(name, slowness)                                                          \
  NULL_API (int, name, Handle *handle, int op_a, int op_b, int m, int n, int k)          \
  {                                                                                      \
    return multiply (#name, handle->stream, m, n, k, 1, slowness);                       \
  }

PRODUCT (cublasGemmEx, NULL_SLOWNESS_HALF)
PRODUCT (cublasSgemmEx, NULL_SLOWNESS_HALF)
PRODUCT (cublasSgemm_v2, NULL_SLOWNESS_SINGLE)
PRODUCT (cublasDgemm_v2, NULL_SLOWNESS_DOUBLE)

NULL_API (int,
          cublasGemmStridedBatchedEx,
          Handle *handle,
          int op_a,
          int op_b,
          int m,
          int n,
          int k,
          const void *alpha,
          const void *a,
          int type_a,
          int lda,
          long long stride_a,
          const void *b,
          int type_b,
          int ldb,
          long long stride_b,
          const void *beta,
          void *c,
          int type_c,
          int ldc,
          long long stride_c,
          int n_products)
{
  return multiply (__func__, handle->stream, m, n, k, n_products, NULL_SLOWNESS_HALF);
}

#define STRIDED_PRODUCT(name, slowness)                                                  \
  NULL_API (int, name, Handle *handle, int op_a, int op_b, int m, int n, int k,          \
            const void *alpha, const void *a, int lda, long long stride_a,               \
            const void *b, int ldb, long long stride_b, const void *beta, void *c,       \
            int ldc, long long stride_c, int n_products)                                 \
  {                                                                                      \
    return multiply (#name, handle->stream, m, n, k, n_products, slowness);              \
  }

STRIDED_PRODUCT (cublasSgemmStridedBatched, NULL_SLOWNESS_SINGLE)
STRIDED_PRODUCT (cublasDgemmStridedBatched, NULL_SLOWNESS_DOUBLE)

/* cuBLASLt: layouts remember their shape, so that a product can be timed. */

enum
{
  BATCH_COUNT = 5,   /* cublasLtMatrixLayoutAttribute_t */
  RESULT_BYTES = 96, /* sizeof (cublasLtMatmulHeuristicResult_t) */
  REAL_32 = 0,       /* cudaDataType */
  REAL_64 = 1,
};

typedef struct
{
  double rows, columns, n_matrices;
  int type;
} Layout;

/* Descriptions whose contents nobody asks back: something to point at. */
static int
create (void **out_description)
{
  *out_description = calloc (1, 1);
  return *out_description != NULL ? NULL_OK : CUBLAS_ALLOC_FAILED;
}

NULL_API (int, cublasLtMatmulDescCreate, void **out, int compute_type, int scale_type)
{
  return create (out);
}

NULL_ALSO (cublasLtMatmulDescDestroy, cublasDestroy_v2);

NULL_API (int, cublasLtMatmulPreferenceCreate, void **out) { return create (out); }

NULL_ALSO (cublasLtMatmulPreferenceDestroy, cublasDestroy_v2);

NULL_API (int,
          cublasLtMatrixLayoutCreate,
          Layout **out_layout,
          int type,
          uint64_t rows,
          uint64_t columns,
          int64_t leading)
{
  Layout *layout = malloc (sizeof *layout);
  *out_layout = layout;
  if (layout == NULL)
    return CUBLAS_ALLOC_FAILED;
  *layout = (Layout){ (double) rows, (double) columns, 1, type };
  return NULL_OK;
}

NULL_ALSO (cublasLtMatrixLayoutDestroy, cublasDestroy_v2);

NULL_API (int,
          cublasLtMatrixLayoutSetAttribute,
          Layout *layout,
          int attribute,
          const void *value,
          size_t n_bytes)
{
  int32_t count;
  if (attribute == BATCH_COUNT && n_bytes == sizeof count)
    {
      memcpy (&count, value, sizeof count);
      layout->n_matrices = count;
    }
  return NULL_OK;
}

/* One way to do it, which wants no workspace. */
NULL_API (int,
          cublasLtMatmulAlgoGetHeuristic,
          void *handle,
          void *description,
          Layout *a,
          Layout *b,
          Layout *c,
          Layout *d,
          void *preference,
          int n_wanted,
          char *out_results,
          int *out_n)
{
  *out_n = n_wanted > 0 ? 1 : 0;
  memset (out_results, 0, *out_n * (size_t) RESULT_BYTES);
  return NULL_OK;
}

NULL_API (int,
          cublasLtMatmul,
          void *handle,
          void *description,
          const void *alpha,
          const void *a,
          const Layout *layout_a,
          const void *b,
          const Layout *layout_b,
          const void *beta,
          const void *c,
          const Layout *layout_c,
          void *d,
          const Layout *layout_d,
          const void *algorithm,
          void *workspace,
          size_t workspace_bytes,
          void *stream)
{
  double m = layout_d->rows, n = layout_d->columns;
  double k = m > 0 ? layout_a->rows * layout_a->columns / m : 0; /* transposed or not */
  double slowness = layout_a->type == REAL_32   ? NULL_SLOWNESS_SINGLE
                    : layout_a->type == REAL_64 ? NULL_SLOWNESS_DOUBLE
                                                : NULL_SLOWNESS_HALF;
  return multiply (__func__, stream, m, n, k, layout_d->n_matrices, slowness);
}

NULL_API (size_t, cublasLtGetVersion, void)
{
  return null_settings ()->cuda_version >= 13000 ? 130400 : 120405;
}
