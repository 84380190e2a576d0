/*
 * Several kinds of step, whatever their order: see check.h.
 *
 * Two blocks meet at the birth of the later one, if ever: what is alive in two places of
 * the pool at once was so when the second began. So the sweep goes through each section
 * once, with all that may have been carried into it, and asks at each birth whether the
 * range is free. What is carried in by different kinds may share a place: whichever of
 * the two was born later found the other gone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/kinds.h"

#include "planner/check/cover.h"

#include <inttypes.h>
#include <stdlib.h>

bool
tessera_check_has_kinds (const TesseraPlan *plan, TesseraCheckKinds *out_kinds)
{
  size_t n = 0;
  *out_kinds = (TesseraCheckKinds){ 0 };
  for (size_t i = 0; i < plan->n_sections; i++)
    if (plan->sections[i].kind == TESSERA_SECTION_REPEATS)
      {
        if (n++ == 0)
          *out_kinds =
              (TesseraCheckKinds){ .first = i, .begin = plan->sections[i].begin };
        out_kinds->end = i + 1;
        out_kinds->stop = plan->sections[i].end;
      }
  return n > 1;
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

/* A birth, or the end of what is held. */
typedef struct
{
  uint64_t key; /* position * 2 + (1 for a birth) */
  uint32_t slot;
} Change;

typedef struct
{
  const TesseraPlan *plan;
  const TesseraCheckKinds *kinds;
  const uint32_t *rotations; /* [n_slots] 1 + rotation, or 0 */
  uint32_t *homes; /* by these numbers: the first section that has the rotation */
  TesseraCover cover;
  Change *changes; /* of the section at hand */
  size_t n_changes;
  uint64_t most_bytes; /* held at once */
  uint32_t most_at;
} Sweep;

static int
compare_changes (const void *a, const void *b)
{
  const Change *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static void
note_load (Sweep *sweep, uint32_t position)
{
  uint64_t bytes = tessera_cover_bytes (&sweep->cover);
  if (bytes <= sweep->most_bytes)
    return;
  sweep->most_bytes = bytes;
  sweep->most_at = position;
}

/* Up to when a slot of another section, or of the step before, is held in this one; 0:
 * not at all. */
static uint32_t
held_until (const Sweep *sweep, uint32_t index, size_t section)
{
  const TesseraSlot *slot = &sweep->plan->slots[index];
  bool is_kind = section >= sweep->kinds->first && section < sweep->kinds->end;
  if (is_kind && is_of_kind (sweep->kinds, slot))
    {
      if (!slot->wraps || sweep->rotations[index] != 0)
        return 0;
      return slot->section == section
                 ? slot->died_next
                 : tessera_check_crossed (sweep->plan, index, (uint32_t) section);
    }
  return slot->section < section && slot->died > sweep->plan->sections[section].begin
             ? slot->died
             : 0;
}

/* All that may have been carried into the section. */
static void
carry_in (Sweep *sweep, size_t section)
{
  const TesseraPlan *plan = sweep->plan;
  tessera_cover_forget (&sweep->cover);
  sweep->n_changes = 0;
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      uint32_t until = held_until (sweep, i, section);
      if (until <= plan->sections[section].begin)
        continue;
      tessera_cover_add (&sweep->cover, &plan->slots[i]);
      if (until < plan->sections[section].end)
        sweep->changes[sweep->n_changes++] = (Change){ (uint64_t) until * 2, i };
    }
}

static TesseraStatus
refuse_held (const Sweep *sweep, uint32_t slot, size_t section, TesseraError *error)
{
  TesseraSlotText text;
  tessera_check_describe (sweep->plan, slot, &text);
  return tessera_fail (error, TESSERA_REFUSED,
                       "overlap: expected no address that may be held in section %zu, "
                       "whatever kinds of step came before, found %s",
                       section, text.text);
}

/* The places of rotations are reserved in every step: each once, as the first kind has
 * them (all have the same: the law of rotations). */
static TesseraStatus
reserve_rotations (Sweep *sweep, size_t section, TesseraError *error)
{
  const TesseraPlan *plan = sweep->plan;
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      uint32_t rotation = sweep->rotations[i];
      if (rotation == 0)
        continue;
      if (sweep->homes[rotation] == TESSERA_NONE)
        sweep->homes[rotation] = slot->section;
      if (sweep->homes[rotation] != slot->section)
        continue;
      if (!tessera_cover_is_free (&sweep->cover, slot))
        return refuse_held (sweep, i, section, error);
      tessera_cover_add (&sweep->cover, slot);
    }
  return TESSERA_OK;
}

