/*
 * Which ranges of a plan's pool are taken at this moment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/taken.h"

#include <stdlib.h>
#include <string.h>

#include "db/sort.h"

enum
{
  MAX_LEVELS = 6, /* 64^6 is above 2^32 */
  WORD_BITS = 64
};

typedef struct
{
  uint64_t size_bytes;
  uint32_t holder;
} Range;

struct TesseraTaken
{
  uint64_t *offsets;
  Range *ranges;   /* by rank; meaningful where the bit of level 0 is set */
  uint64_t *words; /* all levels, one after another */
  uint64_t *level[MAX_LEVELS];
  uint32_t n_levels;
  uint32_t n_offsets;
  uint32_t *ranks; /* of offsets, by a hash: open addressing; n_offsets: nobody's */
  uint32_t ranks_mask;
};

static size_t
count_words (uint32_t n_offsets, uint32_t *out_n_levels)
{
  size_t n_bits = n_offsets > 0 ? n_offsets : 1;
  size_t total = 0;
  uint32_t n_levels = 0;

  do
    {
      n_bits = (n_bits + WORD_BITS - 1) / WORD_BITS;
      total += n_bits;
      n_levels++;
    }
  while (n_bits > 1);
  *out_n_levels = n_levels;
  return total;
}

/* Where the offset is among the hashed ranks, or the empty one where it would be. */
static uint32_t *
find_hashed (const TesseraTaken *taken, uint64_t offset_bytes)
{
  uint32_t at =
      (uint32_t) (offset_bytes * UINT64_C (0x9e3779b97f4a7c15) >> 32) & taken->ranks_mask;

  while (taken->ranks[at] != taken->n_offsets &&
         taken->offsets[taken->ranks[at]] != offset_bytes)
    at = (at + 1) & taken->ranks_mask;
  return &taken->ranks[at];
}

static bool
hash_ranks (TesseraTaken *taken)
{
  size_t n_places = 1;

  while (n_places < 2 * ((size_t) taken->n_offsets + 1))
    n_places *= 2;
  taken->ranks = malloc (n_places * sizeof *taken->ranks);
  if (taken->ranks == NULL)
    return false;
  taken->ranks_mask = (uint32_t) (n_places - 1);
  for (size_t i = 0; i < n_places; i++)
    taken->ranks[i] = taken->n_offsets;
  for (uint32_t r = 0; r < taken->n_offsets; r++)
    *find_hashed (taken, taken->offsets[r]) = r;
  return true;
}

TesseraStatus
tessera_taken_new (const uint64_t *offsets, uint32_t n_offsets, TesseraTaken **out_taken)
{
  size_t n_bits = n_offsets > 0 ? n_offsets : 1;
  size_t n_words;
  size_t at = 0;
  TesseraTaken *taken;

  *out_taken = NULL;
  taken = calloc (1, sizeof *taken);
  if (taken == NULL)
    return TESSERA_NO_MEMORY;
  n_words = count_words (n_offsets, &taken->n_levels);
  taken->n_offsets = n_offsets;
  taken->offsets = malloc (n_bits * sizeof *taken->offsets);
  taken->ranges = calloc (n_bits, sizeof *taken->ranges);
  taken->words = calloc (n_words, sizeof *taken->words);
  if (taken->offsets == NULL || taken->ranges == NULL || taken->words == NULL)
    {
      tessera_taken_free (taken);
      return TESSERA_NO_MEMORY;
    }
  if (n_offsets > 0)
    memcpy (taken->offsets, offsets, n_offsets * sizeof *offsets);
  if (!hash_ranks (taken))
    {
      tessera_taken_free (taken);
      return TESSERA_NO_MEMORY;
    }
  for (uint32_t l = 0; l < taken->n_levels; l++)
    {
      taken->level[l] = taken->words + at;
      n_bits = (n_bits + WORD_BITS - 1) / WORD_BITS;
      at += n_bits;
    }
  *out_taken = taken;
  return TESSERA_OK;
}

