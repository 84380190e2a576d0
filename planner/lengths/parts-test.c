/*
 * Steps cut into parts: where, and what a plan for every length of them is worth.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/test-parts.h"
#include "planner/lengths.h"

static TesseraLengths *
plan_of (const TestStudied *of)
{
  const TesseraLengthsOptions options = { .most = { 0, 0 } };
  TesseraError error = { 0 };
  TesseraLengths *lengths;

  g_assert_cmpint (tessera_lengths_plan (of->trace, of->blocks, of->structure, of->laws,
                                         &options, &error, &lengths),
                   ==, TESSERA_OK);
  g_assert_nonnull (lengths);
  return lengths;
}

static uint32_t
count_over_cuts (const TesseraLengths *of)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < of->n_slots; i++)
    n += of->slots[i].is_over_cuts;
  return n;
}

/* Where the second forward begins; the optimizer is of the last part. */
static void
test_cuts (void)
{
  for (uint32_t n_micro = 2; n_micro < 5; n_micro++)
    {
      const TestParts made = { 5, n_micro, 6, .seed = n_micro };
      TestStudied of;
      const TesseraKindLaws *laws;
      const TesseraKind *kind;

      test_study (test_parts_trace (&made), &of);
      g_assert_cmpstr (of.laws->parts.phase, ==, "forward");
      g_assert_cmpuint (of.laws->parts.structure.n_steps, ==, 5 * n_micro);
      for (uint32_t i = 0; i < 5 * n_micro; i++)
        g_assert_cmpuint (of.laws->parts.step_of[i], ==, i / n_micro);
      kind = tessera_laws_main (of.laws, &laws);
      g_assert_cmpuint (kind->n_steps, ==, 5 * n_micro);
      /* Only the state has no law: one step makes it. */
      g_assert_cmpuint (laws->n_slots_by_kind[TESSERA_SIZE_BOUNDED], ==, 6);
      g_assert_cmpuint (laws->n_slots_once, ==, 6);
      test_study_clear (&of);
    }
}

static void
assert_heights (const TesseraLengths *of)
{
  for (uint32_t i = 0; i < of->n_observed; i++)
    {
      TesseraLengthsNeed need;

      g_assert_true (tessera_lengths_measure (of, &of->observed[i], &need));
      g_assert_cmpuint (need.height_bytes, >=, need.bound_bytes);
      g_assert_cmpuint (need.height_bytes, <=, need.bound_bytes / 100 * 102);
    }
}

/* What comes between steps is of none of their parts. */
static void
test_between (void)
{
  const TestParts made = { 6, 3, 6, .seed = 11, .evaluates = true };
  TestStudied of;
  const TesseraKindLaws *laws;
  TesseraLengths *lengths;

  test_study (test_parts_trace (&made), &of);
  g_assert_cmpuint (of.laws->parts.structure.n_steps, ==, 6 * 4);
  for (uint32_t i = 0; i < 6 * 4; i++)
    g_assert_cmpuint (of.laws->parts.step_of[i], ==, i % 4 == 3 ? 6 : i / 4);
  g_assert_cmpuint (tessera_laws_main (of.laws, &laws)->n_steps, ==, 6 * 3);
  g_assert_cmpuint (laws->n_slots_by_kind[TESSERA_SIZE_BOUNDED], ==, 6);
  lengths = plan_of (&of);
  g_assert_cmpuint (count_over_cuts (lengths), ==, 6);
  assert_heights (lengths);
  tessera_lengths_free (lengths);
  test_study_clear (&of);
}

/* Nothing is cut where a step has one length, or hardly a byte differs by it, or what is
 * alive over a cut varies. */
static void
test_not_cut (void)
{
  const TestParts made[] = {
    { 6, 3, 6, .is_constant = true },
    { 6, 3, 6, .is_padded = true },
    { 6, 3, 6, .keeps = true },
    { 6, 1, 6, .seed = 0 },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (made); i++)
    {
      TestStudied of;

      test_study (test_parts_trace (&made[i]), &of);
      g_assert_null (of.laws->parts.phase);
      test_study_clear (&of);
    }
}

/* Gradients have a place for all parts, which the part that makes them lends until they
 * come: the first of each step, or, of zeroed ones, the first of all. */
static void
test_gradients (void)
{
  for (int way = 0; way < 3; way++)
    {
      const TestParts made = {
        6, 3, 8, .seed = 7, .drops_late = way == 1, .drops_never = way == 2
      };
      TestStudied of;
      TesseraLengths *lengths;
      char reason[96];
      uint32_t n_once = 0;
      bool has_first = false;

      test_study (test_parts_trace (&made), &of);
      lengths = plan_of (&of);
      g_assert_cmpstr (lengths->cut_phase, ==, "forward");
      g_assert_cmpuint (count_over_cuts (lengths), ==, 8);
      for (uint32_t i = 0; i < lengths->n_slots; i++)
        n_once += lengths->slots[i].is_once;
      g_assert_cmpuint (n_once, ==, 8);
      for (uint32_t k = 0; k < lengths->n_orders; k++)
        has_first = has_first || lengths->orders[k].is_first;
      g_assert_true (has_first);
      g_assert_true (tessera_lengths_is_sound (lengths, reason, sizeof reason));
      assert_heights (lengths);
      tessera_lengths_free (lengths);
      test_study_clear (&of);
    }
}

static void
test_bare_names (void)
{
  g_assert_cmpstr (tessera_bare_phase ("micro-batch 12 forward"), ==, "forward");
  g_assert_cmpstr (tessera_bare_phase ("forward"), ==, "forward");
  g_assert_cmpstr (tessera_bare_phase ("micro-batch forward"), ==, "micro-batch forward");
  g_assert_cmpstr (tessera_bare_phase ("micro-batch 1"), ==, "micro-batch 1");
  g_assert_cmpstr (tessera_bare_phase ("micro-batch 1 "), ==, "micro-batch 1 ");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parts/cuts", test_cuts);
  g_test_add_func ("/parts/between", test_between);
  g_test_add_func ("/parts/not-cut", test_not_cut);
  g_test_add_func ("/parts/gradients", test_gradients);
  g_test_add_func ("/parts/bare-names", test_bare_names);
  return g_test_run ();
}
