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
#include "planner/groups.h"
#include "planner/plan/cap.h"

/* "the edit "here" @reason: no plan for every length is made with it". Returns:
 * TESSERA_REFUSED */
static TesseraStatus
refuse (const TesseraLengthsEdits *edits,
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

static void
places_init (TesseraEditedPlaces *places, uint32_t n)
{
  size_t room = (size_t) n + 1;

  *places = (TesseraEditedPlaces){ .pins = g_new (uint64_t, room),
                                   .edits = g_new0 (uint32_t, room),
                                   .leaves = g_new0 (bool, room),
                                   .fixes = g_new0 (bool, room),
                                   .sides = g_new0 (uint64_t, room),
                                   .n = n };
  memset (places->pins, 0xff, room * sizeof *places->pins);
}

static void
places_clear (TesseraEditedPlaces *places)
{
  g_free (places->pins);
  g_free (places->edits);
  g_free (places->leaves);
  g_free (places->fixes);
  g_free (places->sides);
}

/* Block by block the slot of the kind, or TESSERA_NONE. */
static uint32_t *
find_slots (const TesseraLengthsBuild *build)
{
  const TesseraKind *kind = build->kind;
  size_t n_bytes = (build->blocks->n_blocks + 1) * sizeof (uint32_t);
  uint32_t *slots = memset (g_malloc (n_bytes), 0xff, n_bytes);

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
    return refuse (
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
        status = refuse (reading->edits, constraint->edit, reading->error,
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
        return refuse (
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
    return refuse (edits, constraint->edit, reading->error,
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
  g_autofree uint32_t *slots = NULL;
  TesseraBlocks edited = { 0 };
  TesseraGroup *groups = NULL;
  TesseraConstraints constraints;
  size_t n_groups = 0;
  TesseraStatus status;

  *edits = (TesseraLengthsEdits){ .edits = options->edits,
                                  .fixing = TESSERA_NONE,
                                  .cap_bytes = UINT64_MAX };
  places_init (&edits->slots, build->kind->n_slots);
  places_init (&edits->start, n_start);
  if (!are_any_of_places (options))
    return TESSERA_OK;
  slots = find_slots (build);
  status = tessera_constraints_of_trace (build->trace, build->blocks, structure,
                                         options->edits, options->n_edits, error, NULL,
                                         &edited, &groups, &n_groups, &constraints);
  if (status == TESSERA_OK)
    status = read_constraints (
        &(Reading){ .edits = edits, .build = build, .slots = slots, .error = error },
        &constraints);
  tessera_constraints_clear (&constraints);
  tessera_groups_free (groups, n_groups);
  free (edited.blocks);
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
        return refuse (
            edits, slots->edits[i], error,
            "holds what one step makes for others, which lies where others are until it "
            "comes");
      if (is_pinned || slots->fixes[i] || (slots->sides[i] & apart))
        slot->place = TESSERA_PLACE_FIXED;
    }
  return TESSERA_OK;
}

/* ---- Pins ---- */

TesseraStatus
tessera_lengths_pins_refuse_start (const TesseraLengthsBuild *build,
                                   uint32_t one,
                                   uint32_t other,
                                   TesseraError *error)
{
  const TesseraEditedPlaces *start = &build->edits->start;
  uint32_t at = start->pins[one] != TESSERA_NOT_PINNED ? one : other;

  return refuse (build->edits, start->edits[at], error,
                 "pins to addresses where others lie before the first step");
}

/* The pin that lies highest, in @at_bytes, where it is higher than that. */
static void
look_higher (const TesseraEditedPlaces *places, uint64_t *at_bytes, uint32_t *edit)
{
  for (uint32_t i = 0; i < places->n; i++)
    if (places->pins[i] != TESSERA_NOT_PINNED && places->pins[i] >= *at_bytes)
      {
        *at_bytes = places->pins[i];
        *edit = places->edits[i];
      }
}

uint32_t
tessera_lengths_pins_highest (const TesseraLengthsBuild *build)
{
  uint32_t edit = TESSERA_NONE;
  uint64_t most_bytes = 0;

  look_higher (&build->edits->slots, &most_bytes, &edit);
  look_higher (&build->edits->start, &most_bytes, &edit);
  return edit;
}

typedef struct
{
  uint64_t begin_bytes, end_bytes;
  uint32_t edit;
  bool stays; /* else it is gone when the first step begins */
} Pinned;

static int
by_begin (const void *a, const void *b)
{
  const Pinned *x = a, *y = b;

  return (x->begin_bytes > y->begin_bytes) - (x->begin_bytes < y->begin_bytes);
}

/* Where pins lie, the lowest first. */
static GArray *
list_pinned (const TesseraLengthsBuild *build, const uint64_t *block_bytes)
{
  const TesseraEditedPlaces *start = &build->edits->start, *slots = &build->edits->slots;
  const TesseraLengths *of = build->out;
  GArray *all = g_array_new (FALSE, FALSE, sizeof (Pinned));

  for (uint32_t i = 0; i < of->n_start; i++)
    if (start->pins[i] != TESSERA_NOT_PINNED && !of->start[i].is_left)
      {
        const Pinned pinned = { start->pins[i], start->pins[i] + of->start[i].block_bytes,
                                start->edits[i], of->start[i].is_held };

        g_array_append_val (all, pinned);
      }
  for (uint32_t i = 0; i < of->n_slots; i++)
    if (of->slots[i].place == TESSERA_PLACE_FIXED && slots->pins[i] != TESSERA_NOT_PINNED)
      {
        const Pinned pinned = { slots->pins[i],
                                slots->pins[i] + block_bytes[of->slots[i].law],
                                slots->edits[i], true };

        g_array_append_val (all, pinned);
      }
  g_array_sort (all, by_begin);
  return all;
}

TesseraStatus
tessera_pin_gaps_init (TesseraPinGaps *gaps,
                       const TesseraLengthsBuild *build,
                       const uint64_t *block_bytes,
                       TesseraError *error)
{
  g_autoptr (GArray) all = list_pinned (build, block_bytes);
  uint64_t staying_bytes = 0;
  TesseraStatus status = TESSERA_OK;

  *gaps = (TesseraPinGaps){ g_array_new (FALSE, FALSE, sizeof (TesseraPinGap)), 0 };
  for (uint32_t i = 0; i < all->len && status == TESSERA_OK; i++)
    {
      const Pinned *pinned = &g_array_index (all, Pinned, i);
      const TesseraPinGap gap = { gaps->top_bytes, pinned->begin_bytes };

      if (pinned->stays && pinned->begin_bytes < staying_bytes)
        status =
            refuse (build->edits, pinned->edit, error,
                    "pins to addresses where other pins need the largest size of theirs");
      if (gap.end_bytes > gap.begin_bytes)
        g_array_append_val (gaps->gaps, gap);
      gaps->top_bytes = MAX (gaps->top_bytes, pinned->end_bytes);
      if (pinned->stays)
        staying_bytes = MAX (staying_bytes, pinned->end_bytes);
    }
  return status;
}

uint64_t
tessera_pin_gaps_take (TesseraPinGaps *gaps, uint64_t bytes)
{
  for (uint32_t i = 0; i < gaps->gaps->len; i++)
    {
      TesseraPinGap *gap = &g_array_index (gaps->gaps, TesseraPinGap, i);

      if (gap->end_bytes - gap->begin_bytes >= bytes)
        {
          gap->begin_bytes += bytes;
          return gap->begin_bytes - bytes;
        }
    }
  gaps->top_bytes += bytes;
  return gaps->top_bytes - bytes;
}

/* ---- A cap on the pool ---- */

typedef struct
{
  const TesseraLengthsEdits *edits;
  const TesseraLengths *of;
  const uint64_t *block_bytes; /* [n_laws] at the most */
  TesseraCapItem *items;       /* of the start, then of the step */
  TesseraCapLife *lives;
  size_t n_lives;
} Capped;

static bool
is_held_by_edit (const TesseraEditedPlaces *places, uint32_t i)
{
  return places->pins[i] != TESSERA_NOT_PINNED || places->sides[i] != 0;
}

static void
add_life (Capped *capped, uint32_t item, uint32_t begin, uint32_t end)
{
  capped->lives[capped->n_lives++] =
      (TesseraCapLife){ .begin = begin, .end = end, .item = item };
}

static void
list_start (Capped *capped)
{
  const TesseraLengths *of = capped->of;

  for (uint32_t i = 0; i < of->n_start; i++)
    if (!of->start[i].is_left)
      {
        capped->items[i] =
            (TesseraCapItem){ .size_bytes = of->start[i].block_bytes,
                              .stays = is_held_by_edit (&capped->edits->start, i) };
        add_life (capped, i, i,
                  of->start[i].is_held ? of->n_start + of->n_slots : of->start[i].died);
      }
}

/* What has a fixed place takes it over the whole step. The first requests tell the
 * length: these stay. */
static void
list_step (Capped *capped)
{
  const TesseraLengths *of = capped->of;

  for (uint32_t i = 0; i < of->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &of->slots[i];
      bool is_fixed = slot->place == TESSERA_PLACE_FIXED;
      bool has_two = is_fixed && slot->spare_bytes != slot->offset_bytes;

      if (slot->place == TESSERA_PLACE_NONE)
        continue;
      capped->items[of->n_start + i] = (TesseraCapItem){
        .size_bytes = capped->block_bytes[slot->law] * (has_two ? 2 : 1),
        .stays = i < of->n_early || is_held_by_edit (&capped->edits->slots, i),
      };
      add_life (capped, of->n_start + i, of->n_start + (is_fixed ? 0 : i),
                of->n_start + (is_fixed ? of->n_slots : slot->died));
    }
}

/* Returns: how many are left to others now. */
static size_t
take_gone (const Capped *capped, TesseraLengthsEdits *edits)
{
  size_t n = 0;

  for (uint32_t i = 0; i < edits->start.n; i++)
    if (capped->items[i].is_gone)
      n += edits->start.leaves[i] = true;
  for (uint32_t i = 0; i < edits->slots.n; i++)
    if (capped->items[edits->start.n + i].is_gone)
      n += edits->slots.leaves[i] = true;
  return n;
}

/* Returns: how many are left to others now. */
static size_t
leave_more (TesseraLengthsEdits *edits,
            const TesseraLengthsBuild *build,
            uint64_t most_bytes)
{
  const TesseraLengths *of = build->out;
  size_t n = (size_t) of->n_start + of->n_slots;
  g_autofree uint64_t *block_bytes = tessera_lengths_sizes (of, &of->most);
  g_autofree TesseraCapItem *items = g_new0 (TesseraCapItem, n + 1);
  g_autofree TesseraCapLife *lives = g_new (TesseraCapLife, n + 1);
  Capped capped = { edits, of, block_bytes, items, lives, 0 };

  list_start (&capped);
  list_step (&capped);
  tessera_cap_choose (items, lives, capped.n_lives, most_bytes);
  return take_gone (&capped, edits);
}

TesseraStatus
tessera_lengths_edits_refuse_cap (const TesseraLengthsEdits *edits, TesseraError *error)
{
  return refuse (
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
