/*
 * What varies between the steps of a kind, and every slot's law of it.
 *
 * Nobody tells the length or the batch: they are read from the sizes. A size that is
 * proportional to something gives that something up to a factor: sizes divided by their
 * greatest common divisor. Each such direction, and each quotient of two, is tried as
 * the length, each two as batch and length; what gives most slots an exact law wins, one
 * parameter before two. So a length is in the units in which the sizes count it: where
 * all lengths are multiples of 64, it is a 64th.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/laws/fit/fit.h"
#include "planner/laws/kind/kind.h"

typedef struct
{
  TesseraFitSteps steps; /* the kind's; parameters all 1 where nothing varies */
  bool varies;           /* by parameters that most of what varies follows */
  TesseraSizeLaw *laws;  /* each once */
  uint32_t n_laws;
  uint32_t *law_of_slot; /* [n_slots of the kind] */
  uint32_t n_slots_by_kind[TESSERA_N_SIZE_KINDS];
  uint32_t n_slots_once; /* of the bounded: only one step has them */
} TesseraKindLaws;

/*
 * tessera_kind_laws_init:
 * @steps: (nullable): the parameters, where they are known
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY, or TESSERA_REFUSED: sizes beyond
 *   TESSERA_MAX_TERM
 */
TESSERA_MUST_USE TesseraStatus tessera_kind_laws_init (TesseraKindLaws *laws,
                                                       const TesseraKind *kind,
                                                       const TesseraBlocks *blocks,
                                                       const TesseraFitSteps *steps);
void tessera_kind_laws_clear (TesseraKindLaws *laws);
