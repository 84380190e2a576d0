/*
 * A plan for steps of every length, from the laws of their sizes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"
#include "planner/check.h"
#include "planner/edit.h"
#include "planner/laws/laws.h"
#include "planner/pack.h"

typedef struct
{
  TesseraParameters most; /* the plan is for these and less; 0: the largest seen */
  const TesseraPackOptions *pack; /* NULL: defaults */
  const TesseraEdit *edits;       /* (nullable): that the plan beside it is made with.
                                     They hold at every length: lengths/edits.h */
  size_t n_edits;
} TesseraLengthsOptions;

/*
 * tessera_lengths_plan:
 * @out_lengths: NULL on TESSERA_OK too where no kind of step varies by a law
 *
 * Each order is that of a packing at one of the observed parameters. All are measured at
 * every observed and at 40 other parameters; the best is taken, or several, each for a
 * range, where that is better.
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY, TESSERA_CANCELLED, TESSERA_INVALID where laws
 *   give no sizes at the most, or TESSERA_REFUSED with a sentence why laws are not enough
 */
TESSERA_MUST_USE TesseraStatus tessera_lengths_plan (const TesseraTrace *trace,
                                                     const TesseraBlocks *blocks,
                                                     const TesseraStructure *structure,
                                                     const TesseraLaws *laws,
                                                     const TesseraLengthsOptions *options,
                                                     TesseraError *error,
                                                     TesseraLengths **out_lengths);

/* What a step with these parameters takes of the pool, and the least that any layout of
 * it could: what is there for good, and the largest load of the rest. */
typedef struct
{
  uint64_t height_bytes;
  uint64_t bound_bytes;
  uint64_t beside_bytes; /* of no place: what lives into the next step, twice */
} TesseraLengthsNeed;

/* TESSERA_OK, TESSERA_NO_MEMORY, or TESSERA_INVALID: some law gives no size there. */
TESSERA_MUST_USE TesseraStatus
tessera_lengths_measure (const TesseraLengths *lengths,
                         const TesseraParameters *parameters,
                         TesseraLengthsNeed *out_need);

/* The longest step of the batch that takes at most @device_bytes; 0: none does. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_longest (const TesseraLengths *lengths,
                                                        uint64_t batch,
                                                        uint64_t device_bytes,
                                                        uint64_t *out_length);
