/*
 * Tests of what regions of several sizes are worth.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check.h"
#include "planner/dynamic/test-experts.h"
#include "planner/plan/case.h"
#include "simulator/regions.h"
#include "tests/fail_alloc.h"

#define N_SEEDS 6
#define SCALE 24

static const TesseraPlanOptions with_large = {
  .first_step = -1, .last_step = -1, .n_threads = 1, .regions_for_large = true
};

/* The plan that nobody asked for regions. */
static TesseraPlan *
plan_plainly (const PlanCase *c)
{
  TesseraError error = { 0 };
  TesseraPlan *plan = NULL;

  g_assert_cmpint (tessera_plan_trace (c->trace, c->blocks, c->structure, &plan_all_steps,
                                       &error, &plan),
                   ==, TESSERA_OK);
  return plan;
}

static TesseraLayout *
simulate (const PlanCase *c, TesseraLayoutKind kind, const TesseraPlan *plan)
{
  const TesseraSimulateOptions options = {
    .kind = kind, .plan = plan, .first_step = -1, .last_step = -1
  };
  TesseraError error = { 0 };
  TesseraLayout *layout = NULL;

  g_assert_cmpint (
      tessera_simulate (c->trace, c->blocks, c->structure, &options, &error, &layout), ==,
      TESSERA_OK);
  return layout;
}

static uint64_t
region_bytes (const TesseraPlan *plan)
{
  return tessera_plan_pool_bytes (plan) - plan->height_bytes;
}

/* A row says what a simulation says of a plan that was made apart from the curve. */
static void
check_row (const PlanCase *c,
           const TesseraRegionNeeds *needs,
           const TesseraRegionRow *row)
{
  TesseraError error = { 0 };
  TesseraLaw law;
  TesseraPlan *plan = NULL;
  TesseraLayout *layout;

  g_assert_cmpint (
      tessera_plan_trace (c->trace, c->blocks, c->structure, &with_large, &error, &plan),
      ==, TESSERA_OK);
  g_assert_cmpint (tessera_regions_set (plan, c->trace, needs, row->region_bytes, &error),
                   ==, TESSERA_OK);
  g_assert_cmpint (tessera_check_plan (plan, c->trace, &law, &error), ==, TESSERA_OK);
  layout = simulate (c, TESSERA_LAYOUT_PLAN, plan);
  g_assert_cmpuint (row->region_bytes, ==, region_bytes (plan));
  g_assert_cmpuint (row->pool_bytes, ==, tessera_plan_pool_bytes (plan));
  g_assert_cmpuint (row->reserved_bytes, ==, layout->peak_reserved_bytes);
  g_assert_cmpuint (row->n_misses, ==, layout->n_misses);
  g_assert_cmpuint (row->miss_bytes, ==, layout->miss_bytes);
  g_assert_cmpint (row->is_declined, ==, layout->declined_index != 0);
  tessera_layout_free (layout);
  tessera_plan_free (plan);
}

static TesseraRegionCurve
draw (const PlanCase *c, const TesseraRegionNeeds *needs)
{
  TesseraRegionCurve curve;
  TesseraError error = { 0 };
  uint64_t before_bytes = region_bytes (c->plan);

  g_assert_cmpint (tessera_region_curve (c->trace, c->blocks, c->structure, c->plan,
                                         needs, NULL, &error, &curve),
                   ==, TESSERA_OK);
  g_assert_cmpuint (region_bytes (c->plan), ==, before_bytes);
  g_assert_true (c->plan->checked);
  return curve;
}

