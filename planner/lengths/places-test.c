/*
 * Plans for every length: what steps keep, zones of small and large blocks, parts of steps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/private.h"
#include "planner/lengths/test-steps.h"

/* ---- What steps keep now and then ---- */

#define LOSS_BYTES 1536 /* of what is kept in test steps */

/* Slots of the loss, and how many of them have a place or are known to come without. */
static void
count_losses (const TesseraLengths *lengths, uint32_t *out_n_placed, uint32_t *out_n_kept)
{
  *out_n_placed = *out_n_kept = 0;
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];
      uint64_t bytes;

      if (!tessera_size_law_evaluate (&lengths->laws[slot->law], &lengths->most,
                                      &bytes) ||
          bytes != LOSS_BYTES)
        continue;
      *out_n_placed += slot->place != TESSERA_PLACE_NONE;
      *out_n_kept += tessera_lengths_slot_is_kept (slot);
    }
}

/* A request whose block some steps keep and others drop has no place, however many steps do
 * which: another run's will be others. One step's is no habit: as the optimizer's state it
 * has a place. */
static void
test_habits (void)
{
  static const uint32_t keepers[] = { 0x01, 0xff, 0x2d, 0x5f, 0x06, 0x41, 0xd2 };

  for (size_t i = 0; i < G_N_ELEMENTS (keepers); i++)
    {
      const TestSteps made = { 8, 12, .keepers = keepers[i] };
      TesseraLengths *lengths;
      TestStudied of;
      uint32_t n_placed, n_kept;

      test_study (test_steps_trace (&made), &of);
      lengths = test_plan_lengths (&of);
      count_losses (lengths, &n_placed, &n_kept);
      g_test_message ("%x: %u with a place, %u kept", keepers[i], n_placed, n_kept);
      g_assert_true ((n_placed > 0) == (i == 0));
      g_assert_true ((n_kept > 0) == (i > 0));
      tessera_lengths_free (lengths);
      test_study_clear (&of);
    }
}

/* ---- Small and large blocks: in zones of their own or not ---- */

#define KIB ((uint64_t) 1 << 10)

enum
{
  MOST = 4000
};

static TesseraLengths *
lengths_new (uint32_t n_slots, uint32_t n_laws)
{
  TesseraLengths *of;

  g_assert_cmpint (tessera_lengths_new (&of), ==, TESSERA_OK);
  of->alignment_bytes = 512;
  of->most = (TesseraParameters){ 1, MOST };
  of->n_laws = n_laws;
  of->laws = g_new0 (TesseraSizeLaw, n_laws);
  of->n_slots = of->n_swept = n_slots;
  of->slots = g_new0 (TesseraLengthsSlot, n_slots);
  for (uint32_t i = 0; i < n_slots; i++)
    of->slots[i] = (TesseraLengthsSlot){ .died = i + 1, .phase = TESSERA_NONE };
  return of;
}

static TesseraSizeLaw
law_of (int64_t constant, int64_t per_token)
{
  TesseraSizeLaw law = { .denominator = 1, .rounding = 1 };

  law.kind = per_token ? TESSERA_SIZE_AFFINE : TESSERA_SIZE_CONSTANT;
  law.numerators[TESSERA_TERM_ONE] = constant;
  law.numerators[TESSERA_TERM_TOKENS] = per_token;
  return law;
}

/* A step of a large block of 4 KiB a token, gone before @n_small ones come. */
static TesseraLengths *
step_of (uint32_t n_small, uint64_t small_bytes)
{
  TesseraLengths *of = lengths_new (1 + n_small, 2);

  of->laws[0] = law_of (0, 4 * KIB);
  of->laws[1] = law_of ((int64_t) small_bytes, 0);
  for (uint32_t i = 0; i < of->n_slots; i++)
    {
      of->slots[i].law = i > 0;
      of->slots[i].died = i > 0 ? of->n_slots : 1;
    }
  of->observed = g_new0 (TesseraParameters, 3);
  for (uint32_t i = 0; i < 3; i++)
    of->observed[i] = (TesseraParameters){ 1, MOST / 4 * (i + 2) };
  of->n_observed = 3;
  return of;
}

/* What a plan takes at the most. */
static uint64_t
plan_height (TesseraLengths *of, uint16_t n_streams, bool is_recorded)
{
  TesseraTrace *trace;
  const TesseraLengthsOptions options = { .pack = NULL };
  TesseraLengthsBuild build = { .options = &options, .out = of };
  TesseraLengthsNeed need;

  g_assert_cmpint (tessera_trace_new (&trace), ==, TESSERA_OK);
  trace->n_streams = n_streams;
  if (is_recorded)
    g_assert_cmpint (tessera_trace_set_meta (trace, "policy", "native"), ==, TESSERA_OK);
  build.trace = trace;
  g_assert_cmpint (tessera_lengths_orders (&build), ==, TESSERA_OK);
  g_assert_true (tessera_lengths_measure (of, &of->most, &need));
  trace->n_streams = 0;
  tessera_trace_free (trace);
  return need.height_bytes;
}

/* Several streams keep them apart; a recording of one stream does where that is little, as
 * a 300th of the step. */
static void
test_zones (void)
{
  const uint64_t large_bytes = MOST * 4 * KIB,
                 little_bytes = large_bytes / 300 / 512 * 512;
  const struct
  {
    uint32_t n_small;
    uint64_t small_bytes;
    uint16_t n_streams;
    bool is_recorded, are_apart;
  } cases[] = {
    { 8, 512 * KIB, 1, false, false },  { 8, 512 * KIB, 1, true, false },
    { 8, 512 * KIB, 2, true, true },    { 8, 512 * KIB, 2, false, true },
    { 0, 512 * KIB, 1, true, false },   { 1, little_bytes, 1, false, false },
    { 1, little_bytes, 1, true, true },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      TesseraLengths *of = step_of (cases[i].n_small, cases[i].small_bytes);
      uint64_t all_bytes = large_bytes + cases[i].n_small * cases[i].small_bytes;

      g_assert_cmpuint (plan_height (of, cases[i].n_streams, cases[i].is_recorded), ==,
                        cases[i].are_apart ? all_bytes : large_bytes);
      tessera_lengths_free (of);
    }
}

/* ---- Steps cut into parts: where, and what a plan of them is worth ---- */

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
  lengths = test_plan_lengths (&of);
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
      lengths = test_plan_lengths (&of);
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
  g_test_add_func ("/planner/lengths/habits", test_habits);
  g_test_add_func ("/planner/lengths/zones", test_zones);
  g_test_add_func ("/planner/lengths/parts/cuts", test_cuts);
  g_test_add_func ("/planner/lengths/parts/between", test_between);
  g_test_add_func ("/planner/lengths/parts/not-cut", test_not_cut);
  g_test_add_func ("/planner/lengths/parts/gradients", test_gradients);
  g_test_add_func ("/planner/lengths/parts/bare-names", test_bare_names);
  return g_test_run ();
}
