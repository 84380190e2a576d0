/*
 * Ranks that wait, by floor, then rank.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

typedef struct
{
  uint64_t floor; /* a lower bound */
  uint32_t rank;
} TesseraWaiting;

typedef struct
{
  TesseraWaiting *entries; /* [0] is the first */
  size_t n_entries;
} TesseraTurns;

/* @n: the most that ever wait. */
TESSERA_MUST_USE TesseraStatus tessera_turns_init (TesseraTurns *turns, size_t n);
void tessera_turns_clear (TesseraTurns *turns); /* frees; a zeroed one is fine */
void tessera_turns_push (TesseraTurns *turns, TesseraWaiting waiting);
/* Of one that is not empty: drops the first. */
void tessera_turns_pop (TesseraTurns *turns);
/* Of one that is not empty: drops the first and pushes another. */
void tessera_turns_replace (TesseraTurns *turns, TesseraWaiting waiting);
