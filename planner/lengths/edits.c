/*
 * What edits say of places in a plan for every length: see build.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/build.h"

#include <stdlib.h>
#include <string.h>

#include "planner/groups.h"

TesseraStatus
tessera_lengths_edits_refuse (const TesseraLengthsEdits *edits,
                              uint32_t edit,
                              TesseraError *error,
                              const char *reason)
{
  return tessera_fail (error, TESSERA_REFUSED,
                       "the edit \"%s\" %s: no plan for every length is made with it",
                       edits->edits[edit].name, reason);
}

static bool
is_of_places (const TesseraEdit *edit)
{
  return !edit->is_undone &&
         (edit->kind == TESSERA_EDIT_PIN || edit->kind == TESSERA_EDIT_DYNAMIC ||
          edit->kind == TESSERA_EDIT_TOGETHER || edit->kind == TESSERA_EDIT_APART ||
          edit->kind == TESSERA_EDIT_CAP);
}

static bool
are_any_of_places (const TesseraLengthsOptions *options)
{
  for (size_t i = 0; i < options->n_edits; i++)
    if (is_of_places (&options->edits[i]))
      return true;
  return false;
}

static bool
places_init (TesseraEditedPlaces *places, uint32_t n)
{
  size_t room = (size_t) n + 1;

  *places = (TesseraEditedPlaces){ .pins = malloc (room * sizeof *places->pins),
                                   .edits = calloc (room, sizeof *places->edits),
                                   .leaves = calloc (room, sizeof *places->leaves),
                                   .fixes = calloc (room, sizeof *places->fixes),
                                   .sides = calloc (room, sizeof *places->sides),
                                   .n = n };
  if (!places->pins || !places->edits || !places->leaves || !places->fixes ||
      !places->sides)
    return false;
  memset (places->pins, 0xff, room * sizeof *places->pins);
  return true;
}

static void
places_clear (TesseraEditedPlaces *places)
{
  free (places->pins);
  free (places->edits);
  free (places->leaves);
  free (places->fixes);
  free (places->sides);
}

/* Block by block the slot of the kind, or TESSERA_NONE; NULL: no memory. */
static uint32_t *
find_slots (const TesseraLengthsBuild *build)
{
  const TesseraKind *kind = build->kind;
  size_t n_blocks = build->blocks->n_blocks;
  uint32_t *slots = malloc ((n_blocks + 1) * sizeof *slots);

  if (!slots)
    return NULL;
  memset (slots, 0xff, (n_blocks + 1) * sizeof *slots);
  for (uint32_t i = 0; i < kind->n_slots; i++)
    for (uint32_t k = 0; k < kind->n_steps; k++)
      {
        uint32_t block = tessera_kind_block (kind, i, k);

        if (block != TESSERA_NONE)
          slots[block] = i;
      }
  return slots;
}

typedef struct
{
  TesseraLengthsEdits *edits;
  const TesseraLengthsBuild *build;
  const uint32_t *slots; /* [n_blocks] */
  uint64_t top_bytes;    /* what stays together begins above */
  TesseraError *error;
} Reading;

/* Where the block is told of, its index there in *@out_index; NULL: it has no slot. */
static TesseraEditedPlaces *
find_place (const Reading *reading, uint32_t block, uint32_t *out_index)
{
  if (block < reading->edits->start.n)
    {
      *out_index = block;
      return &reading->edits->start;
    }
  *out_index = reading->slots[block];
  return *out_index == TESSERA_NONE ? NULL : &reading->edits->slots;
}

static TesseraStatus
pin_block (const Reading *reading, uint32_t edit, uint32_t block, uint64_t offset_bytes)
{
  uint32_t at;
  TesseraEditedPlaces *places = find_place (reading, block, &at);

  if (!places)
    return TESSERA_OK;
  if (places->pins[at] != TESSERA_NOT_PINNED && places->pins[at] != offset_bytes)
    return tessera_lengths_edits_refuse (
        reading->edits, edit, reading->error,
        "pins blocks that have one place to another offset than it, or another "
        "edit, did before");
  places->pins[at] = offset_bytes;
  places->edits[at] = edit;
  return TESSERA_OK;
}

