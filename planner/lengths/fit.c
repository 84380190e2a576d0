/*
 * A size model for a slot, from what was seen of it: see private.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/private.h"

#include <string.h>

/* What a length is rounded to, simple ones first. */
static const uint32_t roundings[TESSERA_FIT_WAYS] = { 1, 8, 16, 32, 64, 128, 4, 2 };

/* NULL: one of them is too large. */
static const int64_t *
terms_at (const TesseraFitTerms *terms, size_t way, uint32_t step)
{
  return terms->are_known[way][step] ? terms->terms[way][step] : NULL;
}

static bool
is_equal (const TesseraParameters *a, const TesseraParameters *b)
{
  return a->batch == b->batch && a->length == b->length;
}

void
tessera_fit_terms_set (TesseraFitTerms *terms, const TesseraFitSteps *steps)
{
  terms->steps = *steps;
  for (uint32_t k = 0; k < steps->n_steps; k++)
    {
      uint32_t first = 0;

      while (!is_equal (&steps->parameters[first], &steps->parameters[k]))
        first++;
      terms->first_of[k] = first;
      for (size_t way = 0; way < TESSERA_FIT_WAYS; way++)
        terms->are_known[way][k] = tessera_size_terms (
            &steps->parameters[k], roundings[way], terms->terms[way][k]);
    }
}

__extension__ typedef __int128 Wide;

enum
{
  MAX_COEFFICIENTS = 3
};

/* Which terms a law is made of. */
typedef struct
{
  uint8_t n;
  uint8_t terms[MAX_COEFFICIENTS];
  bool needs_batch; /* makes sense only where the batch varies */
} Shape;

#define ONE TESSERA_TERM_ONE
#define BATCH TESSERA_TERM_BATCH
#define LENGTH TESSERA_TERM_LENGTH
#define TOKENS TESSERA_TERM_TOKENS
#define SQUARE TESSERA_TERM_SQUARE

/* Simple ones first. */
static const Shape shapes[] = {
  { 1, { BATCH }, true },
  { 1, { TOKENS }, false },
  { 1, { LENGTH }, true },
  { 1, { SQUARE }, false },
  { 2, { TOKENS, ONE }, false },
  { 2, { LENGTH, ONE }, true },
  { 2, { BATCH, ONE }, true },
  { 2, { TOKENS, BATCH }, true },
  { 2, { TOKENS, LENGTH }, true },
  { 2, { SQUARE, ONE }, false },
  { 2, { SQUARE, TOKENS }, false },
  { 2, { SQUARE, BATCH }, true },
  { 3, { TOKENS, BATCH, ONE }, true },
  { 3, { SQUARE, TOKENS, ONE }, false },
};

typedef struct
{
  const TesseraFitTerms *terms;
  uint32_t steps[TESSERA_FIT_STEPS];
  uint64_t bytes[TESSERA_FIT_STEPS];
  size_t n;
} Observations;

typedef struct
{
  int64_t rows[TESSERA_FIT_STEPS][MAX_COEFFICIENTS];
  size_t n_rows;
  size_t n_columns;
} Design;

/* Each combination of parameters once. Returns: false: two steps with equal parameters
 * have unequal sizes. */
static bool
observe (const TesseraFitTerms *terms, const uint64_t *sizes, Observations *out)
{
  uint32_t seen_at[TESSERA_FIT_STEPS];

  out->terms = terms;
  out->n = 0;
  for (uint32_t i = 0; i < terms->steps.n_steps; i++)
    {
      uint32_t first = terms->first_of[i];

      if (first == i)
        seen_at[i] = UINT32_MAX;
      if (sizes[i] == TESSERA_ABSENT)
        continue;
      if (seen_at[first] == UINT32_MAX)
        {
          seen_at[first] = (uint32_t) out->n;
          out->steps[out->n] = i;
          out->bytes[out->n++] = sizes[i];
        }
      else if (out->bytes[seen_at[first]] != sizes[i])
        return false;
    }
  return true;
}

static bool
design (const Observations *of, const Shape *shape, size_t way, Design *out)
{
  out->n_rows = of->n;
  out->n_columns = shape->n;
  for (size_t i = 0; i < of->n; i++)
    {
      const int64_t *terms = terms_at (of->terms, way, of->steps[i]);

      if (!terms)
        return false;
      for (size_t k = 0; k < shape->n; k++)
        out->rows[i][k] = terms[shape->terms[k]];
    }
  return true;
}

