/*
 * Random plans and a slow oracle for the tests of the checker. See test-plans.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/test-plans.h"

#include <stdlib.h>
#include <string.h>

guint
check_pick (GRand *random, guint n)
{
  return (guint) g_rand_int_range (random, 0, (int) n);
}

/* ---- the oracle: by definition, without any thought of speed ---- */

gboolean
check_is_alive (const TesseraPlan *plan, const TesseraSlot *slot, uint32_t position)
{
  return (slot->born <= position && position < slot->died) ||
         (slot->wraps && plan->sections[slot->section].begin <= position &&
          position < MIN (slot->died_next, slot->born));
}

gboolean
check_share_addresses (const TesseraSlot *a, const TesseraSlot *b)
{
  return MAX (a->offset_bytes, b->offset_bytes) <
         MIN (a->offset_bytes + a->block_bytes, b->offset_bytes + b->block_bytes);
}

gboolean
check_oracle_overlap (const TesseraPlan *plan)
{
  for (uint32_t position = 0; position < plan->n_positions; position++)
    for (size_t i = 0; i < plan->n_slots; i++)
      for (size_t k = 0; k < i; k++)
        if (check_is_alive (plan, &plan->slots[i], position) &&
            check_is_alive (plan, &plan->slots[k], position) &&
            check_share_addresses (&plan->slots[i], &plan->slots[k]))
          return TRUE;
  return FALSE;
}

static gboolean
is_of_rota (const TesseraSlot *slot, const TesseraSlot *like)
{
  return slot->wraps && slot->died_next >= slot->born && slot->stream == like->stream &&
         slot->pool == like->pool && slot->block_bytes == like->block_bytes;
}

/* Whether the rota of a slot that outlives its successor's birth lacks a place. */
static gboolean
oracle_rota (const TesseraPlan *plan, const TesseraSlot *like)
{
  const TesseraSection *section = &plan->sections[like->section];
  for (uint32_t position = section->begin; position < section->end; position++)
    {
      guint n_places = 0, n_alive = 0;
      for (size_t i = 0; i < plan->n_slots; i++)
        {
          const TesseraSlot *slot = &plan->slots[i];
          if (!is_of_rota (slot, like))
            continue;
          if (slot->died != like->died)
            return TRUE;
          n_places++;
          if (slot->ordinal != TESSERA_NONE)
            n_alive += (slot->born <= position) + (position < slot->died_next);
        }
      if (n_alive > n_places)
        return TRUE;
    }
  return FALSE;
}

gboolean
check_oracle_rotas (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].wraps && plan->slots[i].died_next > plan->slots[i].born &&
        oracle_rota (plan, &plan->slots[i]))
      return TRUE;
  return FALSE;
}

static uint64_t
oracle_bound (const TesseraPlan *plan)
{
  uint64_t bound = 0;
  for (uint32_t position = 0; position < plan->n_positions; position++)
    {
      uint64_t load = 0;
      for (size_t i = 0; i < plan->n_slots; i++)
        if (check_is_alive (plan, &plan->slots[i], position))
          load += plan->slots[i].block_bytes;
      bound = MAX (bound, load);
    }
  return bound;
}

static uint64_t
oracle_height (const TesseraPlan *plan)
{
  uint64_t height = 0;
  for (size_t i = 0; i < plan->n_slots; i++)
    height = MAX (height, plan->slots[i].offset_bytes + plan->slots[i].block_bytes);
  return height;
}

/* ---- hand-overs, by definition: unit by unit of addresses, stay by stay ---- */

/* One block of a slot in a run that does the section that repeats (1) twice. */
typedef struct
{
  uint32_t slot, born, died, opens;
} Stay;

/* A range that has to be handed over: what may be waited for, and when it is taken. */
typedef struct
{
  uint32_t from, to, opens, born;
} Passing;

static gboolean
is_same_owner (const TesseraSlot *a, const TesseraSlot *b)
{
  return a->stream == b->stream && a->pool == b->pool; /* all are small */
}

static uint32_t
period_of (const TesseraPlan *plan)
{
  return plan->sections[1].end - plan->sections[1].begin;
}

/* Where what lives on in the place of a slot that wraps ends, or its own end. */
static uint32_t
end_at_start (const TesseraPlan *plan, const TesseraSlot *slot)
{
  for (size_t i = 0; i < plan->n_slots && slot->section == 0; i++)
    {
      const TesseraSlot *other = &plan->slots[i];
      if (slot->died == plan->sections[1].begin && other->wraps &&
          is_same_owner (slot, other) && other->offset_bytes == slot->offset_bytes &&
          other->block_bytes == slot->block_bytes)
        return other->died_next;
    }
  return slot->died > plan->sections[1].end ? slot->died + period_of (plan) : slot->died;
}

