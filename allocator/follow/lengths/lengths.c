/*
 * Following a plan for every length: see lengths.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/lengths/lengths.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/follow/lengths/guess.h"
#include "allocator/follow/lengths/instance.h"
#include "allocator/follow/lengths/sweep.h"

enum
{
  /* A step beyond what the plan is for is planned, too, as far as laws go: with this
     share of the pool more. What is longer yet may be none (an evaluation, say). */
  BEYOND_SHARE = 4,
  /* Misses in a row from which on the guess is doubted. */
  MIN_DOUBTS = 4
};

/* One that the plan has no name for. */
#define OTHER_PHASE (TESSERA_NONE - 1)

/* A place that does not move, and whether a block lies there. */
typedef struct
{
  uint64_t offset_bytes;
  uint32_t slot;
  bool is_spare;
  bool is_taken;
  bool is_own; /* ... by a block of the slot, not by one that may lie there meanwhile */
} FixedPlace;

typedef struct
{
  const TesseraLengths *lengths;
  uint64_t *most_bytes; /* [n_laws] what fixed places have */
  FixedPlace *places;   /* by offset */
  uint32_t n_places;
  uint32_t *own, *spare; /* [n_slots] index into places, or TESSERA_NONE */
} FixedPlaces;

typedef enum
{
  STATE_START, /* before the first step */
  STATE_EARLY, /* of a step whose length is not known */
  STATE_KNOWN,
  STATE_UNPLANNED
} State;

struct TesseraLengthsFollower
{
  const TesseraLengths *lengths;
  TesseraLengthsHooks hooks;
  uint64_t most_height_bytes; /* that a step may be planned with */
  FixedPlaces fixed;
  bool *is_spare, *is_there; /* [n_slots] for the next instance */
  State state;
  TesseraGuess guess;
  TesseraParameters known; /* of this step */
  uint32_t next_early;     /* slot */
  uint32_t phase;    /* that the run is in: of the plan's strings; not below n_strings:
                        another one, or TESSERA_NONE */
  TesseraPlan *plan; /* of this step, or of the start */
  bool has_phases;   /* the run tells them */
  bool is_new_phase; /* an early slot's, for the first time in this step */
  bool *was_phase;   /* [n_strings] in this step */
  TesseraCutter cutter;
  bool is_between;    /* steps: one ended, and none began */
  bool is_later_part; /* not the first of its step */
  uint32_t n_missed;  /* in a row */
  TesseraFollower *follower;
};

/* ---- Fixed places ---- */

static int
by_offset (const void *a, const void *b)
{
  const FixedPlace *x = a;
  const FixedPlace *y = b;

  return (x->offset_bytes > y->offset_bytes) - (x->offset_bytes < y->offset_bytes);
}

static void
list_places (FixedPlaces *fixed)
{
  const TesseraLengths *lengths = fixed->lengths;

  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];

      fixed->own[i] = fixed->spare[i] = TESSERA_NONE;
      if (slot->place != TESSERA_PLACE_FIXED)
        continue;
      fixed->places[fixed->n_places++] =
          (FixedPlace){ slot->offset_bytes, i, false, false };
      if (slot->crosses && slot->spare_bytes != slot->offset_bytes)
        fixed->places[fixed->n_places++] =
            (FixedPlace){ slot->spare_bytes, i, true, false };
    }
  qsort (fixed->places, fixed->n_places, sizeof *fixed->places, by_offset);
  for (uint32_t k = 0; k < fixed->n_places; k++)
    {
      const FixedPlace *place = &fixed->places[k];

      (place->is_spare ? fixed->spare : fixed->own)[place->slot] = k;
    }
}