static TesseraStatus
read_pin (const Reading *reading, const TesseraConstraint *constraint)
{
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < constraint->n_blocks && status == TESSERA_OK; i++)
    {
      uint64_t offset_bytes = constraint->offsets[i];

      if (offset_bytes % reading->build->out->alignment_bytes != 0 ||
          offset_bytes > INT64_MAX / 4)
        status = tessera_lengths_edits_refuse (
            reading->edits, constraint->edit, reading->error,
            "pins to an offset that is none: no multiple of the alignment, "
            "or beyond all pools");
      else
        status =
            pin_block (reading, constraint->edit, constraint->blocks[i], offset_bytes);
    }
  return status;
}

/* At the most that the plan is for, in whole blocks. */
static uint64_t
most_bytes_of (const TesseraLengthsBuild *build, uint32_t slot)
{
  const TesseraSizeLaw *law = &build->laws->laws[build->laws->law_of_slot[slot]];
  uint64_t bytes, step = build->out->alignment_bytes;

  if (!tessera_size_law_evaluate (law, &build->out->most, &bytes) || bytes == 0)
    return step;
  return (bytes + step - 1) / step * step;
}

static uint64_t
bytes_at (const Reading *reading, const TesseraEditedPlaces *places, uint32_t at)
{
  const TesseraLengthsBuild *build = reading->build;
  uint64_t bytes;

  if (places == &reading->edits->slots)
    return most_bytes_of (build, at);
  bytes = build->blocks->blocks[at].block_bytes;
  return bytes ? bytes : build->out->alignment_bytes;
}

/* One above the other. Who is pinned already stays there: the others are as far from it
 * as they would be, which is for pins to say. */
static TesseraStatus
read_together (Reading *reading, const TesseraConstraint *constraint)
{
  for (size_t i = 0; i < constraint->n_blocks; i++)
    {
      uint32_t at;
      TesseraEditedPlaces *places = find_place (reading, constraint->blocks[i], &at);

      if (!places || places->leaves[at])
        continue;
      if (places->pins[at] == TESSERA_NOT_PINNED)
        {
          places->pins[at] = reading->top_bytes;
          places->edits[at] = constraint->edit;
          reading->top_bytes += bytes_at (reading, places, at);
        }
      else if (places->edits[at] != constraint->edit)
        return tessera_lengths_edits_refuse (
            reading->edits, constraint->edit, reading->error,
            "keeps blocks together of which some are pinned or kept with others");
    }
  return TESSERA_OK;
}

/* What stays together lies above all pins. */
static uint64_t
end_of_pins (const Reading *reading)
{
  const TesseraEditedPlaces *all[] = { &reading->edits->slots, &reading->edits->start };
  uint64_t end = 0;

  for (size_t k = 0; k < 2; k++)
    for (uint32_t i = 0; i < all[k]->n; i++)
      if (all[k]->pins[i] != TESSERA_NOT_PINNED &&
          all[k]->pins[i] + bytes_at (reading, all[k], i) > end)
        end = all[k]->pins[i] + bytes_at (reading, all[k], i);
  return end;
}

static void
mark_side (const Reading *reading, const uint32_t *blocks, size_t n, uint64_t side)
{
  for (size_t i = 0; i < n; i++)
    {
      uint32_t at;
      TesseraEditedPlaces *places = find_place (reading, blocks[i], &at);

      if (places && !places->leaves[at])
        places->sides[at] |= side;
    }
}