static void
list_births (Sweep *sweep, size_t section)
{
  const TesseraPlan *plan = sweep->plan;
  const TesseraSection *at = &plan->sections[section];
  for (uint32_t i = at->first_slot; i < at->first_slot + at->n_slots; i++)
    {
      uint32_t died = plan->slots[i].died;
      if (sweep->rotations[i] != 0)
        continue;
      sweep->changes[sweep->n_changes++] =
          (Change){ (uint64_t) plan->slots[i].born * 2 + 1, i };
      if (died < at->end)
        sweep->changes[sweep->n_changes++] = (Change){ (uint64_t) died * 2, i };
    }
}

static TesseraStatus
sweep_section (Sweep *sweep, size_t section, TesseraError *error)
{
  const TesseraPlan *plan = sweep->plan;
  TesseraStatus status = TESSERA_OK;
  carry_in (sweep, section);
  if (section >= sweep->kinds->first && section < sweep->kinds->end)
    status = reserve_rotations (sweep, section, error);
  note_load (sweep, plan->sections[section].begin);
  list_births (sweep, section);
  qsort (sweep->changes, sweep->n_changes, sizeof *sweep->changes, compare_changes);
  for (size_t i = 0; status == TESSERA_OK && i < sweep->n_changes; i++)
    {
      const Change *change = &sweep->changes[i];
      const TesseraSlot *slot = &plan->slots[change->slot];
      if ((change->key & 1) == 0)
        {
          tessera_cover_remove (&sweep->cover, slot);
          continue;
        }
      if (!tessera_cover_is_free (&sweep->cover, slot))
        return refuse_held (sweep, change->slot, section, error);
      tessera_cover_add (&sweep->cover, slot);
      note_load (sweep, (uint32_t) (change->key / 2));
    }
  return status;
}

static TesseraStatus
sweep_all (const TesseraPlan *plan,
           const TesseraCheckKinds *kinds,
           Sweep *sweep,
           TesseraError *error)
{
  uint32_t *rotations = NULL, n_rotations;
  TesseraStatus status = tessera_check_find_rotations (plan, &rotations, &n_rotations);
  *sweep = (Sweep){ .plan = plan, .kinds = kinds, .rotations = rotations };
  if (status == TESSERA_OK)
    status = tessera_cover_init (&sweep->cover, plan);
  if (status == TESSERA_OK)
    {
      sweep->changes = calloc (3 * plan->n_slots + 1, sizeof *sweep->changes);
      sweep->homes = malloc (((size_t) n_rotations + 1) * sizeof *sweep->homes);
      status =
          sweep->changes != NULL && sweep->homes != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
    }
  for (uint32_t r = 0; status == TESSERA_OK && r <= n_rotations; r++)
    sweep->homes[r] = TESSERA_NONE;
  for (size_t s = 0; status == TESSERA_OK && s < plan->n_sections; s++)
    status = sweep_section (sweep, s, error);
  tessera_cover_clear (&sweep->cover);
  free (sweep->changes);
  free (sweep->homes);
  free (rotations);
  return status;
}

TesseraStatus
tessera_check_kinds_overlap (const TesseraPlan *plan,
                             const TesseraCheckKinds *kinds,
                             TesseraError *error)
{
  Sweep sweep;
  return plan->n_slots > 0 ? sweep_all (plan, kinds, &sweep, error) : TESSERA_OK;
}

TesseraStatus
tessera_check_kinds_bound (const TesseraPlan *plan,
                           const TesseraCheckKinds *kinds,
                           TesseraError *error)
{
  Sweep sweep = { 0 };
  TesseraStatus status =
      plan->n_slots > 0 ? sweep_all (plan, kinds, &sweep, error) : TESSERA_OK;
  if (status != TESSERA_OK || sweep.most_bytes == plan->bound_bytes)
    return status;
  return tessera_fail (error, TESSERA_REFUSED,
                       "bound: expected %" PRIu64 " bytes, what may be held at position "
                       "%" PRIu32 ", found %" PRIu64,
                       sweep.most_bytes, sweep.most_at, plan->bound_bytes);
}
