/*
 * Following a plan for every length: see lengths.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/lengths/lengths.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/follow/lengths/instance.h"
#include "allocator/follow/lengths/private.h"

enum
{
  /* Misses in a row beyond which what comes is no part of the step. */
  MAX_MISSED = 16,
  /* A step beyond what the plan is for is planned, too, as far as laws go: with this
     share of the pool more. What is longer yet may be none (an evaluation, say). */
  BEYOND_SHARE = 4
};

/* One that the plan has no name for. */
#define OTHER_PHASE (TESSERA_NONE - 1)

static void
add_stats (TesseraFollowerStats *sum, const TesseraFollowerStats *more)
{
  sum->hits += more->hits;
  sum->misses += more->misses;
  sum->hit_bytes += more->hit_bytes;
  sum->miss_bytes += more->miss_bytes;
  sum->hits_elsewhere += more->hits_elsewhere;
  sum->hits_dynamic += more->hits_dynamic;
  sum->misses_unknown += more->misses_unknown;
  sum->misses_occupied += more->misses_occupied;
  sum->misses_planned += more->misses_planned;
  sum->planned_miss_bytes += more->planned_miss_bytes;
}

static void
drop_instance (TesseraLengthsFollower *follower)
{
  TesseraFollowerStats stats;

  if (follower->follower != NULL)
    {
      tessera_follower_get_stats (follower->follower, &stats);
      add_stats (&follower->stats, &stats);
    }
  tessera_follower_free (follower->follower);
  tessera_plan_free (follower->plan);
  follower->follower = NULL;
  follower->plan = NULL;
}

/* Follows follower->plan from now on. Returns: whether it can be. */
static bool
follow_instance (TesseraLengthsFollower *follower)
{
  if (follower->plan->height_bytes > follower->most_height_bytes ||
      tessera_follower_new (follower->plan, &follower->follower) != TESSERA_OK)
    {
      drop_instance (follower);
      return false;
    }
  follower->hooks.expect (follower->hooks.guard.user, follower->plan->height_bytes);
  tessera_follower_set_guard (follower->follower, &follower->hooks.guard);
  return true;
}

TesseraStatus
tessera_lengths_follower_new (const TesseraLengths *lengths,
                              const TesseraLengthsHooks *hooks,
                              TesseraLengthsFollower **out_follower)
{
  TesseraLengthsFollower *follower = calloc (1, sizeof *follower);
  size_t n = (size_t) lengths->n_slots + 1;

  *out_follower = NULL;
  if (follower == NULL)
    return TESSERA_NO_MEMORY;
  follower->lengths = lengths;
  follower->hooks = *hooks;
  follower->phase = TESSERA_NONE;
  follower->cutter.phase = lengths->cut_phase;
  follower->is_spare = calloc (n, sizeof *follower->is_spare);
  follower->is_there = calloc (n, sizeof *follower->is_there);
  follower->was_phase =
      calloc ((size_t) lengths->n_strings + 1, sizeof *follower->was_phase);
  if (!follower->is_spare || !follower->is_there || !follower->was_phase ||
      tessera_fixed_places_init (&follower->fixed, lengths) != TESSERA_OK ||
      tessera_lengths_height (lengths, &follower->most_height_bytes) != TESSERA_OK ||
      tessera_instance_of_start (lengths, &follower->plan) != TESSERA_OK)
    {
      tessera_lengths_follower_free (follower);
      return TESSERA_NO_MEMORY;
    }
  follower->most_height_bytes += follower->most_height_bytes / BEYOND_SHARE;
  follower->state =
      follow_instance (follower) ? TESSERA_LENGTHS_START : TESSERA_LENGTHS_UNPLANNED;
  *out_follower = follower;
  return TESSERA_OK;
}

void
tessera_lengths_follower_free (TesseraLengthsFollower *follower)
{
  if (follower == NULL)
    return;
  tessera_follower_free (follower->follower);
  tessera_plan_free (follower->plan);
  tessera_fixed_places_clear (&follower->fixed);
  free (follower->is_spare);
  free (follower->is_there);
  free (follower->was_phase);
  free (follower);
}

