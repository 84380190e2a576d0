/*
 * cuBLAS: handles that remember their stream, products that take time.
 *
 * What only computes is in policy.txt and does nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "nullcuda/device.h"
#include "nullcuda/product.h"
#include "nullcuda/settings.h"

#define PRODUCT_NS 3000.0
#define FLOP_PER_NS 6e5

enum
{
  CUBLAS_ALLOC_FAILED = 3,
};

typedef struct
{
  void *stream;
  int math_mode, pointer_mode;
} Handle;

int
null_product (const char *name,
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

NULL_API (int, cublasGetStream_v2, Handle *handle, void **out_stream)
{
  *out_stream = handle->stream;
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

NULL_API (const char *, cublasGetStatusString, int status)
{
  const char *text = null_unsupported_text ();
  return text != NULL ? text : "CUBLAS_STATUS";
}

/* All kinds of one product have these arguments first; what follows is not read. */
#define PRODUCT(name, slowness)                                                          \
  NULL_API (int, name, Handle *handle, int op_a, int op_b, int m, int n, int k)          \
  {                                                                                      \
    return null_product (#name, handle->stream, m, n, k, 1, slowness);                   \
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
  return null_product ("cublasGemmStridedBatchedEx", handle->stream, m, n, k, n_products,
                       NULL_SLOWNESS_HALF);
}

#define STRIDED_PRODUCT(name, slowness)                                                  \
  NULL_API (int, name, Handle *handle, int op_a, int op_b, int m, int n, int k,          \
            const void *alpha, const void *a, int lda, long long stride_a,               \
            const void *b, int ldb, long long stride_b, const void *beta, void *c,       \
            int ldc, long long stride_c, int n_products)                                 \
  {                                                                                      \
    return null_product (#name, handle->stream, m, n, k, n_products, slowness);          \
  }

STRIDED_PRODUCT (cublasSgemmStridedBatched, NULL_SLOWNESS_SINGLE)
STRIDED_PRODUCT (cublasDgemmStridedBatched, NULL_SLOWNESS_DOUBLE)
