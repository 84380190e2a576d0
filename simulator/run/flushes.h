/*
 * The calls of empty_cache() that a recording shows.
 *
 * A snapshot has no entry for them; they show as memory given back to the driver. So does
 * the flush of a request that the device could not serve, which is the policy's own doing
 * and nothing to repeat.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

typedef struct
{
  uint32_t *events; /* ascending: the first entry given back of each call */
  size_t n_events;
  size_t cap_events;
} TesseraFlushes;

TESSERA_MUST_USE TesseraStatus tessera_flushes_find (const TesseraTrace *trace,
                                                     TesseraFlushes *out_flushes);
void tessera_flushes_clear (TesseraFlushes *flushes);
