/*
 * The parameters of steps, and the terms of size laws (db/lengths.h) in each of them, for
 * each way of rounding: computed once for all slots whose sizes are tried by them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>

#include "db/lengths.h"
#include "db/status.h"

enum
{
  TESSERA_FIT_STEPS = 64, /* that are looked at; more make no law truer */
  TESSERA_FIT_WAYS = 8    /* of rounding */
};

#define TESSERA_ABSENT UINT64_MAX /* the step has no such request */

typedef struct
{
  TesseraParameters parameters[TESSERA_FIT_STEPS];
  uint32_t n_steps;
  bool has_batch; /* the batch varies as well */
} TesseraFitSteps;

/* What a length is rounded to, simple ones first. */
extern const uint32_t tessera_fit_roundings[TESSERA_FIT_WAYS];

/* 50 KB: not for the stack. */
typedef struct
{
  TesseraFitSteps steps;
  uint32_t first_of[TESSERA_FIT_STEPS]; /* the first step with the same parameters */
  bool are_known[TESSERA_FIT_WAYS][TESSERA_FIT_STEPS]; /* no term is too large */
  int64_t terms[TESSERA_FIT_WAYS][TESSERA_FIT_STEPS][TESSERA_N_TERMS];
} TesseraFitTerms;

/* TESSERA_OK or TESSERA_NO_MEMORY. free() it. */
TESSERA_MUST_USE TesseraStatus tessera_fit_terms_new (const TesseraFitSteps *steps,
                                                      TesseraFitTerms **out_terms);
/* The same for other steps, in place. */
void tessera_fit_terms_set (TesseraFitTerms *terms, const TesseraFitSteps *steps);

/* NULL: one of them is too large. */
static inline const int64_t *
tessera_fit_terms_at (const TesseraFitTerms *terms, size_t way, uint32_t step)
{
  return terms->are_known[way][step] ? terms->terms[way][step] : NULL;
}
