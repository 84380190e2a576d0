/*
 * When each part of a plan's pool is needed next.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/outlook.h"

#include <stdlib.h>

TesseraStatus
tessera_outlook_init (TesseraOutlook *outlook,
                      const uint64_t *offsets,
                      uint32_t n_offsets,
                      uint64_t height_bytes)
{
  size_t n_items = (size_t) n_offsets + 1;

  *outlook = (TesseraOutlook){ .offsets = offsets,
                               .n_offsets = n_offsets,
                               .height_bytes = height_bytes };
  outlook->needs = malloc (n_items * sizeof *outlook->needs);
  outlook->unwritten = malloc (n_items * sizeof *outlook->unwritten);
  outlook->queue = malloc (n_items * sizeof *outlook->queue);
  if (outlook->needs != NULL && outlook->unwritten != NULL && outlook->queue != NULL)
    return TESSERA_OK;
  tessera_outlook_clear (outlook);
  return TESSERA_NO_MEMORY;
}

void
tessera_outlook_clear (TesseraOutlook *outlook)
{
  free (outlook->needs);
  free (outlook->unwritten);
  free (outlook->queue);
  *outlook = (TesseraOutlook){ 0 };
}

void
tessera_outlook_begin (TesseraOutlook *outlook)
{
  for (uint32_t r = 0; r < outlook->n_offsets; r++)
    {
      outlook->needs[r] = TESSERA_NEVER;
      outlook->unwritten[r] = r;
    }
  outlook->unwritten[outlook->n_offsets] = outlook->n_offsets;
}

/* The first stretch from @rank on without a number; halves the way there. */
static uint32_t
find_unwritten (TesseraOutlook *outlook, uint32_t rank)
{
  uint32_t *unwritten = outlook->unwritten;

  while (unwritten[rank] != rank)
    rank = unwritten[rank] = unwritten[unwritten[rank]];
  return rank;
}

void
tessera_outlook_need (TesseraOutlook *outlook,
                      uint32_t first_rank,
                      uint32_t end_rank,
                      uint32_t when)
{
  for (uint32_t r = find_unwritten (outlook, first_rank); r < end_rank;
       r = find_unwritten (outlook, r))
    {
      outlook->needs[r] = when;
      outlook->unwritten[r] = r + 1;
    }
}

void
tessera_outlook_bar (TesseraOutlook *outlook, uint32_t rank, uint64_t end_bytes)
{
  for (; rank < outlook->n_offsets && outlook->offsets[rank] < end_bytes; rank++)
    outlook->needs[rank] = 0;
}

uint32_t
tessera_outlook_find (TesseraOutlook *outlook, uint64_t size_bytes, uint32_t *out_rank)
{
  const uint32_t *needs = outlook->needs;
  uint32_t *queue = outlook->queue;
  uint32_t first = 0; /* of the queue: the least number of the place */
  uint32_t n_queued = 0;
  uint32_t seen = 0; /* stretches */
  uint32_t latest = 0;

  for (uint32_t r = 0; r < outlook->n_offsets; r++)
    {
      uint64_t end_bytes = outlook->offsets[r] + size_bytes;

      if (end_bytes > outlook->height_bytes)
        break;
      for (; seen < outlook->n_offsets && outlook->offsets[seen] < end_bytes; seen++)
        {
          while (n_queued > first && needs[queue[n_queued - 1]] >= needs[seen])
            n_queued--;
          queue[n_queued++] = seen;
        }
      if (queue[first] < r)
        first++;
      if (needs[queue[first]] > latest)
        {
          latest = needs[queue[first]];
          *out_rank = r;
        }
    }
  return latest;
}