/* How much would be fixed of a side. *@out_largest: of that the largest slot's. */
static uint64_t
weigh_side (const Reading *reading, uint64_t side, uint32_t *out_largest)
{
  const TesseraEditedPlaces *slots = &reading->edits->slots;
  uint64_t sum = 0, most = 0;

  *out_largest = TESSERA_NONE;
  for (uint32_t i = 0; i < slots->n; i++)
    if (slots->sides[i] & side)
      {
        uint64_t bytes = most_bytes_of (reading->build, i);

        sum += bytes;
        if (bytes > most)
          {
            most = bytes;
            *out_largest = i;
          }
      }
  return sum;
}

/* All of these sides but @except. */
static void
fix_sides (TesseraEditedPlaces *places, uint64_t sides, uint32_t edit, uint32_t except)
{
  for (uint32_t i = 0; i < places->n; i++)
    if ((places->sides[i] & sides) && i != except)
      {
        places->fixes[i] = true;
        if (places->pins[i] == TESSERA_NOT_PINNED)
          places->edits[i] = edit;
      }
}

/* Of two sides the one that takes less is fixed. Before the first step others lie where
 * slots have fixed places, so of the start both are. */
static TesseraStatus
read_apart (const Reading *reading, const TesseraConstraint *constraint)
{
  TesseraLengthsEdits *edits = reading->edits;
  uint64_t one = (uint64_t) 1 << 2 * edits->n_aparts, other = one << 1, least;
  uint32_t largest, unused;
  bool is_other_less;

  if (edits->n_aparts == TESSERA_MOST_APARTS)
    return tessera_lengths_edits_refuse (edits, constraint->edit, reading->error,
                                         "is one too many of those that keep apart");
  mark_side (reading, constraint->blocks, constraint->n_blocks, one);
  mark_side (reading, constraint->with, constraint->n_with, other);
  least = weigh_side (reading, one, &largest);
  is_other_less = constraint->has_with && weigh_side (reading, other, &unused) < least;
  if (!constraint->has_with)
    edits->are_mutual |= (uint64_t) 1 << edits->n_aparts;
  fix_sides (&edits->slots, is_other_less ? other : one, constraint->edit,
             constraint->has_with ? TESSERA_NONE : largest);
  fix_sides (&edits->start, one | other, constraint->edit, TESSERA_NONE);
  edits->fixing = constraint->edit;
  edits->n_aparts++;
  return TESSERA_OK;
}

static void
read_left (const Reading *reading, const uint32_t *left_out)
{
  for (uint32_t block = 0; block < reading->build->blocks->n_blocks; block++)
    {
      uint32_t at;
      TesseraEditedPlaces *places =
          left_out[block] ? find_place (reading, block, &at) : NULL;

      if (places)
        places->leaves[at] = true;
    }
}

static TesseraStatus
read_constraints (Reading *reading, const TesseraConstraints *constraints)
{
  TesseraStatus status = TESSERA_OK;

  if (constraints->left_out)
    read_left (reading, constraints->left_out);
  reading->edits->cap_bytes = constraints->cap_bytes;
  reading->edits->cap_edit = constraints->cap_edit;
  for (size_t w = 0; w < constraints->n_constraints && status == TESSERA_OK; w++)
    if (constraints->constraints[w].kind == TESSERA_EDIT_PIN)
      status = read_pin (reading, &constraints->constraints[w]);
  reading->top_bytes = end_of_pins (reading);
  for (size_t w = 0; w < constraints->n_constraints && status == TESSERA_OK; w++)
    if (constraints->constraints[w].kind == TESSERA_EDIT_TOGETHER)
      status = read_together (reading, &constraints->constraints[w]);
    else if (constraints->constraints[w].kind == TESSERA_EDIT_APART)
      status = read_apart (reading, &constraints->constraints[w]);
  return status;
}

