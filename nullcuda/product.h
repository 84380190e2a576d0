/*
 * The cost of matrix products, which cuBLAS and cuBLASLt share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "nullcuda/streams/stream.h"

/* How much slower than 16-bit products on tensor cores. */
#define NULL_SLOWNESS_HALF 1.0
#define NULL_SLOWNESS_SINGLE 10.0
#define NULL_SLOWNESS_DOUBLE 10.0

/* @n_products products of m x k by k x n, at 600 TFLOP/s divided by @slowness. */
int null_product (const char *name,
                  void *stream,
                  double m,
                  double n,
                  double k,
                  double n_products,
                  double slowness);