/* All stays, in the order in which a run comes to them. */
static GArray *
list_stays (const TesseraPlan *plan)
{
  GArray *stays = g_array_new (FALSE, FALSE, sizeof (Stay));
  uint32_t period = period_of (plan), end = plan->sections[1].end;
  for (size_t s = 0; s < plan->n_sections; s++)
    for (int time = 0; time <= (s == 1); time++)
      for (uint32_t i = 0; i < plan->sections[s].n_slots; i++)
        {
          const TesseraSlot *slot = &plan->slots[plan->sections[s].first_slot + i];
          uint32_t shift = s == 2 || time == 1 ? period : 0;
          Stay stay = { plan->sections[s].first_slot + i, slot->born + shift,
                        slot->died + shift, UINT32_MAX };
          if (s == 0)
            stay.died = end_at_start (plan, slot);
          else if (s == 1 && time == 0)
            stay.died = slot->wraps ? slot->died_next + period : MIN (slot->died, end);
          g_array_append_val (stays, stay);
        }
  for (guint i = 0; i < stays->len; i++)
    for (guint k = 0; k < stays->len; k++)
      {
        Stay *stay = &g_array_index (stays, Stay, i);
        const Stay *other = &g_array_index (stays, Stay, k);
        const TesseraSlot *slot = &plan->slots[stay->slot];
        const TesseraSlot *request = &plan->slots[other->slot];
        if (request->ordinal != TESSERA_NONE && is_same_owner (slot, request) &&
            request->block_bytes <= slot->block_bytes && other->born >= stay->died)
          stay->opens = MIN (stay->opens, other->born);
      }
  return stays;
}

/* Everything that passes, to the owner itself only from slots with side streams. Sets
 * *out_closed where something passes that is not open. */
static GArray *
list_passings (const TesseraPlan *plan, gboolean *out_closed)
{
  GArray *passings = g_array_new (FALSE, FALSE, sizeof (Passing));
  GArray *stays = list_stays (plan);
  *out_closed = FALSE;
  for (uint64_t at = 0; at < oracle_height (plan); at += CHECK_ALIGNMENT)
    {
      uint32_t last = TESSERA_NONE, opens = 0;
      for (guint i = 0; i < stays->len; i++)
        {
          const Stay *stay = &g_array_index (stays, Stay, i);
          const TesseraSlot *slot = &plan->slots[stay->slot];
          if (at < slot->offset_bytes || at >= slot->offset_bytes + slot->block_bytes)
            continue;
          const TesseraSlot *from = last != TESSERA_NONE ? &plan->slots[last] : slot;
          Passing passing = { last, stay->slot, opens, stay->born };
          if (last != TESSERA_NONE &&
              (from->stream != slot->stream || from->side_streams))
            g_array_append_val (passings, passing);
          *out_closed |= !is_same_owner (from, slot) && opens > stay->born;
          /* What the owner is not yet ordered behind stays to be waited for. */
          if (last == TESSERA_NONE || !is_same_owner (from, slot) || opens <= stay->born)
            opens = 0;
          opens = MAX (opens, stay->opens);
          last = stay->slot;
        }
    }
  g_array_free (stays, TRUE);
  return passings;
}

/* The last time that the event is recorded before @born, or TESSERA_NONE. */
static uint32_t
recorded_at (GArray *stays, uint32_t event_slot, uint32_t born)
{
  uint32_t at = TESSERA_NONE;
  for (guint i = 0; i < stays->len; i++)
    {
      const Stay *stay = &g_array_index (stays, Stay, i);
      if (stay->slot == event_slot && stay->born <= born)
        at = stay->born;
    }
  return at;
}

static gboolean
waits_for_it (const TesseraPlan *plan,
              GArray *stays,
              const TesseraHandOver *pair,
              const Passing *passing)
{
  if (pair->from_slot != passing->from || pair->to_slot != passing->to)
    return FALSE;
  if (pair->event_slot == TESSERA_NONE)
    return TRUE;
  if (!is_same_owner (&plan->slots[pair->event_slot], &plan->slots[passing->from]))
    return FALSE;
  uint32_t at = recorded_at (stays, pair->event_slot, passing->born);
  return at != TESSERA_NONE && at >= passing->opens;
}

static gboolean
oracle_apart (const TesseraPlan *plan)
{
  gboolean broken = FALSE;
  for (size_t i = 0; i < plan->n_slots; i++)
    for (size_t k = 0; k < i; k++)
      broken |= (plan->slots[i].pool != plan->slots[k].pool ||
                 (!plan->across_streams &&
                  plan->slots[i].stream != plan->slots[k].stream)) &&
                check_share_addresses (&plan->slots[i], &plan->slots[k]);
  return broken;
}

