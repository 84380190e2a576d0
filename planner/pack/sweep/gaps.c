/*
 * The free ranges of an address space. See gaps.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/sweep/gaps.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK TESSERA_GAPS_CHUNK
/* Neighbours that together hold no more become one. */
#define FEW (CHUNK / 2)
#define NO_END UINT64_MAX

TesseraStatus
tessera_gaps_init (TesseraGaps *gaps, size_t n_taken)
{
  /* Two neighbours hold more than FEW gaps, and there is one gap more than ranges. */
  size_t n_chunks = 2 * (n_taken + 1) / FEW + 4;
  gaps->n_chunks = (uint32_t) n_chunks;
  gaps->gaps = malloc (n_chunks * CHUNK * sizeof *gaps->gaps);
  gaps->n_in_chunk = malloc (n_chunks * sizeof *gaps->n_in_chunk);
  gaps->spare = malloc (n_chunks * sizeof *gaps->spare);
  gaps->chunks = malloc (n_chunks * sizeof *gaps->chunks);
  gaps->lowest = malloc (n_chunks * sizeof *gaps->lowest);
  gaps->largest = malloc (n_chunks * sizeof *gaps->largest);
  if (gaps->gaps == NULL || gaps->n_in_chunk == NULL || gaps->spare == NULL ||
      gaps->chunks == NULL || gaps->lowest == NULL || gaps->largest == NULL)
    {
      tessera_gaps_clear (gaps);
      return TESSERA_NO_MEMORY;
    }
  tessera_gaps_reset (gaps);
  return TESSERA_OK;
}

void
tessera_gaps_clear (TesseraGaps *gaps)
{
  free (gaps->gaps);
  free (gaps->n_in_chunk);
  free (gaps->spare);
  free (gaps->chunks);
  free (gaps->lowest);
  free (gaps->largest);
  memset (gaps, 0, sizeof *gaps);
}

static TesseraGap *
gaps_of (const TesseraGaps *gaps, uint32_t rank)
{
  return &gaps->gaps[(size_t) gaps->chunks[rank] * CHUNK];
}

static uint32_t *
number_of (const TesseraGaps *gaps, uint32_t rank)
{
  return &gaps->n_in_chunk[gaps->chunks[rank]];
}

/* What is told of a chunk, after its gaps have changed. */
static void
renew (TesseraGaps *gaps, uint32_t rank)
{
  const TesseraGap *gap = gaps_of (gaps, rank);
  uint32_t n = *number_of (gaps, rank);
  uint64_t largest = 0;
  for (uint32_t i = 0; i < n; i++)
    if (gap[i].end - gap[i].begin > largest)
      largest = gap[i].end - gap[i].begin;
  gaps->lowest[rank] = gap[0].begin;
  gaps->largest[rank] = largest;
}

static void
shift_ranks (TesseraGaps *gaps, uint32_t to, uint32_t from)
{
  size_t n = gaps->n_ranks - from;
  memmove (&gaps->chunks[to], &gaps->chunks[from], n * sizeof *gaps->chunks);
  memmove (&gaps->lowest[to], &gaps->lowest[from], n * sizeof *gaps->lowest);
  memmove (&gaps->largest[to], &gaps->largest[from], n * sizeof *gaps->largest);
  gaps->n_ranks = gaps->n_ranks - from + to;
}

static void
add_rank (TesseraGaps *gaps, uint32_t rank)
{
  if (rank < gaps->n_ranks)
    shift_ranks (gaps, rank + 1, rank);
  else
    gaps->n_ranks++;
  gaps->chunks[rank] = gaps->spare[--gaps->n_spare];
  *number_of (gaps, rank) = 0;
}

static void
drop_rank (TesseraGaps *gaps, uint32_t rank)
{
  gaps->spare[gaps->n_spare++] = gaps->chunks[rank];
  shift_ranks (gaps, rank, rank + 1);
}

void
tessera_gaps_reset (TesseraGaps *gaps)
{
  gaps->n_ranks = gaps->n_spare = 0;
  for (uint32_t c = gaps->n_chunks; c-- > 0;)
    gaps->spare[gaps->n_spare++] = c;
  add_rank (gaps, 0);
  gaps_of (gaps, 0)[0] = (TesseraGap){ 0, NO_END };
  *number_of (gaps, 0) = 1;
  renew (gaps, 0);
}

/* The last rank whose lowest gap begins at or below @address; 0 if none does. */
static uint32_t
rank_of (const TesseraGaps *gaps, uint64_t address)
{
  uint32_t low = 0, high = gaps->n_ranks;
  while (high - low > 1)
    {
      uint32_t middle = low + (high - low) / 2;
      if (gaps->lowest[middle] <= address)
        low = middle;
      else
        high = middle;
    }
  return low;
}