/* a * b - c * d. Returns: false: more than 128 bits. */
static bool
cross (Wide a, Wide b, Wide c, Wide d, Wide *out)
{
  Wide x, y;

  return !__builtin_mul_overflow (a, b, &x) && !__builtin_mul_overflow (c, d, &y) &&
         !__builtin_sub_overflow (x, y, out);
}

static bool
determinant (Wide m[MAX_COEFFICIENTS][MAX_COEFFICIENTS], size_t n, Wide *out)
{
  Wide sum = 0;

  if (n == 1)
    {
      *out = m[0][0];
      return true;
    }
  if (n == 2)
    return cross (m[0][0], m[1][1], m[0][1], m[1][0], out);
  for (size_t k = 0; k < 3; k++)
    {
      Wide minor, product;

      if (!cross (m[1][(k + 1) % 3], m[2][(k + 2) % 3], m[1][(k + 2) % 3],
                  m[2][(k + 1) % 3], &minor) ||
          __builtin_mul_overflow (m[0][k], minor, &product) ||
          __builtin_add_overflow (sum, product, &sum))
        return false;
    }
  *out = sum;
  return true;
}

/* The determinant of some rows, with column @column (n_columns: none) replaced by sizes.
 */
static bool
determinant_of (const Design *of,
                const Observations *seen,
                const size_t *rows,
                size_t column,
                Wide *out)
{
  Wide m[MAX_COEFFICIENTS][MAX_COEFFICIENTS] = { { 0 } };

  for (size_t i = 0; i < of->n_columns; i++)
    for (size_t k = 0; k < of->n_columns; k++)
      m[i][k] = k == column ? (Wide) seen->bytes[rows[i]] : of->rows[rows[i]][k];
  return determinant (m, of->n_columns, out);
}

/* Whether rows, taken as vectors, are independent. */
static bool
are_independent (const Design *of, const size_t *rows, size_t n)
{
  size_t n_columns = of->n_columns;
  Wide m[MAX_COEFFICIENTS][MAX_COEFFICIENTS] = { { 0 } };
  Wide value;

  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n_columns; k++)
      m[i][k] = of->rows[rows[i]][k];
  if (n == n_columns)
    return determinant (m, n, &value) && value != 0;
  for (size_t k = 0; k < n_columns; k++)
    for (size_t l = 0; l < k || (n == 1 && l == k); l++)
      if (n == 1 ? m[0][k] != 0
                 : cross (m[0][k], m[1][l], m[0][l], m[1][k], &value) && value != 0)
        return true;
  return false;
}

/* Independent rows, without row @except (n_rows: all may be used). Independent rows can
 * always be added to until there are enough, so the first ones will do. Returns: false:
 * there are not enough. */
static bool
find_basis (const Design *of, size_t except, size_t *out_rows)
{
  size_t n = 0;

  for (size_t i = 0; i < of->n_rows && n < of->n_columns; i++)
    {
      out_rows[n] = i;
      if (i != except && are_independent (of, out_rows, n + 1))
        n++;
    }
  return n == of->n_columns;
}

/* Whether the same model would come out without any one of the observations. */
static bool
is_confirmed (const Design *of)
{
  size_t rows[MAX_COEFFICIENTS];

  if (of->n_rows < of->n_columns + 1)
    return false;
  for (size_t i = 0; i < of->n_rows; i++)
    if (!find_basis (of, i, rows))
      return false;
  return true;
}

static bool
gives_all (const Design *of, const Observations *seen, const Wide *numerators, Wide below)
{
  for (size_t i = 0; i < of->n_rows; i++)
    {
      Wide sum = 0, product, wanted;

      for (size_t k = 0; k < of->n_columns; k++)
        if (__builtin_mul_overflow (numerators[k], (Wide) of->rows[i][k], &product) ||
            __builtin_add_overflow (sum, product, &sum))
          return false;
      if (__builtin_mul_overflow (below, (Wide) seen->bytes[i], &wanted) || wanted != sum)
        return false;
    }
  return true;
}

static Wide
common_divisor (Wide a, Wide b)
{
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b != 0)
    {
      Wide rest = a % b;

      a = b;
      b = rest;
    }
  return a;
}

/* Into lowest terms and the law's ranges. */
static bool
store (const Shape *shape, Wide *numerators, Wide below, TesseraSizeLaw *law)
{
  Wide divisor = below;

  for (size_t k = 0; k < shape->n; k++)
    divisor = common_divisor (divisor, numerators[k]);
  if (below < 0)
    divisor = -divisor;
  memset (law->numerators, 0, sizeof law->numerators);
  for (size_t k = 0; k < shape->n; k++)
    {
      Wide value = numerators[k] / divisor;

      if (value < -TESSERA_MAX_TERM || value > TESSERA_MAX_TERM)
        return false;
      law->numerators[shape->terms[k]] = (int64_t) value;
    }
  if (below / divisor > TESSERA_MAX_TERM)
    return false;
  law->denominator = (int64_t) (below / divisor);
  return true;
}

