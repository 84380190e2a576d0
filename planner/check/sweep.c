/*
 * The sweep over the positions of a plan: the law of overlap, and how much is held at
 * most. See sweep.h.
 *
 * Two blocks meet at the birth of the later one, if ever: what is alive in two places of
 * the pool at once was so when the second began. So the sweep goes through each kind of
 * step once, with all that may have been carried into it, and asks at each birth whether
 * the range is free. What is carried in by different kinds may share a place: whichever
 * of the two was born later found the other gone. The sections before all kinds are one
 * part of the sweep, those after them another: a run passes through them in their order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/sweep.h"

#include <inttypes.h>
#include <stdlib.h>

#include "db/sort.h"
#include "planner/check/cover.h"

typedef struct
{
  TesseraCheck *check;
  TesseraError *error;
  uint32_t *homes; /* by 1 + rotation: the section of the first slot that takes turns */
  TesseraCover cover;
  TesseraKeyed *changes; /* of the part at hand: position * 2 + (1 for a birth), slot */
  size_t n_changes;
} Sweep;

static void
note_load (Sweep *sweep, uint32_t position)
{
  uint64_t bytes = tessera_cover_bytes (&sweep->cover);
  if (bytes <= sweep->check->most_bytes)
    return;
  sweep->check->most_bytes = bytes;
  sweep->check->most_at = position;
}

static bool
is_alive (const TesseraPlan *plan, const TesseraSlot *slot, uint32_t position)
{
  return (slot->born <= position && position < slot->died) ||
         (slot->wraps && plan->sections[slot->section].begin <= position &&
          position < slot->died_next);
}

/* The slot that is alive where @index is not free: for the sentence. */
static uint32_t
find_holder (const TesseraPlan *plan, uint32_t index, uint32_t position)
{
  const TesseraSlot *slot = &plan->slots[index];
  uint32_t i = 0;
  for (; i + 1 < plan->n_slots; i++)
    {
      const TesseraSlot *other = &plan->slots[i];
      if (i != index && other->offset_bytes < slot->offset_bytes + slot->block_bytes &&
          slot->offset_bytes < other->offset_bytes + other->block_bytes &&
          is_alive (plan, other, position))
        break;
    }
  return i;
}

static TesseraStatus
refuse (const Sweep *sweep, uint32_t index, size_t section, uint32_t position)
{
  const TesseraPlan *plan = sweep->check->plan;
  TesseraSlotText one, other;
  tessera_check_describe (plan, index, &one);
  if (tessera_check_has_several (&sweep->check->kinds))
    return tessera_fail (sweep->error, TESSERA_REFUSED,
                         "overlap: expected no address that may be held in section %zu, "
                         "whatever kinds of step came before, found %s",
                         section, one.text);
  uint32_t holder = find_holder (plan, index, position);
  uint64_t holder_bytes = plan->slots[holder].offset_bytes;
  uint64_t offset_bytes = plan->slots[index].offset_bytes;
  bool is_below =
      holder_bytes < offset_bytes || (holder_bytes == offset_bytes && holder < index);
  tessera_check_describe (plan, holder, &other);
  return tessera_fail (
      sweep->error, TESSERA_REFUSED,
      "overlap: expected no shared address at position %" PRIu32 ", found %s and %s",
      position, is_below ? other.text : one.text, is_below ? one.text : other.text);
}

/* A slot's place is held from now on, and was free. */
static TesseraStatus
claim (Sweep *sweep, uint32_t slot, size_t section, uint32_t position)
{
  if (!tessera_cover_is_free (&sweep->cover, slot))
    return refuse (sweep, slot, section, position);
  tessera_cover_add (&sweep->cover, slot);
  return TESSERA_OK;
}

static void
note_end (Sweep *sweep, uint32_t slot, uint32_t position)
{
  sweep->changes[sweep->n_changes++] = (TesseraKeyed){ (uint64_t) position * 2, slot };
}

/* All of sections before this one that lives on into it. */
static void
carry_from_before (Sweep *sweep, size_t section)
{
  const TesseraPlan *plan = sweep->check->plan;
  for (uint32_t i = 0; i < plan->sections[section].first_slot; i++)
    if (plan->slots[i].died > plan->sections[section].begin)
      {
        tessera_cover_add (&sweep->cover, i);
        note_end (sweep, i, plan->slots[i].died);
      }
}

/* What a kind finds of the step before it, if that was of the same kind, and the places
 * of all rotations, which are reserved in every step: each once, as the first kind has
 * them (all have the same: the law of rotations). */
