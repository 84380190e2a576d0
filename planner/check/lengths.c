/*
 * Whether a plan for every length is safe at any: step by step, each as a plan of its
 * own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/lengths.h"

#include <inttypes.h>
#include <stdlib.h>

#include "allocator/follow/lengths/instance.h"
#include "allocator/follow/lengths/sweep.h"

typedef struct
{
  uint64_t begin_bytes, end_bytes;
} Range;

static int
by_begin (const void *a, const void *b)
{
  const Range *x = a, *y = b;

  return (x->begin_bytes > y->begin_bytes) - (x->begin_bytes < y->begin_bytes);
}

/* All places that don't move. Returns: how many. */
static size_t
list_fixed (const TesseraLengths *lengths, const uint64_t *most_bytes, Range *out)
{
  size_t n = 0;

  for (uint32_t i = 0; i < lengths->n_start; i++)
    if (lengths->start[i].is_held && !lengths->start[i].is_left)
      out[n++] =
          (Range){ lengths->start[i].offset_bytes,
                   lengths->start[i].offset_bytes + lengths->start[i].block_bytes };
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];
      uint64_t bytes = most_bytes[slot->law];

      if (slot->place != TESSERA_PLACE_FIXED)
        continue;
      out[n++] = (Range){ slot->offset_bytes, slot->offset_bytes + bytes };
      if (slot->crosses && slot->spare_bytes != slot->offset_bytes)
        out[n++] = (Range){ slot->spare_bytes, slot->spare_bytes + bytes };
    }
  return n;
}

/* Others lie meanwhile in the places that slots take in turns, and in between: no other place
 * is there. */
static bool
are_turns_highest (const TesseraLengths *lengths, const Range *ranges, size_t n)
{
  uint64_t base_bytes = UINT64_MAX;
  size_t n_above = 0;

  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (lengths->slots[i].gone > 0)
      {
        base_bytes = lengths->slots[i].offset_bytes < base_bytes
                         ? lengths->slots[i].offset_bytes
                         : base_bytes;
        n_above += 2;
      }
  for (size_t i = 0; i < n; i++)
    n_above -= ranges[i].begin_bytes >= base_bytes;
  return n_above == 0;
}

/* Blocks of two steps lie in them at once: no two of these places share an address. */
static TesseraStatus
check_fixed (const TesseraLengths *lengths, TesseraLaw *out_law, TesseraError *error)
{
  uint64_t *most_bytes = malloc (((size_t) lengths->n_laws + 1) * sizeof *most_bytes);
  Range *ranges =
      calloc (2 * (size_t) lengths->n_slots + lengths->n_start + 1, sizeof *ranges);
  TesseraStatus status = most_bytes && ranges ? TESSERA_OK : TESSERA_NO_MEMORY;
  size_t n = 0;

  if (status == TESSERA_OK && tessera_sweep_sizes (lengths, &lengths->most, most_bytes))
    n = list_fixed (lengths, most_bytes, ranges);
  if (n > 0)
    qsort (ranges, n, sizeof *ranges, by_begin);
  for (size_t i = 1; i < n && status == TESSERA_OK; i++)
    if (ranges[i].begin_bytes < ranges[i - 1].end_bytes)
      {
        *out_law = TESSERA_LAW_OVERLAP;
        status = tessera_fail (error, TESSERA_REFUSED,
                               "two places that do not move share the address %" PRIu64,
                               ranges[i].begin_bytes);
      }
  if (status == TESSERA_OK && !are_turns_highest (lengths, ranges, n))
    {
      *out_law = TESSERA_LAW_OVERLAP;
      status =
          tessera_fail (error, TESSERA_REFUSED,
                        "a place that does not move is among those that slots take in "
                        "turns");
    }
  free (most_bytes);
  free (ranges);
  return status;
}

typedef struct
{
  const TesseraLengths *lengths;
  TesseraLaw *out_law;
  TesseraError *error;
} Said;

/* A block of the step before is as large as can be, and in the place that this step's does
 * not take: nothing that is asked for until it is gone lies there. */
static TesseraStatus
check_left (const Said *said,
            const TesseraPlan *plan,
            uint32_t turning,
            bool in_spare,
            TesseraError *error)
{
  const TesseraLengthsSlot *of = &said->lengths->slots[turning];
  uint64_t begin_bytes = in_spare ? of->offset_bytes : of->spare_bytes, bytes;

  if (!tessera_size_law_evaluate (&said->lengths->laws[of->law], &said->lengths->most,
                                  &bytes))
    return TESSERA_OK;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      if (slot->born >= of->gone || slot->offset_bytes >= begin_bytes + bytes ||
          begin_bytes >= slot->offset_bytes + slot->block_bytes)
        continue;
      *said->out_law = TESSERA_LAW_OVERLAP;
      return tessera_fail (error, TESSERA_REFUSED,
                           "slot %" PRIu32 " lies where slot %" PRIu32
                           " of the step before still does",
                           slot->block, turning);
    }
  return TESSERA_OK;
}

static TesseraStatus
check_step (const TesseraPlan *plan,
            const TesseraParameters *parameters,
            const TesseraInstanceOptions *way,
            void *user)
{
  const Said *said = user;
  TesseraError found = { 0 };
  TesseraStatus status = tessera_check_plan (plan, NULL, said->out_law, &found);

  for (uint32_t i = 0; i < said->lengths->n_slots && status == TESSERA_OK; i++)
    if (said->lengths->slots[i].gone > 0 && !way->is_first)
      status = check_left (said, plan, i, way->is_spare != NULL, &found);

  return status == TESSERA_REFUSED
             ? tessera_check_refuse_at (parameters, &found, said->error)
             : status;
}

TesseraStatus
tessera_check_lengths (const TesseraLengths *lengths,
                       TesseraLaw *out_law,
                       TesseraError *error)
{
  Said said = { lengths, out_law, error };
  TesseraPlan *start = NULL;
  TesseraStatus status = tessera_instance_of_start (lengths, &start);

  *out_law = TESSERA_LAW_NONE;
  if (status == TESSERA_OK)
    status = check_fixed (lengths, out_law, error);
  if (status == TESSERA_OK)
    status = tessera_check_plan (start, NULL, out_law, error);
  tessera_plan_free (start);
  return status == TESSERA_OK ? tessera_check_each_step (lengths, check_step, &said)
                              : status;
}
