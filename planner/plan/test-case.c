/*
 * See test-case.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/test-case.h"

#include "planner/check/kinds.h"

/* A block that the plan gives no place. */
#define UNPLANNED (TESSERA_NONE - 1)

const TesseraPlanOptions plan_all_steps = { .first_step = -1, .last_step = -1 };

PlanCase
plan_case_look (TesseraTrace *trace)
{
  PlanCase c = { .trace = trace };

  c.blocks = tessera_blocks_new (trace);
  c.structure = tessera_structure_new (trace, c.blocks);
  return c;
}

PlanCase
plan_case_new (TesseraTrace *trace, const TesseraPlanOptions *options)
{
  PlanCase c = plan_case_look (trace);
  TesseraError error = { 0 };

  if (tessera_plan_trace (trace, c.blocks, c.structure, options, &error, &c.plan) !=
      TESSERA_OK)
    g_error ("%s", error.text);
  g_assert_true (c.plan->checked);
  return c;
}

void
plan_case_clear (PlanCase *c)
{
  tessera_plan_free (c->plan);
  tessera_structure_free (c->structure);
  tessera_blocks_free (c->blocks);
  tessera_trace_free (c->trace);
}

bool
plan_case_shares (const TesseraSlot *a, const TesseraSlot *b)
{
  return a->offset_bytes < b->offset_bytes + b->block_bytes &&
         b->offset_bytes < a->offset_bytes + a->block_bytes;
}

/* Whether nothing lies in the slot when block @b comes; those before it have theirs. */
static bool
is_free_for (const PlanCase *c, const uint32_t *slot_of, uint32_t slot, uint32_t b)
{
  const TesseraBlock *all = c->blocks->blocks;

  for (uint32_t a = 0; a < b; a++)
    if (slot_of[a] != UNPLANNED && all[a].died_index > all[b].born_index &&
        plan_case_shares (&c->plan->slots[slot_of[a]], &c->plan->slots[slot]))
      return false;
  return true;
}

/* The last or the first free place of its rotation: any will do. */
static uint32_t
find_turn (const PlanCase *c,
           const uint32_t *rotations,
           const uint32_t *slot_of,
           uint32_t b)
{
  const TesseraPlan *p = c->plan;
  uint32_t found = TESSERA_NONE;

  for (uint32_t i = 0; i < p->n_slots; i++)
    if ((found == TESSERA_NONE || b % 3 == 0) && rotations[i] != 0 &&
        rotations[i] == rotations[slot_of[b]] && is_free_for (c, slot_of, i, b))
      found = i;
  if (found == TESSERA_NONE)
    g_error ("no place is free for block %u of slot %u", b, slot_of[b]);
  return found;
}

/* Of the slots that a step @s has in the section that repeats: the first. */
static uint32_t
first_slot_of (const PlanCase *c, uint32_t s)
{
  const TesseraPlan *p = c->plan;
  const TesseraSection *section = p->sections;

  while (section->kind != TESSERA_SECTION_REPEATS)
    section++;
  uint32_t first = c->blocks->blocks[p->slots[section->first_slot].block].step;
  if (section->alternate != TESSERA_ALTERNATE_NOT) /* the second layout is the next */
    section += (s - first) % 2;
  return section->first_slot;
}

/* The first unplanned request of a step like @s in the section that repeats. */
static uint32_t
first_unplanned_of (const PlanCase *c, uint32_t s)
{
  const TesseraPlan *p = c->plan;
  const TesseraSection *section = &p->sections[p->slots[first_slot_of (c, s)].section];
  const TesseraBlock *all = c->blocks->blocks;
  uint32_t step = all[p->slots[first_slot_of (c, s)].block].step, i = 0;

  while (i < p->n_unplanned && (&p->sections[p->unplanned[i].section] != section ||
                                all[p->unplanned[i].block].step != step))
    i++;
  return i;
}

/* The slot of each block of the trace, as a run would take them: the j-th request of a
 * repeating step takes the j-th slot, or a place of its rotation, whether its own is free
 * or not. The caller frees it. */
static uint32_t *
place_blocks (const PlanCase *c, uint32_t first_step, uint32_t n_steps)
{
  const TesseraPlan *p = c->plan;
  const TesseraBlock *all = c->blocks->blocks;
  uint32_t *slot_of = g_new (uint32_t, c->blocks->n_blocks + 1);
  uint32_t slot = 0, unplanned = 0, n_rotations;
  g_autofree uint32_t *rotations = NULL;

  OK (tessera_check_find_rotations (p, &rotations, &n_rotations));
  for (uint32_t b = 0; b < c->blocks->n_blocks; b++)
    slot_of[b] = TESSERA_NONE;
  for (uint32_t i = 0; i < p->n_unplanned; i++)
    slot_of[p->unplanned[i].block] = UNPLANNED;
  for (uint32_t i = 0; i < p->n_slots; i++)
    if (slot_of[p->slots[i].block] == TESSERA_NONE)
      slot_of[p->slots[i].block] = i;
  for (uint32_t s = first_step + 1; s < first_step + n_steps; s++)
    {
      slot = first_slot_of (c, s);
      unplanned = first_unplanned_of (c, s);
      for (uint32_t b = 0; b < c->blocks->n_blocks; b++)
        if (all[b].step == s && slot_of[b] == TESSERA_NONE &&
            unplanned < p->n_unplanned && p->unplanned[unplanned].before == slot)
          {
            g_assert_cmpuint (p->unplanned[unplanned++].block_bytes, ==,
                              all[b].block_bytes);
            slot_of[b] = UNPLANNED;
          }
        else if (all[b].step == s && slot_of[b] == TESSERA_NONE)
          {
            g_assert_cmpuint (p->slots[slot].block_bytes, ==, all[b].block_bytes);
            g_assert_cmpuint (p->slots[slot].ordinal, !=, TESSERA_NONE);
            slot_of[b] = slot++;
          }
    }
  for (uint32_t b = 0; b < c->blocks->n_blocks; b++)
    {
      if (slot_of[b] == UNPLANNED)
        continue;
      if (!is_free_for (c, slot_of, slot_of[b], b) || (rotations[slot_of[b]] && b % 2))
        slot_of[b] = find_turn (c, rotations, slot_of, b);
    }
  return slot_of;
}

static bool
is_small (const TesseraBlock *block)
{
  return block->block_bytes <= 1 << 20;
}

/* In the real trace no two blocks meet in time and address, and of several streams none
 * passes between these, or between small and large. */
void
plan_case_check (const PlanCase *c, uint32_t first_step, uint32_t n_steps)
{
  g_autofree uint32_t *slot_of = place_blocks (c, first_step, n_steps);
  const TesseraBlock *all = c->blocks->blocks;

  for (uint32_t b = 0; b < c->blocks->n_blocks; b++)
    for (uint32_t a = 0; a < c->blocks->n_blocks; a++)
      {
        g_assert_cmpuint (slot_of[a], !=, TESSERA_NONE);
        if (a == b || all[a].born_index > all[b].born_index || slot_of[a] == UNPLANNED ||
            slot_of[b] == UNPLANNED ||
            !plan_case_shares (&c->plan->slots[slot_of[a]], &c->plan->slots[slot_of[b]]))
          continue;
        g_assert_cmpuint (all[a].died_index, <=, all[b].born_index);
        g_assert_cmpuint (all[a].stream, ==, all[b].stream);
        g_assert_true (c->trace->n_streams == 1 ||
                       is_small (&all[a]) == is_small (&all[b]));
      }
}