/* Nothing lies in any. To be cleared in any case. */
static TesseraStatus
fixed_places_init (FixedPlaces *fixed, const TesseraLengths *lengths)
{
  size_t n = (size_t) lengths->n_slots + 1;

  *fixed = (FixedPlaces){ .lengths = lengths };
  fixed->most_bytes = malloc (((size_t) lengths->n_laws + 1) * sizeof *fixed->most_bytes);
  fixed->places = calloc (2 * n, sizeof *fixed->places);
  fixed->own = malloc (n * sizeof *fixed->own);
  fixed->spare = malloc (n * sizeof *fixed->spare);
  if (!fixed->most_bytes || !fixed->places || !fixed->own || !fixed->spare ||
      !tessera_sweep_sizes (lengths, &lengths->most, fixed->most_bytes))
    return TESSERA_NO_MEMORY;
  list_places (fixed);
  return TESSERA_OK;
}

static void
fixed_places_clear (FixedPlaces *fixed)
{
  free (fixed->most_bytes);
  free (fixed->places);
  free (fixed->own);
  free (fixed->spare);
  *fixed = (FixedPlaces){ 0 };
}

/* The one at the offset, or NULL. */
static FixedPlace *
fixed_places_at (const FixedPlaces *fixed, uint64_t offset_bytes)
{
  const FixedPlace key = { .offset_bytes = offset_bytes };

  return fixed->n_places > 0
             ? bsearch (&key, fixed->places, fixed->n_places, sizeof key, by_offset)
             : NULL;
}

/* The slot's own, or NULL: it has none. */
static const FixedPlace *
fixed_places_own (const FixedPlaces *fixed, uint32_t slot)
{
  return fixed->own[slot] != TESSERA_NONE ? &fixed->places[fixed->own[slot]] : NULL;
}

/* Takes a place of the slot that is free, large enough, and granted. Returns: whether
 * there is one. */
static bool
fixed_places_take (FixedPlaces *fixed,
                   uint32_t slot,
                   uint64_t size_bytes,
                   const TesseraFollowerHook *hook,
                   uint64_t *out_offset_bytes)
{
  const uint32_t places[] = { fixed->own[slot], fixed->spare[slot] };

  if (size_bytes > fixed->most_bytes[fixed->lengths->slots[slot].law])
    return false;
  for (size_t k = 0; k < 2; k++)
    {
      FixedPlace *place = places[k] != TESSERA_NONE ? &fixed->places[places[k]] : NULL;
      uint64_t end_bytes;

      if (place == NULL || place->is_taken ||
          !hook->take (hook->user, place->offset_bytes, &end_bytes))
        continue;
      place->is_taken = place->is_own = true;
      *out_offset_bytes = place->offset_bytes;
      return true;
    }
  return false;
}

/* ---- The plan of one step ---- */

static void
drop_instance (TesseraLengthsFollower *follower)
{
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
  follower->hooks.expect (follower->hooks.hook.user, follower->plan->height_bytes);
  tessera_follower_set_hook (follower->follower, &follower->hooks.hook);
  return true;
}

/* The length of the step is not known, whatever was thought so far. */
static void
begin_early (TesseraLengthsFollower *follower)
{
  drop_instance (follower);
  follower->n_missed = 0;
  follower->state = STATE_EARLY;
  follower->next_early = 0;
  tessera_guess_init (&follower->guess, follower->lengths);
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
  uint32_t n_made = 0, n_there = 0;
  bool in_spare = false; /* what takes turns, together */

  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];
      const FixedPlace *place = fixed_places_own (&follower->fixed, i);
      bool is_taken = place != NULL && place->is_taken;
      bool is_made = lengths->cut_phase != NULL && slot->seen == TESSERA_SEEN_FIRST;

      follower->is_spare[i] = slot->crosses && is_taken;
      in_spare |= tessera_lengths_slot_turns (slot) && is_taken;
      follower->is_there[i] =
          tessera_lengths_slot_stays (slot) && is_taken && place->is_own;
      /* Elsewhere, if the part that made it was not planned. */
      is_taken |= is_made && follower->is_later_part;
      if (tessera_lengths_slot_lends (lengths, slot))
        {
          follower->is_there[i] |= is_made && follower->is_later_part;
          n_made++;
          n_there += follower->is_there[i];
        }
      else if (is_made && slot->crosses) /* for the parts behind it, and lends nothing */
        {
          n_made++;
          n_there += is_taken;
        }
    }
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (tessera_lengths_slot_turns (&lengths->slots[i]))
      follower->is_spare[i] = in_spare;
  /* Of a step's parts the first finds nothing there; what a part leaves out is little. */
  options.is_first = lengths->cut_phase != NULL ? 2 * n_there < n_made : n_there < n_made;
  options.shares_once = follower->hooks.is_free (
      follower->hooks.hook.user,
      tessera_instance_base (lengths, follower->fixed.most_bytes, follower->is_there),
      lengths->fixed_bytes);
  return options;
}

