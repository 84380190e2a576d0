/*
 * Tests of the law of unplanned requests, against its definition: every pair is looked
 * at.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check.h"

#include "planner/check/test-plans.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#define SEED 4712

enum
{
  MOST = 6
};

static size_t
end_of_requests (const TesseraPlan *plan, uint32_t section_index)
{
  const TesseraSection *section = &plan->sections[section_index];
  size_t end = section->first_slot;
  for (size_t i = 0; i < section->n_slots; i++)
    if (section->kind != TESSERA_SECTION_REPEATS ||
        plan->slots[section->first_slot + i].ordinal != TESSERA_NONE)
      end = section->first_slot + i + 1;
  return end;
}

/* Between the slots around it, all of them. */
static gboolean
is_in_its_turn (const TesseraPlan *plan, const TesseraUnplanned *unplanned)
{
  const TesseraSection *section = &plan->sections[unplanned->section];
  if (unplanned->before < section->first_slot ||
      unplanned->before > end_of_requests (plan, unplanned->section))
    return FALSE;
  if (unplanned->ordinal == TESSERA_NONE)
    return unplanned->born == section->begin;
  for (size_t i = 0; i < section->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[section->first_slot + i];
      if (slot->ordinal == TESSERA_NONE)
        continue;
      if (section->first_slot + i < unplanned->before ? slot->born >= unplanned->born
                                                      : slot->born <= unplanned->born)
        return FALSE;
    }
  return TRUE;
}

/* TRUE: the law is broken. */
static gboolean
oracle (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_unplanned; i++)
    {
      const TesseraUnplanned *p = &plan->unplanned[i];
      if (p->section >= plan->n_sections || p->stream >= plan->n_streams ||
          p->born < plan->sections[p->section].begin ||
          p->born >= plan->sections[p->section].end || !is_in_its_turn (plan, p) ||
          p->block_bytes == 0 || p->block_bytes < p->size_bytes ||
          p->block_bytes % CHECK_ALIGNMENT != 0)
        return TRUE;
      for (size_t k = 0; k < i; k++)
        {
          const TesseraUnplanned *q = &plan->unplanned[k];
          if (q->section > p->section ||
              (q->section == p->section &&
               (q->before > p->before ||
                (q->ordinal != TESSERA_NONE && p->ordinal != TESSERA_NONE &&
                 q->born >= p->born))))
            return TRUE;
        }
    }
  return FALSE;
}

static TesseraUnplanned
random_unplanned (GRand *random, const TesseraPlan *plan)
{
  TesseraUnplanned unplanned = { .section = check_pick (random, 3),
                                 .phase = TESSERA_NONE,
                                 .block = TESSERA_NONE,
                                 .stream =
                                     (uint16_t) check_pick (random, plan->n_streams) };
  const TesseraSection *section = &plan->sections[unplanned.section];
  unplanned.born = section->begin + check_pick (random, section->end - section->begin);
  unplanned.before = section->first_slot;
  unplanned.block_bytes = CHECK_ALIGNMENT * (1 + check_pick (random, 9));
  unplanned.size_bytes = unplanned.block_bytes - check_pick (random, CHECK_ALIGNMENT);
  while (unplanned.before < end_of_requests (plan, unplanned.section) &&
         plan->slots[unplanned.before].born < unplanned.born)
    unplanned.before++;
  if (check_pick (random, 8) == 0)
    {
      unplanned.ordinal = TESSERA_NONE;
      unplanned.born = section->begin;
      unplanned.before = section->first_slot;
    }
  return unplanned;
}

static int
compare_turns (const void *a, const void *b)
{
  const TesseraUnplanned *x = a, *y = b;
  if (x->section != y->section)
    return x->section < y->section ? -1 : 1;
  if (x->before != y->before)
    return x->before < y->before ? -1 : 1;
  return (x->born > y->born) - (x->born < y->born);
}

/* A few that are right. */
static void
add_unplanned (GRand *random, TesseraPlan *plan)
{
  TesseraUnplanned before[MOST];
  plan->unplanned = calloc (MOST, sizeof *plan->unplanned);
  for (guint n = check_pick (random, MOST + 1); n > 0; n--)
    {
      memcpy (before, plan->unplanned, sizeof before);
      plan->unplanned[plan->n_unplanned++] = random_unplanned (random, plan);
      qsort (plan->unplanned, plan->n_unplanned, sizeof *plan->unplanned, compare_turns);
      if (oracle (plan))
        {
          memcpy (plan->unplanned, before, sizeof before);
          plan->n_unplanned--;
        }
    }
}

static void
break_one (GRand *random, TesseraPlan *plan)
{
  TesseraUnplanned *of = &plan->unplanned[check_pick (random, (guint) plan->n_unplanned)];
  switch (check_pick (random, 9))
    {
    case 0:
      of->section += check_pick (random, 4) - 1;
      break;
    case 1:
      of->before += check_pick (random, 3) - 1;
      break;
    case 2:
      of->before = g_rand_int (random);
      break;
    case 3:
      of->born += check_pick (random, 5) - 2;
      break;
    case 4:
      of->born = g_rand_int (random);
      break;
    case 5:
      of->block_bytes = check_pick (random, 2) ? 0 : of->block_bytes + 1;
      break;
    case 6:
      of->size_bytes = of->block_bytes + check_pick (random, 2);
      break;
    case 7:
      of->stream = (uint16_t) (of->stream + check_pick (random, 3));
      break;
    default:
      of->ordinal = check_pick (random, 2) ? 0 : TESSERA_NONE;
    }
}

/* The verdict is the oracle's; what the checker says of addresses stays what it was. */
static void
test_oracle (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  guint n_broken = 0, n_right = 0;
  for (guint n = 0; n < 4000; n++)
    {
      g_autoptr (TesseraPlan) plan = check_random_plan (random);
      TesseraLaw expected = TESSERA_LAW_NONE;
      TesseraError error;
      add_unplanned (random, plan);
      for (guint k = check_pick (random, 3); k > 0 && plan->n_unplanned > 0; k--)
        break_one (random, plan);
      if (oracle (plan))
        expected = TESSERA_LAW_UNPLANNED;
      n_broken += expected != TESSERA_LAW_NONE;
      n_right += expected == TESSERA_LAW_NONE && plan->n_unplanned > 0;
      check_assert_law (plan, expected, &error);
      g_assert_true (expected == TESSERA_LAW_NONE ||
                     g_str_has_prefix (error.text, "unplanned: expected"));
    }
  g_assert_cmpuint (n_broken, >, 1000);
  g_assert_cmpuint (n_right, >, 500);
}

/* Which requests have no place is part of what a plan is. */
static void
test_digest (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 1);
  for (guint n = 0; n < 200; n++)
    {
      g_autoptr (TesseraPlan) plan = check_random_plan (random);
      uint64_t before = plan->slot_digest;
      add_unplanned (random, plan);
      g_assert_cmpint (tessera_plan_digest (plan) == before, ==, plan->n_unplanned == 0);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/check-unplanned/oracle", test_oracle);
  g_test_add_func ("/check-unplanned/digest", test_digest);
  return g_test_run ();
}
