/*
 * The terms of size laws in each step: see terms.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/fit/terms.h"

#include <assert.h>
#include <stdlib.h>

static const uint32_t roundings[] = { 1, 8, 16, 32, 64, 128, 4, 2 };

enum
{
  N_ROUNDINGS = sizeof roundings / sizeof *roundings
};

static_assert (TESSERA_FIT_WAYS == 1 + (N_ROUNDINGS - 1) * TESSERA_N_ROUNDED,
               "each rounding but 1 in each way");

/* Simple ones first. */
static void
list_ways (TesseraFitTerms *terms)
{
  bool has_second = terms->steps.has_second;

  terms->n_ways = 0;
  for (size_t r = 0; r < N_ROUNDINGS; r++)
    for (int of = 0; of < (has_second && roundings[r] > 1 ? TESSERA_N_ROUNDED : 1); of++)
      terms->ways[terms->n_ways++] =
          (TesseraFitRounding){ roundings[r], (TesseraRounded) of };
}

static bool
is_equal (const TesseraParameters *a, const TesseraParameters *b)
{
  return a->batch == b->batch && a->length == b->length && a->second == b->second;
}

void
tessera_fit_terms_set (TesseraFitTerms *terms, const TesseraFitSteps *steps)
{
  terms->steps = *steps;
  list_ways (terms);
  for (uint32_t k = 0; k < steps->n_steps; k++)
    {
      uint32_t first = 0;

      while (!is_equal (&steps->parameters[first], &steps->parameters[k]))
        first++;
      terms->first_of[k] = first;
      for (size_t way = 0; way < terms->n_ways; way++)
        terms->are_known[way][k] =
            tessera_size_terms (&steps->parameters[k], terms->ways[way].to,
                                terms->ways[way].of, terms->terms[way][k]);
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
