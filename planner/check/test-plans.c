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
is_of_rotation (const TesseraSlot *slot, const TesseraSlot *like)
{
  return slot->wraps && slot->died_next >= slot->born && slot->stream == like->stream &&
         slot->pool == like->pool && slot->block_bytes == like->block_bytes;
}

/* Whether the rotation of a slot that outlives its successor's birth lacks a place. */
static gboolean
oracle_rotation (const TesseraPlan *plan, const TesseraSlot *like)
{
  const TesseraSection *section = &plan->sections[like->section];
  for (uint32_t position = section->begin; position < section->end; position++)
    {
      guint n_places = 0, n_alive = 0;
      for (size_t i = 0; i < plan->n_slots; i++)
        {
          const TesseraSlot *slot = &plan->slots[i];
          if (!is_of_rotation (slot, like))
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
check_oracle_rotations (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].wraps && plan->slots[i].died_next > plan->slots[i].born &&
        oracle_rotation (plan, &plan->slots[i]))
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

uint64_t
check_height (const TesseraPlan *plan)
{
  uint64_t height = 0;
  for (size_t i = 0; i < plan->n_slots; i++)
    height = MAX (height, plan->slots[i].offset_bytes + plan->slots[i].block_bytes);
  return height;
}

gboolean
check_oracle_streams (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    for (size_t k = 0; k < i; k++)
      if ((plan->slots[i].pool != plan->slots[k].pool ||
           plan->slots[i].stream != plan->slots[k].stream) &&
          check_share_addresses (&plan->slots[i], &plan->slots[k]))
        return TRUE;
  return FALSE;
}

/* ---- plans ---- */

/* States what follows from the slots. */
void
check_seal (TesseraPlan *plan)
{
  plan->height_bytes = check_height (plan);
  plan->bound_bytes = oracle_bound (plan);
  plan->proven_bound_bytes = (plan->bound_bytes + plan->height_bytes) / 2;
  plan->slot_digest = tessera_plan_digest (plan);
}

void
check_assert_law (TesseraPlan *plan, TesseraLaw expected, TesseraError *out_error)
{
  TesseraLaw law;

  *out_error = (TesseraError){ 0 };
  plan->slot_digest = tessera_plan_digest (plan);
  TesseraStatus status = tessera_check_plan (plan, NULL, &law, out_error);
  if (law != expected)
    g_test_message ("%s", out_error->text);
  g_assert_cmpstr (tessera_law_name (law), ==, tessera_law_name (expected));
  g_assert_cmpint (status, ==,
                   expected == TESSERA_LAW_NONE ? TESSERA_OK : TESSERA_REFUSED);
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
      };
      slot->size_bytes = slot->block_bytes - check_pick (random, CHECK_ALIGNMENT);
      random_life (random, plan, slot);
    }
}

/* Makes some slots of the section that repeats, which is section 1, take turns: of a size
 * of their own, one of them a spare. */
static void
random_rotation (GRand *random, TesseraPlan *plan)
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
  while (check_oracle_rotations (plan))
    {
      TesseraSlot *slot = &slots[check_pick (random, n_slots)];
      if (slot->wraps)
        slot->died_next = MIN (slot->died_next, slot->born);
    }
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
      if (slot->stream != other->stream)
        return FALSE;
      for (uint32_t position = 0; position < plan->n_positions; position++)
        if (check_is_alive (plan, slot, position) &&
            check_is_alive (plan, other, position))
          return FALSE;
    }
  return TRUE;
}

TesseraPlan *
check_random_slots (GRand *random)
{
  TesseraPlan *plan;
  OK (tessera_plan_new (&plan));
  plan->alignment_bytes = CHECK_ALIGNMENT;
  plan->n_streams = 1 + check_pick (random, 3);
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
  random_rotation (random, plan);
  return plan;
}

/* A right plan: every slot at the first offset where it fits. */
TesseraPlan *
check_random_plan (GRand *random)
{
  TesseraPlan *plan = check_random_slots (random);
  for (size_t i = 0; i < plan->n_slots; i++)
    while (!check_fits (plan, i, i))
      plan->slots[i].offset_bytes += CHECK_ALIGNMENT;
  check_seal (plan);
  return plan;
}
