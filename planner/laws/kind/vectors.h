/*
 * The sizes of each slot in each step of a kind, every different row once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/laws/kind/kind.h"

typedef struct
{
  uint64_t *sizes;      /* [n_vectors x n_steps] bytes, or TESSERA_ABSENT (fit.h) */
  uint32_t *n_slots_of; /* [n_vectors] slots with these sizes */
  uint32_t *of_slot;    /* [n_slots] */
  uint32_t n_vectors, n_steps;
} TesseraVectors;

static inline const uint64_t *
tessera_vector (const TesseraVectors *vectors, uint32_t index)
{
  return vectors->sizes + (size_t) index * vectors->n_steps;
}

TESSERA_MUST_USE TesseraStatus tessera_vectors_init (TesseraVectors *vectors,
                                                     const TesseraKind *kind,
                                                     const TesseraBlocks *blocks);
void tessera_vectors_clear (TesseraVectors *vectors);