/* The length is known: a plan for the rest of the step. Whoever knows it in the phase
 * that tells it has no doubt because of that phase. */
static void
begin_known (TesseraLengthsFollower *follower, const TesseraParameters *parameters)
{
  const TesseraInstanceOptions options = look_around (follower);

  follower->is_new_phase = false;
  follower->known = *parameters;
  follower->state = tessera_instance_of_step (follower->lengths, parameters, &options,
                                              &follower->plan) == TESSERA_OK &&
                            follow_instance (follower)
                        ? STATE_KNOWN
                        : STATE_UNPLANNED;
}

/* ---- The first requests of a step, which tell its length ---- */

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

/* As tessera_lengths_follower_malloc(), of a step whose length is not known. */
static TesseraFollowed
serve_early (TesseraLengthsFollower *follower,
             uint64_t size_bytes,
             uint32_t stream,
             uint32_t pool,
             uint64_t *out_offset_bytes)
{
  uint32_t slot = find_early (follower, size_bytes, stream, pool);
  TesseraParameters parameters;
  bool is_hit;

  if (slot == TESSERA_NONE)
    return TESSERA_MISS_UNKNOWN;
  follower->next_early = slot + 1;
  is_hit = fixed_places_take (&follower->fixed, slot, size_bytes, &follower->hooks.hook,
                              out_offset_bytes);
  if (tessera_guess_is_known (&follower->guess, &parameters))
    begin_known (follower, &parameters);
  return is_hit ? TESSERA_HIT
         : tessera_lengths_slot_is_kept (&follower->lengths->slots[slot])
             ? TESSERA_MISS_PLANNED
             : TESSERA_MISS_OCCUPIED;
}

/* A size that is always the same tells nothing. */
static bool
tells (const TesseraLengthsFollower *follower, uint32_t slot)
{
  const TesseraLengths *lengths = follower->lengths;

  return lengths->laws[lengths->slots[slot].law].kind != TESSERA_SIZE_CONSTANT;
}

/* A request came though the length is known. What comes between steps may look like the
 * begin of one. Where nothing of it hits, or a phase begins in which the length is told,
 * a request that would be the first of a step of another length is. */
static void
doubt_length (TesseraLengthsFollower *follower,
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
             !(tessera_guess_is_known (&follower->guess, &parameters) &&
               parameters.length == follower->known.length &&
               parameters.batch == follower->known.batch);
  follower->guess = guess;
  follower->next_early = next_early;
  if (is_other)
    begin_early (follower);
}

/* ---- The follower ---- */

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
      fixed_places_init (&follower->fixed, lengths) != TESSERA_OK ||
      tessera_lengths_height (lengths, &follower->most_height_bytes) != TESSERA_OK ||
      tessera_instance_of_start (lengths, &follower->plan) != TESSERA_OK)
    {
      tessera_lengths_follower_free (follower);
      return TESSERA_NO_MEMORY;
    }
  follower->most_height_bytes += follower->most_height_bytes / BEYOND_SHARE;
  follower->state = follow_instance (follower) ? STATE_START : STATE_UNPLANNED;
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
  fixed_places_clear (&follower->fixed);
  free (follower->is_spare);
  free (follower->is_there);
  free (follower->was_phase);
  free (follower);
}

