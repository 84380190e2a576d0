/*
 * The kinds of step of a plan, and the lifetimes of what passes from one to another: see
 * check.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/kinds.h"

#include <inttypes.h>

#include "planner/check/sweep.h"

TesseraCheckKinds
tessera_check_find_kinds (const TesseraPlan *plan)
{
  TesseraCheckKinds kinds = { 0 };
  for (size_t i = 0; i < plan->n_sections; i++)
    if (plan->sections[i].kind == TESSERA_SECTION_REPEATS)
      {
        if (kinds.end == 0)
          {
            kinds.first = i;
            kinds.begin = plan->sections[i].begin;
          }
        kinds.end = i + 1;
        kinds.stop = plan->sections[i].end;
      }
  return kinds;
}

bool
tessera_check_has_several (const TesseraCheckKinds *kinds)
{
  return kinds->end - kinds->first > 1;
}

static bool
is_of_kind (const TesseraCheckKinds *kinds, const TesseraSlot *slot)
{
  return slot->section >= kinds->first && slot->section < kinds->end;
}

static TesseraStatus
refuse (const TesseraPlan *plan, uint32_t slot, TesseraError *error, const char *expected)
{
  TesseraSlotText text;
  tessera_check_describe (plan, slot, &text);
  return tessera_fail (error, TESSERA_REFUSED, "%s, found %s", expected, text.text);
}

/* What of lifetimes goes beyond those of one kind. */
TesseraStatus
tessera_check_kinds_lifetimes (const TesseraPlan *plan,
                               const TesseraCheckKinds *kinds,
                               TesseraError *error)
{
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      uint32_t end = plan->sections[slot->section].end;
      bool is_sane = true;
      if (slot->section < kinds->first)
        is_sane = slot->died <= kinds->begin || slot->died >= kinds->stop;
      else if (is_of_kind (kinds, slot))
        is_sane = slot->wraps ? slot->died == end || slot->died > kinds->stop
                              : slot->died <= end;
      if (!is_sane)
        return refuse (plan, i, error,
                       "lifetime: expected an end inside the slot's own section, at its "
                       "end, or after all kinds of step");
    }
  return TESSERA_OK;
}

/* A step of one layout finds nothing that its own layout left, if the slot says so. */
static bool
is_absent (const TesseraPlan *plan, uint32_t slot, uint32_t section, uint32_t died)
{
  const TesseraSection *home = &plan->sections[plan->slots[slot].section];
  return died == plan->sections[section].begin &&
         home->alternate != TESSERA_ALTERNATE_NOT &&
         home->alternate == plan->sections[section].alternate &&
         plan->slots[slot].died_next == home->begin;
}

TesseraStatus
tessera_check_crossings (const TesseraPlan *plan, TesseraError *error)
{
  for (size_t i = 0; i < plan->n_crossings; i++)
    {
      const TesseraCrossing *crossing = &plan->crossings[i];
      const TesseraCrossing *before = i > 0 ? &plan->crossings[i - 1] : NULL;
      bool is_sane =
          crossing->slot < plan->n_slots && crossing->section < plan->n_sections &&
          plan->slots[crossing->slot].wraps &&
          plan->slots[crossing->slot].section != crossing->section &&
          plan->sections[crossing->section].kind == TESSERA_SECTION_REPEATS &&
          (crossing->died > plan->sections[crossing->section].begin ||
           is_absent (plan, crossing->slot, crossing->section, crossing->died)) &&
          crossing->died <= plan->sections[crossing->section].end &&
          (before == NULL || before->slot < crossing->slot ||
           (before->slot == crossing->slot && before->section < crossing->section));
      if (!is_sane)
        return tessera_fail (error, TESSERA_REFUSED,
                             "lifetime: expected crossings in order, each of a slot that "
                             "wraps into another section that repeats, found slot "
                             "%" PRIu32 " up to %" PRIu32 " in section %" PRIu32,
                             crossing->slot, crossing->died, crossing->section);
    }
  return TESSERA_OK;
}

uint32_t
tessera_check_crossed (const TesseraPlan *plan, uint32_t slot, uint32_t section)
{
  size_t low = 0, high = plan->n_crossings;
  while (low < high)
    {
      size_t middle = low + (high - low) / 2;
      const TesseraCrossing *at = &plan->crossings[middle];
      if (at->slot < slot || (at->slot == slot && at->section < section))
        low = middle + 1;
      else
        high = middle;
    }
  if (low < plan->n_crossings && plan->crossings[low].slot == slot &&
      plan->crossings[low].section == section)
    return plan->crossings[low].died;
  return plan->sections[section].end;
}
