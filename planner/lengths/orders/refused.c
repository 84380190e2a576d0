/*
 * What the guard would refuse: see refused.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/orders/refused.h"

#include <stdlib.h>

#include "allocator/follow/lengths/instance.h"
#include "allocator/policy/guard/guard.h"

typedef struct
{
  const TesseraLengths *of;
  TesseraGuard *guard;
  bool *is_there;     /* [n_slots] what one step made */
  uint32_t *first_of; /* [n_slots + 2] of @ending: those that end before a slot's request */
  uint32_t *ending;   /* [n_slots] slots of the plan */
  bool *is_taken;     /* [n_slots] by slot of the plan */
  uint64_t height_bytes, bytes;
} Run;

/* Lists what ends when. */
static void
list_ends (Run *run, const TesseraPlan *plan)
{
  uint32_t n = run->of->n_slots;

  for (uint32_t i = 0; i <= n + 1; i++)
    run->first_of[i] = 0;
  for (size_t i = 0; i < plan->n_slots; i++)
    run->first_of[plan->slots[i].died + 1]++;
  for (uint32_t i = 0; i <= n; i++)
    run->first_of[i + 1] += run->first_of[i];
  for (size_t i = plan->n_slots; i > 0; i--)
    run->ending[--run->first_of[plan->slots[i - 1].died + 1]] = (uint32_t) (i - 1);
}

static TesseraStatus
free_ended (Run *run, const TesseraPlan *plan, uint32_t position)
{
  uint32_t end =
      position < run->of->n_slots ? run->first_of[position + 2] : (uint32_t) plan->n_slots;

  for (uint32_t k = run->first_of[position + 1]; k < end; k++)
    {
      uint64_t offset_bytes = plan->slots[run->ending[k]].offset_bytes;

      if (!run->is_taken[run->ending[k]])
        continue;
      if (tessera_guard_free_requested (run->guard, offset_bytes) != TESSERA_OK ||
          tessera_guard_free_completed (run->guard, offset_bytes) != TESSERA_OK)
        return TESSERA_INVALID;
    }
  return TESSERA_OK;
}

static TesseraStatus
ask (Run *run, const TesseraPlan *plan, uint32_t index)
{
  const TesseraSlot *slot = &plan->slots[index];
  const TesseraGuardRequest request = { .size_bytes = slot->size_bytes,
                                        .block_bytes = slot->block_bytes,
                                        .stream = slot->stream,
                                        .pool = slot->pool };
  TesseraGuardVerdict verdict;
  uint64_t end_bytes;
  TesseraStatus status = tessera_guard_see_request (run->guard, &request);

  run->is_taken[index] = false;
  if (status != TESSERA_OK || run->of->slots[slot->block].place != TESSERA_PLACE_SWEPT)
    return status;
  verdict = tessera_guard_take (run->guard, slot->offset_bytes, &request, &end_bytes);
  run->is_taken[index] = verdict == TESSERA_GUARD_GRANTED;
  if (verdict == TESSERA_GUARD_UNORDERED)
    run->bytes += slot->block_bytes;
  return TESSERA_OK;
}

static TesseraStatus
follow_step (Run *run, const TesseraPlan *plan)
{
  TesseraStatus status = TESSERA_OK;
  uint32_t i = 0;

  list_ends (run, plan);
  for (uint32_t at = 0; at <= run->of->n_slots && status == TESSERA_OK; at++)
    {
      status = free_ended (run, plan, at);
      if (status == TESSERA_OK && i < plan->n_slots && plan->slots[i].born == at)
        status = ask (run, plan, i++);
    }
  return status;
}

/* A law that gives nothing at these parameters plans nothing. */
static TesseraStatus
follow (Run *run, const TesseraParameters *at)
{
  const TesseraInstanceOptions options = { .is_there = run->is_there };
  TesseraPlan *plan;
  TesseraStatus status = tessera_instance_of_step (run->of, at, &options, &plan);

  if (status == TESSERA_INVALID)
    return TESSERA_OK;
  if (status == TESSERA_OK && plan->height_bytes > run->height_bytes)
    {
      run->height_bytes = plan->height_bytes;
      status = tessera_guard_grow (run->guard, plan->height_bytes);
    }
  if (status == TESSERA_OK)
    status = follow_step (run, plan);
  tessera_plan_free (plan);
  return status;
}

TesseraStatus
tessera_lengths_refused (const TesseraLengths *lengths,
                         const TesseraParameters *at,
                         size_t n_at,
                         uint64_t *out_bytes)
{
  Run run = { .of = lengths, .height_bytes = lengths->alignment_bytes };
  size_t n = lengths->n_slots;
  TesseraStatus status =
      tessera_guard_new (lengths->alignment_bytes, &tessera_guard_laws, &run.guard);

  run.is_there = calloc (n + 1, sizeof *run.is_there);
  run.first_of = malloc ((n + 3) * sizeof *run.first_of);
  run.ending = malloc ((n + 1) * sizeof *run.ending);
  run.is_taken = malloc ((n + 1) * sizeof *run.is_taken);
  if (!run.is_there || !run.first_of || !run.ending || !run.is_taken)
    status = TESSERA_NO_MEMORY;
  if (status == TESSERA_OK)
    tessera_guard_see_streams (run.guard);
  for (uint32_t i = 0; i < n && status == TESSERA_OK; i++)
    run.is_there[i] = tessera_lengths_slot_stays (&lengths->slots[i]);
  for (size_t i = 0; i < n_at && status == TESSERA_OK; i++)
    status = follow (&run, &at[i]);
  tessera_guard_free (run.guard);
  free (run.is_there);
  free (run.first_of);
  free (run.ending);
  free (run.is_taken);
  *out_bytes = run.bytes;
  return status;
}
