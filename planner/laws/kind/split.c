/*
 * Slots that become two: see split.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/kind/split.h"

#include <stdlib.h>
#include <string.h>

enum
{
  MAX_ROUNDINGS = 8,
  FAR = 32 /* slots: ends that differ by less are no other life */
};

typedef struct
{
  uint32_t multiple;
  bool is_second;
} Multiple;

typedef struct
{
  TesseraKind *kind;
  const TesseraKindLaws *laws;
  uint32_t *ends; /* [n_slots x n_steps] slot before whose request the block has ended */
  Multiple multiples[MAX_ROUNDINGS];
  size_t n_multiples;
  uint8_t *parts_by; /* [n_slots] 1 + index of the multiple; 0: it stays one */
  uint32_t n_parted;
} Split;

static bool
is_multiple (const TesseraKindLaws *laws, uint32_t k, const Multiple *of)
{
  const TesseraParameters *at = &laws->steps.parameters[k];

  return (of->is_second ? at->second : at->length) % of->multiple == 0;
}

uint32_t
tessera_kind_last_slot (const TesseraKind *kind, uint32_t step)
{
  uint32_t slot = kind->n_slots;

  while (slot > 0 && tessera_kind_block (kind, slot - 1, step) == TESSERA_NONE)
    slot--;
  return slot > 0 ? slot - 1 : 0;
}

bool
tessera_kind_is_copy (const TesseraKind *kind, const TesseraKindLaws *laws, uint32_t slot)
{
  const TesseraSizeLaw *law = &laws->laws[laws->law_of_slot[slot]];
  const Multiple of = { law->rounding, law->rounds == TESSERA_ROUNDS_SECOND };

  if (law->kind != TESSERA_SIZE_ROUNDED || law->rounding == 1 ||
      law->rounds > TESSERA_ROUNDS_SECOND || kind->slots[slot].n_seen == kind->n_steps)
    return false;
  for (uint32_t k = 0; k < kind->n_steps; k++)
    if ((tessera_kind_block (kind, slot, k) != TESSERA_NONE) ==
            is_multiple (laws, k, &of) &&
        tessera_kind_last_slot (kind, k) > slot)
      return false;
  return true;
}

static void
list_multiples (Split *split)
{
  for (uint32_t i = 0; i < split->kind->n_slots; i++)
    {
      const TesseraSizeLaw *law = &split->laws->laws[split->laws->law_of_slot[i]];
      const Multiple of = { law->rounding, law->rounds == TESSERA_ROUNDS_SECOND };
      size_t k = 0;

      if (!tessera_kind_is_copy (split->kind, split->laws, i))
        continue;
      while (k < split->n_multiples && (split->multiples[k].multiple != of.multiple ||
                                        split->multiples[k].is_second != of.is_second))
        k++;
      if (k == split->n_multiples && k < MAX_ROUNDINGS)
        split->multiples[split->n_multiples++] = of;
    }
}

static void
find_ends (Split *split, const TesseraBlocks *blocks)
{
  const TesseraKind *kind = split->kind;

  for (uint32_t k = 0; k < kind->n_steps; k++)
    for (uint32_t i = 0; i < kind->n_slots; i++)
      {
        uint32_t block = tessera_kind_block (kind, i, k), end = i + 1, other;

        if (block == TESSERA_NONE)
          continue;
        for (; end < kind->n_slots; end++)
          {
            other = tessera_kind_block (kind, end, k);
            if (other != TESSERA_NONE &&
                blocks->blocks[other].born_index >= blocks->blocks[block].died_index)
              break;
          }
        split->ends[(size_t) i * kind->n_steps + k] = end;
      }
}

/* Whether its blocks live longer by far in all steps whose length is a multiple. */
static bool
parts (const Split *split, uint32_t slot, const Multiple *by)
{
  const TesseraKind *kind = split->kind;
  uint32_t least_long = UINT32_MAX, most_short = 0;

  for (uint32_t k = 0; k < kind->n_steps; k++)
    {
      uint32_t end = split->ends[(size_t) slot * kind->n_steps + k];

      if (tessera_kind_block (kind, slot, k) == TESSERA_NONE)
        continue;
      if (!is_multiple (split->laws, k, by))
        most_short = end > most_short ? end : most_short;
      else
        least_long = end < least_long ? end : least_long;
    }
  return most_short > 0 && least_long != UINT32_MAX && least_long > most_short + FAR;
}

