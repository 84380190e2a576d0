/*
 * A plan for one step: what a plan for every length says at one length.
 *
 * It is a plan like any other (db/plan.h), of one section that happens once, and can be
 * checked and followed as such. Its slots name those that they were made from in @block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"
#include "db/plan.h"

typedef struct
{
  const bool *is_there; /* [n_slots] (nullable: none is): what one step makes and is there
                           already; no part of this step */
  bool shares_once;     /* until the rest of that comes others may lie in its place */
  bool is_first; /* the step makes it: else what only such steps ask for is left out,
                    now what they never ask for */
  uint32_t first_slot;  /* slots before it were asked for already */
  const bool *is_spare; /* [n_slots] (nullable): crossing slots that take their spare */
} TesseraInstanceOptions;

/* Fixed slots that need more at these parameters than their place has are unplanned
 * requests.
 * TESSERA_OK, TESSERA_NO_MEMORY, or TESSERA_INVALID: a law gives no size there. */
TESSERA_MUST_USE TesseraStatus
tessera_instance_of_step (const TesseraLengths *lengths,
                          const TesseraParameters *parameters,
                          const TesseraInstanceOptions *options,
                          TesseraPlan **out_plan);

/* The end of what is there for good, lives into the next step, or is asked for early: of
 * fixed places all but those of what one step makes and is not there yet. @most_bytes:
 * what the laws give at the most (tessera_sweep_sizes()). */
uint64_t tessera_instance_base (const TesseraLengths *lengths,
                                const uint64_t *most_bytes,
                                const bool *is_there);

/* Below which no swept slot may lie while what one step makes leaves its places to
 * others: above the base, and above all of that which comes before the slot has ended.
 * @out_floors: [n_slots]. TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_instance_floors (const TesseraLengths *lengths,
                                                        const uint64_t *most_bytes,
                                                        const bool *is_there,
                                                        uint64_t *out_floors);

/* What comes before the first step. TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_instance_of_start (const TesseraLengths *lengths,
                                                          TesseraPlan **out_plan);