void
tessera_taken_free (TesseraTaken *taken)
{
  if (taken == NULL)
    return;
  free (taken->offsets);
  free (taken->ranges);
  free (taken->words);
  free (taken->ranks);
  free (taken);
}

uint32_t
tessera_taken_rank (const TesseraTaken *taken, uint64_t offset_bytes)
{
  return tessera_count_below (taken->offsets, taken->n_offsets, offset_bytes);
}

static void
set_bit (TesseraTaken *taken, uint32_t rank)
{
  for (uint32_t l = 0; l < taken->n_levels; l++)
    {
      taken->level[l][rank / WORD_BITS] |= UINT64_C (1) << (rank % WORD_BITS);
      rank /= WORD_BITS;
    }
}

static void
clear_bit (TesseraTaken *taken, uint32_t rank)
{
  for (uint32_t l = 0; l < taken->n_levels; l++)
    {
      uint64_t *word = &taken->level[l][rank / WORD_BITS];

      *word &= ~(UINT64_C (1) << (rank % WORD_BITS));
      if (*word != 0)
        return;
      rank /= WORD_BITS;
    }
}

static uint32_t
top_bit (uint64_t word)
{
  return (uint32_t) (WORD_BITS - 1 - __builtin_clzll (word));
}

/* The highest taken rank below @rank. */
static bool
find_before (const TesseraTaken *taken, uint32_t rank, uint32_t *out_rank)
{
  uint32_t l = 0;
  uint64_t below = 0;

  for (; l < taken->n_levels; l++, rank /= WORD_BITS)
    {
      uint32_t bit = rank % WORD_BITS;

      /* A rank just past the last word of a level has no bits of its own word below it.
       */
      below =
          bit == 0 ? 0 : taken->level[l][rank / WORD_BITS] & ((UINT64_C (1) << bit) - 1);
      if (below != 0)
        break;
    }
  if (below == 0)
    return false;
  rank = rank / WORD_BITS * WORD_BITS + top_bit (below);
  while (l > 0)
    {
      l--;
      rank = rank * WORD_BITS + top_bit (taken->level[l][rank]);
    }
  *out_rank = rank;
  return true;
}

static bool
is_begin (const TesseraTaken *taken, uint32_t rank)
{
  return (taken->level[0][rank / WORD_BITS] >> (rank % WORD_BITS) & 1) != 0;
}

bool
tessera_taken_is_blocked (const TesseraTaken *taken,
                          uint64_t offset_bytes,
                          uint32_t end_rank,
                          uint64_t *out_end_bytes)
{
  uint32_t before;

  /* Taken ranges are disjoint: the last that begins below the end decides. */
  if (!find_before (taken, end_rank, &before))
    return false;
  *out_end_bytes = taken->offsets[before] + taken->ranges[before].size_bytes;
  return *out_end_bytes > offset_bytes;
}

bool
tessera_taken_take (TesseraTaken *taken,
                    const TesseraFollowerHook *hook,
                    uint32_t rank,
                    uint32_t end_rank,
                    uint64_t size_bytes,
                    uint32_t holder,
                    uint64_t *out_end_bytes)
{
  uint64_t offset_bytes = taken->offsets[rank];

  if (tessera_taken_is_blocked (taken, offset_bytes, end_rank, out_end_bytes) ||
      (hook->take != NULL && !hook->take (hook->user, offset_bytes, out_end_bytes)))
    return false;
  set_bit (taken, rank);
  taken->ranges[rank] = (Range){ .size_bytes = size_bytes, .holder = holder };
  return true;
}

bool
tessera_taken_give_back (TesseraTaken *taken, uint64_t offset_bytes, uint32_t *out_holder)
{
  uint32_t rank = *find_hashed (taken, offset_bytes);

  if (rank == taken->n_offsets || !is_begin (taken, rank))
    return false;
  clear_bit (taken, rank);
  *out_holder = taken->ranges[rank].holder;
  return true;
}
