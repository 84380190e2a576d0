/*
 * What the files of structure.h share with each other, and nobody else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/structure.h"

/* An allocation, free or failed request: what a step's signature is made of. */
static inline bool
tessera_is_request (const TesseraEvent *event)
{
  return event->action == TESSERA_ALLOC || event->action == TESSERA_FREE_REQUESTED ||
         event->action == TESSERA_FREE_COMPLETED || event->action == TESSERA_OOM;
}

#define TESSERA_FNV_BASIS UINT64_C (0xcbf29ce484222325)

/* FNV-1a, eight bytes at a time: an in-memory hash, not a file format. */
static inline uint64_t
tessera_mix (uint64_t hash, uint64_t value)
{
  hash = (hash ^ value) * UINT64_C (0x100000001b3);
  return hash ^ (hash >> 29);
}

/* Each fills its part of @structure. */
void tessera_find_repetition (const TesseraTrace *trace, TesseraStructure *structure);
void tessera_find_phases (const TesseraTrace *trace, TesseraStructure *structure);
void tessera_classify (TesseraBlocks *blocks, const TesseraStructure *structure);
