/*
 * The law of rotas where steps are of several kinds: see check.h.
 *
 * A step of a kind that makes requests of a rota finds blocks of steps before. If every
 * such kind sees all of them end, those it finds were left by one step; else each kind
 * may have left what one of its steps makes.
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
compare_rotas (const Member *x, const Member *y)
{
  if (x->block_bytes != y->block_bytes)
    return x->block_bytes < y->block_bytes ? -1 : 1;
  return (x->stream_pool > y->stream_pool) - (x->stream_pool < y->stream_pool);
}

static int
compare_members (const void *a, const void *b)
{
  const Member *x = a, *y = b;
  int order = compare_rotas (x, y);
  return order != 0 ? order : (x->slot > y->slot) - (x->slot < y->slot);
}

TesseraStatus
tessera_check_find_rotas (const TesseraPlan *plan,
                          uint32_t **out_rotas,
                          uint32_t *out_n_rotas)
{
  Member *members = calloc (plan->n_slots + 1, sizeof *members);
  size_t n = 0, end;
  *out_n_rotas = 0;
  *out_rotas = calloc (plan->n_slots + 1, sizeof **out_rotas);
  if (members == NULL || *out_rotas == NULL)
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
      for (end = i; end < n && compare_rotas (&members[i], &members[end]) == 0; end++)
        {
          const TesseraSlot *slot = &plan->slots[members[end].slot];
          takes_turns = takes_turns || slot->died_next > slot->born ||
                        slot->ordinal == TESSERA_NONE;
        }
      if (!takes_turns)
        continue;
      ++*out_n_rotas;
      for (size_t k = i; k < end; k++)
        (*out_rotas)[members[k].slot] = *out_n_rotas;
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
  uint32_t *members; /* slots of the rota, ascending */
  size_t n_members;
  size_t n_places;
  bool are_cleared;
  size_t *counts; /* [n_sections] */
  bool *makes;    /* [n_sections] */
  Turn *turns, *places;
} Rota;

static int
compare_turns (const void *a, const void *b)
{
  const Turn *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return (x->slot > y->slot) - (x->slot < y->slot);
}

static const TesseraSlot *
member (const Rota *rota, size_t i)
{
  return &rota->plan->slots[rota->members[i]];
}

static TesseraStatus
refuse (const Rota *rota, uint32_t slot, TesseraError *error, const char *expected)
{
  TesseraSlotText text;
  tessera_check_describe (rota->plan, slot, &text);
  return tessera_fail (error, TESSERA_REFUSED, "rota: expected %s, found %s", expected,
                       text.text);
}

/* The offsets of the rota in one section, ascending. Returns: how many. */
static size_t
list_places (const Rota *rota, size_t section, Turn *places)
{
  size_t n = 0;
  for (size_t i = 0; i < rota->n_members; i++)
    if (member (rota, i)->section == section)
      places[n++] = (Turn){ member (rota, i)->offset_bytes, rota->members[i] };
  qsort (places, n, sizeof *places, compare_turns);
  return n;
}

/* Every kind that has any of its places has all of them; all end together. */
static TesseraStatus
check_places (Rota *rota, TesseraError *error)
{
  const TesseraPlan *plan = rota->plan;
  uint32_t after = 0;
  for (size_t i = 0; i < rota->n_members; i++)
    {
      const TesseraSlot *slot = member (rota, i);
      uint32_t died = slot->died > rota->kinds->stop ? slot->died : 0;
      if (i > 0 && died != after)
        return refuse (rota, rota->members[i], error,
                       "slots that take turns to end together");
      after = died;
    }
  rota->n_places = 0;
  for (size_t s = rota->kinds->first; s < rota->kinds->end; s++)
    {
      Turn *places = rota->n_places == 0 ? rota->places : rota->turns;
      size_t n = list_places (rota, s, places);
      if (n == 0)
        continue;
      if (rota->n_places == 0)
        {
          rota->n_places = n;
          continue;
        }
      for (size_t i = 0; i < n; i++)
        if (n != rota->n_places || places[i].key != rota->places[i].key)
          return refuse (rota, places[i].slot, error,
                         "the same places in every kind of step that takes turns there");
    }
  for (size_t i = 1; i < rota->n_places; i++)
    if (rota->places[i].key - rota->places[i - 1].key <
        plan->slots[rota->places[i].slot].block_bytes)
      return refuse (rota, rota->places[i].slot, error, "places of a rota to be apart");
  return TESSERA_OK;
}

