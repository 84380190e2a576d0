/*
 * The checker: accepts a plan or says which law it breaks. See check.h.
 *
 * Each law is one function that finds the first slot in its way. The laws that look at
 * single slots come first, so that the sweeps behind them may rely on sane numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check.h"

#include "planner/check/sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *
tessera_law_name (TesseraLaw law)
{
  switch (law)
    {
    case TESSERA_LAW_NONE:
      return "none";
    case TESSERA_LAW_ALIGNMENT:
      return "alignment";
    case TESSERA_LAW_BOUNDS:
      return "bounds";
    case TESSERA_LAW_LIFETIME:
      return "lifetime";
    case TESSERA_LAW_OVERLAP:
      return "overlap";
    case TESSERA_LAW_ROTATION:
      return "rotation";
    case TESSERA_LAW_STREAMS:
      return "streams";
    case TESSERA_LAW_SECTIONS:
      return "sections";
    case TESSERA_LAW_HEIGHT:
      return "height";
    case TESSERA_LAW_BOUND:
      return "bound";
    case TESSERA_LAW_PROOF:
      return "proof";
    case TESSERA_LAW_DIGEST:
      return "digest";
    case TESSERA_LAW_FINGERPRINT:
      return "fingerprint";
    case TESSERA_LAW_PIN:
      return "pin";
    case TESSERA_LAW_TOGETHER:
      return "together";
    case TESSERA_LAW_APART:
      return "apart";
    case TESSERA_LAW_CAP:
      return "cap";
    case TESSERA_LAW_ROOMS:
      return "rooms";
    case TESSERA_LAW_UNPLANNED:
      return "unplanned";
    }
  return "unknown";
}

void
tessera_check_describe (const TesseraPlan *plan, size_t slot_index, TesseraSlotText *text)
{
  const TesseraSlot *slot = &plan->slots[slot_index];
  int n = snprintf (text->text, sizeof text->text,
                    "slot %zu (%" PRIu64 " bytes at offset %" PRIu64 ", stream %u, "
                    "[%" PRIu32 ", %" PRIu32 ")",
                    slot_index, slot->block_bytes, slot->offset_bytes,
                    (unsigned) slot->stream, slot->born, slot->died);
  if (n > 0 && (size_t) n < sizeof text->text)
    snprintf (text->text + n, sizeof text->text - (size_t) n,
              slot->wraps ? " and up to %" PRIu32 " of the next step)" : ")",
              slot->died_next);
}

static TesseraStatus
refuse_slot (const TesseraPlan *plan,
             size_t slot_index,
             TesseraError *error,
             const char *expected,
             uint64_t number)
{
  TesseraSlotText text;
  tessera_check_describe (plan, slot_index, &text);
  return tessera_fail (error, TESSERA_REFUSED, "%s %" PRIu64 ", found %s", expected,
                       number, text.text);
}

static TesseraStatus
check_alignment (TesseraCheck *check, TesseraError *error)
{
  const TesseraPlan *plan = check->plan;
  uint64_t alignment = plan->alignment_bytes;
  if (alignment == 0)
    return tessera_fail (error, TESSERA_REFUSED,
                         "alignment: expected at least 1 byte, found 0");
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      if (slot->offset_bytes % alignment != 0 || slot->block_bytes % alignment != 0)
        return refuse_slot (plan, i, error,
                            "alignment: expected offset and bytes to be multiples of",
                            alignment);
      if (slot->block_bytes == 0 || slot->block_bytes < slot->size_bytes)
        return refuse_slot (plan, i, error,
                            "alignment: expected more than 0 bytes and at least the size "
                            "asked for, which is",
                            slot->size_bytes);
    }
  return TESSERA_OK;
}

static TesseraStatus
check_bounds (TesseraCheck *check, TesseraError *error)
{
  const TesseraPlan *plan = check->plan;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      if (slot->block_bytes <= plan->height_bytes &&
          slot->offset_bytes <= plan->height_bytes - slot->block_bytes)
        continue;
      return refuse_slot (plan, i, error,
                          "bounds: expected all slots inside the pool, whose bytes are",
                          plan->height_bytes);
    }
  return TESSERA_OK;
}

/* The slots of one section; *slot_index is where they begin and then where they end. */
static TesseraStatus
check_slots_of_section (const TesseraPlan *plan,
                        size_t section_index,
                        size_t *slot_index,
                        TesseraError *error)
{
  const TesseraSection *section = &plan->sections[section_index];
  uint32_t last_born = section->begin;
  size_t end = *slot_index + section->n_slots;
  for (; *slot_index < end; ++*slot_index)
    {
      const TesseraSlot *slot = &plan->slots[*slot_index];
      bool is_requested = slot->ordinal != TESSERA_NONE;
      uint32_t earliest = is_requested ? last_born : section->begin;
      bool is_inside =
          slot->born < section->end || (!is_requested && slot->born == section->begin);
      if (slot->section == section_index && slot->born >= earliest && is_inside)
        {
          last_born = is_requested ? slot->born : last_born;
          continue;
        }
      TesseraSlotText text;
      tessera_check_describe (plan, *slot_index, &text);
      return tessera_fail (error, TESSERA_REFUSED,
                           "sections: expected a slot of section %zu born in [%" PRIu32
                           ", %" PRIu32 "), found section %" PRIu32 ", %s",
                           section_index, earliest, section->end, slot->section,
                           text.text);
    }
  return TESSERA_OK;
}

