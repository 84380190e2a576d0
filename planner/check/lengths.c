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
  free (most_bytes);
  free (ranges);
  return status;
}

typedef struct
{
  TesseraLaw *out_law;
  TesseraError *error;
} Said;

static TesseraStatus
check_step (const TesseraPlan *plan, const TesseraParameters *parameters, void *user)
{
  const Said *said = user;
  TesseraError found = { 0 };
  TesseraStatus status = tessera_check_plan (plan, NULL, said->out_law, &found);

  return status == TESSERA_REFUSED
             ? tessera_check_refuse_at (parameters, &found, said->error)
             : status;
}

TesseraStatus
tessera_check_lengths (const TesseraLengths *lengths,
                       TesseraLaw *out_law,
                       TesseraError *error)
{
  Said said = { out_law, error };
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
