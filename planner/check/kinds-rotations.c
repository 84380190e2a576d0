/*
 * The law of rotations where steps are of several kinds: see check.h.
 *
 * A step of a kind that makes requests of a rotation finds blocks of steps before. If
 * every such kind sees all of them end, those it finds were left by one step; else each
 * kind may have left what one of its steps makes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/kinds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  uint64_t block_bytes;
  uint32_t stream_pool;
  uint32_t slot;
} Member;

static int
compare_rotations (const Member *x, const Member *y)
{
  if (x->block_bytes != y->block_bytes)
    return x->block_bytes < y->block_bytes ? -1 : 1;
  return (x->stream_pool > y->stream_pool) - (x->stream_pool < y->stream_pool);
}

static int
compare_members (const void *a, const void *b)
{
  const Member *x = a, *y = b;
  int order = compare_rotations (x, y);
  return order != 0 ? order : (x->slot > y->slot) - (x->slot < y->slot);
}

TesseraStatus
tessera_check_find_rotations (const TesseraPlan *plan,
                              uint32_t **out_rotations,
                              uint32_t *out_n_rotations)
{
  Member *members = calloc (plan->n_slots + 1, sizeof *members);
  size_t n = 0, end;
  *out_n_rotations = 0;
  *out_rotations = calloc (plan->n_slots + 1, sizeof **out_rotations);
  if (members == NULL || *out_rotations == NULL)
    {
      free (members);
      return TESSERA_NO_MEMORY;
    }
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      if (slot->wraps && slot->died_next >= slot->born)
        members[n++] =
            (Member){ .block_bytes = slot->block_bytes,
                      .stream_pool = (uint32_t) slot->stream << 16 | slot->pool,
                      .slot = i };
    }
  if (n > 0)
    qsort (members, n, sizeof *members, compare_members);
  for (size_t i = 0; i < n; i = end)
    {
      bool takes_turns = false;
      for (end = i; end < n && compare_rotations (&members[i], &members[end]) == 0; end++)
        {
          const TesseraSlot *slot = &plan->slots[members[end].slot];
          takes_turns = takes_turns || slot->died_next > slot->born ||
                        slot->ordinal == TESSERA_NONE;
        }
      if (!takes_turns)
        continue;
      ++*out_n_rotations;
      for (size_t k = i; k < end; k++)
        (*out_rotations)[members[k].slot] = *out_n_rotations;
    }
  free (members);
  return TESSERA_OK;
}

/* A place, or an end or birth in the section at hand. */
typedef struct
{
  uint64_t key;
  uint32_t slot;
} Turn;

typedef struct
{
  const TesseraPlan *plan;
  const TesseraCheckKinds *kinds;
  uint32_t *members; /* slots of the rotation, ascending */
  size_t n_members;
  size_t n_places;
  bool are_cleared;
  size_t *counts; /* [n_sections] */
  bool *makes;    /* [n_sections] */
  Turn *turns, *places;
} Rotation;

static int
compare_turns (const void *a, const void *b)
{
  const Turn *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return (x->slot > y->slot) - (x->slot < y->slot);
}

static const TesseraSlot *
member (const Rotation *rotation, size_t i)
{
  return &rotation->plan->slots[rotation->members[i]];
}

static TesseraStatus
refuse (const Rotation *rotation,
        uint32_t slot,
        TesseraError *error,
        const char *expected)
{
  TesseraSlotText text;
  tessera_check_describe (rotation->plan, slot, &text);
  return tessera_fail (error, TESSERA_REFUSED, "rotation: expected %s, found %s",
                       expected, text.text);
}

/* The offsets of the rotation in one section, ascending. Returns: how many. */
static size_t
list_places (const Rotation *rotation, size_t section, Turn *places)
{
  size_t n = 0;
  for (size_t i = 0; i < rotation->n_members; i++)
    if (member (rotation, i)->section == section)
      places[n++] = (Turn){ member (rotation, i)->offset_bytes, rotation->members[i] };
  qsort (places, n, sizeof *places, compare_turns);
  return n;
}

/* Every kind that has any of its places has all of them; all end together. */
static TesseraStatus
check_places (Rotation *rotation, TesseraError *error)
{
  const TesseraPlan *plan = rotation->plan;
  uint32_t after = 0;
  for (size_t i = 0; i < rotation->n_members; i++)
    {
      const TesseraSlot *slot = member (rotation, i);
      uint32_t died = slot->died > rotation->kinds->stop ? slot->died : 0;
      if (i > 0 && died != after)
        return refuse (rotation, rotation->members[i], error,
                       "slots that take turns to end together");
      after = died;
    }
  rotation->n_places = 0;
  for (size_t s = rotation->kinds->first; s < rotation->kinds->end; s++)
    {
      Turn *places = rotation->n_places == 0 ? rotation->places : rotation->turns;
      size_t n = list_places (rotation, s, places);
      if (n == 0)
        continue;
      if (rotation->n_places == 0)
        {
          rotation->n_places = n;
          continue;
        }
      for (size_t i = 0; i < n; i++)
        if (n != rotation->n_places || places[i].key != rotation->places[i].key)
          return refuse (rotation, places[i].slot, error,
                         "the same places in every kind of step that takes turns there");
    }
  for (size_t i = 1; i < rotation->n_places; i++)
    if (rotation->places[i].key - rotation->places[i - 1].key <
        plan->slots[rotation->places[i].slot].block_bytes)
      return refuse (rotation, rotation->places[i].slot, error,
                     "places of a rotation to be apart");
  return TESSERA_OK;
}

