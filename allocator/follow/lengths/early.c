/*
 * The first requests of a step, which tell its length: see private.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/lengths/private.h"

#include <string.h>

enum
{
  /* Misses in a row from which on the guess is doubted. */
  MIN_DOUBTS = 4
};

/* What is asked for before the length is known, and may tell it. */
static bool
is_early (const TesseraLengthsSlot *slot)
{
  return tessera_lengths_slot_is_kept (slot) ||
         (slot->place == TESSERA_PLACE_FIXED && !tessera_lengths_slot_stays (slot));
}

/* The early slot that the request is, or TESSERA_NONE. */
static uint32_t
find_early (TesseraLengthsFollower *follower,
            uint64_t size_bytes,
            uint32_t stream,
            uint32_t pool)
{
  const TesseraLengths *lengths = follower->lengths;

  for (uint32_t i = follower->next_early; i < lengths->n_early; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];

      if (is_early (slot) && slot->stream == stream && slot->pool == pool &&
          (!follower->has_phases || slot->phase == follower->phase) &&
          tessera_guess_see (&follower->guess, i, size_bytes))
        return i;
    }
  return TESSERA_NONE;
}

bool
tessera_early_serve (TesseraLengthsFollower *follower,
                     uint64_t size_bytes,
                     uint32_t stream,
                     uint32_t pool,
                     uint64_t *out_offset_bytes)
{
  uint32_t slot = find_early (follower, size_bytes, stream, pool);
  TesseraParameters parameters;
  bool is_hit = false;

  if (slot == TESSERA_NONE)
    follower->n_strangers += follower->n_strangers <= TESSERA_LENGTHS_STRANGERS;
  else
    {
      follower->next_early = slot + 1;
      follower->was_placeless =
          tessera_lengths_slot_is_kept (&follower->lengths->slots[slot]);
      is_hit = tessera_fixed_places_take (&follower->fixed, slot, size_bytes,
                                          &follower->hooks.guard, out_offset_bytes);
      if (tessera_guess_is_known (&follower->guess, &parameters))
        tessera_lengths_begin_known (follower, &parameters);
    }
  follower->stats.hits += is_hit;
  follower->stats.hit_bytes += is_hit ? size_bytes : 0;
  follower->stats.misses += !is_hit;
  follower->stats.miss_bytes += is_hit ? 0 : size_bytes;
  follower->stats.misses_unknown += slot == TESSERA_NONE;
  follower->stats.misses_planned += follower->was_placeless;
  follower->stats.planned_miss_bytes += follower->was_placeless ? size_bytes : 0;
  follower->stats.misses_occupied +=
      slot != TESSERA_NONE && !is_hit && !follower->was_placeless;
  return is_hit;
}

/* A size that is always the same tells nothing. */
static bool
tells (const TesseraLengthsFollower *follower, uint32_t slot)
{
  const TesseraLengths *lengths = follower->lengths;

  return lengths->laws[lengths->slots[slot].law].kind != TESSERA_SIZE_CONSTANT;
}

/* Of two lengths one request never tells both: it may be one of this very step. */
static bool
is_of_known (const TesseraLengthsFollower *follower, uint32_t slot, uint64_t size_bytes)
{
  const TesseraLengths *lengths = follower->lengths;
  uint64_t bytes;

  return lengths->most.second > 0 &&
         tessera_size_law_evaluate (&lengths->laws[lengths->slots[slot].law],
                                    &follower->known, &bytes) &&
         bytes == size_bytes;
}

void
tessera_early_doubt (TesseraLengthsFollower *follower,
                     uint64_t size_bytes,
                     uint32_t stream,
                     uint32_t pool)
{
  TesseraParameters parameters;
  TesseraGuess guess;
  uint32_t next_early = follower->next_early, slot;
  bool is_other;

  if (follower->n_missed < MIN_DOUBTS && !follower->is_new_phase)
    return;
  follower->is_new_phase = false;
  guess = follower->guess;
  tessera_guess_init (&follower->guess, follower->lengths);
  follower->next_early = 0;
  slot = find_early (follower, size_bytes, stream, pool);
  is_other = slot != TESSERA_NONE && tells (follower, slot) &&
             !is_of_known (follower, slot, size_bytes) &&
             !(tessera_guess_is_known (&follower->guess, &parameters) &&
               parameters.length == follower->known.length &&
               parameters.second == follower->known.second &&
               parameters.batch == follower->known.batch);
  follower->guess = guess;
  follower->next_early = next_early;
  if (is_other)
    tessera_lengths_begin_early (follower);
}

void
tessera_early_remember (TesseraLengthsFollower *follower,
                        uint64_t size_bytes,
                        uint32_t stream,
                        uint32_t pool)
{
  uint32_t slots[TESSERA_GUESS_LEADING];
  uint32_t n = tessera_guess_leading (follower->lengths, slots);
  const TesseraLengthsSlot *slot = n > 0 ? &follower->lengths->slots[slots[0]] : NULL;

  if (slot == NULL || slot->stream != stream || slot->pool != pool)
    return;
  if (follower->n_before == n)
    memmove (follower->before, follower->before + 1,
             --follower->n_before * sizeof *follower->before);
  follower->before[follower->n_before++] = size_bytes;
}
