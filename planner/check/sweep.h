/*
 * The laws of a plan that look at more than one slot at a time. Part of the checker; each
 * assumes that the laws tried before it hold (see check.h). A plan without kinds of step,
 * or with one, is judged as one with several is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/check/kinds.h"

/* A slot in words, for the sentence that says what was found. */
typedef struct
{
  char text[200];
} TesseraSlotText;

void tessera_check_describe (const TesseraPlan *plan,
                             size_t slot_index,
                             TesseraSlotText *text);

/* A plan that is checked, and what laws found out for those after them. */
typedef struct
{
  const TesseraPlan *plan;
  TesseraCheckKinds kinds;
  uint32_t *rotations; /* as tessera_check_find_rotations() has them, found by the law of
                          overlap; the caller frees them */
  uint32_t n_rotations;
  uint64_t most_bytes; /* held at once, found by the law of overlap */
  uint32_t most_at;    /* position at which that is first so */
} TesseraCheck;

/* Each: TESSERA_OK, TESSERA_REFUSED with a sentence in @error, or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_check_overlap (TesseraCheck *check,
                                                      TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_rotations (TesseraCheck *check,
                                                        TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_streams (TesseraCheck *check,
                                                      TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_unplanned (TesseraCheck *check,
                                                        TesseraError *error);
/* Both layouts of a kind ask for the same, and what is left by one is gone when its turn
 * comes again. */
TESSERA_MUST_USE TesseraStatus tessera_check_layouts (TesseraCheck *check,
                                                      TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_rooms (TesseraCheck *check,
                                                    TesseraError *error);