/* A step, or a part of it. */
static void
begin_part (TesseraLengthsFollower *follower)
{
  begin_early (follower);
  follower->is_new_phase = false;
  memset (follower->was_phase, 0, follower->lengths->n_strings);
}

void
tessera_lengths_follower_step (TesseraLengthsFollower *follower)
{
  begin_part (follower);
  follower->cutter.had_other = false;
  follower->is_later_part = false;
  follower->is_between = false;
}

void
tessera_lengths_follower_end_step (TesseraLengthsFollower *follower)
{
  if (follower->state == STATE_START)
    return;
  tessera_lengths_follower_step (follower);
  follower->state = STATE_UNPLANNED;
  follower->is_between = true;
}

void
tessera_lengths_follower_phase (TesseraLengthsFollower *follower, const char *name)
{
  const TesseraLengths *lengths = follower->lengths;

  if (lengths->cut_phase != NULL && name != NULL)
    name = tessera_bare_phase (name);
  if (tessera_cutter_see (&follower->cutter, name) && follower->state != STATE_START &&
      !follower->is_between)
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

/* The place that the block at the offset lies in, or NULL. In spare places those that take
 * turns lie at the end, and no two places share an address: their order is the same. */
static FixedPlace *
find_place (TesseraLengthsFollower *follower, uint32_t slot, uint64_t offset_bytes)
{
  const TesseraLengths *lengths = follower->lengths;
  uint32_t of = slot != TESSERA_NONE ? follower->plan->slots[slot].block : TESSERA_NONE;

  if (of != TESSERA_NONE && tessera_lengths_slot_turns (&lengths->slots[of]) &&
      follower->is_spare[of] && offset_bytes == follower->plan->slots[slot].offset_bytes)
    {
      FixedPlace *place = &follower->fixed.places[follower->fixed.spare[of]];

      place->offset_bytes = offset_bytes;
      return place;
    }
  return fixed_places_at (&follower->fixed, offset_bytes);
}

TesseraFollowed
tessera_lengths_follower_malloc (TesseraLengthsFollower *follower,
                                 uint64_t size_bytes,
                                 uint32_t stream,
                                 uint32_t pool,
                                 uint64_t *out_offset_bytes)
{
  FixedPlace *place;
  TesseraFollowed followed;
  uint32_t slot;

  if (follower->state == STATE_KNOWN)
    doubt_length (follower, size_bytes, stream, pool);
  if (follower->state == STATE_EARLY)
    return serve_early (follower, size_bytes, stream, pool, out_offset_bytes);
  if (follower->follower == NULL)
    return TESSERA_MISS_UNKNOWN;
  followed = tessera_follower_malloc (follower->follower, size_bytes, stream, pool,
                                      out_offset_bytes, &slot);
  if (!tessera_followed_is_hit (followed))
    {
      follower->n_missed += followed != TESSERA_MISS_PLANNED;
      return followed;
    }
  follower->n_missed = 0;
  place = follower->state != STATE_START ? find_place (follower, slot, *out_offset_bytes)
                                         : NULL;
  if (place != NULL)
    {
      place->is_taken = true;
      place->is_own =
          slot != TESSERA_NONE && follower->plan->slots[slot].block == place->slot;
    }
  return followed;
}

void
tessera_lengths_follower_free_at (TesseraLengthsFollower *follower, uint64_t offset_bytes)
{
  FixedPlace *place = fixed_places_at (&follower->fixed, offset_bytes);

  if (place != NULL)
    place->is_taken = false;
}

bool
tessera_lengths_follower_is_lost (const TesseraLengthsFollower *follower)
{
  return follower->state == STATE_UNPLANNED;
}

void
tessera_lengths_follower_forecast (const TesseraLengthsFollower *follower,
                                   uint64_t page_bytes,
                                   uint32_t n_pages,
                                   bool *out_is_needed)
{
  if (follower->follower != NULL)
    tessera_follower_forecast (follower->follower, page_bytes, n_pages, out_is_needed);
  else
    memset (out_is_needed, 0, n_pages * sizeof *out_is_needed);
}
