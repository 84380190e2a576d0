/*
 * Whether a plan for every length keeps what edits want of places: see planner/check.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/lengths.h"

#include <inttypes.h>
#include <stdlib.h>

#include "allocator/follow/lengths/instance.h"
#include "db/array.h"

typedef struct
{
  const uint64_t *pins;
  TesseraLaw *out_law;
  TesseraError *error;
} Pins;

/* Each slot of an instance that was made from a pinned one. */
static TesseraStatus
check_pinned (const TesseraPlan *plan,
              const TesseraParameters *parameters,
              const TesseraInstanceOptions *way,
              void *user)
{
  const Pins *of = user;

  (void) parameters;
  (void) way;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      if (of->pins[slot->block] == UINT64_MAX ||
          of->pins[slot->block] == slot->offset_bytes)
        continue;
      *of->out_law = TESSERA_LAW_PIN;
      return tessera_fail (of->error, TESSERA_REFUSED,
                           "slot %" PRIu32 " is pinned to offset %" PRIu64
                           " and lies at %" PRIu64,
                           slot->block, of->pins[slot->block], slot->offset_bytes);
    }
  return TESSERA_OK;
}

TesseraStatus
tessera_check_lengths_pins (const TesseraLengths *lengths,
                            const uint64_t *of_slot,
                            const uint64_t *of_start,
                            TesseraLaw *out_law,
                            TesseraError *error)
{
  Pins pins = { of_start, out_law, error };
  TesseraPlan *start = NULL;
  TesseraStatus status = tessera_instance_of_start (lengths, &start);

  *out_law = TESSERA_LAW_NONE;
  if (status == TESSERA_OK)
    status = check_pinned (start, NULL, NULL, &pins);
  tessera_plan_free (start);
  pins.pins = of_slot;
  return status == TESSERA_OK ? tessera_check_each_step (lengths, check_pinned, &pins)
                              : status;
}

typedef struct
{
  uint64_t low, high;
  uint32_t slot; /* of the step; those of the start count on */
  bool is_one, is_other;
} Range;

typedef struct
{
  const uint64_t *bits;
  const TesseraLengthsApart *apart;
  uint32_t first; /* number of the first slot */
  Range *ranges;
  size_t n, cap;
} Ranges;

static TesseraStatus
list_ranges (const TesseraPlan *plan,
             const TesseraParameters *parameters,
             const TesseraInstanceOptions *way,
             void *user)
{
  Ranges *to = user;

  (void) parameters;
  (void) way;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      uint64_t bits = to->bits[slot->block];

      if (!(bits & (to->apart->one | to->apart->other)))
        continue;
      if (!TESSERA_RESERVE (to->ranges, to->cap, to->n + 1))
        return TESSERA_NO_MEMORY;
      to->ranges[to->n++] =
          (Range){ slot->offset_bytes, slot->offset_bytes + slot->block_bytes,
                   to->first + slot->block, bits & to->apart->one,
                   bits & to->apart->other };
    }
  return TESSERA_OK;
}

static int
by_low (const void *a, const void *b)
{
  const Range *x = a, *y = b;

  if (x->low != y->low)
    return x->low < y->low ? -1 : 1;
  return (x->slot > y->slot) - (x->slot < y->slot);
}

/* The two that end highest so far, of different slots. */
typedef struct
{
  Range highest, next;
} Highest;

static void
see (Highest *seen, const Range *range)
{
  if (range->high > seen->highest.high)
    {
      if (range->slot != seen->highest.slot)
        seen->next = seen->highest;
      seen->highest = *range;
    }
  else if (range->slot != seen->highest.slot && range->high > seen->next.high)
    seen->next = *range;
}

/* The one of another slot that ends highest. */
static const Range *
other_than (const Highest *seen, uint32_t slot)
{
  return seen->highest.slot != slot ? &seen->highest : &seen->next;
}

/* In order of addresses. A slot lies where it lay at another length: that is none's
 * business but its own. */
static TesseraStatus
sweep (const Ranges *of, TesseraLaw *out_law, TesseraError *error)
{
  Highest one = { .highest.slot = TESSERA_NONE, .next.slot = TESSERA_NONE }, other = one;

  for (size_t i = 0; i < of->n; i++)
    {
      const Range *range = &of->ranges[i];
      const Range *below_other = other_than (&one, range->slot);
      const Range *below_one = other_than (&other, range->slot);

      if ((range->is_other && below_other->high > range->low) ||
          (range->is_one && below_one->high > range->low))
        {
          *out_law = TESSERA_LAW_APART;
          return tessera_fail (
              error, TESSERA_REFUSED,
              "slots %" PRIu32 " and %" PRIu32
              " are to be kept apart and share address %" PRIu64 " at some length",
              range->is_other && below_other->high > range->low ? below_other->slot
                                                                : below_one->slot,
              range->slot, range->low);
        }
      if (range->is_one)
        see (&one, range);
      if (range->is_other)
        see (&other, range);
    }
  return TESSERA_OK;
}

TesseraStatus
tessera_check_lengths_apart (const TesseraLengths *lengths,
                             const TesseraLengthsApart *apart,
                             TesseraLaw *out_law,
                             TesseraError *error)
{
  Ranges ranges = { .bits = apart->start, .apart = apart, .first = lengths->n_slots };
  TesseraPlan *start = NULL;
  TesseraStatus status = tessera_instance_of_start (lengths, &start);

  *out_law = TESSERA_LAW_NONE;
  if (status == TESSERA_OK)
    status = list_ranges (start, NULL, NULL, &ranges);
  tessera_plan_free (start);
  ranges.bits = apart->slots;
  ranges.first = 0;
  if (status == TESSERA_OK)
    status = tessera_check_each_step (lengths, list_ranges, &ranges);
  if (ranges.n > 0)
    qsort (ranges.ranges, ranges.n, sizeof *ranges.ranges, by_low);
  if (status == TESSERA_OK)
    status = sweep (&ranges, out_law, error);
  free (ranges.ranges);
  return status;
}
