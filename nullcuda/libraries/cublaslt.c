/*
 * cuBLASLt: layouts remember their shape, so that a product can be timed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "nullcuda/device.h"
#include "nullcuda/product.h"
#include "nullcuda/settings.h"

enum
{
  CUBLAS_ALLOC_FAILED = 3,
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

NULL_API (int, cublasLtMatmulDescDestroy, void *description)
{
  free (description);
  return NULL_OK;
}

NULL_API (int, cublasLtMatmulPreferenceCreate, void **out) { return create (out); }

NULL_API (int, cublasLtMatmulPreferenceDestroy, void *preference)
{
  free (preference);
  return NULL_OK;
}

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

NULL_API (int, cublasLtMatrixLayoutDestroy, Layout *layout)
{
  free (layout);
  return NULL_OK;
}

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
  return null_product ("cublasLtMatmul", stream, m, n, k, layout_d->n_matrices, slowness);
}

NULL_API (size_t, cublasLtGetVersion, void)
{
  return null_settings ()->cuda_version >= 13000 ? 130400 : 120405;
}
