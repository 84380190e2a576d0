/*
 * From when on a range may pass to another owner: for the law of streams. An owner is a
 * stream, a pool and a size class (at most 1 MiB, or more).
 *
 * Positions here are those of a run that does the repeating section twice. A slot's
 * block in the first of both, or in the only one, is its stay 2 * slot, the one in the
 * second 2 * slot + 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

#define TESSERA_NEVER_OPEN UINT32_MAX

typedef struct
{
  uint32_t repeat_begin, repeat_end; /* equal: nothing repeats */
  uint32_t *opens; /* [2 * n_slots] by stay: the owner's first request after
                      its end that is not larger, or TESSERA_NEVER_OPEN */
} TesseraOpens;

TESSERA_MUST_USE TesseraStatus tessera_opens_init (TesseraOpens *opens,
                                                   const TesseraPlan *plan);
void tessera_opens_clear (TesseraOpens *opens); /* frees; a zeroed one is fine */

uint64_t tessera_opens_owner (const TesseraSlot *slot);
/* Where the block of a stay is asked for. */
uint32_t
tessera_opens_born (const TesseraOpens *opens, const TesseraSlot *slot, int pass);
