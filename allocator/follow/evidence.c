/*
 * What streams asked for: see evidence.h.
 *
 * Kept is only what a question needs: of each kind of request (stream, pool, small or
 * large) the sizes that no later one undercuts, which ascend with time. A question is a
 * binary search, a request costs its own removal later.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/evidence.h"

#include <stdlib.h>

#include "db/array.h"

typedef struct
{
  uint64_t at;
  uint64_t block_bytes;
} Request;

typedef struct
{
  Request *requests; /* ascending in both */
  size_t n_requests, cap_requests;
} Kind;

/* Never 0: that is no key of the table. Pools have 16 bits. */
static uint64_t
key_of (uint32_t stream, uint32_t pool, bool is_small)
{
  return ((uint64_t) stream << 18 | (uint64_t) pool << 2 | (uint64_t) is_small << 1) + 1;
}

void
tessera_evidence_clear (TesseraTable *kinds)
{
  for (size_t i = 0; i < kinds->n_slots; i++)
    if (kinds->slots[i].addr != 0)
      {
        Kind *kind = kinds->slots[i].value;

        free (kind->requests);
        free (kind);
      }
  tessera_table_clear (kinds);
}

static Kind *
add_kind (TesseraTable *kinds, uint64_t key)
{
  Kind *kind = calloc (1, sizeof *kind);

  if (kind == NULL || tessera_table_reserve (kinds) != TESSERA_OK)
    {
      free (kind);
      return NULL;
    }
  tessera_table_add (kinds, key, kind);
  return kind;
}

TesseraStatus
tessera_evidence_note (TesseraTable *kinds,
                       uint32_t stream,
                       uint32_t pool,
                       bool is_small,
                       uint64_t block_bytes,
                       uint64_t now)
{
  uint64_t key = key_of (stream, pool, is_small);
  Kind *kind = tessera_table_get (kinds, key);

  if (kind == NULL)
    kind = add_kind (kinds, key);
  if (kind == NULL ||
      !TESSERA_RESERVE (kind->requests, kind->cap_requests, kind->n_requests + 1))
    return TESSERA_NO_MEMORY;
  while (kind->n_requests > 0 &&
         kind->requests[kind->n_requests - 1].block_bytes >= block_bytes)
    kind->n_requests--;
  kind->requests[kind->n_requests++] = (Request){ now, block_bytes };
  return TESSERA_OK;
}

uint64_t
tessera_evidence_least (const TesseraTable *kinds,
                        uint32_t stream,
                        uint32_t pool,
                        bool is_small,
                        uint64_t since)
{
  const Kind *kind = tessera_table_get (kinds, key_of (stream, pool, is_small));
  size_t low = 0;
  size_t high;

  if (kind == NULL)
    return UINT64_MAX;
  high = kind->n_requests;
  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (kind->requests[middle].at <= since)
        low = middle + 1;
      else
        high = middle;
    }
  return low < kind->n_requests ? kind->requests[low].block_bytes : UINT64_MAX;
}