static uint8_t
kind_of (const TesseraSizeLaw *law)
{
  if (law->rounding > 1 || law->cap_bytes > 0)
    return TESSERA_SIZE_ROUNDED;
  return law->numerators[SQUARE] != 0 ? TESSERA_SIZE_QUADRATIC : TESSERA_SIZE_AFFINE;
}

static bool
fit_shape (const Observations *seen, const Shape *shape, size_t way, TesseraSizeLaw *law)
{
  Design of;
  size_t rows[MAX_COEFFICIENTS];
  Wide below, numerators[MAX_COEFFICIENTS];

  if (seen->n < shape->n + 1u || !design (seen, shape, way, &of) ||
      !find_basis (&of, of.n_rows, rows) ||
      !determinant_of (&of, seen, rows, shape->n, &below))
    return false;
  for (size_t k = 0; k < shape->n; k++)
    if (!determinant_of (&of, seen, rows, k, &numerators[k]) || numerators[k] == 0)
      return false; /* a simpler shape's */
  if (!gives_all (&of, seen, numerators, below) || !is_confirmed (&of))
    return false;
  law->rounding = roundings[way];
  return store (shape, numerators, below, law);
}

static bool
fit_rounded (const Observations *seen,
             size_t way,
             size_t max_coefficients,
             TesseraSizeLaw *law)
{
  bool has_batch = seen->terms->steps.has_batch;

  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    if (shapes[s].n <= max_coefficients && (has_batch || !shapes[s].needs_batch) &&
        fit_shape (seen, &shapes[s], way, law))
      return true;
  return false;
}

static bool
fit_any (const Observations *seen, size_t max_coefficients, TesseraSizeLaw *law)
{
  for (size_t way = 0; way < TESSERA_FIT_WAYS; way++)
    if (fit_rounded (seen, way, max_coefficients, law))
      return true;
  return false;
}

/* A size that is seen at the top of at least two observations, and a law for the rest
 * that reaches it in all of these. */
static bool
fit_capped (const Observations *seen, TesseraSizeLaw *law)
{
  Observations below = { .terms = seen->terms };
  uint64_t cap = 0;

  for (size_t i = 0; i < seen->n; i++)
    cap = seen->bytes[i] > cap ? seen->bytes[i] : cap;
  for (size_t i = 0; i < seen->n; i++)
    if (seen->bytes[i] < cap)
      {
        below.steps[below.n] = seen->steps[i];
        below.bytes[below.n++] = seen->bytes[i];
      }
  if (seen->n < below.n + 2 || !fit_any (&below, 1, law))
    return false;
  for (size_t i = 0; i < seen->n; i++)
    {
      const TesseraParameters *at = &seen->terms->steps.parameters[seen->steps[i]];
      uint64_t bytes;

      if (seen->bytes[i] == cap &&
          (!tessera_size_law_evaluate (law, at, &bytes) || bytes < cap))
        return false;
    }
  law->cap_bytes = cap;
  return true;
}

static bool
is_constant (const Observations *seen)
{
  for (size_t i = 1; i < seen->n; i++)
    if (seen->bytes[i] != seen->bytes[0])
      return false;
  return seen->n > 1;
}

void
tessera_fit_law (const TesseraFitTerms *terms,
                 const uint64_t *sizes,
                 TesseraSizeLaw *out_law)
{
  Observations seen;
  TesseraSizeLaw law = { .denominator = 1, .rounding = 1 };
  uint64_t most = 0;
  bool is_consistent = observe (terms, sizes, &seen);

  for (uint32_t i = 0; i < terms->steps.n_steps; i++)
    if (sizes[i] != TESSERA_ABSENT && sizes[i] > most)
      most = sizes[i];
  if (is_consistent && !is_constant (&seen) &&
      (fit_any (&seen, MAX_COEFFICIENTS, &law) || fit_capped (&seen, &law)))
    {
      law.kind = kind_of (&law);
      *out_law = law;
      return;
    }
  *out_law = (TesseraSizeLaw){ .denominator = 1, .rounding = 1 };
  out_law->kind =
      is_consistent && is_constant (&seen) ? TESSERA_SIZE_CONSTANT : TESSERA_SIZE_BOUNDED;
  out_law->numerators[ONE] =
      most <= (uint64_t) TESSERA_MAX_TERM ? (int64_t) most : TESSERA_MAX_TERM;
}
