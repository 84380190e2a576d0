/*
 * Comparing plans: against looking at every pair of slots.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/compare.h"

#include "planner/check/test-plans.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraComparison, tessera_comparison_free)

#define SEED 20261121

static TesseraPlan *
plan_new (guint n_slots)
{
  TesseraPlan *plan = NULL;

  OK (tessera_plan_new (&plan));
  plan->slots = calloc (n_slots + 1, sizeof *plan->slots);
  plan->n_slots = n_slots;
  plan->trace_fingerprint = 7;
  for (guint i = 0; i < n_slots; i++)
    plan->slots[i] = (TesseraSlot){ .block = i, .block_bytes = 512, .died = 1 };
  return plan;
}

/* Blocks that are each there or not, at one of a few offsets. */
static TesseraPlan *
random_plan (GRand *random, guint n_blocks)
{
  TesseraPlan *plan = plan_new (n_blocks);

  plan->n_slots = 0;
  for (guint block = 0; block < n_blocks; block++)
    if (check_pick (random, 4) > 0)
      plan->slots[plan->n_slots++] = (TesseraSlot){
        .block = block,
        .block_bytes = 512 * (1 + block % 5),
        .offset_bytes = 512 * check_pick (random, 3),
        .died = 1,
      };
  plan->height_bytes = 512 * check_pick (random, 100);
  /* In any order. */
  for (size_t i = plan->n_slots; i > 1; i--)
    {
      guint k = check_pick (random, (guint) i);
      TesseraSlot swap = plan->slots[i - 1];

      plan->slots[i - 1] = plan->slots[k];
      plan->slots[k] = swap;
    }
  return plan;
}

static const TesseraSlot *
slot_of (const TesseraPlan *plan, uint32_t block)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].block == block)
      return &plan->slots[i];
  return NULL;
}

static void
check_against_pairs (const TesseraPlan *a, const TesseraPlan *b, guint n_blocks)
{
  g_autoptr (TesseraComparison) c = NULL;
  size_t n_same = 0, n_moved = 0, n_only[2] = { 0 };
  uint64_t bytes = 0;

  WORKS (error, tessera_compare_plans (a, b, &error, &c));
  for (uint32_t block = 0; block < n_blocks; block++)
    {
      const TesseraSlot *x = slot_of (a, block), *y = slot_of (b, block);

      if (x != NULL && y != NULL && x->offset_bytes == y->offset_bytes)
        n_same++;
      else if (x != NULL && y != NULL)
        n_moved++, bytes += x->block_bytes;
      else if (x != NULL)
        g_assert_cmpuint (c->only[0][n_only[0]++], ==, block);
      else if (y != NULL)
        g_assert_cmpuint (c->only[1][n_only[1]++], ==, block);
    }
  g_assert_cmpuint (c->n_same, ==, n_same);
  g_assert_cmpuint (c->n_moved, ==, n_moved);
  g_assert_cmpuint (c->moved_bytes, ==, bytes);
  for (int i = 0; i < 2; i++)
    {
      g_assert_cmpuint (c->n_only[i], ==, n_only[i]);
      g_assert_cmpuint (c->n_slots[i], ==, n_same + n_moved + n_only[i]);
    }
  g_assert_cmpuint (c->height_bytes[0], ==, a->height_bytes);
  g_assert_cmpuint (c->height_bytes[1], ==, b->height_bytes);
  for (size_t i = 0; i < c->n_moved; i++)
    {
      const TesseraMovedBlock *move = &c->moves[i];

      g_assert_cmpuint (move->offset_bytes[0], ==,
                        slot_of (a, move->block)->offset_bytes);
      g_assert_cmpuint (move->offset_bytes[1], ==,
                        slot_of (b, move->block)->offset_bytes);
      if (i > 0)
        g_assert_true (
            move[-1].block_bytes > move->block_bytes ||
            (move[-1].block_bytes == move->block_bytes && move[-1].block < move->block));
    }
}

static void
test_random (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);

  for (int pass = 0; pass < 300; pass++)
    {
      guint n_blocks = check_pick (random, 40);
      g_autoptr (TesseraPlan) a = random_plan (random, n_blocks);
      g_autoptr (TesseraPlan) b = random_plan (random, n_blocks);

      check_against_pairs (a, b, n_blocks);
      check_against_pairs (a, a, n_blocks);
    }
}

/* A block of the start may have a slot in the step as well: its first counts. A spare is
 * nobody's. */
static void
test_slots_of_one_block (void)
{
  g_autoptr (TesseraPlan) a = plan_new (3), b = plan_new (3);
  g_autoptr (TesseraComparison) c = NULL;

  for (int i = 0; i < 2; i++)
    {
      TesseraPlan *plan = i == 0 ? a : b;

      plan->sections = calloc (1, sizeof *plan->sections);
      plan->n_sections = 1;
      plan->sections[0].kind = TESSERA_SECTION_REPEATS;
      plan->slots[1].block = 0;
      plan->slots[1].offset_bytes = i == 0 ? 512 : 1024;
      plan->slots[2].ordinal = TESSERA_NONE;
      plan->slots[2].wraps = 1;
      plan->slots[2].offset_bytes = i == 0 ? 2048 : 4096;
    }
  WORKS (error, tessera_compare_plans (a, b, &error, &c));
  g_assert_cmpuint (c->n_slots[0], ==, 1);
  g_assert_cmpuint (c->n_same, ==, 1);
  g_assert_cmpuint (c->n_moved, ==, 0);
}

static void
test_other_trace (void)
{
  g_autoptr (TesseraPlan) a = plan_new (1), b = plan_new (1);
  TesseraComparison *c = NULL;
  TesseraError error = { 0 };

  b->trace_fingerprint = 8;
  GIVES (TESSERA_REFUSED, tessera_compare_plans (a, b, &error, &c));
  g_assert_null (c);
  g_assert_cmpstr (error.text, !=, "");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/compare/random", test_random);
  g_test_add_func ("/compare/slots of one block", test_slots_of_one_block);
  g_test_add_func ("/compare/another trace", test_other_trace);
  return g_test_run ();
}