gboolean
check_oracle_closed (const TesseraPlan *plan)
{
  gboolean is_closed;
  g_array_free (list_passings (plan, &is_closed), TRUE);
  return is_closed;
}

gboolean
check_oracle_streams (const TesseraPlan *plan)
{
  gboolean broken = oracle_apart (plan);
  if (broken || !plan->across_streams)
    return broken;
  GArray *passings = list_passings (plan, &broken);
  GArray *stays = list_stays (plan);
  for (guint i = 0; i < passings->len && !broken; i++)
    {
      const Passing *passing = &g_array_index (passings, Passing, i);
      gboolean is_listed = FALSE;
      for (size_t k = 0; k < plan->n_hand_overs && !is_listed; k++)
        is_listed = waits_for_it (plan, stays, &plan->hand_overs[k], passing);
      broken |= !is_listed;
    }
  g_array_free (stays, TRUE);
  g_array_free (passings, TRUE);
  return broken;
}

/* ---- plans ---- */

/* A request at which an event is in time for what passes; mostly told. */
static uint32_t
find_event (const TesseraPlan *plan, GArray *stays, const Passing *passing)
{
  if (plan->slots[passing->from].stream == plan->slots[passing->to].stream)
    return TESSERA_NONE;
  for (uint32_t i = 0; i < plan->n_slots && (passing->from + passing->to) % 4 != 0; i++)
    {
      uint32_t at = recorded_at (stays, i, passing->born);
      if (is_same_owner (&plan->slots[i], &plan->slots[passing->from]) &&
          at != TESSERA_NONE && at >= passing->opens)
        return i;
    }
  return TESSERA_NONE;
}

static void
list_hand_overs (TesseraPlan *plan)
{
  gboolean is_closed;
  GArray *passings = list_passings (plan, &is_closed);
  GArray *stays = list_stays (plan);
  free (plan->hand_overs);
  plan->hand_overs = calloc (passings->len + 1, sizeof *plan->hand_overs);
  plan->n_hand_overs = 0;
  for (guint i = 0; i < passings->len; i++)
    {
      const Passing *passing = &g_array_index (passings, Passing, i);
      gboolean is_listed = FALSE;
      for (size_t k = 0; k < plan->n_hand_overs && !is_listed; k++)
        is_listed = waits_for_it (plan, stays, &plan->hand_overs[k], passing);
      if (!is_listed)
        plan->hand_overs[plan->n_hand_overs++] =
            (TesseraHandOver){ passing->from, passing->to,
                               find_event (plan, stays, passing), TESSERA_NO_SLACK,
                               TESSERA_NO_SLACK };
    }
  g_array_free (stays, TRUE);
  g_array_free (passings, TRUE);
}

/* States what follows from the slots. */
void
check_seal (TesseraPlan *plan)
{
  plan->height_bytes = oracle_height (plan);
  plan->bound_bytes = oracle_bound (plan);
  plan->proven_bound_bytes = (plan->bound_bytes + plan->height_bytes) / 2;
  plan->slot_digest = tessera_plan_digest (plan);
  if (plan->across_streams)
    list_hand_overs (plan);
}

static void
random_life (GRand *random, const TesseraPlan *plan, TesseraSlot *slot)
{
  const TesseraSection *section = &plan->sections[slot->section];
  uint32_t left = plan->n_positions - slot->born;
  slot->died = slot->born + 1 +
               check_pick (random, check_pick (random, 4) == 0 ? left : MIN (left, 6));
  if (section->kind == TESSERA_SECTION_REPEATS && slot->born > section->begin &&
      check_pick (random, 4) == 0)
    {
      slot->wraps = 1;
      slot->died =
          section->end + check_pick (random, plan->n_positions - section->end + 1);
      slot->died_next =
          section->begin + 1 + check_pick (random, slot->born - section->begin);
    }
}

