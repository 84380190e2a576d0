/*
 * What the device refused: see refusal.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/pages/refusal.h"

enum
{
  IN_A_ROW = 2,
  PATIENT_REQUESTS = 64 /* as many as earn a wait (allocator/policy/pages/lending.h) */
};

void
tessera_refusal_note (TesseraRefusal *refusal, uint64_t bytes, uint64_t held_bytes)
{
  refusal->n_requests = 0;
  refusal->held_bytes = held_bytes;
  if (refusal->n_in_a_row < IN_A_ROW)
    refusal->n_in_a_row++;
  refusal->bytes = refusal->n_in_a_row == IN_A_ROW ? bytes : 0;
}

void
tessera_refusal_end (TesseraRefusal *refusal)
{
  *refusal = (TesseraRefusal){ 0 };
}

bool
tessera_refusal_forget (TesseraRefusal *refusal)
{
  bool stood = refusal->bytes != 0;

  refusal->bytes = 0;
  return stood;
}

void
tessera_refusal_count (TesseraRefusal *refusal)
{
  if (refusal->bytes != 0 && ++refusal->n_requests >= PATIENT_REQUESTS)
    refusal->bytes = 0;
}

bool
tessera_refusal_stands (TesseraRefusal *refusal, uint64_t bytes, uint64_t held_bytes)
{
  if (held_bytes < refusal->held_bytes)
    refusal->bytes = 0;
  else
    refusal->held_bytes = held_bytes;
  return refusal->bytes != 0 && bytes >= refusal->bytes;
}
