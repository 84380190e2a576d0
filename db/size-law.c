/*
 * The size of a block as a formula: see size-law.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/size-law.h"

#include <stddef.h>

__extension__ typedef __int128 Wide;

uint64_t
tessera_parameters_tokens (const TesseraParameters *parameters)
{
  uint64_t lengths, tokens;

  return __builtin_add_overflow (parameters->length, parameters->second, &lengths) ||
                 __builtin_mul_overflow (parameters->batch, lengths, &tokens)
             ? UINT64_MAX
             : tokens;
}

static uint64_t
round_up (uint64_t number, uint64_t to)
{
  return (number + to - 1) / to * to;
}

/* Those that there are with two lengths only, and tokens that are rounded. @first is
 * rounded if that is what is. */
static bool
second_terms (const TesseraParameters *parameters,
              uint64_t first,
              uint32_t rounding,
              TesseraRounded rounds,
              int64_t out_terms[TESSERA_N_TERMS])
{
  const uint64_t most = (uint64_t) TESSERA_MAX_TERM;
  uint64_t batch = parameters->batch, second = parameters->second, rounded, longest;
  uint64_t tokens_to = rounds == TESSERA_ROUNDS_TOKENS ? rounding : 1;
  uint64_t second_tokens_to = rounds == TESSERA_ROUNDS_SECOND_TOKENS ? rounding : 1;

  if (second > most)
    return false;
  rounded = round_up (second, rounds == TESSERA_ROUNDS_SECOND ? rounding : 1);
  longest = first > rounded ? first : rounded;
  if (longest > most / longest || longest * longest > (most - rounding) / (batch + 1))
    return false;
  out_terms[TESSERA_TERM_TOKENS] = (int64_t) round_up (batch * first, tokens_to);
  out_terms[TESSERA_TERM_SECOND] = (int64_t) rounded;
  out_terms[TESSERA_TERM_SECOND_TOKENS] =
      (int64_t) round_up (batch * rounded, second_tokens_to);
  out_terms[TESSERA_TERM_SECOND_SQUARE] = (int64_t) (batch * rounded * second);
  out_terms[TESSERA_TERM_CROSS] = (int64_t) (batch * rounded * first);
  out_terms[TESSERA_TERM_BARE_SQUARE] = (int64_t) (first * parameters->length);
  out_terms[TESSERA_TERM_BARE_SECOND_SQUARE] = (int64_t) (rounded * second);
  out_terms[TESSERA_TERM_BARE_CROSS] = (int64_t) (rounded * first);
  return true;
}

bool
tessera_size_terms (const TesseraParameters *parameters,
                    uint32_t rounding,
                    TesseraRounded rounds,
                    int64_t out_terms[TESSERA_N_TERMS])
{
  const uint64_t most = (uint64_t) TESSERA_MAX_TERM;
  uint64_t batch = parameters->batch, length = parameters->length, rounded;

  if (batch > most || length > most || rounding == 0)
    return false;
  rounded = round_up (length, rounds == TESSERA_ROUNDS_LENGTH ? rounding : 1);
  if (rounded > most || (batch > 0 && rounded > most / batch))
    return false;
  out_terms[TESSERA_TERM_ONE] = 1;
  out_terms[TESSERA_TERM_BATCH] = (int64_t) batch;
  out_terms[TESSERA_TERM_LENGTH] = (int64_t) rounded;
  out_terms[TESSERA_TERM_TOKENS] = (int64_t) (batch * rounded);
  if (batch * rounded > 0 && length > most / (batch * rounded))
    return false;
  out_terms[TESSERA_TERM_SQUARE] = (int64_t) (batch * rounded * length);
  if (parameters->second > 0)
    return second_terms (parameters, rounded, rounding, rounds, out_terms);
  for (size_t i = TESSERA_N_TERMS_OF_ONE; i < TESSERA_N_TERMS; i++)
    out_terms[i] = 0;
  return true;
}

/* The sum, not yet divided. */
static bool
add_up (const TesseraSizeLaw *law, const TesseraParameters *parameters, Wide *out_sum)
{
  int64_t terms[TESSERA_N_TERMS];
  size_t n = parameters->second > 0 ? TESSERA_N_TERMS : TESSERA_N_TERMS_OF_ONE;

  *out_sum = 0;
  if (!tessera_size_terms (parameters, law->rounding, law->rounds, terms))
    return false;
  for (size_t i = 0; i < n; i++)
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

bool
tessera_size_law_is_absent (const TesseraSizeLaw *law,
                            const TesseraParameters *parameters)
{
  uint64_t length = law->when_second ? parameters->second : parameters->length;
  uint64_t tokens =
      tessera_parameters_tokens (&(TesseraParameters){ parameters->batch, length, 0 });

  return tokens < law->from_tokens || (law->to_tokens > 0 && tokens > law->to_tokens) ||
         (law->when_multiple > 0 &&
          (length % law->when_multiple == 0) == (law->when_other > 0));
}

static bool
is_rounding (uint32_t rounding)
{
  return rounding == 1 || rounding == 2 || rounding == 4 || rounding == 8 ||
         rounding == 16 || rounding == 32 || rounding == 64 || rounding == 128;
}

bool
tessera_size_law_is_valid (const TesseraSizeLaw *law)
{
  for (size_t i = 0; i < TESSERA_N_TERMS; i++)
    if (law->numerators[i] < -TESSERA_MAX_TERM || law->numerators[i] > TESSERA_MAX_TERM)
      return false;
  return law->denominator >= 1 && law->denominator <= TESSERA_MAX_TERM &&
         law->cap_bytes <= (uint64_t) TESSERA_MAX_TERM && is_rounding (law->rounding) &&
         law->kind < TESSERA_N_SIZE_KINDS && law->rounds < TESSERA_N_ROUNDED &&
         law->when_second <= 1 && law->when_other <= 1;
}