static TesseraStatus
claim_carried (Sweep *sweep, size_t section)
{
  const TesseraPlan *plan = sweep->check->plan;
  uint32_t begin = plan->sections[section].begin;
  TesseraStatus status = TESSERA_OK;
  for (uint32_t i = 0; i < plan->n_slots && status == TESSERA_OK; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      uint32_t rotation = sweep->check->rotations[i];
      if (rotation != 0)
        {
          if (slot->section == sweep->homes[rotation])
            status = claim (sweep, i, section, begin);
        }
      else if (slot->wraps && slot->section == section && slot->died_next > begin)
        {
          status = claim (sweep, i, section, begin);
          note_end (sweep, i, slot->died_next);
        }
    }
  return status;
}

/* What a kind may find of other kinds. */
static void
carry_from_others (Sweep *sweep, size_t section)
{
  const TesseraPlan *plan = sweep->check->plan;
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      if (!slot->wraps || slot->section == section || sweep->check->rotations[i] != 0)
        continue;
      uint32_t until = tessera_check_crossed (plan, i, (uint32_t) section);
      if (until <= plan->sections[section].begin)
        continue;
      tessera_cover_add (&sweep->cover, i);
      note_end (sweep, i, until);
    }
}

static void
list_births (Sweep *sweep, size_t section)
{
  const TesseraPlan *plan = sweep->check->plan;
  const TesseraSection *at = &plan->sections[section];
  for (uint32_t i = at->first_slot; i < at->first_slot + at->n_slots; i++)
    {
      if (sweep->check->rotations[i] != 0)
        continue; /* its place is reserved */
      sweep->changes[sweep->n_changes++] =
          (TesseraKeyed){ (uint64_t) plan->slots[i].born * 2 + 1, i };
      note_end (sweep, i, plan->slots[i].died);
    }
}

/* Sections [first, end): one kind of step, or what a run passes through once. */
static TesseraStatus
sweep_part (Sweep *sweep, size_t first, size_t end, bool is_kind)
{
  const TesseraPlan *plan = sweep->check->plan;
  TesseraStatus status = TESSERA_OK;
  if (first == end)
    return TESSERA_OK;
  tessera_cover_forget (&sweep->cover);
  sweep->n_changes = 0;
  carry_from_before (sweep, is_kind ? sweep->check->kinds.first : first);
  if (is_kind)
    {
      status = claim_carried (sweep, first);
      carry_from_others (sweep, first);
    }
  note_load (sweep, plan->sections[first].begin);
  for (size_t s = first; s < end; s++)
    list_births (sweep, s);
  if (status == TESSERA_OK)
    status = tessera_sort_keyed (sweep->changes, sweep->n_changes);
  for (size_t i = 0; status == TESSERA_OK && i < sweep->n_changes; i++)
    {
      uint32_t slot = sweep->changes[i].value;
      uint32_t position = (uint32_t) (sweep->changes[i].key / 2);
      if (sweep->changes[i].key % 2 == 0)
        {
          tessera_cover_remove (&sweep->cover, slot);
          continue;
        }
      status = claim (sweep, slot, plan->slots[slot].section, position);
      note_load (sweep, position);
    }
  return status;
}

TesseraStatus
tessera_check_overlap (TesseraCheck *check, TesseraError *error)
{
  const TesseraPlan *plan = check->plan;
  const TesseraCheckKinds *kinds = &check->kinds;
  Sweep sweep = { .check = check, .error = error };
  if (plan->n_slots == 0)
    return TESSERA_OK;
  TesseraStatus status =
      tessera_check_find_rotations (plan, &check->rotations, &check->n_rotations);
  if (status == TESSERA_OK)
    status = tessera_cover_init (&sweep.cover, plan, false);
  sweep.changes = calloc (3 * plan->n_slots, sizeof *sweep.changes);
  sweep.homes = calloc ((size_t) check->n_rotations + 1, sizeof *sweep.homes);
  if (sweep.changes == NULL || sweep.homes == NULL)
    status = TESSERA_NO_MEMORY;
  for (size_t i = plan->n_slots; status == TESSERA_OK && i-- > 0;)
    sweep.homes[check->rotations[i]] = plan->slots[i].section;
  if (status == TESSERA_OK)
    status = sweep_part (&sweep, 0, kinds->first, false);
  for (size_t s = kinds->first; status == TESSERA_OK && s < kinds->end; s++)
    status = sweep_part (&sweep, s, s + 1, true);
  if (status == TESSERA_OK)
    status = sweep_part (&sweep, kinds->end, plan->n_sections, false);
  tessera_cover_clear (&sweep.cover);
  free (sweep.changes);
  free (sweep.homes);
  return status;
}
