/*
 * Whether steps of any length keep small and large blocks apart as PyTorch does: a range
 * passes between them only once it is open (planner/check.h).
 *
 * Each step is seen as a plan of its own, followed twice; the step that makes what one
 * step makes once. Between steps of different length places differ, and the guard of the
 * pool alone decides (allocator/policy/guard/guard.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/follow/lengths/instance.h"
#include "planner/check/lengths.h"
#include "planner/check/sweep.h"

static TesseraStatus
check_step (const TesseraLengths *lengths,
            const TesseraParameters *at,
            const TesseraInstanceOptions *way,
            TesseraLaw *out_law,
            TesseraError *error)
{
  TesseraPlan *plan;
  TesseraError found = { 0 };
  TesseraStatus status = tessera_instance_of_step (lengths, at, way, &plan);

  if (status == TESSERA_INVALID)
    return TESSERA_OK;
  if (status != TESSERA_OK)
    return status;
  plan->sections[0].kind = way->is_first ? TESSERA_SECTION_ONCE : TESSERA_SECTION_REPEATS;
  status = tessera_check_hand_overs (plan, &found);
  tessera_plan_free (plan);
  if (status != TESSERA_REFUSED)
    return status;
  *out_law = TESSERA_LAW_STREAMS;
  return tessera_check_refuse_at (at, &found, error);
}

TesseraStatus
tessera_check_lengths_sizes (const TesseraLengths *lengths,
                             const TesseraParameters *at,
                             size_t n_at,
                             TesseraLaw *out_law,
                             TesseraError *error)
{
  bool *is_there = calloc ((size_t) lengths->n_slots + 1, sizeof *is_there);
  const TesseraInstanceOptions later = { .is_there = is_there }, first = {
    .is_first = true
  };
  TesseraStatus status = is_there ? TESSERA_OK : TESSERA_NO_MEMORY;

  *out_law = TESSERA_LAW_NONE;
  for (uint32_t i = 0; i < lengths->n_slots && status == TESSERA_OK; i++)
    is_there[i] = tessera_lengths_slot_stays (&lengths->slots[i]);
  for (size_t i = 0; i < n_at && status == TESSERA_OK; i++)
    {
      status = check_step (lengths, &at[i], &later, out_law, error);
      if (status == TESSERA_OK)
        status = check_step (lengths, &at[i], &first, out_law, error);
    }
  free (is_there);
  return status;
}
