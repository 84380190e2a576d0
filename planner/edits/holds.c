/*
 * Constraints about blocks as holds on slots: see holds.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/holds.h"

#include "planner/groups.h"
#include "planner/memory.h"

TesseraStatus
tessera_complain (const TesseraComplaint *complaint,
                  uint32_t first,
                  uint32_t second,
                  const char *reason)
{
  if (complaint->conflict)
    *complaint->conflict = (TesseraEditConflict){ first, second };
  if (first == second)
    return tessera_fail (complaint->error, TESSERA_REFUSED,
                         "the edit \"%s\" can't hold: %s", complaint->edits[first].name,
                         reason);
  return tessera_fail (complaint->error, TESSERA_REFUSED,
                       "the edits \"%s\" and \"%s\" can't hold together: %s",
                       complaint->edits[first].name, complaint->edits[second].name,
                       reason);
}

typedef struct
{
  uint32_t slot;
  uint64_t offset;
} Placed;

static int
compare_placed (const void *a, const void *b)
{
  const Placed *x = a, *y = b;

  if (x->slot != y->slot)
    return x->slot < y->slot ? -1 : 1;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Slots of blocks, each once, with the offset of its first block. */
static TesseraStatus
map_blocks (const TesseraHolds *holds,
            const TesseraHoldsMap *map,
            const TesseraHold *constraint,
            const uint32_t *blocks,
            const uint64_t *offsets,
            size_t n_blocks,
            TesseraHold *hold,
            uint32_t **out_slots,
            size_t *out_n_slots)
{
  g_autofree Placed *placed = g_new (Placed, n_blocks + 1);
  size_t n = 0, n_slots = 0;
  TesseraStatus status = TESSERA_OK;

  *out_slots = g_new (uint32_t, n_blocks + 1);
  if (offsets)
    hold->offsets = g_new (uint64_t, n_blocks + 1);
  for (size_t i = 0; i < n_blocks; i++)
    {
      uint32_t slot = map->slot_of_block[blocks[i]];

      /* What lies in one place for good is one, where it is to be apart from others. */
      if (slot != TESSERA_NONE && constraint->kind == TESSERA_EDIT_APART)
        slot = map->first_at_place[slot];
      if (slot != TESSERA_NONE)
        placed[n++] = (Placed){ slot, offsets ? offsets[i] : 0 };
    }
  qsort (placed, n, sizeof *placed, compare_placed);
  for (size_t i = 0; i < n && status == TESSERA_OK; i++)
    if (i == 0 || placed[i].slot != placed[i - 1].slot)
      {
        if (offsets)
          hold->offsets[n_slots] = placed[i].offset;
        (*out_slots)[n_slots++] = placed[i].slot;
      }
    else if (placed[i].offset != placed[i - 1].offset)
      status = tessera_complain (holds->complaint, constraint->edit, constraint->edit,
                                 "it pins blocks of different steps that have one place "
                                 "to different offsets");
  *out_n_slots = n_slots;
  return status;
}

static TesseraStatus
check_offsets (const TesseraHolds *holds, const TesseraHold *hold)
{
  for (size_t i = 0; hold->offsets && i < hold->n_slots; i++)
    {
      if (hold->offsets[i] % holds->plan->alignment_bytes)
        return tessera_complain (holds->complaint, hold->edit, hold->edit,
                                 "offsets are multiples of the alignment, 512 bytes");
      if (hold->offsets[i] > INT64_MAX / 4)
        return tessera_complain (holds->complaint, hold->edit, hold->edit,
                                 "no pool is so large");
    }
  return TESSERA_OK;
}

/* Whether all of them have a mark (nullable): such a hold would hold nothing. */
static bool
have_all (const uint8_t *mark, const uint32_t *blocks, size_t n_blocks)
{
  for (size_t i = 0; i < n_blocks; i++)
    if (!mark || !mark[blocks[i]])
      return false;
  return n_blocks > 0;
}

/* The constraint, or what it is about besides, has the mark. */
static bool
is_all (const TesseraHold *constraint, const uint8_t *mark)
{
  return have_all (mark, constraint->blocks, constraint->n_blocks) ||
         (constraint->has_with && have_all (mark, constraint->with, constraint->n_with));
}

static TesseraStatus
make_hold (const TesseraHolds *holds,
           const TesseraHoldsMap *map,
           const TesseraHold *constraint,
           TesseraHold *hold)
{
  TesseraStatus status;

  *hold = (TesseraHold){ .edit = constraint->edit,
                         .kind = constraint->kind,
                         .has_with = constraint->has_with };
  if (is_all (constraint, map->is_dynamic))
    return tessera_complain (holds->complaint, constraint->edit, constraint->edit,
                             TESSERA_ALL_DYNAMIC);
  if (is_all (constraint, map->is_kept))
    return tessera_complain (holds->complaint, constraint->edit, constraint->edit,
                             TESSERA_ALL_KEPT);
  status = map_blocks (holds, map, constraint, constraint->blocks, constraint->offsets,
                       constraint->n_blocks, hold, &hold->slots, &hold->n_slots);
  if (status == TESSERA_OK && constraint->has_with)
    status = map_blocks (holds, map, constraint, constraint->with, NULL,
                         constraint->n_with, hold, &hold->with, &hold->n_with);
  return status == TESSERA_OK ? check_offsets (holds, hold) : status;
}

static void
mark_held (TesseraHolds *holds)
{
  for (size_t h = 0; h < holds->n_holds; h++)
    {
      const TesseraHold *hold = &holds->holds[h];

      for (size_t i = 0; i < hold->n_slots; i++)
        holds->is_held[hold->slots[i]] = 1;
      for (size_t i = 0; i < hold->n_with; i++)
        holds->is_held[hold->with[i]] = 1;
    }
}

TesseraStatus
tessera_holds_init (const TesseraConstraints *constraints,
                    const TesseraPlan *plan,
                    const TesseraHoldsMap *of,
                    const TesseraComplaint *complaint,
                    TesseraHolds *out_holds)
{
  TesseraStatus status = TESSERA_OK;

  *out_holds = (TesseraHolds){ .plan = plan, .complaint = complaint };
  if (constraints->n_constraints == 0)
    return TESSERA_OK;
  out_holds->holds = g_new0 (TesseraHold, constraints->n_constraints);
  out_holds->is_held = g_new0 (uint8_t, plan->n_slots + 1);
  for (size_t i = 0; i < constraints->n_constraints && status == TESSERA_OK; i++)
    status = make_hold (out_holds, of, &constraints->constraints[i],
                        &out_holds->holds[out_holds->n_holds++]);
  if (status == TESSERA_OK)
    mark_held (out_holds);
  return status;
}

static void
free_all (TesseraHold *holds, size_t n)
{
  for (size_t i = 0; i < n; i++)
    {
      free (holds[i].slots);
      free (holds[i].offsets);
      free (holds[i].with);
    }
  free (holds);
}

void
tessera_constraints_clear (TesseraConstraints *constraints)
{
  free_all (constraints->constraints, constraints->n_constraints);
  free (constraints->left_out);
  free (constraints->blocks);
  tessera_groups_free (constraints->groups, constraints->n_groups);
  *constraints = (TesseraConstraints){ 0 };
}

void
tessera_holds_clear (TesseraHolds *holds)
{
  free_all (holds->holds, holds->n_holds);
  free (holds->is_held);
  *holds = (TesseraHolds){ 0 };
}