TesseraStatus
tessera_lengths_edits_init (TesseraLengthsEdits *edits,
                            const TesseraLengthsBuild *build,
                            const TesseraStructure *structure,
                            uint32_t n_start,
                            TesseraError *error)
{
  const TesseraLengthsOptions *options = build->options;
  TesseraBlocks edited = { 0 };
  TesseraGroup *groups = NULL;
  TesseraConstraints constraints;
  Reading reading = { .edits = edits, .build = build, .error = error };
  size_t n_groups = 0;
  uint32_t *slots;
  TesseraStatus status;

  *edits = (TesseraLengthsEdits){ .edits = options->edits,
                                  .fixing = TESSERA_NONE,
                                  .cap_bytes = UINT64_MAX };
  if (!are_any_of_places (options))
    return TESSERA_OK;
  edits->are_any = true;
  reading.slots = slots = find_slots (build);
  status = tessera_constraints_of_trace (build->trace, build->blocks, structure,
                                         options->edits, options->n_edits, error, NULL,
                                         &edited, &groups, &n_groups, &constraints);
  if (!places_init (&edits->slots, build->kind->n_slots) ||
      !places_init (&edits->start, n_start) || !slots)
    status = TESSERA_NO_MEMORY;
  if (status == TESSERA_OK)
    status = read_constraints (&reading, &constraints);
  tessera_constraints_clear (&constraints);
  tessera_groups_free (groups, n_groups);
  free (edited.blocks);
  free (slots);
  return status;
}

void
tessera_lengths_edits_clear (TesseraLengthsEdits *edits)
{
  places_clear (&edits->slots);
  places_clear (&edits->start);
  *edits = (TesseraLengthsEdits){ 0 };
}

/* What one step makes is asked for in that step alone. Parts have no such step. */
void
tessera_lengths_leave_slots (TesseraLengthsBuild *build)
{
  const bool *leaves = build->edits->slots.leaves;
  bool has_parts = build->parts->phase != NULL;

  for (uint32_t i = 0; i < build->edits->slots.n; i++)
    {
      TesseraLengthsSlot *slot = &build->out->slots[i];

      if (!leaves[i])
        continue;
      if (slot->is_once && !has_parts)
        slot->seen = TESSERA_SEEN_FIRST;
      slot->crosses = slot->place != TESSERA_PLACE_NONE && !(slot->is_once && has_parts);
      slot->place = TESSERA_PLACE_NONE;
      slot->is_once = false;
    }
}

/* Others lie where one step makes something, until it comes: who is apart from that is
 * fixed as well. Returns: the sides of whom that is true. */
static uint64_t
find_apart_from_staying (const TesseraLengthsBuild *build)
{
  const TesseraLengthsEdits *edits = build->edits;
  uint64_t staying = 0, apart = 0;

  for (uint32_t i = 0; i < edits->slots.n; i++)
    if (tessera_lengths_slot_stays (&build->out->slots[i]))
      staying |= edits->slots.sides[i];
  for (uint32_t i = 0; i < edits->n_aparts; i++)
    {
      uint64_t one = (uint64_t) 1 << 2 * i, other = one << 1;
      bool is_mutual = edits->are_mutual >> i & 1;

      if (staying & one)
        apart |= is_mutual ? one : other;
      if (staying & other)
        apart |= one;
    }
  return apart;
}

TesseraStatus
tessera_lengths_fix_slots (TesseraLengthsBuild *build, TesseraError *error)
{
  const TesseraLengthsEdits *edits = build->edits;
  const TesseraEditedPlaces *slots = &edits->slots;
  uint64_t apart = find_apart_from_staying (build);

  for (uint32_t i = 0; i < slots->n; i++)
    {
      TesseraLengthsSlot *slot = &build->out->slots[i];
      bool is_pinned = slots->pins[i] != TESSERA_NOT_PINNED;

      if (slot->place == TESSERA_PLACE_NONE)
        continue;
      if (is_pinned && tessera_lengths_slot_stays (slot))
        return tessera_lengths_edits_refuse (
            edits, slots->edits[i], error,
            "holds what one step makes for others, which lies where others are until it "
            "comes");
      if (is_pinned || slots->fixes[i] || (slots->sides[i] & apart))
        slot->place = TESSERA_PLACE_FIXED;
    }
  return TESSERA_OK;
}
