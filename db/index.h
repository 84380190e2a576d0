/*
 * A hash table from content to index, for items that live in somebody else's array.
 *
 * It keeps (hash, index) pairs only; the owner says whether item @index equals what is
 * looked for. Open addressing, at most half full, nothing is ever removed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

typedef struct
{
  uint32_t hash;
  uint32_t index; /* TESSERA_NONE: an empty place */
} TesseraIndexPlace;

typedef struct
{
  TesseraIndexPlace *places;
  size_t n_places; /* a power of two, or 0 */
  size_t n_used;
} TesseraIndex;

typedef bool (*TesseraIndexEqual) (const void *owner, uint32_t index, const void *wanted);

void tessera_index_clear (TesseraIndex *index);

/* Makes room for one more. Returns: false when the host has no memory. */
bool tessera_index_reserve (TesseraIndex *index);

/* Returns: the index of the item that equals @wanted, or TESSERA_NONE. */
uint32_t tessera_index_find (const TesseraIndex *index,
                             uint64_t hash,
                             TesseraIndexEqual equal,
                             const void *owner,
                             const void *wanted);

/* After tessera_index_reserve(); cannot fail. */
void tessera_index_insert (TesseraIndex *index, uint64_t hash, uint32_t item);
