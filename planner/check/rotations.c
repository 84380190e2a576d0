/*
 * The law of rotations: see check.h for what it says and sweep.h.
 *
 * The law of overlap has it that the places of a rotation are apart and reserved in every
 * step. What is left is to count: if never more blocks are alive than there are places, a
 * free one is there for each request, in whatever order the others were given out.
 *
 * A step of a kind that makes requests of a rotation finds blocks of steps before. If
 * every such kind sees all of them end, those it finds were left by one step; else each
 * kind may have left what one of its steps makes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/sweep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "db/sort.h"

typedef struct
{
  uint64_t block_bytes;
  uint32_t stream_pool;
  uint32_t slot;
} Member;

static int
compare_rotations (const void *a, const void *b)
{
  const Member *x = a, *y = b;
  if (x->block_bytes != y->block_bytes)
    return x->block_bytes < y->block_bytes ? -1 : 1;
  return (x->stream_pool > y->stream_pool) - (x->stream_pool < y->stream_pool);
}

/* Whether slots that are alike need each other's places. A spare alone is a reason where
 * there are several kinds: another kind may have requests in its place. */
static bool
take_turns (const TesseraPlan *plan, const Member *members, size_t n, bool has_several)
{
  for (size_t i = 0; i < n; i++)
    {
      const TesseraSlot *slot = &plan->slots[members[i].slot];
      if (slot->died_next > slot->born || (slot->ordinal == TESSERA_NONE && has_several))
        return true;
    }
  return false;
}

static size_t
list_members (const TesseraPlan *plan, Member *members)
{
  size_t n = 0;
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      if (slot->wraps && slot->died_next >= slot->born)
        members[n++] =
            (Member){ .block_bytes = slot->block_bytes,
                      .stream_pool = (uint32_t) slot->stream << 16 | slot->pool,
                      .slot = i };
    }
  qsort (members, n, sizeof *members, compare_rotations);
  return n;
}

TesseraStatus
tessera_check_find_rotations (const TesseraPlan *plan,
                              uint32_t **out_rotations,
                              uint32_t *out_n_rotations)
{
  TesseraCheckKinds kinds = tessera_check_find_kinds (plan);
  bool has_several = tessera_check_has_several (&kinds);
  Member *members = calloc (plan->n_slots + 1, sizeof *members);
  *out_n_rotations = 0;
  *out_rotations = calloc (plan->n_slots + 1, sizeof **out_rotations);
  if (members == NULL || *out_rotations == NULL)
    {
      free (members);
      return TESSERA_NO_MEMORY;
    }
  size_t n = list_members (plan, members), end;
  for (size_t i = 0; i < n; i = end)
    {
      end = i + 1;
      while (end < n && compare_rotations (&members[i], &members[end]) == 0)
        end++;
      if (!take_turns (plan, members + i, end - i, has_several))
        continue;
      ++*out_n_rotations;
      for (size_t k = i; k < end; k++)
        (*out_rotations)[members[k].slot] = *out_n_rotations;
    }
  free (members);
  return TESSERA_OK;
}

/* A place, or an end or birth in the kind at hand. */
typedef struct
{
  uint64_t key; /* offset; position * 2 + (1 for a birth) */
  uint32_t slot;
} Turn;

typedef struct
{
  const TesseraCheck *check;
  TesseraError *error;
  const TesseraKeyed *members; /* its number, slot; ascending slots: by kind */
  size_t n_members;
  size_t n_places;
  bool are_cleared;
  size_t counts[TESSERA_CHECK_MAX_KINDS]; /* what a kind may have left that is alive */
  bool makes[TESSERA_CHECK_MAX_KINDS];    /* whether a kind has requests of it */
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
  return &rotation->check->plan->slots[rotation->members[i].value];
}

/* The number of a slot's kind. */
static size_t
kind_of (const Rotation *rotation, const TesseraSlot *slot)
{
  return slot->section - rotation->check->kinds.first;
}

static size_t
count_kinds (const Rotation *rotation)
{
  return rotation->check->kinds.end - rotation->check->kinds.first;
}

static TesseraStatus
check_ends (const Rotation *rotation)
{
  const TesseraPlan *plan = rotation->check->plan;
  uint32_t stop = rotation->check->kinds.stop;
  const TesseraSlot *first = member (rotation, 0);
  for (size_t i = 1; i < rotation->n_members; i++)
    {
      const TesseraSlot *slot = member (rotation, i);
      TesseraSlotText one, other;
      /* A kind's own end stands for all that is not alive after all kinds. */
      if (slot->died == first->died || (slot->died <= stop && first->died <= stop))
        continue;
      tessera_check_describe (plan, rotation->members[0].value, &one);
      tessera_check_describe (plan, rotation->members[i].value, &other);
      return tessera_fail (rotation->error, TESSERA_REFUSED,
                           "rotation: expected slots that take turns to end together, "
                           "found %s and %s",
                           one.text, other.text);
    }
  return TESSERA_OK;
}

/* Every kind that has any of the places has all of them. */
static TesseraStatus
check_places (Rotation *rotation)
{
  rotation->n_places = 0;
  for (size_t i = 0, end; i < rotation->n_members; i = end)
    {
      Turn *places = i == 0 ? rotation->places : rotation->turns;
      size_t n = 0;
      for (end = i; end < rotation->n_members &&
                    member (rotation, end)->section == member (rotation, i)->section;
           end++)
        places[n++] =
            (Turn){ member (rotation, end)->offset_bytes, rotation->members[end].value };
      qsort (places, n, sizeof *places, compare_turns);
      rotation->n_places = i == 0 ? n : rotation->n_places;
      for (size_t k = 0; k < n; k++)
        {
          TesseraSlotText text;
          if (n == rotation->n_places && places[k].key == rotation->places[k].key)
            continue;
          tessera_check_describe (rotation->check->plan, places[k].slot, &text);
          return tessera_fail (rotation->error, TESSERA_REFUSED,
                               "rotation: expected the same places in every kind of step "
                               "that takes turns there, found %s",
                               text.text);
        }
    }
  return TESSERA_OK;
}