static void
test_curve (void)
{
  size_t n_fewer = 0;

  for (uint32_t seed = 0; seed < N_SEEDS; seed++)
    {
      PlanCase c =
          plan_case_new (test_experts_new (seed, seed % 2, 4, SCALE), &with_large);
      const TesseraRegionNeeds needs = tessera_region_needs (c.plan);
      const TesseraRegionCurve curve = draw (&c, &needs);
      const TesseraRegionRow *last = &curve.rows[curve.n_rows - 1];
      TesseraLayout *layout = simulate (&c, TESSERA_LAYOUT_EXPANDABLE, NULL);

      g_assert_cmpuint (curve.expandable_bytes, ==, layout->peak_reserved_bytes);
      g_assert_cmpuint (curve.rows[0].region_bytes, ==, 0);
      g_assert_cmpuint (last->region_bytes, ==, needs.whole_bytes);
      g_assert_cmpuint (last->n_misses, <=, curve.rows[0].n_misses);
      g_assert_cmpuint (needs.small_bytes, >, 0);
      g_assert_cmpuint (needs.whole_bytes, >, needs.small_bytes);
      n_fewer += last->n_misses < curve.rows[0].n_misses;
      for (size_t i = 0; i < curve.n_rows; i++)
        check_row (&c, &needs, &curve.rows[i]);
      tessera_layout_free (layout);
      plan_case_clear (&c);
    }
  g_assert_cmpuint (n_fewer, >, 0);
}

/* As large as small blocks need is what a plan has anyway. */
static void
test_default (void)
{
  for (uint32_t seed = 0; seed < N_SEEDS; seed++)
    {
      PlanCase c = plan_case_new (test_experts_new (seed, FALSE, 4, SCALE), &with_large);
      const TesseraRegionNeeds needs = tessera_region_needs (c.plan);
      TesseraPlan *plain = plan_plainly (&c);
      TesseraError error = { 0 };

      g_assert_cmpuint (region_bytes (plain), ==, needs.small_bytes);
      g_assert_cmpint (
          tessera_regions_set (c.plan, c.trace, &needs, needs.small_bytes, &error), ==,
          TESSERA_OK);
      g_assert_cmpuint (c.plan->slot_digest, ==, plain->slot_digest);
      tessera_plan_free (plain);
      plan_case_clear (&c);
    }
}

/* Any number of bytes gives whole units of the alignment, and no more than is needed. */
static void
test_sizes (void)
{
  const TesseraRegion regions[] = { { 0, 4096, 0, 0 }, { 4096, 7168, 0, 1 } };
  const struct
  {
    uint64_t asked_bytes, given_bytes;
    size_t n_regions;
  } cases[] = {
    { 0, 0, 0 },       { 511, 0, 0 },     { 1023, 512, 1 },  { 3072, 3072, 1 },
    { 3584, 3584, 2 }, { 7167, 6656, 2 }, { 7168, 7168, 2 }, { UINT64_MAX, 7168, 2 },
  };
  PlanCase c = plan_case_new (test_experts_new (1, FALSE, 3, SCALE), &with_large);
  TesseraError error = { 0 };
  TesseraRegionNeeds needs;
  uint64_t sizes[TESSERA_MAX_REGION_SIZES];

  g_free (g_steal_pointer (&c.plan->regions));
  c.plan->regions = g_memdup2 (regions, sizeof regions);
  c.plan->n_regions = G_N_ELEMENTS (regions);
  needs = tessera_region_needs (c.plan);
  g_assert_cmpuint (needs.small_bytes, ==, 3072);
  g_assert_cmpuint (needs.whole_bytes, ==, 7168);
  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_assert_cmpint (
          tessera_regions_set (c.plan, NULL, &needs, cases[i].asked_bytes, &error), ==,
          TESSERA_OK);
      g_assert_cmpuint (region_bytes (c.plan), ==, cases[i].given_bytes);
      g_assert_cmpuint (c.plan->n_regions, ==, cases[i].n_regions);
    }
  g_assert_cmpuint (tessera_region_sizes (&needs, sizes), ==, 7);
  g_assert_cmpuint (sizes[0], ==, 0);
  g_assert_cmpuint (sizes[2], ==, 3072);
  g_assert_cmpuint (sizes[6], ==, 7168);
  g_assert_cmpuint (tessera_region_sizes (&(TesseraRegionNeeds){ 0 }, sizes), ==, 1);
  plan_case_clear (&c);
}

