/*
 * Tests of following a plan, on plans small enough to say which slot serves what.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/followed.h"

#include <glib.h>

static void
test_streams_and_pools (void)
{
  g_autofree SmallPlan *made = small_plan_make ("|AAA");
  TesseraPlan *plan = &made->plan;
  Followed *follower;
  TesseraFollowerStats stats;
  uint64_t offset;
  uint32_t slot;

  plan->slots[1].stream = 1;
  plan->slots[2].pool = 1;
  follower = followed_new (plan);
  g_assert_false (followed_malloc (follower, 512, 2, 0, &offset, &slot));
  g_assert_false (followed_malloc (follower, 513, 0, 0, &offset, &slot));
  g_assert_true (followed_malloc (follower, 1, 0, 0, &offset, &slot));
  g_assert_cmpuint (slot, ==, 0);
  g_assert_true (followed_malloc (follower, 512, 1, 0, &offset, &slot));
  g_assert_cmpuint (slot, ==, 1);
  g_assert_true (followed_malloc (follower, 512, 0, 1, &offset, &slot));
  g_assert_cmpuint (slot, ==, 2);
  g_assert_false (followed_free_at (follower, 7));
  tessera_follower_get_stats (follower->follower, &stats);
  g_assert_cmpuint (stats.hits, ==, 3);
  g_assert_cmpuint (stats.hit_bytes, ==, 1025);
  g_assert_cmpuint (stats.misses_unknown, ==, 2);
  followed_free (follower);
}

static void
test_still_taken (void)
{
  g_autofree SmallPlan *made = small_plan_make ("|A");
  TesseraPlan *plan = &made->plan;
  Followed *follower;
  TesseraFollowerStats stats;
  uint64_t offset;

  follower = followed_new (plan);
  g_assert_true (followed_malloc (follower, 512, 0, 0, &offset, NULL));
  tessera_follower_step (follower->follower);
  g_assert_false (followed_malloc (follower, 512, 0, 0, &offset, NULL));
  g_assert_true (followed_free_at (follower, 0));
  g_assert_false (followed_free_at (follower, 0));
  tessera_follower_step (follower->follower);
  g_assert_true (followed_malloc (follower, 512, 0, 0, &offset, NULL));
  tessera_follower_get_stats (follower->follower, &stats);
  g_assert_cmpuint (stats.misses_occupied, ==, 1);
  followed_free (follower);
}

/* Where a block outlives the birth of its successor the slot and its spare take turns. */
static void
test_spare (void)
{
  g_autofree SmallPlan *made = small_plan_make ("|AB*");
  TesseraPlan *plan = &made->plan;
  Followed *follower;
  uint64_t old = 0;
  uint32_t slots[4];

  plan->slots[0].died = plan->n_positions;
  follower = followed_new (plan);
  for (int step = 0; step < 4; step++)
    {
      uint64_t fresh;
      uint64_t other;

      tessera_follower_step (follower->follower);
      g_assert_true (followed_malloc (follower, 512, 0, 0, &fresh, &slots[step]));
      if (step > 0)
        g_assert_true (followed_free_at (follower, old));
      g_assert_true (followed_malloc (follower, 1024, 0, 0, &other, NULL));
      g_assert_true (followed_free_at (follower, other));
      old = fresh;
    }
  g_assert_cmpuint (slots[0], ==, 0);
  g_assert_cmpuint (slots[1], ==, 2);
  g_assert_cmpuint (slots[2], ==, 0);
  g_assert_cmpuint (slots[3], ==, 2);
  followed_free (follower);
}

/* Three slots and a spare take turns: new blocks come before the old ones go, step after
 * step. What is free of theirs for a while is not lent to others. */
