/*
 * The size of a block as a formula: see size-law.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/size-law.h"

#include <stddef.h>

__extension__ typedef __int128 Wide;

bool
tessera_size_terms (const TesseraParameters *parameters,
                    uint32_t rounding,
                    int64_t out_terms[TESSERA_N_TERMS])
{
  const uint64_t most = (uint64_t) TESSERA_MAX_TERM;
  uint64_t batch = parameters->batch, length = parameters->length, rounded;

  if (batch > most || length > most || rounding == 0)
    return false;
  rounded = (length + rounding - 1) / rounding * rounding;
  if (rounded > most || (batch > 0 && rounded > most / batch))
    return false;
  out_terms[TESSERA_TERM_ONE] = 1;
  out_terms[TESSERA_TERM_BATCH] = (int64_t) batch;
  out_terms[TESSERA_TERM_LENGTH] = (int64_t) rounded;
  out_terms[TESSERA_TERM_TOKENS] = (int64_t) (batch * rounded);
  if (batch * rounded > 0 && length > most / (batch * rounded))
    return false;
  out_terms[TESSERA_TERM_SQUARE] = (int64_t) (batch * rounded * length);
  return true;
}

/* The sum, not yet divided. */
static bool
add_up (const TesseraSizeLaw *law, const TesseraParameters *parameters, Wide *out_sum)
{
  int64_t terms[TESSERA_N_TERMS];

  *out_sum = 0;
  if (!tessera_size_terms (parameters, law->rounding, terms))
    return false;
  for (size_t i = 0; i < TESSERA_N_TERMS; i++)
    *out_sum += (Wide) law->numerators[i] * terms[i];
  return true;
}

bool
tessera_size_law_evaluate (const TesseraSizeLaw *law,
                           const TesseraParameters *parameters,
                           uint64_t *out_bytes)
{
  Wide sum;

  if (!add_up (law, parameters, &sum) || sum < 0)
    return false;
  sum = (sum + law->denominator - 1) / law->denominator;
  if (law->cap_bytes > 0 && sum > (Wide) law->cap_bytes)
    sum = (Wide) law->cap_bytes;
  if (sum > (Wide) TESSERA_MAX_TERM)
    return false;
  *out_bytes = (uint64_t) sum;
  return true;
}

bool
tessera_size_law_is_below (const TesseraSizeLaw *law,
                           const TesseraParameters *parameters,
                           uint64_t size_bytes)
{
  uint64_t bytes;
  Wide sum;

  if (tessera_size_law_evaluate (law, parameters, &bytes))
    return bytes < size_bytes;
  return add_up (law, parameters, &sum) && sum < 0;
}

static bool
is_rounding (uint32_t rounding)
{
  return rounding == 1 || rounding == 8 || rounding == 16 || rounding == 32 ||
         rounding == 64 || rounding == 128;
}

bool
tessera_size_law_is_valid (const TesseraSizeLaw *law)
{
  for (size_t i = 0; i < TESSERA_N_TERMS; i++)
    if (law->numerators[i] < -TESSERA_MAX_TERM || law->numerators[i] > TESSERA_MAX_TERM)
      return false;
  return law->denominator >= 1 && law->denominator <= TESSERA_MAX_TERM &&
         law->cap_bytes <= (uint64_t) TESSERA_MAX_TERM && is_rounding (law->rounding) &&
         law->kind < TESSERA_N_SIZE_KINDS;
}
