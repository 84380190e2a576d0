/*
 * The terms of size laws in each step: see terms.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/fit/terms.h"

#include <stdlib.h>

const uint32_t tessera_fit_roundings[] = { 1, 8, 16, 32, 64, 128, 4, 2 };

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
        terms->are_known[way][k] =
            tessera_size_terms (&steps->parameters[k], tessera_fit_roundings[way],
                                TESSERA_ROUNDS_LENGTH, terms->terms[way][k]);
    }
}

TesseraStatus
tessera_fit_terms_new (const TesseraFitSteps *steps, TesseraFitTerms **out_terms)
{
  *out_terms = malloc (sizeof **out_terms);
  if (!*out_terms)
    return TESSERA_NO_MEMORY;
  tessera_fit_terms_set (*out_terms, steps);
  return TESSERA_OK;
}