static void
test_rotation (void)
{
  g_autofree SmallPlan *made = small_plan_make ("|CCCBC");
  TesseraPlan *plan = &made->plan;
  Followed *follower;
  TesseraFollowerStats stats;
  uint64_t held[3];
  uint64_t other;

  for (uint32_t i = 0; i < 5; i++)
    if (i != 3)
      {
        plan->slots[i].wraps = 1;
        plan->slots[i].died = 5;
        plan->slots[i].died_next = MIN (i + 1, 4);
      }
  plan->slots[4].ordinal = TESSERA_NONE;
  follower = followed_new (plan);
  for (int step = 0; step < 10; step++)
    {
      tessera_follower_step (follower->follower);
      for (uint32_t i = 0; i < 3; i++)
        {
          uint64_t fresh;

          g_assert_true (followed_malloc (follower, 1536, 0, 0, &fresh, NULL));
          if (step > 0)
            g_assert_true (followed_free_at (follower, held[i]));
          held[i] = fresh;
        }
      /* Not given back: from the second time on its place is taken. */
      g_assert_cmpint (followed_malloc (follower, 1024, 0, 0, &other, NULL), ==,
                       step == 0);
    }
  tessera_follower_get_stats (follower->follower, &stats);
  g_assert_cmpuint (stats.misses_occupied, ==, 9);
  g_assert_cmpuint (stats.misses, ==, 9);
  followed_free (follower);
}

/* The block of the step before is still in A's place. Whether B's place, free for this
 * moment, serves A's next request instead. */
static void
check_elsewhere (uint16_t stream_of_b, uint32_t a_died, bool expected)
{
  g_autofree SmallPlan *made = small_plan_make ("|AB");
  TesseraPlan *plan = &made->plan;
  Followed *follower;
  TesseraFollowerStats stats;
  uint64_t offset = 0;

  plan->n_streams = 2;
  plan->slots[0].died = a_died;
  plan->slots[1].stream = stream_of_b;
  follower = followed_new (plan);
  g_assert_true (followed_malloc (follower, 512, 0, 0, &offset, NULL));
  tessera_follower_step (follower->follower);
  g_assert_cmpint (followed_malloc (follower, 512, 0, 0, &offset, NULL), ==, expected);
  tessera_follower_get_stats (follower->follower, &stats);
  g_assert_cmpuint (stats.hits_elsewhere, ==, expected);
  g_assert_cmpuint (stats.misses_occupied, ==, !expected);
  if (expected)
    {
      g_assert_cmpuint (offset, ==, plan->slots[1].offset_bytes);
      g_assert_true (followed_free_at (follower, offset));
    }
  followed_free (follower);
}

static void
test_elsewhere (void)
{
  check_elsewhere (0, 1, true);
  check_elsewhere (1, 1, false); /* another stream's */
  check_elsewhere (0, 2, false); /* B needs it while A lives */
}

static void
check_refused (TesseraPlan *plan)
{
  TesseraFollower *follower;

  g_assert_cmpint (tessera_follower_new (plan, &follower), ==, TESSERA_INVALID);
  g_assert_null (follower);
}

static void
test_hostile_plans (void)
{
  g_autofree SmallPlan *made = small_plan_make ("A|BC");
  TesseraPlan *plan = &made->plan;
  Followed *follower;
  g_autofree char *found = NULL;

  plan->slots[1].offset_bytes = UINT64_MAX - 100;
  check_refused (plan);
  plan->slots[1].offset_bytes = 512;
  plan->slots[1].block_bytes = UINT64_MAX;
  check_refused (plan);
  plan->slots[1].block_bytes = 0;
  check_refused (plan);
  plan->slots[1].block_bytes = 512;
  plan->sections[1].n_slots = UINT32_MAX;
  check_refused (plan);
  plan->sections[1].n_slots = 1;
  check_refused (plan);
  plan->sections[1].n_slots = 2;
  plan->alignment_bytes = 0;
  follower = followed_new (plan);
  followed_free (follower);
  plan->n_slots = plan->n_sections = 0;
  found = small_plan_follow (plan, "|(AB|");
  g_assert_cmpstr (found, ==, "--");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/allocator/follow/streams-and-pools", test_streams_and_pools);
  g_test_add_func ("/allocator/follow/still-taken", test_still_taken);
  g_test_add_func ("/allocator/follow/spare", test_spare);
  g_test_add_func ("/allocator/follow/rotation", test_rotation);
  g_test_add_func ("/allocator/follow/elsewhere", test_elsewhere);
  g_test_add_func ("/allocator/follow/hostile-plans", test_hostile_plans);
  return g_test_run ();
}
