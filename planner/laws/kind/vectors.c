/*
 * The sizes of each slot in each step: see vectors.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/kind/vectors.h"

#include <stdlib.h>
#include <string.h>

#include "db/hash.h"
#include "planner/laws/fit/fit.h"

static void
read_sizes (const TesseraKind *kind,
            const TesseraBlocks *blocks,
            uint32_t slot,
            uint64_t *out_sizes)
{
  for (uint32_t k = 0; k < kind->n_steps; k++)
    {
      uint32_t block = tessera_kind_block (kind, slot, k);

      out_sizes[k] =
          block == TESSERA_NONE ? TESSERA_ABSENT : blocks->blocks[block].size_bytes;
    }
}

/* The vector equal to the one at the end, which stays if there is none. Open addressing:
 * @table holds vectors + 1. */
static uint32_t
find_or_keep (TesseraVectors *vectors, uint32_t *table, size_t mask)
{
  size_t n_bytes = vectors->n_steps * sizeof *vectors->sizes;
  const uint64_t *last = tessera_vector (vectors, vectors->n_vectors);
  uint64_t hash = tessera_hash_bytes (TESSERA_HASH_START, last, n_bytes);
  size_t i = (size_t) (hash ^ hash >> 32) & mask;

  for (; table[i]; i = (i + 1) & mask)
    if (memcmp (tessera_vector (vectors, table[i] - 1), last, n_bytes) == 0)
      return table[i] - 1;
  table[i] = ++vectors->n_vectors;
  return vectors->n_vectors - 1;
}

TesseraStatus
tessera_vectors_init (TesseraVectors *vectors,
                      const TesseraKind *kind,
                      const TesseraBlocks *blocks)
{
  uint32_t n = kind->n_slots;
  size_t mask = 16;
  uint32_t *table;

  while (mask < 2 * (size_t) n)
    mask *= 2;
  *vectors = (TesseraVectors){ .n_steps = kind->n_steps };
  vectors->sizes = malloc (((size_t) n + 1) * kind->n_steps * sizeof *vectors->sizes);
  vectors->n_slots_of = calloc (n + 1, sizeof *vectors->n_slots_of);
  vectors->of_slot = malloc ((n + 1) * sizeof *vectors->of_slot);
  table = calloc (mask--, sizeof *table);
  if (!vectors->sizes || !vectors->n_slots_of || !vectors->of_slot || !table)
    {
      free (table);
      tessera_vectors_clear (vectors);
      return TESSERA_NO_MEMORY;
    }
  for (uint32_t i = 0; i < n; i++)
    {
      read_sizes (kind, blocks, i,
                  vectors->sizes + (size_t) vectors->n_vectors * kind->n_steps);
      vectors->of_slot[i] = find_or_keep (vectors, table, mask);
      vectors->n_slots_of[vectors->of_slot[i]]++;
    }
  free (table);
  return TESSERA_OK;
}

void
tessera_vectors_clear (TesseraVectors *vectors)
{
  free (vectors->sizes);
  free (vectors->n_slots_of);
  free (vectors->of_slot);
  memset (vectors, 0, sizeof *vectors);
}
