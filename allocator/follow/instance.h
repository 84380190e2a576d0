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
  bool without_once;    /* the optimizer's state is there already */
  uint32_t first_slot;  /* slots before it were asked for already */
  const bool *is_spare; /* [n_slots] (nullable): crossing slots that take their spare */
} TesseraInstanceOptions;

/* TESSERA_OK, TESSERA_NO_MEMORY, or TESSERA_INVALID: a law gives no size there, or more
 * than a fixed place has. */
TESSERA_MUST_USE TesseraStatus
tessera_instance_of_step (const TesseraLengths *lengths,
                          const TesseraParameters *parameters,
                          const TesseraInstanceOptions *options,
                          TesseraPlan **out_plan);

/* What comes before the first step. TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_instance_of_start (const TesseraLengths *lengths,
                                                          TesseraPlan **out_plan);