static void
test_best (void)
{
  TesseraRegionCurve curve = { .rows = { { 0, 90, 100, 9, 9, false },
                                         { 1, 91, 99, 5, 5, false },
                                         { 2, 92, 99, 0, 0, true },
                                         { 3, 93, 99, 3, 3, false },
                                         { 4, 94, 99, 3, 3, false },
                                         { 5, 95, 101, 0, 0, false } },
                               .n_rows = 6,
                               .expandable_bytes = 100 };

  g_assert_cmpuint (tessera_region_curve_best (&curve), ==, 3);
  curve.n_rows = 1;
  g_assert_cmpuint (tessera_region_curve_best (&curve), ==, 0);
}

static uint64_t
smallest (const PlanCase *c, TesseraLayoutKind kind)
{
  const TesseraSimulateOptions options = { .kind = kind,
                                           .plan = c->plan,
                                           .first_step = -1,
                                           .last_step = -1,
                                           .without_curves = true };
  TesseraError error = { 0 };
  uint64_t device_bytes = 0;

  g_assert_cmpint (
      tessera_fit (c->trace, c->blocks, c->structure, &options, &error, &device_bytes),
      ==, TESSERA_OK);
  return device_bytes;
}

/* What is chosen reserves no more than any other, and needs no larger a device than a
 * plan without regions or expandable segments, whichever needs more. */
static void
test_devices (void)
{
  for (uint32_t seed = 0; seed < N_SEEDS; seed++)
    {
      PlanCase c =
          plan_case_new (test_experts_new (seed, seed % 2, 4, SCALE), &with_large);
      const TesseraRegionNeeds needs = tessera_region_needs (c.plan);
      const TesseraRegionCurve curve = draw (&c, &needs);
      const TesseraRegionRow *best = &curve.rows[tessera_region_curve_best (&curve)];
      uint64_t expandable_bytes = smallest (&c, TESSERA_LAYOUT_EXPANDABLE);
      uint64_t without_bytes;
      TesseraError error = { 0 };

      for (size_t i = 0; i < curve.n_rows; i++)
        g_assert_cmpuint (best->reserved_bytes, <=, curve.rows[i].reserved_bytes);
      g_assert_cmpint (tessera_regions_set (c.plan, c.trace, &needs, 0, &error), ==,
                       TESSERA_OK);
      without_bytes = smallest (&c, TESSERA_LAYOUT_PLAN);
      g_assert_cmpint (
          tessera_regions_set (c.plan, c.trace, &needs, best->region_bytes, &error), ==,
          TESSERA_OK);
      g_assert_cmpuint (smallest (&c, TESSERA_LAYOUT_PLAN), <=,
                        MAX (expandable_bytes, without_bytes));
      plan_case_clear (&c);
    }
}

static void
test_no_memory (void)
{
  PlanCase c = plan_case_new (test_experts_new (1, FALSE, 3, SCALE), &with_large);
  const TesseraRegionNeeds needs = tessera_region_needs (c.plan);

  for (unsigned nth = 1;; nth += 1 + nth / 8)
    {
      TesseraError error = { 0 };
      TesseraRegionCurve curve;
      long held = tessera_fail_alloc_held ();
      TesseraStatus status;

      tessera_fail_alloc_at (nth);
      status = tessera_region_curve (c.trace, c.blocks, c.structure, c.plan, &needs, NULL,
                                     &error, &curve);
      if (!tessera_fail_alloc_stop ())
        {
          g_assert_cmpint (status, ==, TESSERA_OK);
          break;
        }
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
      if (status != TESSERA_OK)
        g_assert_cmpint (status, ==, TESSERA_NO_MEMORY);
    }
  plan_case_clear (&c);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulator/regions/curve", test_curve);
  g_test_add_func ("/simulator/regions/default", test_default);
  g_test_add_func ("/simulator/regions/sizes", test_sizes);
  g_test_add_func ("/simulator/regions/best", test_best);
  g_test_add_func ("/simulator/regions/devices", test_devices);
  g_test_add_func ("/simulator/regions/no-memory", test_no_memory);
  return g_test_run ();
}
