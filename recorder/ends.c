/*
 * What the driver has given at the end: see ends.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/ends.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"

static int
by_segment_addr (const void *left, const void *right)
{
  const TesseraSegment *a = left, *b = right;

  return (a->addr > b->addr) - (a->addr < b->addr);
}

static int
by_block_addr (const void *left, const void *right)
{
  const TesseraHeldBlock *a = left, *b = right;

  return (a->addr > b->addr) - (a->addr < b->addr);
}

static void
clear_held (TesseraHeld *held)
{
  free (held->segments);
  free (held->blocks);
  *held = (TesseraHeld){ 0 };
}

static bool
copy_held (TesseraHeld *to, const TesseraHeld *from)
{
  if (!TESSERA_RESERVE (to->segments, to->cap_segments, from->n_segments) ||
      !TESSERA_RESERVE (to->blocks, to->cap_blocks, from->n_blocks))
    return false;
  for (; to->n_segments < from->n_segments; to->n_segments++)
    to->segments[to->n_segments] = from->segments[to->n_segments];
  for (; to->n_blocks < from->n_blocks; to->n_blocks++)
    to->blocks[to->n_blocks] = from->blocks[to->n_blocks];
  if (to->n_segments > 0)
    qsort (to->segments, to->n_segments, sizeof *to->segments, by_segment_addr);
  if (to->n_blocks > 0)
    qsort (to->blocks, to->n_blocks, sizeof *to->blocks, by_block_addr);
  return true;
}

void
tessera_ends_set (TesseraEnds *ends, uint32_t device, const TesseraHeld *held)
{
  size_t at = 0;

  while (at < ends->n_states && ends->states[at].device != device)
    at++;
  if (!TESSERA_RESERVE (ends->states, ends->cap_states, at + 1))
    return;
  if (at < ends->n_states)
    clear_held (&ends->states[at].held);
  else
    ends->states[ends->n_states++] = (TesseraEndState){ .device = device };
  if (!copy_held (&ends->states[at].held, held))
    clear_held (&ends->states[at].held);
}

/* A stack, stream or pool that nobody told is unknown: the state is worth more. */
static void
settle (TesseraHeld *held, const TesseraTrace *head, size_t n_stacks)
{
  for (size_t i = 0; i < held->n_segments; i++)
    {
      TesseraSegment *segment = &held->segments[i];

      if (segment->stack >= n_stacks)
        segment->stack = TESSERA_NONE;
      if (segment->stream >= head->n_streams)
        segment->stream = 0;
      if (segment->pool >= head->n_pools)
        segment->pool = 0;
    }
  for (size_t i = 0; i < held->n_blocks; i++)
    if (held->blocks[i].stack >= n_stacks)
      held->blocks[i].stack = TESSERA_NONE;
}

void
tessera_ends_fill (TesseraEnds *ends, TesseraNews *news)
{
  for (size_t i = 0; i < news->n_devices; i++)
    for (size_t at = 0; at < ends->n_states; at++)
      if (ends->states[at].device == news->heads[i]->device)
        {
          settle (&ends->states[at].held, news->heads[i], news->n_stacks);
          news->devices[i].end = &ends->states[at].held;
        }
}

void
tessera_ends_clear (TesseraEnds *ends)
{
  for (size_t i = 0; i < ends->n_states; i++)
    clear_held (&ends->states[i].held);
  free (ends->states);
  *ends = (TesseraEnds){ 0 };
}
