/*
 * Whether a plan for every length is safe at any: step by step, each as a plan of its
 * own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/lengths.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "allocator/follow/lengths/instance.h"
#include "allocator/follow/lengths/sweep.h"

enum
{
  N_SAMPLED = 16, /* parameters that are checked besides the observed */
  STRIDE = 5,     /* of the second length through as many: no divisor in common */
  N_CORNERS = 8   /* of batch, length and second length */
};

/* The step that makes what one step makes; the same with that kept free; the others. */
static const TesseraInstanceOptions ways[] = { { .shares_once = true, .is_first = true },
                                               { .is_first = true },
                                               { 0 } };
enum
{
  N_WAYS = sizeof ways / sizeof *ways
};

TesseraStatus
tessera_check_refuse_at (const TesseraParameters *at,
                         const TesseraError *found,
                         TesseraError *error)
{
  char second[48] = "";

  if (at->second > 0)
    snprintf (second, sizeof second, ", second length %" PRIu64, at->second);
  return tessera_fail (error, TESSERA_REFUSED,
                       "at batch %" PRIu64 " and length %" PRIu64 "%s: %s", at->batch,
                       at->length, second, found->text);
}

/* One step. Where a law gives no size nothing is planned. */
static TesseraStatus
check_step (const TesseraLengths *lengths,
            const TesseraParameters *parameters,
            const TesseraInstanceOptions *way,
            TesseraLaw *out_law,
            TesseraError *error)
{
  TesseraPlan *plan;
  TesseraError found = { 0 };
  TesseraStatus status = tessera_instance_of_step (lengths, parameters, way, &plan);

  if (status == TESSERA_INVALID)
    return TESSERA_OK;
  if (status != TESSERA_OK)
    return status;
  status = tessera_check_plan (plan, NULL, out_law, &found);
  tessera_plan_free (plan);
  return status == TESSERA_REFUSED ? tessera_check_refuse_at (parameters, &found, error)
                                   : status;
}

/* A part that makes what is there over cuts, with the state there; then one that finds
 * both. */
static TesseraStatus
check_parts (const TesseraLengths *lengths,
             const TesseraParameters *parameters,
             TesseraLaw *out_law,
             TesseraError *error)
{
  bool *is_there = calloc ((size_t) lengths->n_slots + 1, sizeof *is_there);
  TesseraStatus status = is_there ? TESSERA_OK : TESSERA_NO_MEMORY;

  for (int all = 0; all < 2 && status == TESSERA_OK; all++)
    {
      const TesseraInstanceOptions way = { .is_there = is_there,
                                           .shares_once = !all,
                                           .is_first = !all };

      for (uint32_t i = 0; i < lengths->n_slots; i++)
        is_there[i] =
            lengths->slots[i].is_once || (all && lengths->slots[i].is_over_cuts);
      status = check_step (lengths, parameters, &way, out_law, error);
    }
  free (is_there);
  return status;
}

static TesseraStatus
check_ways (const TesseraLengths *lengths,
            const TesseraParameters *parameters,
            TesseraLaw *out_law,
            TesseraError *error)
{
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < N_WAYS && status == TESSERA_OK; i++)
    status = check_step (lengths, parameters, &ways[i], out_law, error);
  if (status == TESSERA_OK && lengths->cut_phase)
    status = check_parts (lengths, parameters, out_law, error);
  return status;
}

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
    if (lengths->start[i].is_held)
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

/* Each slot of an instance that was made from a pinned one. */
static TesseraStatus
check_pinned (const TesseraPlan *plan,
              const uint64_t *pins,
              TesseraLaw *out_law,
              TesseraError *error)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      if (pins[slot->block] == UINT64_MAX || pins[slot->block] == slot->offset_bytes)
        continue;
      *out_law = TESSERA_LAW_PIN;
      return tessera_fail (error, TESSERA_REFUSED,
                           "slot %" PRIu32 " is pinned to offset %" PRIu64
                           " and lies at %" PRIu64,
                           slot->block, pins[slot->block], slot->offset_bytes);
    }
  return TESSERA_OK;
}

