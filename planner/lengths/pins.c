/*
 * Pins in a plan for every length: see pins.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/pins.h"

#include <stdlib.h>
#include <string.h>

#include "planner/groups.h"

static TesseraStatus
refuse (const TesseraEdit *edit, TesseraError *error, const char *reason)
{
  return tessera_fail (error, TESSERA_REFUSED,
                       "the edit \"%s\" %s: no plan for every length is made with it",
                       edit->name, reason);
}

static bool
is_any_pin (const TesseraLengthsOptions *options)
{
  for (size_t i = 0; i < options->n_edits; i++)
    if (!options->edits[i].is_undone && options->edits[i].kind == TESSERA_EDIT_PIN)
      return true;
  return false;
}

static bool
make_room (TesseraLengthsPins *pins, uint32_t n_slots, uint32_t n_start)
{
  size_t slots = (size_t) n_slots + 1, start = (size_t) n_start + 1;

  pins->of_slot = malloc (slots * sizeof *pins->of_slot);
  pins->of_start = malloc (start * sizeof *pins->of_start);
  pins->edit_of_slot = calloc (slots, sizeof *pins->edit_of_slot);
  pins->edit_of_start = calloc (start, sizeof *pins->edit_of_start);
  if (!pins->of_slot || !pins->of_start || !pins->edit_of_slot || !pins->edit_of_start)
    return false;
  memset (pins->of_slot, 0xff, slots * sizeof *pins->of_slot);
  memset (pins->of_start, 0xff, start * sizeof *pins->of_start);
  return true;
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

static TesseraStatus
pin (const TesseraLengthsPins *pins,
     uint64_t *place,
     uint32_t *edit_of_place,
     uint32_t edit,
     uint64_t offset_bytes,
     TesseraError *error)
{
  if (*place != TESSERA_NOT_PINNED && *place != offset_bytes)
    return refuse (
        &pins->edits[edit], error,
        "pins blocks that have one place to another offset than it, or another "
        "edit, did before");
  *place = offset_bytes;
  *edit_of_place = edit;
  return TESSERA_OK;
}

static TesseraStatus
pin_wish (TesseraLengthsPins *pins,
          const TesseraLengthsBuild *build,
          const TesseraWish *wish,
          const uint32_t *slots,
          uint32_t n_start,
          TesseraError *error)
{
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < wish->n_blocks && status == TESSERA_OK; i++)
    {
      uint32_t block = wish->blocks[i], slot = slots[block];
      uint64_t offset_bytes = wish->offsets[i];

      if (offset_bytes % build->out->alignment_bytes != 0 || offset_bytes > INT64_MAX / 4)
        status = refuse (&pins->edits[wish->edit], error,
                         "pins to an offset that is none: no multiple of the alignment, "
                         "or beyond all pools");
      else if (block < n_start)
        status = pin (pins, &pins->of_start[block], &pins->edit_of_start[block],
                      wish->edit, offset_bytes, error);
      else if (slot != TESSERA_NONE)
        status = pin (pins, &pins->of_slot[slot], &pins->edit_of_slot[slot], wish->edit,
                      offset_bytes, error);
    }
  return status;
}

TesseraStatus
tessera_lengths_pins_init (TesseraLengthsPins *pins,
                           const TesseraLengthsBuild *build,
                           const TesseraStructure *structure,
                           uint32_t n_start,
                           TesseraError *error)
{
  const TesseraLengthsOptions *options = build->options;
  TesseraBlocks edited = { 0 };
  TesseraGroup *groups = NULL;
  TesseraWishes wishes;
  size_t n_groups = 0;
  uint32_t *slots;
  TesseraStatus status;

  *pins = (TesseraLengthsPins){ .edits = options->edits };
  if (!is_any_pin (options))
    return TESSERA_OK;
  slots = find_slots (build);
  status = tessera_wishes_of_trace (build->trace, build->blocks, structure,
                                    options->edits, options->n_edits, error, NULL,
                                    &edited, &groups, &n_groups, &wishes);
  if (!slots || !make_room (pins, build->kind->n_slots, n_start))
    status = TESSERA_NO_MEMORY;
  for (size_t w = 0; w < wishes.n_wishes && status == TESSERA_OK; w++)
    if (wishes.wishes[w].kind == TESSERA_EDIT_PIN)
      status = pin_wish (pins, build, &wishes.wishes[w], slots, n_start, error);
  tessera_wishes_clear (&wishes);
  tessera_groups_free (groups, n_groups);
  free (edited.blocks);
  free (slots);
  return status;
}

void
tessera_lengths_pins_clear (TesseraLengthsPins *pins)
{
  free (pins->of_slot);
  free (pins->of_start);
  free (pins->edit_of_slot);
  free (pins->edit_of_start);
  *pins = (TesseraLengthsPins){ 0 };
}

TesseraStatus
tessera_lengths_pin_slots (TesseraLengthsBuild *build, TesseraError *error)
{
  const TesseraLengthsPins *pins = build->pins;

  for (uint32_t i = 0; pins->of_slot && i < build->out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &build->out->slots[i];

      if (pins->of_slot[i] == TESSERA_NOT_PINNED || slot->place == TESSERA_PLACE_NONE)
        continue;
      if (tessera_lengths_slot_stays (slot))
        return refuse (&pins->edits[pins->edit_of_slot[i]], error,
                       "pins what one step makes for others, which lies where others are "
                       "until it comes");
      slot->place = TESSERA_PLACE_FIXED;
    }
  return TESSERA_OK;
}

TesseraStatus
tessera_lengths_pins_refuse_start (const TesseraLengthsBuild *build,
                                   const uint32_t conflict[2],
                                   TesseraError *error)
{
  const TesseraLengthsPins *pins = build->pins;
  uint32_t at =
      pins->of_start[conflict[0]] != TESSERA_NOT_PINNED ? conflict[0] : conflict[1];

  return refuse (&pins->edits[pins->edit_of_start[at]], error,
                 "pins to addresses where others lie before the first step");
}

uint32_t
tessera_lengths_pins_highest (const TesseraLengthsBuild *build)
{
  const TesseraLengthsPins *pins = build->pins;
  uint32_t edit = TESSERA_NONE;
  uint64_t most = 0;

  for (uint32_t i = 0; pins->of_slot && i < build->out->n_slots; i++)
    if (pins->of_slot[i] != TESSERA_NOT_PINNED && pins->of_slot[i] >= most)
      {
        most = pins->of_slot[i];
        edit = pins->edit_of_slot[i];
      }
  for (uint32_t i = 0; pins->of_start && i < build->out->n_start; i++)
    if (pins->of_start[i] != TESSERA_NOT_PINNED && pins->of_start[i] >= most)
      {
        most = pins->of_start[i];
        edit = pins->edit_of_start[i];
      }
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

/* Where pins lie, the lowest first. Returns: how many. */
static size_t
list_pinned (const TesseraLengthsBuild *build, const uint64_t *block_bytes, Pinned *out)
{
  const TesseraLengthsPins *pins = build->pins;
  const TesseraLengths *of = build->out;
  size_t n = 0;

  for (uint32_t i = 0; i < of->n_start; i++)
    if (pins->of_start[i] != TESSERA_NOT_PINNED)
      out[n++] =
          (Pinned){ pins->of_start[i], pins->of_start[i] + of->start[i].block_bytes,
                    pins->edit_of_start[i], of->start[i].is_held };
  for (uint32_t i = 0; i < of->n_slots; i++)
    if (of->slots[i].place == TESSERA_PLACE_FIXED &&
        pins->of_slot[i] != TESSERA_NOT_PINNED)
      out[n++] =
          (Pinned){ pins->of_slot[i], pins->of_slot[i] + block_bytes[of->slots[i].law],
                    pins->edit_of_slot[i], true };
  if (n > 0)
    qsort (out, n, sizeof *out, by_begin);
  return n;
}

