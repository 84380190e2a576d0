/*
 * The laws of a plan that need a sweep over its positions or its addresses: overlap,
 * rotation, bound, streams and rooms. Part of the checker; each assumes that the laws
 * tried before it hold (see check.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

/* A slot in words, for the sentence that says what was found. */
typedef struct
{
  char text[200];
} TesseraSlotText;

void tessera_check_describe (const TesseraPlan *plan,
                             size_t slot_index,
                             TesseraSlotText *text);

/* Each: TESSERA_OK, TESSERA_REFUSED with a sentence in @error, or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_check_overlap (const TesseraPlan *plan,
                                                      TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_rotations (const TesseraPlan *plan,
                                                        TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_bound (const TesseraPlan *plan,
                                                    TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_streams (const TesseraPlan *plan,
                                                      TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_unplanned (const TesseraPlan *plan,
                                                        TesseraError *error);
/* Both layouts of a kind ask for the same, and what is left by one is gone when its turn
 * comes again. */
TESSERA_MUST_USE TesseraStatus tessera_check_layouts (const TesseraPlan *plan,
                                                      TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_rooms (const TesseraPlan *plan,
                                                    TesseraError *error);
