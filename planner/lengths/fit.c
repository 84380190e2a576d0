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

/* Independent equations of a law's coefficients. */
typedef struct
{
  Wide rows[MAX_COEFFICIENTS][MAX_COEFFICIENTS + 1]; /* terms, then the size */
  size_t columns[MAX_COEFFICIENTS]; /* a term of each that is in no later one */
  size_t sources[MAX_COEFFICIENTS]; /* the observation that it is from */
  size_t n;
} Equations;

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

/* @row without the term @column, which @by has. Returns: false: more than 128 bits. */
static bool
eliminate (Wide *row, const Wide *by, size_t column, size_t n)
{
  const Wide factor = row[column], pivot = by[column];
  Wide divisor = 0;
  bool is_large = false;

  for (size_t i = 0; i < n; i++)
    {
      Wide x, y;

      if (__builtin_mul_overflow (row[i], pivot, &x) ||
          __builtin_mul_overflow (by[i], factor, &y) ||
          __builtin_sub_overflow (x, y, &row[i]))
        return false;
      is_large = is_large || row[i] > INT64_MAX || row[i] < -INT64_MAX;
    }
  for (size_t i = 0; i < n && is_large; i++)
    divisor = common_divisor (divisor, row[i]);
  for (size_t i = 0; i < n && divisor > 1; i++)
    row[i] /= divisor;
  return true;
}

/* The equations of the observations but @except (all of them: its number). Returns: false:
 * some contradict each other, or they do not tell each coefficient. */
static bool
solve (const Observations *seen,
       const Shape *shape,
       size_t way,
       size_t except,
       Equations *out)
{
  const size_t n = shape->n;

  out->n = 0;
  for (size_t i = 0; i < seen->n; i++)
    {
      const int64_t *terms = terms_at (seen->terms, way, seen->steps[i]);
      Wide row[MAX_COEFFICIENTS + 1];
      size_t column = 0;

      if (i == except)
        continue;
      if (!terms)
        return false;
      for (size_t k = 0; k < n; k++)
        row[k] = terms[shape->terms[k]];
      row[n] = (Wide) seen->bytes[i];
      for (size_t k = 0; k < out->n; k++)
        if (!eliminate (row, out->rows[k], out->columns[k], n + 1))
          return false;
      while (column < n && row[column] == 0)
        column++;
      if (column == n && row[n] != 0)
        return false;
      if (column == n)
        continue;
      memcpy (out->rows[out->n], row, sizeof row);
      out->columns[out->n] = column;
      out->sources[out->n++] = i;
    }
  return out->n == n;
}

/* The coefficients, in lowest terms and the law's ranges. */
static bool
store (const Shape *shape, Equations *of, TesseraSizeLaw *law)
{
  const size_t n = shape->n;
  Wide below = 1;

  memset (law->numerators, 0, sizeof law->numerators);
  for (size_t i = n; i-- > 1;)
    for (size_t k = 0; k < i; k++)
      if (!eliminate (of->rows[k], of->rows[i], of->columns[i], n + 1))
        return false;
  for (size_t i = 0; i < n; i++)
    {
      Wide *pivot = &of->rows[i][of->columns[i]], *size = &of->rows[i][n];
      Wide divisor = common_divisor (*pivot, *size);

      if (*size == 0)
        return false; /* a simpler shape's */
      divisor = *pivot < 0 ? -divisor : divisor;
      *pivot /= divisor;
      *size /= divisor;
      if (*pivot > TESSERA_MAX_TERM)
        return false;
      below = below / common_divisor (below, *pivot) * *pivot;
      if (below > TESSERA_MAX_TERM)
        return false;
    }
  for (size_t i = 0; i < n; i++)
    {
      Wide value;

      if (__builtin_mul_overflow (of->rows[i][n], below / of->rows[i][of->columns[i]],
                                  &value) ||
          value < -TESSERA_MAX_TERM || value > TESSERA_MAX_TERM)
        return false;
      law->numerators[shape->terms[of->columns[i]]] = (int64_t) value;
    }
  law->denominator = (int64_t) below;
  return true;
}

static uint8_t
kind_of (const TesseraSizeLaw *law)
{
  if (law->rounding > 1 || law->cap_bytes > 0)
    return TESSERA_SIZE_ROUNDED;
  return law->numerators[SQUARE] != 0 ? TESSERA_SIZE_QUADRATIC : TESSERA_SIZE_AFFINE;
}

/* A law counts where the same one would come out without any one of the observations. */
static bool
fit_shape (const Observations *seen, const Shape *shape, size_t way, TesseraSizeLaw *law)
{
  Equations of, others;

  if (seen->n < shape->n + 1u || !solve (seen, shape, way, seen->n, &of))
    return false;
  for (size_t i = 0; i < shape->n; i++)
    if (!solve (seen, shape, way, of.sources[i], &others))
      return false;
  law->rounding = roundings[way];
  return store (shape, &of, law);
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
