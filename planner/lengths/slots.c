/*
 * The slots of a plan for every length: which are swept, and which have a fixed place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/follow/lengths/guess.h"
#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/edits.h"

enum
{
  EARLY_SHARE = 20 /* of the largest load may be asked for before the length is known */
};

uint32_t
tessera_lengths_next (const TesseraLengthsBuild *build, uint32_t slot, uint32_t k)
{
  const TesseraKind *kind = build->kind;
  uint32_t next = TESSERA_NONE;

  for (uint32_t i = 0; i < kind->n_steps; i++)
    if (kind->steps[i] > kind->steps[k] &&
        (next == TESSERA_NONE || kind->steps[i] < kind->steps[next]) &&
        tessera_kind_block (kind, slot, i) != TESSERA_NONE)
      next = i;
  return next;
}

/* Not all steps of the kind ask for the same: until the next one that does. Where there
 * never is one nobody can tell: then it does. */
bool
tessera_lengths_outlives (const TesseraLengthsBuild *build, uint32_t slot)
{
  const TesseraBlock *blocks = build->blocks->blocks;
  bool is_known = build->parts->phase != NULL;

  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    {
      uint32_t block = tessera_kind_block (build->kind, slot, k);
      uint32_t next =
          block == TESSERA_NONE ? TESSERA_NONE : tessera_lengths_next (build, slot, k);

      if (next == TESSERA_NONE)
        continue;
      if (blocks[block].died_index >=
          blocks[tessera_kind_block (build->kind, slot, next)].born_index)
        return true;
      is_known = true;
    }
  return !is_known;
}

/* The stream and pool of most slots: the others are not planned. */
static uint32_t
main_owner (const TesseraKind *kind)
{
  uint32_t best = 0, balance = 0;

  /* Boyer and Moore's majority vote; without a majority any will do. */
  for (uint32_t i = 0; i < kind->n_slots; i++)
    {
      uint32_t owner = (uint32_t) kind->slots[i].stream << 16 | kind->slots[i].pool;

      if (balance == 0)
        best = owner;
      balance += owner == best ? 1 : -1;
    }
  return best;
}

static void
place_slot (const TesseraLengthsBuild *build, uint32_t index, uint32_t owner)
{
  const TesseraKindSlot *of = &build->kind->slots[index];
  TesseraLengthsSlot *slot = &build->out->slots[index];
  bool is_habit;
  uint32_t n_persisting = tessera_lengths_count_kept (build, index, &is_habit);

  slot->place = TESSERA_PLACE_SWEPT;
  if (((uint32_t) of->stream << 16 | of->pool) != owner)
    slot->place = TESSERA_PLACE_NONE;
  else if (n_persisting > 0 && !(build->parts->phase && is_habit) &&
           2 * of->n_seen < build->kind->n_steps)
    {
      slot->place = TESSERA_PLACE_FIXED;
      slot->is_once = true;
    }
  else if (n_persisting > 0)
    slot->place = TESSERA_PLACE_NONE; /* steps keep it: there is no end to that */
  else if (of->n_cross > 0)
    {
      slot->place = TESSERA_PLACE_FIXED;
      slot->crosses = true;
    }
}

/* The step of the kind that makes most of what one step makes; TESSERA_NONE: none does.
 */
static uint32_t
find_first (const TesseraLengthsBuild *build)
{
  uint32_t best = TESSERA_NONE, most = 0;

  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    {
      uint32_t n = 0;

      for (uint32_t i = 0; i < build->out->n_slots; i++)
        n += build->out->slots[i].is_once &&
             tessera_kind_block (build->kind, i, k) != TESSERA_NONE;
      if (n > most)
        {
          most = n;
          best = k;
        }
    }
  return best;
}

/* Who was asked for where. What one step alone asked for that did not make anything is by
 * chance, as its size is: no other step will ask for the same. */
static void
tell_seen (TesseraLengthsBuild *build)
{
  const TesseraKind *kind = build->kind;
  uint32_t first = build->parts->phase ? TESSERA_NONE : find_first (build);

  for (uint32_t i = 0; i < build->out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &build->out->slots[i];
      bool in_first =
          first != TESSERA_NONE && tessera_kind_block (kind, i, first) != TESSERA_NONE;

      if (first != TESSERA_NONE && !in_first)
        slot->seen = TESSERA_SEEN_LATER;
      else if (in_first && kind->slots[i].n_seen == 1 && kind->n_steps > 1)
        slot->seen = TESSERA_SEEN_FIRST;
      if (!in_first && kind->slots[i].n_seen == 1 && kind->n_steps > 2 &&
          slot->place == TESSERA_PLACE_SWEPT)
        slot->place = TESSERA_PLACE_NONE;
    }
}

