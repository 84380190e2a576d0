/*
 * The law of rotations: see check.h for what it says and sweep.h.
 *
 * The law of overlap has it that the slots of a rotation are apart over the whole step.
 * What is left is to count: if never more blocks are alive than there are slots, a free
 * one is there for each request, in whatever order the others were given out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/sweep.h"

#include <inttypes.h>
#include <stdlib.h>

/* A birth or an end, or what says that the slot is there at all. */
typedef struct
{
  uint64_t block_bytes;
  uint32_t stream_pool;
  uint32_t slot;
  uint64_t key; /* position * 2 + (1 for a birth); PLACE */
} Turn;

#define PLACE 0 /* comes first: births are odd, and no block ends at position 0 */

static int
compare_rotations (const Turn *x, const Turn *y)
{
  if (x->block_bytes != y->block_bytes)
    return x->block_bytes < y->block_bytes ? -1 : 1;
  return (x->stream_pool > y->stream_pool) - (x->stream_pool < y->stream_pool);
}

static int
compare_turns (const void *a, const void *b)
{
  const Turn *x = a, *y = b;
  int order = compare_rotations (x, y);
  if (order != 0)
    return order;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return (x->slot > y->slot) - (x->slot < y->slot);
}

/* Up to three a slot; the caller frees *out_turns. */
static TesseraStatus
list_turns (const TesseraPlan *plan, Turn **out_turns, size_t *out_n_turns)
{
  Turn *turns = calloc (plan->n_slots * 3 + 1, sizeof *turns);
  size_t n = 0;
  *out_turns = turns;
  *out_n_turns = 0;
  if (turns == NULL)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      if (!slot->wraps || slot->died_next < slot->born)
        continue;
      Turn turn = { .block_bytes = slot->block_bytes,
                    .stream_pool = (uint32_t) slot->stream << 16 | slot->pool,
                    .slot = i,
                    .key = PLACE };
      turns[n++] = turn;
      if (slot->ordinal == TESSERA_NONE)
        continue;
      turn.key = (uint64_t) slot->born * 2 + 1;
      turns[n++] = turn;
      turn.key = (uint64_t) slot->died_next * 2;
      turns[n++] = turn;
    }
  qsort (turns, n, sizeof *turns, compare_turns);
  *out_n_turns = n;
  return TESSERA_OK;
}

static TesseraStatus
refuse_end (const TesseraPlan *plan, uint32_t first, uint32_t second, TesseraError *error)
{
  TesseraSlotText one, other;
  tessera_check_describe (plan, first, &one);
  tessera_check_describe (plan, second, &other);
  return tessera_fail (
      error, TESSERA_REFUSED,
      "rotation: expected slots that take turns to end together, found %s "
      "and %s",
      one.text, other.text);
}

static TesseraStatus
refuse_crowd (const TesseraPlan *plan,
              const Turn *turn,
              size_t n_places,
              TesseraError *error)
{
  TesseraSlotText text;
  tessera_check_describe (plan, turn->slot, &text);
  return tessera_fail (
      error, TESSERA_REFUSED,
      "rotation: expected no more blocks alive than the %zu places, found "
      "one more at position %" PRIu64 ", of %s",
      n_places, turn->key / 2, text.text);
}

static bool
takes_turns (const TesseraPlan *plan, const Turn *turns, size_t n_turns)
{
  for (size_t i = 0; i < n_turns; i++)
    if (plan->slots[turns[i].slot].died_next > plan->slots[turns[i].slot].born)
      return true;
  return false;
}

/* The turns of one rotation, places first. */
static TesseraStatus
check_rotation (const TesseraPlan *plan,
                const Turn *turns,
                size_t n_turns,
                TesseraError *error)
{
  size_t n_places = 0, n_alive = 0;
  while (n_places < n_turns && turns[n_places].key == PLACE)
    {
      const TesseraSlot *slot = &plan->slots[turns[n_places].slot];
      if (slot->died != plan->slots[turns[0].slot].died)
        return refuse_end (plan, turns[0].slot, turns[n_places].slot, error);
      /* Of the step before. */
      n_alive += slot->ordinal != TESSERA_NONE;
      n_places++;
    }
  for (size_t i = n_places; i < n_turns; i++)
    {
      if (turns[i].key % 2 == 0)
        n_alive--;
      else if (++n_alive > n_places)
        return refuse_crowd (plan, &turns[i], n_places, error);
    }
  return TESSERA_OK;
}

TesseraStatus
tessera_check_rotations (const TesseraPlan *plan, TesseraError *error)
{
  Turn *turns = NULL;
  size_t n_turns, end;
  TesseraStatus status = list_turns (plan, &turns, &n_turns);
  for (size_t i = 0; status == TESSERA_OK && i < n_turns; i = end)
    {
      end = i + 1;
      while (end < n_turns && compare_rotations (&turns[i], &turns[end]) == 0)
        end++;
      if (takes_turns (plan, turns + i, end - i))
        status = check_rotation (plan, turns + i, end - i, error);
    }
  free (turns);
  return status;
}
