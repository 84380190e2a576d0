/*
 * Which half of a pair of steps comes next: see pairs.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/course/pairs.h"

static const TesseraSection *
find_pair (const TesseraPlan *plan, uint32_t *out_section)
{
  for (uint32_t s = 0; s < plan->n_sections; s++)
    if (plan->sections[s].is_paired && plan->sections[s].kind == TESSERA_SECTION_REPEATS)
      {
        *out_section = s;
        return &plan->sections[s];
      }
  return NULL;
}

void
tessera_follow_pairs_init (TesseraFollowPairs *pairs, const TesseraSlots *slots)
{
  uint32_t s = 0;

  *pairs = (TesseraFollowPairs){ .slots = slots };
  if (find_pair (slots->plan, &s) != NULL)
    pairs->half_request =
        slots->first_requests[s] + tessera_slots_n_requests (slots, s) / 2;
}

/* The half that leaves blocks of the slot to the other one; 2: none does. */
static uint32_t
half_of (const TesseraFollowPairs *pairs, uint32_t slot)
{
  const TesseraPlan *plan = pairs->slots->plan;
  const TesseraSlot *of = &plan->slots[slot];
  uint32_t half_slot;

  if (pairs->half_request == 0 || !plan->sections[of->section].is_paired)
    return 2;
  half_slot = pairs->slots->next_slots[pairs->half_request];
  if (slot >= half_slot)
    return of->wraps ? 1 : 2;
  return half_slot < plan->n_slots && of->died > plan->slots[half_slot].born ? 0 : 2;
}

void
tessera_follow_pairs_take (TesseraFollowPairs *pairs, uint32_t slot)
{
  uint32_t half = half_of (pairs, slot);

  if (half < 2)
    pairs->left_bytes[half] += pairs->slots->plan->slots[slot].block_bytes;
}

void
tessera_follow_pairs_give_back (TesseraFollowPairs *pairs, uint32_t slot)
{
  uint32_t half = half_of (pairs, slot);

  if (half < 2)
    pairs->left_bytes[half] -= pairs->slots->plan->slots[slot].block_bytes;
}

uint32_t
tessera_follow_pairs_place (const TesseraFollowPairs *pairs)
{
  uint32_t s = 0;

  if (pairs->half_request == 0 || pairs->left_bytes[0] <= pairs->left_bytes[1])
    return 0;
  (void) find_pair (pairs->slots->plan, &s);
  return pairs->half_request - pairs->slots->first_requests[s];
}