static void
find_parted (Split *split)
{
  for (uint32_t i = 0; i < split->kind->n_slots; i++)
    for (size_t m = 0; m < split->n_multiples && split->parts_by[i] == 0; m++)
      if (split->kind->slots[i].n_cross == 0 && parts (split, i, &split->multiples[m]))
        {
          split->parts_by[i] = (uint8_t) (m + 1);
          split->n_parted++;
        }
}

/* One of the two parts of a slot: of the steps whose length is a multiple, or of the
 * others. */
static void
fill_part (const Split *split,
           uint32_t slot,
           bool is_long,
           const uint32_t *new_of,
           TesseraKindSlot *out_slot,
           uint32_t *out_blocks)
{
  const TesseraKind *kind = split->kind;
  const Multiple *by = &split->multiples[split->parts_by[slot] - 1];

  *out_slot = kind->slots[slot];
  out_slot->n_seen = 0;
  out_slot->died = 0;
  out_slot->when_multiple = by->multiple;
  out_slot->when_second = by->is_second;
  out_slot->when_other = !is_long;
  for (uint32_t k = 0; k < kind->n_steps; k++)
    {
      uint32_t end = new_of[split->ends[(size_t) slot * kind->n_steps + k]];

      out_blocks[k] = TESSERA_NONE;
      if (tessera_kind_block (kind, slot, k) == TESSERA_NONE ||
          is_multiple (split->laws, k, by) != is_long)
        continue;
      out_blocks[k] = tessera_kind_block (kind, slot, k);
      out_slot->n_seen++;
      out_slot->died = end > out_slot->died ? end : out_slot->died;
    }
}

/* The slots anew, with room for all parts. */
static TesseraStatus
rebuild (const Split *split, TesseraKindLaws *laws)
{
  TesseraKind *kind = split->kind;
  uint32_t n = kind->n_slots + split->n_parted, at = 0;
  size_t row = kind->n_steps;
  TesseraKindSlot *slots = calloc ((size_t) n + 1, sizeof *slots);
  uint32_t *all_blocks = malloc (((size_t) n * row + 1) * sizeof *all_blocks);
  uint32_t *law_of_slot = malloc (((size_t) n + 1) * sizeof *law_of_slot);
  uint32_t *new_of = malloc (((size_t) kind->n_slots + 1) * sizeof *new_of);

  if (!slots || !all_blocks || !law_of_slot || !new_of)
    {
      free (slots);
      free (all_blocks);
      free (law_of_slot);
      free (new_of);
      return TESSERA_NO_MEMORY;
    }
  for (uint32_t i = 0; i <= kind->n_slots; i++)
    {
      new_of[i] = at;
      at += i < kind->n_slots && split->parts_by[i] > 0 ? 2 : 1;
    }
  for (uint32_t i = 0; i < kind->n_slots; i++)
    for (uint32_t part = 0; part <= (split->parts_by[i] > 0); part++)
      {
        uint32_t to = new_of[i] + part;

        law_of_slot[to] = laws->law_of_slot[i];
        laws->n_slots_by_kind[laws->laws[law_of_slot[to]].kind] += part;
        if (split->parts_by[i] > 0)
          {
            fill_part (split, i, part > 0, new_of, &slots[to], all_blocks + to * row);
            continue;
          }
        slots[to] = kind->slots[i];
        slots[to].died = new_of[slots[to].died];
        memcpy (all_blocks + to * row, kind->blocks + i * row, row * sizeof *all_blocks);
      }
  free (new_of);
  free (kind->slots);
  free (kind->blocks);
  free (laws->law_of_slot);
  kind->slots = slots;
  kind->blocks = all_blocks;
  kind->n_slots = n;
  laws->law_of_slot = law_of_slot;
  return TESSERA_OK;
}

TesseraStatus
tessera_kind_split (TesseraKind *kind, TesseraKindLaws *laws, const TesseraBlocks *blocks)
{
  Split split = { .kind = kind, .laws = laws };
  TesseraStatus status = TESSERA_OK;

  list_multiples (&split);
  if (split.n_multiples == 0)
    return TESSERA_OK;
  split.ends = calloc ((size_t) kind->n_slots * kind->n_steps + 1, sizeof *split.ends);
  split.parts_by = calloc ((size_t) kind->n_slots + 1, sizeof *split.parts_by);
  if (!split.ends || !split.parts_by)
    status = TESSERA_NO_MEMORY;
  if (status == TESSERA_OK)
    {
      find_ends (&split, blocks);
      find_parted (&split);
    }
  if (status == TESSERA_OK && split.n_parted > 0)
    status = rebuild (&split, laws);
  free (split.ends);
  free (split.parts_by);
  return status;
}
