/*
 * What edits want where steps are of several kinds: see plan.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "planner/kinds/plan.h"
#include "planner/structure/private.h"

uint32_t
tessera_units_stands_for (const TesseraUnits *units, uint32_t block)
{
  const TesseraBlock *of = &units->blocks->blocks[block];
  const TesseraUnit *unit;
  const TesseraStepKind *kind;

  if (of->flags & TESSERA_AT_START)
    return units->begin > 0 ? block : TESSERA_NONE;
  if (of->born_index < units->begin || of->born_index >= units->end)
    return of->born_index < units->limit ? block : TESSERA_NONE;
  unit = &units->units[tessera_units_at (units, of->born_index)];
  if (unit->kind == TESSERA_NONE)
    return TESSERA_NONE;
  kind = &units->kinds[unit->kind];
  return units->blocks
      ->block_of_event[kind->requests[units->place_of[of->born_index - units->begin]]];
}

/* What units keep, of those that stand for their kind. */
static void
leave_kept_out (TesseraPlanBuild *build, const TesseraUnits *units)
{
  for (uint32_t k = 0; k < units->n_kinds; k++)
    for (uint32_t r = 0; units->kinds[k].is_kept && r < units->kinds[k].n_requests; r++)
      if (units->kinds[k].is_kept[r])
        build->left_out[units->blocks->block_of_event[units->kinds[k].requests[r]]] =
            TESSERA_LEFT_OUT_KEPT;
}

TesseraStatus
tessera_kinds_leave_out (TesseraPlanBuild *build, const TesseraUnits *units)
{
  size_t n_blocks = build->blocks->n_blocks;

  free (build->left_out);
  build->left_out = calloc (n_blocks + 1, sizeof *build->left_out);
  if (!build->left_out)
    return TESSERA_NO_MEMORY;
  leave_kept_out (build, units);
  for (uint32_t i = 0; build->constraints.left_out && i < n_blocks; i++)
    {
      uint32_t block = build->constraints.left_out[i]
                           ? tessera_units_stands_for (units, i)
                           : TESSERA_NONE;

      if (block != TESSERA_NONE && !build->left_out[block])
        build->left_out[block] = build->constraints.left_out[i];
    }
  return TESSERA_OK;
}

/* Adds to what holds each of the blocks; @seen: [n_blocks] the last number that was added
 * to it. */
static void
add_holder (const TesseraUnits *units,
            const uint32_t *blocks,
            const uint64_t *offsets,
            size_t n_blocks,
            uint32_t number,
            uint32_t *seen,
            uint64_t *holders)
{
  for (size_t i = 0; i < n_blocks; i++)
    {
      uint32_t block = tessera_units_stands_for (units, blocks[i]);

      if (block == TESSERA_NONE || seen[block] == number)
        continue;
      seen[block] = number;
      if (holders[block] == 0)
        holders[block] = TESSERA_FNV_BASIS;
      holders[block] =
          tessera_mix (tessera_mix (holders[block], number), offsets ? offsets[i] : 0);
    }
}

TesseraStatus
tessera_kinds_find_holders (const TesseraPlanBuild *build,
                            const TesseraUnits *units,
                            uint64_t **out_holders)
{
  const TesseraConstraints *constraints = &build->constraints;
  size_t n_blocks = build->blocks->n_blocks;
  uint32_t *seen;

  *out_holders = NULL;
  if (constraints->n_constraints == 0)
    return TESSERA_OK;
  *out_holders = calloc (n_blocks + 1, sizeof **out_holders);
  seen = calloc (n_blocks + 1, sizeof *seen);
  for (size_t w = 0; *out_holders && seen && w < constraints->n_constraints; w++)
    {
      const TesseraConstraint *constraint = &constraints->constraints[w];

      add_holder (units, constraint->blocks, constraint->offsets, constraint->n_blocks,
                  2 * (uint32_t) w + 1, seen, *out_holders);
      add_holder (units, constraint->with, NULL, constraint->n_with, 2 * (uint32_t) w + 2,
                  seen, *out_holders);
    }
  free (seen);
  return *out_holders && seen ? TESSERA_OK : TESSERA_NO_MEMORY;
}

/* Of slots in one place for good the first; of all others themselves. */
static TesseraStatus
find_places (const TesseraPlan *plan, const TesseraCarries *carries, uint32_t *places)
{
  uint32_t *first = malloc (((size_t) carries->n_carries + 1) * sizeof *first);

  if (!first)
    return TESSERA_NO_MEMORY;
  memset (first, 0xff, ((size_t) carries->n_carries + 1) * sizeof *first);
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      uint32_t carry = carries->of_slot[i];

      if (carry != TESSERA_NONE && first[carry] == TESSERA_NONE)
        first[carry] = i;
      places[i] = carry != TESSERA_NONE ? first[carry] : i;
    }
  free (first);
  return TESSERA_OK;
}

/* Slots of blocks that stand for themselves, then of all. */
static void
find_slots (const TesseraPlanBuild *build,
            const TesseraUnits *units,
            uint32_t *own,
            uint32_t *slots)
{
  size_t n_blocks = build->blocks->n_blocks;

  memset (own, 0xff, (n_blocks + 1) * sizeof *own);
  for (uint32_t i = 0; i < build->plan->n_slots; i++)
    if (!tessera_build_is_spare (build, i))
      own[build->plan->slots[i].block] = i;
  for (uint32_t i = 0; i < n_blocks; i++)
    {
      uint32_t block = tessera_units_stands_for (units, i);

      slots[i] = block != TESSERA_NONE ? own[block] : TESSERA_NONE;
    }
}

static void
find_kept (const TesseraPlanBuild *build, const TesseraUnits *units, uint8_t *is_kept)
{
  for (uint32_t i = 0; i < build->blocks->n_blocks; i++)
    {
      uint32_t block = tessera_units_stands_for (units, i);

      is_kept[i] =
          block != TESSERA_NONE && build->left_out[block] == TESSERA_LEFT_OUT_KEPT;
    }
}

TesseraStatus
tessera_kinds_find_holds (TesseraPlanBuild *build, const TesseraCarries *carries)
{
  const TesseraComplaint complaint = tessera_build_complaint (build);
  size_t n_blocks = build->blocks->n_blocks;
  uint32_t *own, *slots, *places;
  uint8_t *is_kept;
  TesseraStatus status = TESSERA_NO_MEMORY;

  if (build->constraints.n_constraints == 0)
    return TESSERA_OK;
  is_kept = malloc (n_blocks + 1);
  own = malloc ((n_blocks + 1) * sizeof *own);
  slots = malloc ((n_blocks + 1) * sizeof *slots);
  places = malloc ((build->plan->n_slots + 1) * sizeof *places);
  if (own && slots && places && is_kept)
    {
      const TesseraHoldsMap map = { .slot_of_block = slots,
                                    .first_at_place = places,
                                    .is_kept = is_kept };

      find_slots (build, carries->units, own, slots);
      find_kept (build, carries->units, is_kept);
      status = find_places (build->plan, carries, places);
      if (status == TESSERA_OK)
        status = tessera_holds_init (&build->constraints, build->plan, &map, &complaint,
                                     &build->holds);
    }
  free (own);
  free (slots);
  free (places);
  free (is_kept);
  return status;
}
