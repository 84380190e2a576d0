/*
 * Tests of blocks as they would be if some were freed earlier.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/what-if.h"

#include "planner/planner.h"
#include "planner/plan/case.h"

#include <string.h>

static uint64_t
load_at (const TesseraBlocks *blocks, uint32_t event)
{
  uint64_t load = 0;

  for (size_t i = 0; i < blocks->n_blocks; i++)
    if (blocks->blocks[i].born_index <= event && blocks->blocks[i].died_index > event)
      load += blocks->blocks[i].block_bytes;
  return load;
}

static void
check_copy (const TesseraBlocks *blocks,
            const uint8_t *chosen,
            const TesseraMoments *moments,
            const TesseraBlocks *copy,
            size_t n_changed,
            uint64_t changed_bytes)
{
  uint64_t bound = 0;

  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *was = &blocks->blocks[i], *is = &copy->blocks[i];
      uint32_t died = was->died_index;

      if (chosen[i] && moments == NULL)
        died = was->born_index + 1;
      for (size_t m = moments ? moments->n_events : 0; chosen[i] && m-- > 0;)
        if (was->born_index < moments->events[m] && moments->events[m] < was->died_index)
          died = moments->events[m];
      g_assert_cmpuint (is->died_index, ==, died);
      g_assert_cmpuint (is->born_index, ==, was->born_index);
      g_assert_cmpuint (is->freed_index, <=, is->died_index);
      if (died != was->died_index)
        {
          n_changed--;
          changed_bytes -= was->block_bytes;
        }
      if (i > 0)
        g_assert_cmpuint (copy->blocks[copy->by_death[i - 1]].died_index, <=,
                          copy->blocks[copy->by_death[i]].died_index);
    }
  g_assert_cmpuint (n_changed, ==, 0);
  g_assert_cmpuint (changed_bytes, ==, 0);
  for (uint32_t e = 0; e < copy->n_events; e++)
    bound = MAX (bound, load_at (copy, e));
  g_assert_cmpuint (tessera_blocks_bound (copy, 0, copy->n_events, NULL), ==, bound);
}

static void
test_random (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);

  for (uint32_t seed = 0; seed < 20; seed++)
    {
      PlanCase c = plan_case_look (test_trace_random (seed, 120, 2));
      g_autofree uint8_t *chosen = g_new (uint8_t, c.blocks->n_blocks);
      uint32_t events[] = { c.blocks->n_events / 3, c.blocks->n_events / 2 };
      const TesseraMoments both = { events, 2 };
      const TesseraMoments *moments = seed % 3 == 0 ? NULL : &both;
      TesseraBlocks copy;
      size_t n_changed;
      uint64_t changed_bytes;

      for (size_t i = 0; i < c.blocks->n_blocks; i++)
        chosen[i] = (uint8_t) g_rand_int_range (rand, 0, 2);
      tessera_blocks_freed_before (c.blocks, chosen, moments, &n_changed, &changed_bytes,
                                   &copy);
      g_assert_cmpuint (n_changed, >, 0);
      check_copy (c.blocks, chosen, moments, &copy, n_changed, changed_bytes);
      tessera_blocks_freed_before_clear (&copy);
      plan_case_clear (&c);
    }
}

/* Freeing all that lives before the peak of each step leaves less at it, and the plan of
 * the loop is lower by that. */
static void
test_loop (void)
{
  PlanCase c = plan_case_look (test_trace_loop (4, 6, true));
  g_autofree uint8_t *chosen = g_new0 (uint8_t, c.blocks->n_blocks);
  const TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  TesseraMoments peaks;
  TesseraPlan *before, *after;
  TesseraError error = { 0 };
  TesseraBlocks copy;
  size_t n_changed;
  uint64_t changed_bytes;

  tessera_moments_of_peaks (c.blocks, c.structure, &peaks);
  g_assert_cmpuint (peaks.n_events, ==, c.structure->n_steps);
  for (size_t i = 0; i < peaks.n_events; i++)
    {
      const TesseraStep *step = &c.structure->steps[i];
      uint64_t most = 0;

      for (uint32_t e = step->begin_index; e < step->end_index; e++)
        most = MAX (most, load_at (c.blocks, e));
      g_assert_cmpuint (load_at (c.blocks, peaks.events[i]), ==, most);
    }
  for (size_t i = 0; i < c.blocks->n_blocks; i++)
    chosen[i] = c.blocks->blocks[i].lifetime_class == TESSERA_CLASS_SCOPED;
  tessera_blocks_freed_before (c.blocks, chosen, &peaks, &n_changed, &changed_bytes,
                               &copy);
  g_assert_cmpint (
      tessera_plan_trace (c.trace, c.blocks, c.structure, &options, &error, &before), ==,
      TESSERA_OK);
  g_assert_cmpint (
      tessera_plan_trace (c.trace, &copy, c.structure, &options, &error, &after), ==,
      TESSERA_OK);
  g_assert_cmpuint (after->bound_bytes, <, before->bound_bytes);
  g_assert_cmpuint (after->height_bytes, <, before->height_bytes);
  g_assert_cmpuint (after->followable, ==, before->followable);
  tessera_plan_free (before);
  tessera_plan_free (after);
  tessera_blocks_freed_before_clear (&copy);
  free (peaks.events);
  plan_case_clear (&c);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/what-if/random", test_random);
  g_test_add_func ("/planner/what-if/loop", test_loop);
  return g_test_run ();
}