/* Kinds of step lie side by side, few sections before and after them. */
static bool
may_be_another (const TesseraPlan *plan, size_t section, size_t n_repeats)
{
  return n_repeats <= TESSERA_CHECK_MAX_KINDS &&
         plan->sections[section - 1].kind == TESSERA_SECTION_REPEATS &&
         plan->sections[section - 1].end == plan->sections[section].begin &&
         plan->n_sections <= n_repeats + TESSERA_CHECK_MAX_KINDS;
}

static TesseraStatus
check_sections (TesseraCheck *check, TesseraError *error)
{
  const TesseraPlan *plan = check->plan;
  size_t n_repeats = 0, slot_index = 0;
  uint32_t last_end = 0;
  if (plan->n_slots > UINT32_MAX / 2)
    return tessera_fail (error, TESSERA_REFUSED,
                         "sections: expected at most %" PRIu32 " slots, found %zu",
                         UINT32_MAX / 2, plan->n_slots);
  for (size_t i = 0; i < plan->n_sections; i++)
    {
      const TesseraSection *section = &plan->sections[i];
      if (section->begin < last_end || section->end < section->begin ||
          section->end > plan->n_positions)
        return tessera_fail (error, TESSERA_REFUSED,
                             "sections: expected section %zu inside [%" PRIu32
                             ", %" PRIu32 "), found [%" PRIu32 ", %" PRIu32 ")",
                             i, last_end, plan->n_positions, section->begin,
                             section->end);
      bool repeats = section->kind == TESSERA_SECTION_REPEATS;
      n_repeats += repeats;
      if (repeats && n_repeats > 1 && !may_be_another (plan, i, n_repeats))
        return tessera_fail (error, TESSERA_REFUSED,
                             "sections: expected one that repeats, or up to %d in a row, "
                             "found section %zu "
                             "as another",
                             TESSERA_CHECK_MAX_KINDS, i);
      if (section->first_slot != slot_index ||
          section->n_slots > plan->n_slots - slot_index)
        return tessera_fail (
            error, TESSERA_REFUSED,
            "sections: expected section %zu to begin at slot %zu of %zu, "
            "found slot %" PRIu32 " and %" PRIu32 " slots",
            i, slot_index, plan->n_slots, section->first_slot, section->n_slots);
      TesseraStatus status = check_slots_of_section (plan, i, &slot_index, error);
      if (status != TESSERA_OK)
        return status;
      last_end = section->end;
    }
  if (slot_index != plan->n_slots)
    return tessera_fail (error, TESSERA_REFUSED,
                         "sections: expected all %zu slots in sections, found %zu",
                         plan->n_slots, slot_index);
  return TESSERA_OK;
}

static bool
wrap_is_sane (const TesseraPlan *plan, const TesseraSlot *slot)
{
  const TesseraSection *section = &plan->sections[slot->section];
  if (!slot->wraps)
    return slot->died_next == 0;
  return section->kind == TESSERA_SECTION_REPEATS && slot->died >= section->end &&
         slot->died_next + (section->alternate != TESSERA_ALTERNATE_NOT) >
             section->begin &&
         slot->died_next <= section->end;
}

static TesseraStatus
check_lifetimes (const TesseraPlan *plan, TesseraError *error)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      if (slot->born >= slot->died || slot->died > plan->n_positions)
        return refuse_slot (plan, i, error,
                            "lifetime: expected birth before end, and end not after",
                            plan->n_positions);
      if (!wrap_is_sane (plan, slot))
        return refuse_slot (plan, i, error,
                            "lifetime: expected a wrap, if any, from the end of the "
                            "repeating section into its next time; its next end is",
                            slot->died_next);
    }
  return TESSERA_OK;
}

/* Of one kind of step, or of several. */
static TesseraStatus
check_all_lifetimes (TesseraCheck *check, TesseraError *error)
{
  TesseraStatus status = check_lifetimes (check->plan, error);
  if (status == TESSERA_OK)
    status = tessera_check_crossings (check->plan, error);
  if (status == TESSERA_OK && tessera_check_has_several (&check->kinds))
    status = tessera_check_kinds_lifetimes (check->plan, &check->kinds, error);
  return status;
}