void
tessera_lengths_begin_early (TesseraLengthsFollower *follower)
{
  drop_instance (follower);
  follower->n_missed = 0;
  follower->state = TESSERA_LENGTHS_EARLY;
  follower->next_early = 0;
  tessera_guess_init (&follower->guess, follower->lengths);
}

/* A step, or a part of it. */
static void
begin_part (TesseraLengthsFollower *follower)
{
  tessera_lengths_begin_early (follower);
  follower->n_strangers = 0;
  follower->is_new_phase = false;
  memset (follower->was_phase, 0, follower->lengths->n_strings);
}

void
tessera_lengths_follower_step (TesseraLengthsFollower *follower)
{
  bool is_first = follower->state == TESSERA_LENGTHS_START;

  begin_part (follower);
  if (is_first)
    follower->next_early =
        tessera_guess_see_batch (&follower->guess, follower->before, follower->n_before);
  follower->cutter.had_other = false;
  follower->is_later_part = false;
}

void
tessera_lengths_follower_phase (TesseraLengthsFollower *follower, const char *name)
{
  const TesseraLengths *lengths = follower->lengths;

  if (lengths->cut_phase != NULL && name != NULL)
    name = tessera_bare_phase (name);
  if (tessera_cutter_see (&follower->cutter, name) &&
      follower->state != TESSERA_LENGTHS_START)
    {
      begin_part (follower);
      follower->is_later_part = true;
    }
  follower->has_phases = true;
  follower->phase = name != NULL ? OTHER_PHASE : TESSERA_NONE;
  for (uint32_t i = 0; name != NULL && i < lengths->n_strings; i++)
    if (strcmp (lengths->strings[i], name) == 0)
      follower->phase = i;
  if (follower->phase < lengths->n_strings)
    {
      for (uint32_t i = 0; i < lengths->n_early; i++)
        follower->is_new_phase |= lengths->slots[i].phase == follower->phase &&
                                  !follower->was_phase[follower->phase];
      follower->was_phase[follower->phase] = true;
    }
  if (follower->follower != NULL)
    tessera_follower_phase (follower->follower, name);
}

/* Which blocks lie in fixed places already, and whether the rest of what one step makes
 * leaves its places to others until it comes. */
static TesseraInstanceOptions
look_around (TesseraLengthsFollower *follower)
{
  const TesseraLengths *lengths = follower->lengths;
  TesseraInstanceOptions options = { .is_there = follower->is_there,
                                     .first_slot = follower->next_early,
                                     .is_spare = follower->is_spare };
  uint32_t n_lent = 0, n_there = 0;

  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraFixedPlace *place = tessera_fixed_places_own (&follower->fixed, i);
      bool is_taken = place != NULL && place->is_taken;

      follower->is_spare[i] = lengths->slots[i].crosses && is_taken;
      follower->is_there[i] =
          tessera_lengths_slot_stays (&lengths->slots[i]) && is_taken && place->is_own;
      if (!tessera_lengths_slot_lends (lengths, &lengths->slots[i]))
        continue;
      /* Elsewhere, if the part that made it was not planned. */
      if (follower->is_later_part && lengths->slots[i].seen == TESSERA_SEEN_FIRST)
        follower->is_there[i] = true;
      n_lent++;
      n_there += follower->is_there[i];
    }
  /* Of a step's parts the first finds nothing there; what a part leaves out is little. */
  options.is_first = lengths->cut_phase != NULL ? 2 * n_there < n_lent : n_there < n_lent;
  options.shares_once = follower->hooks.is_free (
      follower->hooks.guard.user,
      tessera_instance_base (lengths, follower->fixed.most_bytes, follower->is_there),
      lengths->fixed_bytes);
  return options;
}