static uint32_t
end_in (const Rota *rota, size_t i, size_t section)
{
  const TesseraSlot *slot = member (rota, i);
  return slot->section == section
             ? slot->died_next
             : tessera_check_crossed (rota->plan, rota->members[i], (uint32_t) section);
}

static void
see_who_clears (Rota *rota)
{
  rota->are_cleared = true;
  memset (rota->makes, 0, rota->plan->n_sections * sizeof *rota->makes);
  for (size_t i = 0; i < rota->n_members; i++)
    if (member (rota, i)->ordinal != TESSERA_NONE)
      rota->makes[member (rota, i)->section] = true;
  for (size_t i = 0; i < rota->n_members; i++)
    for (size_t s = rota->kinds->first; s < rota->kinds->end; s++)
      if (member (rota, i)->ordinal != TESSERA_NONE && rota->makes[s] &&
          s != member (rota, i)->section &&
          end_in (rota, i, s) == rota->plan->sections[s].end)
        rota->are_cleared = false;
}

static size_t
count_found (const Rota *rota)
{
  size_t most = 0, sum = 0;
  for (size_t s = rota->kinds->first; s < rota->kinds->end; s++)
    {
      most = rota->counts[s] > most ? rota->counts[s] : most;
      sum += rota->counts[s];
    }
  return rota->are_cleared ? most : sum;
}

/* Never more blocks alive than there are places, in a step of this kind. */
static TesseraStatus
check_crowd (Rota *rota, size_t section, TesseraError *error)
{
  size_t n = 0, n_born = 0;
  memset (rota->counts, 0, rota->plan->n_sections * sizeof *rota->counts);
  for (size_t i = 0; i < rota->n_members; i++)
    {
      const TesseraSlot *slot = member (rota, i);
      if (slot->ordinal == TESSERA_NONE)
        continue;
      rota->counts[slot->section]++;
      rota->turns[n++] =
          (Turn){ (uint64_t) end_in (rota, i, section) * 2, rota->members[i] };
      if (slot->section == section)
        rota->turns[n++] = (Turn){ (uint64_t) slot->born * 2 + 1, rota->members[i] };
    }
  qsort (rota->turns, n, sizeof *rota->turns, compare_turns);
  for (size_t i = 0; i < n; i++)
    if (rota->turns[i].key % 2 == 0)
      rota->counts[rota->plan->slots[rota->turns[i].slot].section]--;
    else if (++n_born + count_found (rota) > rota->n_places)
      return refuse (rota, rota->turns[i].slot, error,
                     "no more blocks alive than places, in any order of steps");
  return TESSERA_OK;
}

static TesseraStatus
check_rota (Rota *rota, TesseraError *error)
{
  TesseraStatus status = check_places (rota, error);
  see_who_clears (rota);
  for (size_t s = rota->kinds->first; status == TESSERA_OK && s < rota->kinds->end; s++)
    if (rota->makes[s])
      status = check_crowd (rota, s, error);
  return status;
}

TesseraStatus
tessera_check_kinds_rotas (const TesseraPlan *plan,
                           const TesseraCheckKinds *kinds,
                           TesseraError *error)
{
  Rota rota = { .plan = plan, .kinds = kinds };
  uint32_t *rotas = NULL, n_rotas = 0;
  TesseraStatus status = tessera_check_find_rotas (plan, &rotas, &n_rotas);
  rota.members = calloc (plan->n_slots + 1, sizeof *rota.members);
  rota.turns = calloc (2 * plan->n_slots + 1, sizeof *rota.turns);
  rota.places = calloc (plan->n_slots + 1, sizeof *rota.places);
  rota.counts = calloc (plan->n_sections + 1, sizeof *rota.counts);
  rota.makes = calloc (plan->n_sections + 1, sizeof *rota.makes);
  if (rota.members == NULL || rota.turns == NULL || rota.places == NULL ||
      rota.counts == NULL || rota.makes == NULL)
    status = TESSERA_NO_MEMORY;
  for (uint32_t r = 1; status == TESSERA_OK && r <= n_rotas; r++)
    {
      rota.n_members = 0;
      for (uint32_t i = 0; i < plan->n_slots; i++)
        if (rotas[i] == r)
          rota.members[rota.n_members++] = i;
      status = check_rota (&rota, error);
    }
  free (rotas);
  free (rota.members);
  free (rota.turns);
  free (rota.places);
  free (rota.counts);
  free (rota.makes);
  return status;
}
