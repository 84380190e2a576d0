/*
 * Does a plan keep what edits want of it? See planner/check.h. Shares nothing with what
 * placed the slots: it looks at slots and offsets alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct
{
  uint64_t low, high;
  uint32_t slot;
  uint8_t sides; /* 1: one side, 2: the other, 3: both */
} Range;

static TesseraStatus
check_offsets (const TesseraPlan *plan, const TesseraHold *hold, TesseraError *error)
{
  for (size_t i = 0; i < hold->n_slots; i++)
    if (plan->slots[hold->slots[i]].offset_bytes != hold->offsets[i])
      return tessera_fail (
          error, TESSERA_REFUSED,
          "slot %" PRIu32 " is pinned to offset %" PRIu64 " and lies at %" PRIu64,
          hold->slots[i], hold->offsets[i], plan->slots[hold->slots[i]].offset_bytes);
  return TESSERA_OK;
}

/* Distances from the first of them: whatever the base is. */
static TesseraStatus
check_distances (const TesseraPlan *plan, const TesseraHold *hold, TesseraError *error)
{
  for (size_t i = 1; i < hold->n_slots; i++)
    {
      uint64_t found = plan->slots[hold->slots[i]].offset_bytes -
                       plan->slots[hold->slots[0]].offset_bytes;

      if (found != hold->offsets[i] - hold->offsets[0])
        return tessera_fail (error, TESSERA_REFUSED,
                             "slots %" PRIu32 " and %" PRIu32
                             " are to stay together and do not keep their distance",
                             hold->slots[0], hold->slots[i]);
    }
  return TESSERA_OK;
}

/* Two places that blocks of one rotation take in turn. */
static bool
take_turns (const TesseraSlot *a, const TesseraSlot *b)
{
  return a->wraps && b->wraps && a->died_next >= a->born && b->died_next >= b->born &&
         a->section == b->section && a->stream == b->stream && a->pool == b->pool &&
         a->block_bytes == b->block_bytes;
}

/* A slot whose blocks may lie in other places of its rotation stands for all of these. */
static void
mark (const TesseraPlan *plan,
      const uint32_t *slots,
      size_t n,
      uint8_t side,
      uint8_t *sides)
{
  for (size_t i = 0; i < n; i++)
    {
      sides[slots[i]] |= side;
      for (size_t k = 0; plan->slots[slots[i]].wraps &&
                         plan->slots[slots[i]].died_next >= plan->slots[slots[i]].born &&
                         k < plan->n_slots;
           k++)
        if (take_turns (&plan->slots[slots[i]], &plan->slots[k]))
          sides[k] |= side;
    }
}

static int
by_low (const void *a, const void *b)
{
  const Range *x = a, *y = b;

  if (x->low != y->low)
    return x->low < y->low ? -1 : 1;
  return (x->slot > y->slot) - (x->slot < y->slot);
}

/* In order of addresses, the highest end of each side so far tells whether somebody of
 * that side is still there. */
static TesseraStatus
sweep (const TesseraHold *hold, const Range *ranges, size_t n, TesseraError *error)
{
  Range last[2] = { { 0 }, { 0 } };

  for (size_t i = 0; i < n; i++)
    for (int side = 0; side < 2; side++)
      {
        /* Without another side each is apart from all of its own. */
        int other = hold->has_with ? 1 - side : side;

        if (!(ranges[i].sides & (1 << side)))
          continue;
        if (last[other].high > ranges[i].low)
          return tessera_fail (error, TESSERA_REFUSED,
                               "slots %" PRIu32 " and %" PRIu32
                               " are to be kept apart and share address %" PRIu64,
                               last[other].slot, ranges[i].slot, ranges[i].low);
        if (ranges[i].high > last[side].high)
          last[side] = ranges[i];
      }
  return TESSERA_OK;
}

static TesseraStatus
check_apart (const TesseraPlan *plan, const TesseraHold *hold, TesseraError *error)
{
  uint8_t *sides = calloc (plan->n_slots + 1, 1);
  Range *ranges = malloc ((plan->n_slots + 1) * sizeof *ranges);
  TesseraStatus status = TESSERA_NO_MEMORY;
  size_t n = 0;

  if (sides && ranges)
    {
      mark (plan, hold->slots, hold->n_slots, 1, sides);
      if (hold->has_with)
        mark (plan, hold->with, hold->n_with, 2, sides);
      for (uint32_t i = 0; i < plan->n_slots; i++)
        if (sides[i])
          ranges[n++] = (Range){ plan->slots[i].offset_bytes,
                                 plan->slots[i].offset_bytes + plan->slots[i].block_bytes,
                                 i, sides[i] };
      if (n)
        qsort (ranges, n, sizeof *ranges, by_low);
      status = sweep (hold, ranges, n, error);
    }
  free (sides);
  free (ranges);
  return status;
}

TesseraStatus
tessera_check_edits (const TesseraPlan *plan,
                     const TesseraHolds *holds,
                     uint64_t cap_bytes,
                     TesseraLaw *out_law,
                     TesseraError *error)
{
  TesseraStatus status = TESSERA_OK;

  *out_law = TESSERA_LAW_NONE;
  for (size_t h = 0; h < holds->n_holds && status == TESSERA_OK; h++)
    {
      const TesseraHold *hold = &holds->holds[h];

      *out_law = hold->kind == TESSERA_EDIT_PIN     ? TESSERA_LAW_PIN
                 : hold->kind == TESSERA_EDIT_APART ? TESSERA_LAW_APART
                                                    : TESSERA_LAW_TOGETHER;
      status = *out_law == TESSERA_LAW_PIN     ? check_offsets (plan, hold, error)
               : *out_law == TESSERA_LAW_APART ? check_apart (plan, hold, error)
                                               : check_distances (plan, hold, error);
    }
  if (status == TESSERA_OK && plan->height_bytes > cap_bytes)
    {
      *out_law = TESSERA_LAW_CAP;
      status = tessera_fail (error, TESSERA_REFUSED,
                             "the pool takes %" PRIu64 " bytes and may take %" PRIu64,
                             plan->height_bytes, cap_bytes);
    }
  if (status == TESSERA_OK)
    *out_law = TESSERA_LAW_NONE;
  return status;
}