static TesseraStatus
check_height (TesseraCheck *check, TesseraError *error)
{
  const TesseraPlan *plan = check->plan;
  uint64_t highest = 0;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      uint64_t top = plan->slots[i].offset_bytes + plan->slots[i].block_bytes;
      highest = top > highest ? top : highest;
    }
  for (size_t i = 0; i < plan->n_rooms; i++)
    if (plan->rooms[i].end_bytes > highest)
      highest = plan->rooms[i].end_bytes;
  if (highest == plan->height_bytes)
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_REFUSED,
                       "height: expected %" PRIu64
                       " bytes, the highest end of a slot or room, found %" PRIu64,
                       highest, plan->height_bytes);
}

static TesseraStatus
check_bound (TesseraCheck *check, TesseraError *error)
{
  if (check->most_bytes == check->plan->bound_bytes)
    return TESSERA_OK;
  return tessera_fail (
      error, TESSERA_REFUSED,
      "bound: expected %" PRIu64 " bytes, %s at position %" PRIu32 ", found %" PRIu64,
      check->most_bytes,
      tessera_check_has_several (&check->kinds) ? "what may be held" : "the load",
      check->most_at, check->plan->bound_bytes);
}

static TesseraStatus
check_proof (TesseraCheck *check, TesseraError *error)
{
  const TesseraPlan *plan = check->plan;
  uint64_t proven_bytes = plan->proven_bound_bytes;
  if (proven_bytes == 0 ||
      (proven_bytes >= plan->bound_bytes && proven_bytes <= plan->height_bytes))
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_REFUSED,
                       "proof: expected a proven bound from %" PRIu64 " to %" PRIu64
                       " bytes, the load bound and the height, found %" PRIu64,
                       plan->bound_bytes, plan->height_bytes, proven_bytes);
}

static TesseraStatus
check_digest (TesseraCheck *check, TesseraError *error)
{
  const TesseraPlan *plan = check->plan;
  uint64_t digest = tessera_plan_digest (plan);
  if (digest == plan->slot_digest)
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_REFUSED,
                       "digest: expected %016" PRIx64 ", found %016" PRIx64, digest,
                       plan->slot_digest);
}

static TesseraStatus
check_fingerprint (const TesseraPlan *plan,
                   const TesseraTrace *trace,
                   TesseraError *error)
{
  uint64_t fingerprint = tessera_trace_fingerprint (trace);
  if (fingerprint == plan->trace_fingerprint)
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_REFUSED,
                       "fingerprint: expected %016" PRIx64 ", the trace's, found "
                       "%016" PRIx64 ": the plan breaks no law by itself; it was made "
                       "from another trace, or the trace has changed since",
                       fingerprint, plan->trace_fingerprint);
}

TesseraStatus
tessera_check_plan (const TesseraPlan *plan,
                    const TesseraTrace *trace,
                    TesseraLaw *out_law,
                    TesseraError *error)
{
  static const struct
  {
    TesseraLaw law;
    TesseraStatus (*holds) (TesseraCheck *check, TesseraError *error);
  } laws[] = {
    { TESSERA_LAW_ALIGNMENT, check_alignment },
    { TESSERA_LAW_BOUNDS, check_bounds },
    { TESSERA_LAW_SECTIONS, check_sections },
    { TESSERA_LAW_LIFETIME, check_all_lifetimes },
    { TESSERA_LAW_UNPLANNED, tessera_check_unplanned },
    { TESSERA_LAW_SECTIONS, tessera_check_layouts },
    { TESSERA_LAW_OVERLAP, tessera_check_overlap },
    { TESSERA_LAW_ROTATION, tessera_check_rotations },
    { TESSERA_LAW_STREAMS, tessera_check_streams },
    { TESSERA_LAW_ROOMS, tessera_check_rooms },
    { TESSERA_LAW_HEIGHT, check_height },
    { TESSERA_LAW_BOUND, check_bound },
    { TESSERA_LAW_PROOF, check_proof },
    { TESSERA_LAW_DIGEST, check_digest },
  };
  TesseraCheck check = { .plan = plan, .kinds = tessera_check_find_kinds (plan) };
  TesseraStatus status = TESSERA_OK;
  *out_law = TESSERA_LAW_NONE;
  for (size_t i = 0; i < sizeof laws / sizeof *laws && status == TESSERA_OK; i++)
    {
      status = laws[i].holds (&check, error);
      if (status == TESSERA_REFUSED)
        *out_law = laws[i].law;
    }
  free (check.rotations);
  if (status == TESSERA_OK && trace != NULL)
    {
      status = check_fingerprint (plan, trace, error);
      if (status == TESSERA_REFUSED)
        *out_law = TESSERA_LAW_FINGERPRINT;
    }
  return status;
}
