/*
 * The size of a block as a formula of what varies between steps.
 *
 * Steps of one kind make the same requests for batches of another length, or of another
 * number of sequences as well. What is asked for is then a sum of terms: a constant, the
 * batch, the length, both multiplied (tokens), and batch times length squared. Kernels
 * round: the length may count rounded up to a multiple of 8, 16, 32, 64 or 128, and
 * workspaces stop growing at a cap. Where the batch doesn't vary it counts as 1.
 *
 * An encoder and its decoder have two lengths, that of the source and that of the target:
 * the second one has the same terms, and both are multiplied where the decoder attends to
 * the encoder. Bias by position is of lengths alone, whatever the batch. One of the two
 * is rounded, at most, or one's tokens are; a batch that is always 16 makes of tokens
 * rounded to 64 a length rounded to 4.
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
  TESSERA_TERM_LENGTH,    /* rounded */
  TESSERA_TERM_TOKENS,    /* batch x length rounded */
  TESSERA_TERM_SQUARE,    /* batch x length x length rounded */
  TESSERA_N_TERMS_OF_ONE, /* length: those that follow are 0 where there is one */
  TESSERA_TERM_SECOND = TESSERA_N_TERMS_OF_ONE, /* rounded */
  TESSERA_TERM_SECOND_TOKENS,                   /* batch x second length rounded */
  TESSERA_TERM_SECOND_SQUARE, /* batch x second length x second length rounded */
  TESSERA_TERM_CROSS,         /* batch x length x second length, one of them rounded */
  TESSERA_TERM_BARE_SQUARE,   /* as above, without the batch */
  TESSERA_TERM_BARE_SECOND_SQUARE,
  TESSERA_TERM_BARE_CROSS,
  TESSERA_N_TERMS
};

/* Terms beyond this are refused: the sums then never wrap. */
#define TESSERA_MAX_TERM (INT64_C (1) << 50)

typedef struct
{
  uint64_t batch;
  uint64_t length;
  uint64_t second; /* length; 0: there is one only */
} TesseraParameters;

typedef enum
{
  TESSERA_SIZE_CONSTANT,
  TESSERA_SIZE_AFFINE,
  TESSERA_SIZE_QUADRATIC, /* one length by itself, or by the other */
  TESSERA_SIZE_ROUNDED,   /* affine or quadratic in the rounded length, or with a cap */
  TESSERA_SIZE_BOUNDED,   /* no law: the largest size that was seen */
  TESSERA_N_SIZE_KINDS
} TesseraSizeKind;

/* What is rounded. Other than the length only where there are two. */
typedef enum
{
  TESSERA_ROUNDS_LENGTH,
  TESSERA_ROUNDS_SECOND,
  TESSERA_ROUNDS_TOKENS, /* batch x length, where it stands by itself */
  TESSERA_ROUNDS_SECOND_TOKENS,
  TESSERA_N_ROUNDED
} TesseraRounded;

/* min (sum of numerators x terms / denominator, rounded up; cap). */
typedef struct
{
  int64_t numerators[TESSERA_N_TERMS]; /* |numerator| <= TESSERA_MAX_TERM */
  int64_t denominator;                 /* 1 .. TESSERA_MAX_TERM */
  uint64_t cap_bytes;                  /* 0: none */
  uint32_t rounding;                   /* 1, 2 ... 64 or 128 */
  uint8_t kind;                        /* TesseraSizeKind */
  uint8_t rounds;                      /* TesseraRounded */

  /* Where there are two lengths: when it is asked for at all. A kernel sorts from some
     number of tokens on; what is rounded needs a copy only where rounding changes it. */
  uint8_t when_second;             /* 1: all this is of the second length */
  uint8_t when_other;              /* 1: only where the length is no multiple */
  uint32_t when_multiple;          /* only where the length is one of this; 0: always */
  uint64_t from_tokens, to_tokens; /* batch x length at least, and at most; 0: any */
} TesseraSizeLaw;

/* Batch times length, or times both added up; UINT64_MAX where that is too much. */
uint64_t tessera_parameters_tokens (const TesseraParameters *parameters);

/* The terms at @parameters. Returns: false: one is beyond TESSERA_MAX_TERM. */
bool tessera_size_terms (const TesseraParameters *parameters,
                         uint32_t rounding,
                         TesseraRounded rounds,
                         int64_t out_terms[TESSERA_N_TERMS]);

/* Bytes at @parameters. Returns: false where the law gives none: beyond what can be
 * computed, or less than nothing. */
bool tessera_size_law_evaluate (const TesseraSizeLaw *law,
                                const TesseraParameters *parameters,
                                uint64_t *out_bytes);

/* Whether nothing is asked for at @parameters. */
bool tessera_size_law_is_absent (const TesseraSizeLaw *law,
                                 const TesseraParameters *parameters);

/* Whether it has any such condition. */
static inline bool
tessera_size_law_is_conditional (const TesseraSizeLaw *law)
{
  return law->when_multiple > 0 || law->from_tokens > 0 || law->to_tokens > 0;
}

/* Whether it gives less than @size_bytes: so does one that gives less than nothing. What
 * is beyond what can be computed is more. */
bool tessera_size_law_is_below (const TesseraSizeLaw *law,
                                const TesseraParameters *parameters,
                                uint64_t size_bytes);

/* Whether the fields are in the ranges above: for laws that come from a file. */
bool tessera_size_law_is_valid (const TesseraSizeLaw *law);
