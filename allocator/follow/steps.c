/*
 * Which step a run is doing: see matching.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/matching.h"

/* A step counts for its kind once so many requests agree, or all there are. */
#define SURE_REQUESTS 32

/* Whether blocks of the section are held up to the begin of its next step. */
static bool
leaves_blocks (const TesseraPlan *plan, const TesseraSection *section)
{
  for (uint32_t i = section->first_slot; i < section->first_slot + section->n_slots; i++)
    if (plan->slots[i].wraps && plan->slots[i].died_next == section->begin)
      return true;
  return false;
}

void
tessera_follow_kinds_init (TesseraFollowKinds *kinds, const TesseraSlots *slots)
{
  const TesseraPlan *plan = slots->plan;
  uint32_t s = 0;

  *kinds = (TesseraFollowKinds){ .slots = slots, .counted = TESSERA_NONE };
  while (s < plan->n_sections && plan->sections[s].kind != TESSERA_SECTION_REPEATS)
    s++;
  kinds->first = s;
  while (s < plan->n_sections && plan->sections[s].kind == TESSERA_SECTION_REPEATS &&
         kinds->n_kinds < TESSERA_FOLLOW_KINDS)
    {
      kinds->n_alternating += plan->sections[s].alternate == TESSERA_ALTERNATE_FIRST;
      kinds->leaving |= (uint64_t) leaves_blocks (plan, &plan->sections[s])
                        << kinds->n_kinds++;
      s++;
    }
  if (2 * kinds->n_alternating != kinds->n_kinds)
    kinds->n_alternating = 0;
}

bool
tessera_follow_kinds_has (const TesseraFollowKinds *kinds, uint32_t section)
{
  return kinds->n_kinds > 1 && section != TESSERA_NONE && section >= kinds->first &&
         section - kinds->first < kinds->n_kinds;
}

/* Some requests between two marks are none. */
static bool
is_step (const TesseraFollowKinds *kinds)
{
  uint32_t n_requests = tessera_slots_n_requests (kinds->slots, kinds->taken_in);

  return kinds->counted != TESSERA_NONE || kinds->n_taken >= SURE_REQUESTS ||
         kinds->n_taken > n_requests / 2;
}

/* Whether the next step has the second layout, or this one while nothing shows that it is
 * a step. */
static bool
is_second_next (const TesseraFollowKinds *kinds)
{
  uint32_t kind = kinds->taken_in - kinds->first;

  return is_step (kinds) && tessera_follow_kinds_has (kinds, kinds->taken_in) &&
                 (kinds->leaving >> kind & 1)
             ? kind < kinds->n_alternating
             : kinds->is_second;
}

/* Sections of the layout whose turn it is, or comes once the step at hand is known to be
 * of a kind: [first, first + n). Returns: n. */
static uint32_t
find_turn (const TesseraFollowKinds *kinds, uint32_t *out_first)
{
  *out_first = kinds->first + (is_second_next (kinds) ? kinds->n_alternating : 0);
  return kinds->n_alternating > 0 ? kinds->n_alternating : kinds->n_kinds;
}

void
tessera_follow_kinds_begin (TesseraFollowKinds *kinds)
{
  uint32_t first, n;

  kinds->is_second = is_second_next (kinds);
  kinds->counted = TESSERA_NONE;
  kinds->n_asked = kinds->n_taken = 0;
  n = find_turn (kinds, &first);
  kinds->possible = n < 64 ? (UINT64_C (1) << n) - 1 : UINT64_MAX;
  kinds->possible <<= first - kinds->first;
}

uint32_t
tessera_follow_kinds_likely (const TesseraFollowKinds *kinds)
{
  uint32_t first, n = find_turn (kinds, &first);
  uint32_t best = first - kinds->first;

  for (uint32_t k = best + 1; k < first - kinds->first + n; k++)
    if (kinds->n_steps[k] > kinds->n_steps[best] ||
        (kinds->n_steps[k] == kinds->n_steps[best] &&
         tessera_slots_n_requests (kinds->slots, kinds->first + k) >
             tessera_slots_n_requests (kinds->slots, kinds->first + best)))
      best = k;
  return kinds->first + best;
}

static bool
asks_for (const TesseraFollowKinds *kinds,
          uint32_t kind,
          uint32_t signature,
          uint32_t phase)
{
  const TesseraSlots *slots = kinds->slots;
  uint32_t section = kinds->first + kind;
  uint32_t request = slots->first_requests[section] + kinds->n_asked;

  return kinds->n_asked < tessera_slots_n_requests (slots, section) &&
         slots->signatures[request] == signature &&
         (phase == TESSERA_NONE || slots->phases[request] == phase);
}

/* The run is in step with the kind. */
static void
count (TesseraFollowKinds *kinds, uint32_t kind)
{
  if (kinds->counted == kind ||
      (kinds->n_asked < SURE_REQUESTS &&
       kinds->n_asked < tessera_slots_n_requests (kinds->slots, kinds->first + kind)))
    return;
  if (kinds->counted != TESSERA_NONE)
    kinds->n_steps[kinds->counted]--;
  kinds->n_steps[kind]++;
  kinds->counted = kind;
}

uint32_t
tessera_follow_kinds_see (TesseraFollowKinds *kinds,
                          uint32_t signature,
                          uint32_t phase,
                          uint32_t section,
                          uint32_t *out_place)
{
  uint32_t best = TESSERA_NONE;
  bool was_possible = false;

  if (kinds->possible == 0)
    return TESSERA_NONE;
  if (tessera_follow_kinds_has (kinds, section))
    was_possible = kinds->possible >> (section - kinds->first) & 1;
  for (uint32_t k = 0; k < kinds->n_kinds; k++)
    {
      if (!(kinds->possible >> k & 1))
        continue;
      if (!asks_for (kinds, k, signature, phase))
        kinds->possible &= ~(UINT64_C (1) << k);
      else if (best == TESSERA_NONE || kinds->n_steps[k] > kinds->n_steps[best])
        best = k;
    }
  *out_place = kinds->n_asked++;
  if (best == TESSERA_NONE)
    return TESSERA_NONE;
  if (was_possible && kinds->possible >> (section - kinds->first) & 1)
    best = section - kinds->first;
  count (kinds, best);
  return kinds->first + best == section ? TESSERA_NONE : kinds->first + best;
}
