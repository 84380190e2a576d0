/*
 * What edits hold in a plan for every length: pins, which what is fixed goes around, and a cap
 * on the pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/follow/lengths/lengths.h"
#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/build.h"
#include "planner/plan/cap.h"

/* ---- Pins ---- */

TesseraStatus
tessera_lengths_pins_refuse_start (const TesseraLengthsBuild *build,
                                   const uint32_t conflict[2],
                                   TesseraError *error)
{
  const TesseraEditedPlaces *start = &build->edits->start;
  uint32_t at =
      start->pins[conflict[0]] != TESSERA_NOT_PINNED ? conflict[0] : conflict[1];

  return tessera_lengths_edits_refuse (
      build->edits, start->edits[at], error,
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

/* Where pins lie, the lowest first. Returns: how many. */
static size_t
list_pinned (const TesseraLengthsBuild *build, const uint64_t *block_bytes, Pinned *out)
{
  const TesseraEditedPlaces *start = &build->edits->start, *slots = &build->edits->slots;
  const TesseraLengths *of = build->out;
  size_t n = 0;

  for (uint32_t i = 0; i < of->n_start; i++)
    if (start->pins[i] != TESSERA_NOT_PINNED && !of->start[i].is_left)
      out[n++] = (Pinned){ start->pins[i], start->pins[i] + of->start[i].block_bytes,
                           start->edits[i], of->start[i].is_held };
  for (uint32_t i = 0; i < of->n_slots; i++)
    if (of->slots[i].place == TESSERA_PLACE_FIXED && slots->pins[i] != TESSERA_NOT_PINNED)
      out[n++] = (Pinned){ slots->pins[i], slots->pins[i] + block_bytes[of->slots[i].law],
                           slots->edits[i], true };
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
  if (!build->edits->are_any)
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
        status = tessera_lengths_edits_refuse (
            build->edits, pinned[i].edit, error,
            "pins to addresses where other pins need the largest size of theirs");
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

static TesseraStatus
leave_more (TesseraLengthsEdits *edits,
            const TesseraLengthsBuild *build,
            uint64_t most_bytes,
            size_t *out_n_gone)
{
  const TesseraLengths *of = build->out;
  size_t n = (size_t) of->n_start + of->n_slots;
  uint64_t *block_bytes = malloc (((size_t) of->n_laws + 1) * sizeof *block_bytes);
  Capped capped = { .edits = edits,
                    .of = of,
                    .block_bytes = block_bytes,
                    .items = calloc (n + 1, sizeof *capped.items),
                    .lives = calloc (n + 1, sizeof *capped.lives) };
  TesseraStatus status =
      block_bytes && capped.items && capped.lives ? TESSERA_OK : TESSERA_NO_MEMORY;

  if (status == TESSERA_OK && !tessera_sweep_sizes (of, &of->most, block_bytes))
    status = TESSERA_INVALID;
  if (status == TESSERA_OK)
    {
      list_start (&capped);
      list_step (&capped);
      status =
          tessera_cap_choose (capped.items, n, capped.lives, capped.n_lives, most_bytes);
    }
  if (status == TESSERA_OK)
    *out_n_gone = take_gone (&capped, edits);
  free (block_bytes);
  free (capped.items);
  free (capped.lives);
  return status;
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
  size_t n_gone = 0;
  TesseraStatus status = tessera_lengths_height (build->out, &height_bytes);

  *out_fits = status == TESSERA_OK && height_bytes <= edits->cap_bytes;
  if (status != TESSERA_OK || *out_fits)
    return status;
  over_bytes = height_bytes - edits->cap_bytes;
  status = leave_more (edits, build, *most_bytes, &n_gone);
  while (status == TESSERA_OK && n_gone == 0 && *most_bytes > 0)
    {
      *most_bytes -= over_bytes < *most_bytes ? over_bytes : *most_bytes;
      status = leave_more (edits, build, *most_bytes, &n_gone);
    }
  if (status == TESSERA_OK && n_gone == 0)
    status = tessera_lengths_edits_refuse_cap (edits, error);
  return status;
}