static uint32_t
end_in (const Rotation *rotation, size_t i, size_t kind)
{
  const TesseraSlot *slot = member (rotation, i);
  size_t section = rotation->check->kinds.first + kind;
  return slot->section == section
             ? slot->died_next
             : tessera_check_crossed (rotation->check->plan, rotation->members[i].value,
                                      (uint32_t) section);
}

static void
see_who_clears (Rotation *rotation)
{
  const TesseraSection *kinds =
      rotation->check->plan->sections + rotation->check->kinds.first;
  rotation->are_cleared = true;
  memset (rotation->makes, 0, sizeof rotation->makes);
  for (size_t i = 0; i < rotation->n_members; i++)
    if (member (rotation, i)->ordinal != TESSERA_NONE)
      rotation->makes[kind_of (rotation, member (rotation, i))] = true;
  for (size_t i = 0; i < rotation->n_members; i++)
    for (size_t k = 0; k < count_kinds (rotation); k++)
      if (member (rotation, i)->ordinal != TESSERA_NONE && rotation->makes[k] &&
          k != kind_of (rotation, member (rotation, i)) &&
          end_in (rotation, i, k) == kinds[k].end)
        rotation->are_cleared = false;
}

static size_t
count_found (const Rotation *rotation)
{
  size_t most = 0, sum = 0;
  for (size_t k = 0; k < count_kinds (rotation); k++)
    {
      most = rotation->counts[k] > most ? rotation->counts[k] : most;
      sum += rotation->counts[k];
    }
  return rotation->are_cleared ? most : sum;
}

static TesseraStatus
refuse_crowd (const Rotation *rotation, const Turn *turn)
{
  TesseraSlotText text;
  tessera_check_describe (rotation->check->plan, turn->slot, &text);
  if (tessera_check_has_several (&rotation->check->kinds))
    return tessera_fail (rotation->error, TESSERA_REFUSED,
                         "rotation: expected no more blocks alive than places, in any "
                         "order of steps, found %s",
                         text.text);
  return tessera_fail (rotation->error, TESSERA_REFUSED,
                       "rotation: expected no more blocks alive than the %zu places, "
                       "found one more at position %" PRIu64 ", of %s",
                       rotation->n_places, turn->key / 2, text.text);
}

/* Never more blocks alive than there are places, in a step of this kind. */
static TesseraStatus
check_crowd (Rotation *rotation, size_t kind)
{
  size_t n = 0, n_born = 0;
  memset (rotation->counts, 0, sizeof rotation->counts);
  for (size_t i = 0; i < rotation->n_members; i++)
    {
      const TesseraSlot *slot = member (rotation, i);
      if (slot->ordinal == TESSERA_NONE)
        continue;
      rotation->counts[kind_of (rotation, slot)]++;
      rotation->turns[n++] =
          (Turn){ (uint64_t) end_in (rotation, i, kind) * 2, rotation->members[i].value };
      if (kind_of (rotation, slot) == kind)
        rotation->turns[n++] =
            (Turn){ (uint64_t) slot->born * 2 + 1, rotation->members[i].value };
    }
  qsort (rotation->turns, n, sizeof *rotation->turns, compare_turns);
  for (size_t i = 0; i < n; i++)
    {
      const Turn *turn = &rotation->turns[i];
      if (turn->key % 2 == 0)
        rotation->counts[kind_of (rotation, &rotation->check->plan->slots[turn->slot])]--;
      else if (++n_born + count_found (rotation) > rotation->n_places)
        return refuse_crowd (rotation, turn);
    }
  return TESSERA_OK;
}

static TesseraStatus
check_rotation (Rotation *rotation)
{
  TesseraStatus status = check_ends (rotation);
  if (status == TESSERA_OK)
    status = check_places (rotation);
  see_who_clears (rotation);
  for (size_t k = 0; status == TESSERA_OK && k < count_kinds (rotation); k++)
    if (rotation->makes[k])
      status = check_crowd (rotation, k);
  return status;
}

TesseraStatus
tessera_check_rotations (TesseraCheck *check, TesseraError *error)
{
  const TesseraPlan *plan = check->plan;
  Rotation rotation = { .check = check, .error = error };
  if (check->n_rotations == 0)
    return TESSERA_OK;
  TesseraKeyed *members = calloc (plan->n_slots, sizeof *members);
  rotation.turns = calloc (2 * plan->n_slots, sizeof *rotation.turns);
  rotation.places = calloc (plan->n_slots, sizeof *rotation.places);
  bool has_memory = members != NULL && rotation.turns != NULL && rotation.places != NULL;
  size_t n = 0;
  for (uint32_t i = 0; has_memory && i < plan->n_slots; i++)
    if (check->rotations[i] != 0)
      members[n++] = (TesseraKeyed){ check->rotations[i], i };
  TesseraStatus status = has_memory ? tessera_sort_keyed (members, n) : TESSERA_NO_MEMORY;
  for (size_t i = 0; status == TESSERA_OK && i < n; i += rotation.n_members)
    {
      rotation.members = members + i;
      rotation.n_members = 1;
      while (i + rotation.n_members < n &&
             members[i + rotation.n_members].key == members[i].key)
        rotation.n_members++;
      status = check_rotation (&rotation);
    }
  free (members);
  free (rotation.turns);
  free (rotation.places);
  return status;
}