/* How many gaps of a chunk begin at or below @address. */
static uint32_t
count_below (const TesseraGaps *gaps, uint32_t rank, uint64_t address)
{
  const TesseraGap *gap = gaps_of (gaps, rank);
  uint32_t low = 0, high = *number_of (gaps, rank);
  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;
      if (gap[middle].begin <= address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static void
split (TesseraGaps *gaps, uint32_t rank)
{
  add_rank (gaps, rank + 1);
  memcpy (gaps_of (gaps, rank + 1), gaps_of (gaps, rank) + CHUNK / 2,
          CHUNK / 2 * sizeof (TesseraGap));
  *number_of (gaps, rank) = *number_of (gaps, rank + 1) = CHUNK / 2;
  renew (gaps, rank);
  renew (gaps, rank + 1);
}

static void
insert (TesseraGaps *gaps, uint32_t rank, uint32_t at, TesseraGap gap)
{
  if (*number_of (gaps, rank) == CHUNK)
    {
      split (gaps, rank);
      if (at > CHUNK / 2)
        {
          rank++;
          at -= CHUNK / 2;
        }
    }
  TesseraGap *to = gaps_of (gaps, rank);
  uint32_t *n = number_of (gaps, rank);
  memmove (&to[at + 1], &to[at], (*n - at) * sizeof *to);
  to[at] = gap;
  (*n)++;
  renew (gaps, rank);
}

/* Makes one of a chunk and the next where both hold little. */
static bool
join_next (TesseraGaps *gaps, uint32_t rank)
{
  if (rank + 1 >= gaps->n_ranks)
    return false;
  uint32_t *n = number_of (gaps, rank), *n_next = number_of (gaps, rank + 1);
  if (*n + *n_next > FEW)
    return false;
  memcpy (gaps_of (gaps, rank) + *n, gaps_of (gaps, rank + 1),
          *n_next * sizeof (TesseraGap));
  *n += *n_next;
  drop_rank (gaps, rank + 1);
  renew (gaps, rank);
  return true;
}

static void
erase (TesseraGaps *gaps, uint32_t rank, uint32_t at)
{
  TesseraGap *from = gaps_of (gaps, rank);
  uint32_t *n = number_of (gaps, rank);
  (*n)--;
  memmove (&from[at], &from[at + 1], (*n - at) * sizeof *from);
  if (*n == 0)
    {
      /* Never the only one: the gap without an end is always there. */
      drop_rank (gaps, rank);
      if (rank > 0)
        join_next (gaps, rank - 1);
      return;
    }
  renew (gaps, rank);
  if (!join_next (gaps, rank) && rank > 0)
    join_next (gaps, rank - 1);
}

void
tessera_gaps_take (TesseraGaps *gaps, uint64_t begin, uint64_t end)
{
  uint32_t rank = rank_of (gaps, begin);
  uint32_t at = count_below (gaps, rank, begin) - 1;
  TesseraGap *gap = &gaps_of (gaps, rank)[at];
  if (gap->begin == begin && gap->end == end)
    {
      erase (gaps, rank, at);
      return;
    }
  TesseraGap rest = { end, gap->end };
  if (gap->begin == begin)
    gap->begin = end;
  else
    gap->end = begin;
  renew (gaps, rank);
  if (gap->begin < begin && rest.begin < rest.end)
    insert (gaps, rank, at + 1, rest);
}

void
tessera_gaps_give (TesseraGaps *gaps, uint64_t begin, uint64_t end)
{
  uint32_t rank = rank_of (gaps, begin);
  uint32_t at = count_below (gaps, rank, begin); /* of the gap above */
  TesseraGap *low = at > 0 ? &gaps_of (gaps, rank)[at - 1] : NULL;
  uint32_t next_rank = at < *number_of (gaps, rank) ? rank : rank + 1;
  uint32_t next_at = next_rank == rank ? at : 0;
  TesseraGap *high =
      next_rank < gaps->n_ranks ? &gaps_of (gaps, next_rank)[next_at] : NULL;
  bool joins_low = low != NULL && low->end == begin;
  bool joins_high = high != NULL && high->begin == end;
  if (joins_low && joins_high)
    {
      high->begin = low->begin;
      renew (gaps, next_rank);
      erase (gaps, rank, at - 1);
    }
  else if (joins_low)
    {
      low->end = end;
      renew (gaps, rank);
    }
  else if (joins_high)
    {
      high->begin = begin;
      renew (gaps, next_rank);
    }
  else
    insert (gaps, rank, at, (TesseraGap){ begin, end });
}

const TesseraGap *
tessera_gaps_next (const TesseraGaps *gaps,
                   TesseraGapsCursor *cursor,
                   uint64_t size_bytes)
{
  for (;; cursor->rank++, cursor->at = 0)
    {
      if (gaps->largest[cursor->rank] < size_bytes)
        continue;
      const TesseraGap *gap = gaps_of (gaps, cursor->rank);
      uint32_t n = *number_of (gaps, cursor->rank);
      while (cursor->at < n)
        {
          const TesseraGap *found = &gap[cursor->at++];
          if (found->end - found->begin >= size_bytes)
            return found;
        }
    }
}

bool
tessera_gaps_is_last (const TesseraGap *gap)
{
  return gap->end == NO_END;
}
