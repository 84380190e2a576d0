/*
 * The size of a block as a formula of what varies between steps.
 *
 * Steps of one kind make the same requests for batches of another length, or of another
 * number of sequences as well. What is asked for is then a sum of terms: a constant, the
 * batch, the length, both multiplied (tokens), and batch times length squared. Kernels
 * round: the length may count rounded up to a multiple of 8, 16, 32, 64 or 128, and
 * workspaces stop growing at a cap. Where the batch doesn't vary it counts as 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum
{
  TESSERA_TERM_ONE,
  TESSERA_TERM_BATCH,
  TESSERA_TERM_LENGTH, /* rounded */
  TESSERA_TERM_TOKENS, /* batch x length rounded */
  TESSERA_TERM_SQUARE, /* batch x length x length rounded */
  TESSERA_N_TERMS
};

/* Terms beyond this are refused: the sums then never wrap. */
#define TESSERA_MAX_TERM (INT64_C (1) << 50)

typedef struct
{
  uint64_t batch;
  uint64_t length;
} TesseraParameters;

typedef enum
{
  TESSERA_SIZE_CONSTANT,
  TESSERA_SIZE_AFFINE,
  TESSERA_SIZE_QUADRATIC,
  TESSERA_SIZE_ROUNDED, /* affine or quadratic in the rounded length, or with a cap */
  TESSERA_SIZE_BOUNDED, /* no law: the largest size that was seen */
  TESSERA_N_SIZE_KINDS
} TesseraSizeKind;

/* min (sum of numerators x terms / denominator, rounded up; cap). */
typedef struct
{
  int64_t numerators[TESSERA_N_TERMS]; /* |numerator| <= TESSERA_MAX_TERM */
  int64_t denominator;                 /* 1 .. TESSERA_MAX_TERM */
  uint64_t cap_bytes;                  /* 0: none */
  uint32_t rounding;                   /* 1, 8, 16, 32, 64 or 128 */
  uint8_t kind;                        /* TesseraSizeKind */
} TesseraSizeLaw;

/* The terms at @parameters. Returns: false: one is beyond TESSERA_MAX_TERM. */
bool tessera_size_terms (const TesseraParameters *parameters,
                         uint32_t rounding,
                         int64_t out_terms[TESSERA_N_TERMS]);

/* Bytes at @parameters. Returns: false where the law gives none: beyond what can be
 * computed, or less than nothing. */
bool tessera_size_law_evaluate (const TesseraSizeLaw *law,
                                const TesseraParameters *parameters,
                                uint64_t *out_bytes);

/* Whether it gives less than @size_bytes: so does one that gives less than nothing. What
 * is beyond what can be computed is more. */
bool tessera_size_law_is_below (const TesseraSizeLaw *law,
                                const TesseraParameters *parameters,
                                uint64_t size_bytes);

/* Whether the fields are in the ranges above: for laws that come from a file. */
bool tessera_size_law_is_valid (const TesseraSizeLaw *law);