/* After how many slots the parameters of step @k are known; n_slots + 1: never. */
static uint32_t
count_until_known (const TesseraLengthsBuild *build, uint32_t k, TesseraGuess *guess)
{
  const TesseraLengths *out = build->out;
  TesseraParameters known;

  tessera_guess_init (guess, out);
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      uint32_t block = tessera_kind_block (build->kind, i, k);

      if (block == TESSERA_NONE ||
          (out->slots[i].place == TESSERA_PLACE_NONE &&
           !tessera_lengths_slot_is_kept (&out->slots[i])) ||
          out->laws[out->slots[i].law].kind == TESSERA_SIZE_BOUNDED)
        continue;
      if (tessera_guess_see (guess, i, build->blocks->blocks[block].size_bytes) &&
          tessera_guess_is_known (guess, &known))
        return i + 1;
    }
  return out->n_slots + 1;
}

/* Whether what would have a fixed place for no other reason than that the parameters come
 * late is a small part of the pool. */
static TesseraStatus
weigh_early (const TesseraLengths *out, bool *out_is_small)
{
  uint64_t early = 0, load = 0, most = 0, *ending, *block_bytes;
  TesseraStatus status = TESSERA_NO_MEMORY;

  ending = calloc ((size_t) out->n_slots + 1, sizeof *ending);
  block_bytes = malloc (((size_t) out->n_laws + 1) * sizeof *block_bytes);
  *out_is_small = false;
  if (!ending || !block_bytes)
    goto out;
  status = TESSERA_INVALID;
  if (!tessera_sweep_sizes (out, &out->most, block_bytes))
    goto out;
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      uint64_t bytes = block_bytes[out->slots[i].law];

      load -= ending[i];
      if (out->slots[i].place == TESSERA_PLACE_NONE)
        continue;
      load += bytes;
      ending[out->slots[i].died] += bytes;
      most = load > most ? load : most;
      if (i < out->n_early && out->slots[i].place == TESSERA_PLACE_SWEPT)
        early += bytes;
    }
  *out_is_small = early <= most / EARLY_SHARE;
  status = TESSERA_OK;
out:
  free (ending);
  free (block_bytes);
  return status;
}

/* What is asked for until then can't be swept: it gets a fixed place. */
static TesseraStatus
find_early (TesseraLengthsBuild *build, TesseraError *error)
{
  TesseraLengths *out = build->out;
  TesseraGuess *guess = malloc (sizeof *guess);
  TesseraStatus status = TESSERA_OK;
  bool is_small = false;

  if (!guess)
    return TESSERA_NO_MEMORY;
  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    {
      uint32_t n = count_until_known (build, k, guess);

      out->n_early = n > out->n_early ? n : out->n_early;
    }
  free (guess);
  if (out->n_early <= out->n_slots)
    status = weigh_early (out, &is_small);
  if (status != TESSERA_OK)
    return status;
  if (!is_small)
    return tessera_fail (error, TESSERA_REFUSED,
                         "sizes vary by a law, but a step tells its length and batch too "
                         "late or not at all: no plan for every length");
  for (uint32_t i = 0; i < out->n_early; i++)
    if (out->slots[i].place == TESSERA_PLACE_SWEPT)
      out->slots[i].place = TESSERA_PLACE_FIXED;
  return TESSERA_OK;
}

TesseraStatus
tessera_lengths_slots (TesseraLengthsBuild *build, TesseraError *error)
{
  const TesseraKind *kind = build->kind;
  TesseraLengths *out = build->out;
  uint32_t owner = main_owner (kind);
  TesseraStatus status;

  out->laws = malloc ((build->laws->n_laws + 1) * sizeof *out->laws);
  out->slots = calloc (kind->n_slots + 1, sizeof *out->slots);
  if (!out->laws || !out->slots)
    return TESSERA_NO_MEMORY;
  memcpy (out->laws, build->laws->laws, build->laws->n_laws * sizeof *out->laws);
  out->n_laws = build->laws->n_laws;
  out->n_slots = kind->n_slots;
  for (uint32_t i = 0; i < kind->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &out->slots[i];

      *slot = (TesseraLengthsSlot){ .law = build->laws->law_of_slot[i],
                                    .died = kind->slots[i].died,
                                    .stream = kind->slots[i].stream,
                                    .pool = kind->slots[i].pool };
      status = tessera_lengths_phase (build, kind->slots[i].phase, &slot->phase);
      if (status != TESSERA_OK)
        return status;
      place_slot (build, i, owner);
    }
  tessera_lengths_leave_habits (build);
  tell_seen (build);
  tessera_lengths_leave_slots (build);
  status = find_early (build, error);
  if (status == TESSERA_OK && build->parts->phase)
    tessera_lengths_over_cuts (build);
  else if (status == TESSERA_OK)
    status = tessera_lengths_crossing (build);
  if (status == TESSERA_OK)
    status = tessera_lengths_fix_slots (build, error);
  if (status == TESSERA_OK)
    status = tessera_lengths_tell_kept (build, owner >> 16, owner & 0xffff);
  for (uint32_t i = 0; i < out->n_slots; i++)
    out->n_swept += out->slots[i].place == TESSERA_PLACE_SWEPT;
  return status;
}