TesseraStatus
tessera_pin_gaps_init (TesseraPinGaps *gaps,
                       const TesseraLengthsBuild *build,
                       const uint64_t *block_bytes,
                       TesseraError *error)
{
  size_t most = (size_t) build->out->n_start + build->out->n_slots + 1, n;
  uint64_t staying_bytes = 0;
  Pinned *pinned;
  TesseraStatus status = TESSERA_OK;

  *gaps = (TesseraPinGaps){ 0 };
  if (!build->pins->of_slot)
    return TESSERA_OK;
  gaps->gaps = calloc (most, sizeof *gaps->gaps);
  pinned = calloc (most, sizeof *pinned);
  if (!gaps->gaps || !pinned)
    {
      free (pinned);
      return TESSERA_NO_MEMORY;
    }
  n = list_pinned (build, block_bytes, pinned);
  for (size_t i = 0; i < n && status == TESSERA_OK; i++)
    {
      if (pinned[i].stays && pinned[i].begin_bytes < staying_bytes)
        status = refuse (&build->pins->edits[pinned[i].edit], error,
                         "pins to addresses where other pins need the largest size of "
                         "theirs");
      if (pinned[i].begin_bytes > gaps->top_bytes)
        {
          gaps->gaps[gaps->n_gaps].begin_bytes = gaps->top_bytes;
          gaps->gaps[gaps->n_gaps++].end_bytes = pinned[i].begin_bytes;
        }
      if (pinned[i].end_bytes > gaps->top_bytes)
        gaps->top_bytes = pinned[i].end_bytes;
      if (pinned[i].stays && pinned[i].end_bytes > staying_bytes)
        staying_bytes = pinned[i].end_bytes;
    }
  free (pinned);
  return status;
}

void
tessera_pin_gaps_clear (TesseraPinGaps *gaps)
{
  free (gaps->gaps);
  *gaps = (TesseraPinGaps){ 0 };
}

uint64_t
tessera_pin_gaps_take (TesseraPinGaps *gaps, uint64_t bytes)
{
  uint64_t begin_bytes = gaps->top_bytes;

  for (size_t i = 0; i < gaps->n_gaps; i++)
    if (gaps->gaps[i].end_bytes - gaps->gaps[i].begin_bytes >= bytes)
      {
        begin_bytes = gaps->gaps[i].begin_bytes;
        gaps->gaps[i].begin_bytes += bytes;
        return begin_bytes;
      }
  gaps->top_bytes += bytes;
  return begin_bytes;
}
