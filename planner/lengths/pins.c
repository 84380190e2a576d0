/*
 * Pins in a plan for every length: see pins.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/pins.h"

#include <stdlib.h>

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
