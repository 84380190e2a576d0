/*
 * What edits say of places in a plan for every length (see private.h), pins, which what is
 * fixed goes around, and a cap on the pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/private.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/follow/lengths/lengths.h"
#include "planner/memory.h"
#include "planner/plan/cap.h"

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
are_any_of_places (const TesseraLengthsOptions *options)
{
  for (size_t i = 0; i < options->n_edits; i++)
    if (!options->edits[i].is_undone && !tessera_edit_is_of_groups (&options->edits[i]))
      return true;
  return false;
}

typedef struct
{
  TesseraLengthsEdits *edits;
  const TesseraLengthsBuild *build;
  const uint32_t *places; /* [n_blocks] or TESSERA_NONE */
  uint64_t top_bytes;     /* what stays together begins above */
  TesseraError *error;
} Reading;

/* Block by block the place that edits tell of, or TESSERA_NONE. */
static uint32_t *
find_places (const TesseraLengthsBuild *build, uint32_t n_start)
{
  const TesseraKind *kind = build->kind;
  uint32_t *places = tessera_new_nones (build->blocks->n_blocks);

  for (uint32_t i = 0; i < n_start; i++)
    places[i] = i;
  for (uint32_t i = 0; i < kind->n_slots; i++)
    for (uint32_t k = 0; k < kind->n_steps; k++)
      if (tessera_kind_block (kind, i, k) != TESSERA_NONE)
        places[tessera_kind_block (kind, i, k)] = n_start + i;
  return places;
}

/* In whole blocks, of a slot at the most that the plan is for. */
static uint64_t
most_bytes_of (const Reading *reading, uint32_t place)
{
  const TesseraLengthsBuild *build = reading->build;
  const TesseraKindLaws *laws = &build->kind->laws;
  const uint32_t n_start = reading->edits->n_start;
  uint64_t bytes = 0, unit_bytes = build->out->alignment_bytes;

  if (place < n_start)
    bytes = build->blocks->blocks[place].block_bytes;
  else if (!tessera_size_law_evaluate (&laws->laws[laws->law_of_slot[place - n_start]],
                                       &build->out->most, &bytes))
    bytes = 0;
  return (MAX (bytes, 1) + unit_bytes - 1) / unit_bytes * unit_bytes;
}

static TesseraStatus
read_pin (const Reading *reading, const TesseraHold *constraint)
{
  TesseraLengthsEdits *edits = reading->edits;

  for (size_t i = 0; i < constraint->n_blocks; i++)
    {
      uint64_t offset_bytes = constraint->offsets[i];
      uint32_t place = reading->places[constraint->blocks[i]];

      if (offset_bytes % reading->build->out->alignment_bytes != 0 ||
          offset_bytes > INT64_MAX / 4)
        return tessera_lengths_edits_refuse (
            edits, constraint->edit, reading->error,
            "pins to an offset that is none: no multiple of the alignment, "
            "or beyond all pools");
      if (place == TESSERA_NONE)
        continue;
      if (edits->pins[place] != TESSERA_NOT_PINNED && edits->pins[place] != offset_bytes)
        return tessera_lengths_edits_refuse (
            edits, constraint->edit, reading->error,
            "pins blocks that have one place to another offset than it, or another "
            "edit, did before");
      edits->pins[place] = offset_bytes;
      edits->by[place] = constraint->edit;
    }
  return TESSERA_OK;
}

/* One above the other. Who is pinned already stays there: the others are as far from it
 * as they would be, which is for pins to say. */
static TesseraStatus
read_together (Reading *reading, const TesseraHold *constraint)
{
  TesseraLengthsEdits *edits = reading->edits;

  for (size_t i = 0; i < constraint->n_blocks; i++)
    {
      uint32_t place = reading->places[constraint->blocks[i]];

      if (place == TESSERA_NONE || edits->leaves[place])
        continue;
      if (edits->pins[place] == TESSERA_NOT_PINNED)
        {
          edits->pins[place] = reading->top_bytes;
          edits->by[place] = constraint->edit;
          reading->top_bytes += most_bytes_of (reading, place);
        }
      else if (edits->by[place] != constraint->edit)
        return tessera_lengths_edits_refuse (
            edits, constraint->edit, reading->error,
            "keeps blocks together of which some are pinned or kept with others");
    }
  return TESSERA_OK;
}

/* What stays together lies above all pins. */
static uint64_t
end_of_pins (const Reading *reading)
{
  const TesseraLengthsEdits *edits = reading->edits;
  uint64_t end = 0;

  for (uint32_t i = 0; i < edits->n; i++)
    if (edits->pins[i] != TESSERA_NOT_PINNED)
      end = MAX (end, edits->pins[i] + most_bytes_of (reading, i));
  return end;
}