void
tessera_lengths_begin_known (TesseraLengthsFollower *follower,
                             const TesseraParameters *parameters)
{
  const TesseraInstanceOptions options = look_around (follower);

  follower->is_new_phase = false;
  follower->known = *parameters;
  follower->state = tessera_instance_of_step (follower->lengths, parameters, &options,
                                              &follower->plan) == TESSERA_OK &&
                            follow_instance (follower)
                        ? TESSERA_LENGTHS_KNOWN
                        : TESSERA_LENGTHS_UNPLANNED;
}

bool
tessera_lengths_follower_malloc (TesseraLengthsFollower *follower,
                                 uint64_t size_bytes,
                                 uint32_t stream,
                                 uint32_t pool,
                                 uint64_t *out_offset_bytes)
{
  TesseraParameters parameters;
  TesseraFixedPlace *place;
  uint32_t slot;

  follower->was_placeless = false;
  if (follower->state == TESSERA_LENGTHS_START)
    tessera_early_remember (follower, size_bytes, stream, pool);
  else if (follower->state == TESSERA_LENGTHS_EARLY && follower->next_early > 0 &&
           tessera_guess_is_known (&follower->guess, &parameters))
    tessera_lengths_begin_known (follower,
                                 &parameters); /* by what came before the first step */
  if (follower->state == TESSERA_LENGTHS_KNOWN)
    tessera_early_doubt (follower, size_bytes, stream, pool);
  if (follower->state == TESSERA_LENGTHS_EARLY)
    return tessera_early_serve (follower, size_bytes, stream, pool, out_offset_bytes);
  if (follower->follower == NULL)
    {
      follower->stats.misses++;
      follower->stats.misses_unknown++;
      follower->stats.miss_bytes += size_bytes;
      return false;
    }
  if (!tessera_follower_malloc (follower->follower, size_bytes, stream, pool,
                                out_offset_bytes, &slot))
    {
      follower->was_placeless = tessera_follower_was_placeless (follower->follower);
      follower->n_missed += !follower->was_placeless;
      return false;
    }
  follower->n_missed = 0;
  if (follower->state == TESSERA_LENGTHS_START)
    return true;
  place = tessera_fixed_places_at (&follower->fixed, *out_offset_bytes);
  if (place != NULL)
    {
      place->is_taken = true;
      place->is_own =
          slot != TESSERA_NONE && follower->plan->slots[slot].block == place->slot;
    }
  return true;
}

void
tessera_lengths_follower_free_at (TesseraLengthsFollower *follower, uint64_t offset_bytes)
{
  TesseraFixedPlace *place = tessera_fixed_places_at (&follower->fixed, offset_bytes);

  if (place != NULL)
    place->is_taken = false;
  if (follower->follower != NULL)
    tessera_follower_free_at (follower->follower, offset_bytes);
}

bool
tessera_lengths_follower_was_placeless (const TesseraLengthsFollower *follower)
{
  return follower->was_placeless;
}

bool
tessera_lengths_follower_is_lost (const TesseraLengthsFollower *follower)
{
  return follower->state == TESSERA_LENGTHS_UNPLANNED ||
         follower->n_missed > MAX_MISSED ||
         (follower->state == TESSERA_LENGTHS_EARLY &&
          follower->n_strangers > TESSERA_LENGTHS_STRANGERS);
}

void
tessera_lengths_follower_forecast (const TesseraLengthsFollower *follower,
                                   uint64_t page_bytes,
                                   uint32_t n_pages,
                                   uint32_t *needs)
{
  if (follower->follower != NULL)
    tessera_follower_forecast (follower->follower, page_bytes, n_pages, needs);
  else
    memset (needs, 0xff, n_pages * sizeof *needs);
}

void
tessera_lengths_follower_get_stats (const TesseraLengthsFollower *follower,
                                    TesseraFollowerStats *out_stats)
{
  TesseraFollowerStats now;

  *out_stats = follower->stats;
  if (follower->follower == NULL)
    return;
  tessera_follower_get_stats (follower->follower, &now);
  add_stats (out_stats, &now);
}