static int
compare_born (const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* The slots of one section, in order of birth, each at offset 0. */
static void
random_section (GRand *random, TesseraPlan *plan, uint32_t section_index)
{
  TesseraSection *section = &plan->sections[section_index];
  uint32_t births[64];
  for (uint32_t i = 0; i < section->n_slots; i++)
    births[i] = section->begin + check_pick (random, section->end - section->begin);
  qsort (births, section->n_slots, sizeof *births, compare_born);
  for (uint32_t i = 0; i < section->n_slots; i++)
    {
      TesseraSlot *slot = &plan->slots[section->first_slot + i];
      *slot = (TesseraSlot){
        .block_bytes = CHECK_ALIGNMENT * (1 + check_pick (random, 8)),
        .born = births[i],
        .section = section_index,
        .phase = TESSERA_NONE,
        .group = TESSERA_NONE,
        .ordinal = i,
        .stream = (uint16_t) check_pick (random, plan->n_streams),
        .side_streams = plan->across_streams && check_pick (random, 6) == 0,
      };
      slot->size_bytes = slot->block_bytes - check_pick (random, CHECK_ALIGNMENT);
      random_life (random, plan, slot);
    }
}

/* Makes some slots of the section that repeats, which is section 1, take turns: of a size
 * of their own, one of them a spare. */
static void
random_rota (GRand *random, TesseraPlan *plan)
{
  const TesseraSection *section = &plan->sections[1];
  TesseraSlot *slots = plan->slots + section->first_slot;
  uint32_t died =
      section->end + check_pick (random, plan->n_positions - section->end + 1);
  guint n_slots = 2 + check_pick (random, section->n_slots - 1);
  for (guint i = 0; i < n_slots; i++)
    {
      if (slots[i].born == section->begin)
        continue;
      slots[i].stream = 0;
      slots[i].block_bytes = slots[i].size_bytes = CHECK_ALIGNMENT * 9;
      slots[i].wraps = 1;
      slots[i].died = died;
      slots[i].died_next = slots[i].born;
      if (i == 0)
        slots[i].ordinal = TESSERA_NONE;
      else
        slots[i].died_next += check_pick (random, section->end - slots[i].born + 1);
    }
  while (check_oracle_rotas (plan))
    {
      TesseraSlot *slot = &slots[check_pick (random, n_slots)];
      if (slot->wraps)
        slot->died_next = MIN (slot->died_next, slot->born);
    }
}

/* The same of the first @n_placed slots and @slot_index: all others out of the way. */
static gboolean
is_closed_among (const TesseraPlan *plan, size_t slot_index, size_t n_placed)
{
  TesseraPlan copy = *plan;
  uint64_t height_bytes = oracle_height (plan);
  copy.slots = g_memdup2 (plan->slots, plan->n_slots * sizeof *plan->slots);
  for (size_t i = n_placed; i < plan->n_slots; i++)
    if (i != slot_index)
      copy.slots[i].offset_bytes = height_bytes += 8 * CHECK_ALIGNMENT;
  gboolean is_closed = check_oracle_closed (&copy);
  g_free (copy.slots);
  return is_closed;
}

gboolean
check_fits (const TesseraPlan *plan, size_t slot_index, size_t n_placed)
{
  const TesseraSlot *slot = &plan->slots[slot_index];
  for (size_t k = 0; k < n_placed; k++)
    {
      const TesseraSlot *other = &plan->slots[k];
      if (k == slot_index || !check_share_addresses (slot, other))
        continue;
      if (!plan->across_streams && slot->stream != other->stream)
        return FALSE;
      for (uint32_t position = 0; position < plan->n_positions; position++)
        if (check_is_alive (plan, slot, position) &&
            check_is_alive (plan, other, position))
          return FALSE;
    }
  return !plan->across_streams || n_placed == 0 ||
         !is_closed_among (plan, slot_index, n_placed);
}

TesseraPlan *
check_random_slots (GRand *random, gboolean across)
{
  TesseraPlan *plan;
  g_assert_cmpint (tessera_plan_new (&plan), ==, TESSERA_OK);
  plan->alignment_bytes = CHECK_ALIGNMENT;
  plan->n_streams = 1 + check_pick (random, 3);
  plan->across_streams = across ? 1 : 0;
  plan->n_sections = 3;
  plan->sections = calloc (3, sizeof *plan->sections);
  for (uint32_t s = 0; s < 3; s++)
    {
      TesseraSection *section = &plan->sections[s];
      section->begin = plan->n_positions;
      section->end = plan->n_positions += 3 + check_pick (random, 20);
      section->first_slot = (uint32_t) plan->n_slots;
      section->n_slots = 3 + check_pick (random, 12);
      section->kind = s == 1 ? TESSERA_SECTION_REPEATS : TESSERA_SECTION_ONCE;
      plan->n_slots += section->n_slots;
    }
  plan->slots = calloc (plan->n_slots, sizeof *plan->slots);
  for (uint32_t s = 0; s < 3; s++)
    random_section (random, plan, s);
  if (!across)
    random_rota (random, plan);
  return plan;
}

/* A right plan: every slot at the first offset where it fits. */
TesseraPlan *
check_random_plan (GRand *random, gboolean across)
{
  TesseraPlan *plan = check_random_slots (random, across);
  for (size_t i = 0; i < plan->n_slots; i++)
    while (!check_fits (plan, i, i))
      plan->slots[i].offset_bytes += CHECK_ALIGNMENT;
  check_seal (plan);
  return plan;
}