static void
mark_side (const Reading *reading,
           const uint32_t *blocks,
           size_t n_blocks,
           uint64_t side,
           uint32_t edit)
{
  TesseraLengthsEdits *edits = reading->edits;

  for (size_t i = 0; i < n_blocks; i++)
    {
      uint32_t place = reading->places[blocks[i]];

      if (place == TESSERA_NONE || edits->leaves[place])
        continue;
      edits->sides[place] |= side;
      if (edits->pins[place] == TESSERA_NOT_PINNED)
        edits->by[place] = edit;
    }
}

static TesseraStatus
read_apart (const Reading *reading, const TesseraHold *constraint)
{
  TesseraLengthsEdits *edits = reading->edits;
  uint64_t one = (uint64_t) 1 << 2 * edits->n_aparts;

  if (edits->n_aparts == TESSERA_MOST_APARTS)
    return tessera_lengths_edits_refuse (edits, constraint->edit, reading->error,
                                         "is one too many of those that keep apart");
  mark_side (reading, constraint->blocks, constraint->n_blocks, one, constraint->edit);
  mark_side (reading, constraint->with, constraint->n_with, one << 1, constraint->edit);
  if (!constraint->has_with)
    edits->are_mutual |= (uint64_t) 1 << edits->n_aparts;
  edits->fixing = constraint->edit;
  edits->n_aparts++;
  return TESSERA_OK;
}

static TesseraStatus
read_constraints (Reading *reading, const TesseraConstraints *constraints)
{
  TesseraLengthsEdits *edits = reading->edits;
  TesseraStatus status = TESSERA_OK;

  edits->cap_bytes = constraints->cap_bytes;
  edits->cap_edit = constraints->cap_edit;
  for (uint32_t block = 0; block < reading->build->blocks->n_blocks; block++)
    if (constraints->left_out && constraints->left_out[block] &&
        reading->places[block] != TESSERA_NONE)
      edits->leaves[reading->places[block]] = true;
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
  const uint32_t n = n_start + build->kind->n_slots;
  g_autofree uint32_t *places = NULL;
  TesseraConstraints constraints;
  TesseraStatus status;

  *edits = (TesseraLengthsEdits){ .edits = options->edits,
                                  .n_start = n_start,
                                  .n = n,
                                  .pins = g_new (uint64_t, n + 1),
                                  .by = g_new0 (uint32_t, n + 1),
                                  .leaves = g_new0 (bool, n + 1),
                                  .sides = g_new0 (uint64_t, n + 1),
                                  .fixing = TESSERA_NONE,
                                  .cap_bytes = UINT64_MAX };
  memset (edits->pins, 0xff, (n + 1) * sizeof *edits->pins);
  if (!are_any_of_places (options))
    return TESSERA_OK;
  places = find_places (build, n_start);
  status = tessera_constraints_of_trace (build->trace, build->blocks, structure,
                                         options->edits, options->n_edits, NULL, error,
                                         NULL, &constraints);
  if (status == TESSERA_OK)
    status = read_constraints (
        &(Reading){ .edits = edits, .build = build, .places = places, .error = error },
        &constraints);
  tessera_constraints_clear (&constraints);
  return status;
}

void
tessera_lengths_edits_clear (TesseraLengthsEdits *edits)
{
  g_free (edits->pins);
  g_free (edits->by);
  g_free (edits->leaves);
  g_free (edits->sides);
  *edits = (TesseraLengthsEdits){ 0 };
}