static uint32_t
end_in (const Rotation *rotation, size_t i, size_t section)
{
  const TesseraSlot *slot = member (rotation, i);
  return slot->section == section
             ? slot->died_next
             : tessera_check_crossed (rotation->plan, rotation->members[i],
                                      (uint32_t) section);
}

static void
see_who_clears (Rotation *rotation)
{
  rotation->are_cleared = true;
  memset (rotation->makes, 0, rotation->plan->n_sections * sizeof *rotation->makes);
  for (size_t i = 0; i < rotation->n_members; i++)
    if (member (rotation, i)->ordinal != TESSERA_NONE)
      rotation->makes[member (rotation, i)->section] = true;
  for (size_t i = 0; i < rotation->n_members; i++)
    for (size_t s = rotation->kinds->first; s < rotation->kinds->end; s++)
      if (member (rotation, i)->ordinal != TESSERA_NONE && rotation->makes[s] &&
          s != member (rotation, i)->section &&
          end_in (rotation, i, s) == rotation->plan->sections[s].end)
        rotation->are_cleared = false;
}

static size_t
count_found (const Rotation *rotation)
{
  size_t most = 0, sum = 0;
  for (size_t s = rotation->kinds->first; s < rotation->kinds->end; s++)
    {
      most = rotation->counts[s] > most ? rotation->counts[s] : most;
      sum += rotation->counts[s];
    }
  return rotation->are_cleared ? most : sum;
}

/* Never more blocks alive than there are places, in a step of this kind. */
static TesseraStatus
check_crowd (Rotation *rotation, size_t section, TesseraError *error)
{
  size_t n = 0, n_born = 0;
  memset (rotation->counts, 0, rotation->plan->n_sections * sizeof *rotation->counts);
  for (size_t i = 0; i < rotation->n_members; i++)
    {
      const TesseraSlot *slot = member (rotation, i);
      if (slot->ordinal == TESSERA_NONE)
        continue;
      rotation->counts[slot->section]++;
      rotation->turns[n++] =
          (Turn){ (uint64_t) end_in (rotation, i, section) * 2, rotation->members[i] };
      if (slot->section == section)
        rotation->turns[n++] =
            (Turn){ (uint64_t) slot->born * 2 + 1, rotation->members[i] };
    }
  qsort (rotation->turns, n, sizeof *rotation->turns, compare_turns);
  for (size_t i = 0; i < n; i++)
    if (rotation->turns[i].key % 2 == 0)
      rotation->counts[rotation->plan->slots[rotation->turns[i].slot].section]--;
    else if (++n_born + count_found (rotation) > rotation->n_places)
      return refuse (rotation, rotation->turns[i].slot, error,
                     "no more blocks alive than places, in any order of steps");
  return TESSERA_OK;
}

static TesseraStatus
check_rotation (Rotation *rotation, TesseraError *error)
{
  TesseraStatus status = check_places (rotation, error);
  see_who_clears (rotation);
  for (size_t s = rotation->kinds->first;
       status == TESSERA_OK && s < rotation->kinds->end; s++)
    if (rotation->makes[s])
      status = check_crowd (rotation, s, error);
  return status;
}

TesseraStatus
tessera_check_kinds_rotations (const TesseraPlan *plan,
                               const TesseraCheckKinds *kinds,
                               TesseraError *error)
{
  Rotation rotation = { .plan = plan, .kinds = kinds };
  uint32_t *rotations = NULL, n_rotations = 0;
  TesseraStatus status = tessera_check_find_rotations (plan, &rotations, &n_rotations);
  rotation.members = calloc (plan->n_slots + 1, sizeof *rotation.members);
  rotation.turns = calloc (2 * plan->n_slots + 1, sizeof *rotation.turns);
  rotation.places = calloc (plan->n_slots + 1, sizeof *rotation.places);
  rotation.counts = calloc (plan->n_sections + 1, sizeof *rotation.counts);
  rotation.makes = calloc (plan->n_sections + 1, sizeof *rotation.makes);
  if (rotation.members == NULL || rotation.turns == NULL || rotation.places == NULL ||
      rotation.counts == NULL || rotation.makes == NULL)
    status = TESSERA_NO_MEMORY;
  for (uint32_t r = 1; status == TESSERA_OK && r <= n_rotations; r++)
    {
      rotation.n_members = 0;
      for (uint32_t i = 0; i < plan->n_slots; i++)
        if (rotations[i] == r)
          rotation.members[rotation.n_members++] = i;
      status = check_rotation (&rotation, error);
    }
  free (rotations);
  free (rotation.members);
  free (rotation.turns);
  free (rotation.places);
  free (rotation.counts);
  free (rotation.makes);
  return status;
}
