/*
 * A hash table from content to index.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/index.h"

#include <stdlib.h>
#include <string.h>

#include "db/trace.h"

#define FIRST_PLACES ((size_t) 64)

/* FNV's low bits alone cluster for short keys: fold the high half in. */
static uint32_t
fold (uint64_t hash)
{
  hash ^= hash >> 32;
  hash *= UINT64_C (0x9e3779b97f4a7c15); /* 2^64 / golden ratio: spreads the low bits */
  return (uint32_t) (hash >> 32);
}

static void
place (TesseraIndexPlace *places, size_t n_places, TesseraIndexPlace item)
{
  size_t at = item.hash & (n_places - 1);

  while (places[at].index != TESSERA_NONE)
    at = (at + 1) & (n_places - 1);
  places[at] = item;
}

void
tessera_index_clear (TesseraIndex *index)
{
  free (index->places);
  memset (index, 0, sizeof *index);
}

bool
tessera_index_reserve (TesseraIndex *index)
{
  TesseraIndexPlace *places;
  size_t n_places;

  if (index->n_used < index->n_places / 2)
    return true;
  n_places = index->n_places ? index->n_places * 2 : FIRST_PLACES;
  if (n_places > PTRDIFF_MAX / sizeof *places)
    return false;
  places = malloc (n_places * sizeof *places);
  if (!places)
    return false;
  memset (places, 0xff, n_places * sizeof *places); /* index TESSERA_NONE everywhere */
  for (size_t i = 0; i < index->n_places; i++)
    if (index->places[i].index != TESSERA_NONE)
      place (places, n_places, index->places[i]);
  free (index->places);
  index->places = places;
  index->n_places = n_places;
  return true;
}

uint32_t
tessera_index_find (const TesseraIndex *index,
                    uint64_t hash,
                    TesseraIndexEqual equal,
                    const void *owner,
                    const void *wanted)
{
  uint32_t folded = fold (hash);
  size_t at;

  if (index->n_places == 0)
    return TESSERA_NONE;
  at = folded & (index->n_places - 1);
  while (index->places[at].index != TESSERA_NONE)
    {
      if (index->places[at].hash == folded &&
          equal (owner, index->places[at].index, wanted))
        return index->places[at].index;
      at = (at + 1) & (index->n_places - 1);
    }
  return TESSERA_NONE;
}

void
tessera_index_insert (TesseraIndex *index, uint64_t hash, uint32_t item)
{
  place (index->places, index->n_places,
         (TesseraIndexPlace){ .hash = fold (hash), .index = item });
  index->n_used++;
}