/* What one step makes is asked for in that step alone. Parts have no such step. */
void
tessera_lengths_leave_slots (TesseraLengthsBuild *build)
{
  const bool *leaves = build->edits->leaves + build->edits->n_start;
  bool has_parts = build->parts->phase != NULL;

  for (uint32_t i = 0; i < build->out->n_slots; i++)
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

/* The sides that are fixed, so that they are nobody else's: of what is kept apart the one
 * that takes less. Others lie where one step makes something, until it comes: who is apart
 * from that is fixed as well. */
static uint64_t
find_fixed_sides (const TesseraLengthsBuild *build)
{
  const TesseraLengthsEdits *edits = build->edits;
  const uint64_t *sides = edits->sides + edits->n_start;
  uint64_t fixed = 0;

  for (uint32_t i = 0; i < edits->n_aparts; i++)
    {
      bool is_mutual = edits->are_mutual >> i & 1, stays[2] = { false, false };
      uint64_t one = (uint64_t) 1 << 2 * i, bytes[2] = { 0, 0 };

      for (uint32_t s = 0; s < build->out->n_slots; s++)
        for (int k = 0; k < 2; k++)
          if (sides[s] & one << k)
            {
              bytes[k] += build->most_bytes[build->out->slots[s].law];
              stays[k] |= tessera_lengths_slot_stays (&build->out->slots[s]);
            }
      if (is_mutual || stays[1] || bytes[0] <= bytes[1])
        fixed |= one;
      if (!is_mutual && (stays[0] || bytes[0] > bytes[1]))
        fixed |= one << 1;
    }
  return fixed;
}

TesseraStatus
tessera_lengths_fix_slots (TesseraLengthsBuild *build, TesseraError *error)
{
  const TesseraLengthsEdits *edits = build->edits;
  uint64_t fixed = find_fixed_sides (build);

  for (uint32_t i = 0; i < build->out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &build->out->slots[i];
      uint32_t place = edits->n_start + i;
      bool is_pinned = edits->pins[place] != TESSERA_NOT_PINNED;

      if (slot->place == TESSERA_PLACE_NONE)
        continue;
      if (is_pinned && tessera_lengths_slot_stays (slot))
        return tessera_lengths_edits_refuse (
            edits, edits->by[place], error,
            "holds what one step makes for others, which lies where others are until it "
            "comes");
      if (is_pinned || edits->sides[place] & fixed)
        slot->place = TESSERA_PLACE_FIXED;
    }
  return TESSERA_OK;
}

/* ---- Pins ---- */

uint32_t
tessera_lengths_pins_highest (const TesseraLengthsBuild *build)
{
  const TesseraLengthsEdits *edits = build->edits;
  uint32_t edit = TESSERA_NONE;
  uint64_t most_bytes = 0;

  for (uint32_t i = 0; i < edits->n; i++)
    if (edits->pins[i] != TESSERA_NOT_PINNED && edits->pins[i] >= most_bytes)
      {
        most_bytes = edits->pins[i];
        edit = edits->by[i];
      }
  return edit;
}

/* ---- A cap on the pool ---- */

/* What could be left to others, by place, and when it takes what it takes: the blocks of
 * the start, then those of a step. What has a fixed place takes it over the whole step. The
 * first requests tell the length: these stay. Returns: how many lives. */
static size_t
list_lives (const TesseraLengthsBuild *build,
            TesseraCapItem *items,
            TesseraCapLife *lives)
{
  const TesseraLengths *of = build->out;
  const uint32_t n = of->n_start + of->n_slots;
  size_t n_lives = 0;

  for (uint32_t i = 0; i < n; i++)
    {
      bool is_start = i < of->n_start;
      const TesseraStartSlot *start = is_start ? &of->start[i] : NULL;
      const TesseraLengthsSlot *slot = is_start ? NULL : &of->slots[i - of->n_start];
      bool is_fixed = slot && slot->place == TESSERA_PLACE_FIXED;
      bool has_two = is_fixed && slot->spare_bytes != slot->offset_bytes;
      TesseraCapLife life = { .begin = is_fixed ? of->n_start : i, .end = n, .item = i };

      if (start ? start->is_left : slot->place == TESSERA_PLACE_NONE)
        continue;
      items[i].size_bytes =
          start ? start->block_bytes : build->most_bytes[slot->law] * (has_two ? 2 : 1);
      items[i].stays = tessera_lengths_is_held (build->edits, i) ||
                       (slot && i < of->n_start + of->n_early);
      if (start && !start->is_held)
        life.end = start->died;
      else if (slot && !is_fixed)
        life.end = of->n_start + slot->died;
      lives[n_lives++] = life;
    }
  return n_lives;
}

/* Returns: how many are left to others now. */
static size_t
leave_more (TesseraLengthsEdits *edits,
            const TesseraLengthsBuild *build,
            uint64_t most_bytes)
{
  const TesseraLengths *of = build->out;
  size_t n = (size_t) of->n_start + of->n_slots, n_gone = 0;
  g_autofree TesseraCapItem *items = g_new0 (TesseraCapItem, n + 1);
  g_autofree TesseraCapLife *lives = g_new (TesseraCapLife, n + 1);

  tessera_cap_choose (items, lives, list_lives (build, items, lives), most_bytes);
  for (size_t i = 0; i < n; i++)
    if (items[i].is_gone)
      n_gone += edits->leaves[i] = true;
  return n_gone;
}

TesseraStatus
tessera_lengths_edits_refuse_cap (const TesseraLengthsEdits *edits, TesseraError *error)
{
  return tessera_lengths_edits_refuse (
      edits, edits->cap_edit, error,
      "caps the pool below what other edits hold, or what tells the length takes");
}

TesseraStatus
tessera_lengths_edits_cap (TesseraLengthsEdits *edits,
                           const TesseraLengthsBuild *build,
                           uint64_t *most_bytes,
                           bool *out_fits,
                           TesseraError *error)
{
  uint64_t height_bytes, over_bytes;
  size_t n_gone;
  TesseraStatus status = tessera_lengths_height (build->out, &height_bytes);

  *out_fits = status == TESSERA_OK && height_bytes <= edits->cap_bytes;
  if (status != TESSERA_OK || *out_fits)
    return status;
  over_bytes = height_bytes - edits->cap_bytes;
  n_gone = leave_more (edits, build, *most_bytes);
  while (n_gone == 0 && *most_bytes > 0)
    {
      *most_bytes -= MIN (over_bytes, *most_bytes);
      n_gone = leave_more (edits, build, *most_bytes);
    }
  return n_gone > 0 ? TESSERA_OK : tessera_lengths_edits_refuse_cap (edits, error);
}