static TesseraStatus
check_pins_of_step (const TesseraLengths *lengths,
                    const TesseraParameters *parameters,
                    const uint64_t *pins,
                    TesseraLaw *out_law,
                    TesseraError *error)
{
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < N_WAYS && status == TESSERA_OK; i++)
    {
      TesseraPlan *plan;

      status = tessera_instance_of_step (lengths, parameters, &ways[i], &plan);
      if (status == TESSERA_INVALID)
        return TESSERA_OK;
      if (status == TESSERA_OK)
        status = check_pinned (plan, pins, out_law, error);
      tessera_plan_free (plan);
    }
  return status;
}

/* The @k-th of N_SAMPLED + 1 numbers from 1 to @most. */
static uint64_t
sample_to (uint64_t most, uint64_t k)
{
  return 1 + (most - 1) / N_SAMPLED * k + (most - 1) % N_SAMPLED * k / N_SAMPLED;
}

static uint64_t
count_samples (const TesseraLengths *lengths)
{
  return N_SAMPLED + 1 + (lengths->most.second > 0 ? N_CORNERS : 0);
}

/* The parameters that are checked besides the observed: the @k-th. Where there are two
 * lengths each of one meets another of the other, and then come the corners of the box:
 * there slots are as large to each other as they can be. */
static TesseraParameters
sample (const TesseraLengths *lengths, uint64_t k)
{
  const TesseraParameters *most = &lengths->most;
  uint64_t corner = k - N_SAMPLED - 1;
  uint64_t second = k == N_SAMPLED ? k : k * STRIDE % N_SAMPLED;

  if (k > N_SAMPLED)
    return (TesseraParameters){ corner & 1 ? most->batch : 1,
                                corner & 2 ? most->length : 1,
                                corner & 4 ? most->second : 1 };
  return (TesseraParameters){
    .batch = k == N_SAMPLED ? most->batch : 1 + k % most->batch,
    .length = sample_to (most->length, k),
    .second = most->second > 0 ? sample_to (most->second, second) : 0,
  };
}

TesseraStatus
tessera_check_lengths_pins (const TesseraLengths *lengths,
                            const uint64_t *of_slot,
                            const uint64_t *of_start,
                            TesseraLaw *out_law,
                            TesseraError *error)
{
  TesseraPlan *start = NULL;
  TesseraStatus status = tessera_instance_of_start (lengths, &start);

  *out_law = TESSERA_LAW_NONE;
  if (status == TESSERA_OK)
    status = check_pinned (start, of_start, out_law, error);
  tessera_plan_free (start);
  for (uint32_t i = 0; i < lengths->n_observed && status == TESSERA_OK; i++)
    status = check_pins_of_step (lengths, &lengths->observed[i], of_slot, out_law, error);
  for (uint64_t k = 0; k < count_samples (lengths) && status == TESSERA_OK; k++)
    {
      const TesseraParameters sampled = sample (lengths, k);

      status = check_pins_of_step (lengths, &sampled, of_slot, out_law, error);
    }
  return status;
}

TesseraStatus
tessera_check_lengths (const TesseraLengths *lengths,
                       TesseraLaw *out_law,
                       TesseraError *error)
{
  TesseraPlan *start = NULL;
  TesseraStatus status = tessera_instance_of_start (lengths, &start);

  *out_law = TESSERA_LAW_NONE;
  if (status == TESSERA_OK)
    status = check_fixed (lengths, out_law, error);
  if (status == TESSERA_OK)
    status = tessera_check_plan (start, NULL, out_law, error);
  tessera_plan_free (start);
  for (uint32_t i = 0; i < lengths->n_observed && status == TESSERA_OK; i++)
    status = check_ways (lengths, &lengths->observed[i], out_law, error);
  for (uint64_t k = 0; k < count_samples (lengths) && status == TESSERA_OK; k++)
    {
      const TesseraParameters sampled = sample (lengths, k);

      status = check_ways (lengths, &sampled, out_law, error);
    }
  return status;
}
