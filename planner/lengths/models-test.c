/*
 * Laws of sizes: what is found is what was put in, and nothing where nothing was.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/diff.h"
#include "planner/lengths/private.h"
#include "planner/lengths/test-steps.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t *const lengths = test_steps_lengths;
static const uint64_t *const batches = test_steps_batches;

/* The law of one row of sizes. */
static void
fit (const TesseraFitSteps *steps, const uint64_t *sizes, TesseraSizeLaw *out_law)
{
  g_autofree TesseraFitTerms *terms = g_new (TesseraFitTerms, 1);

  tessera_fit_terms_set (terms, steps);
  tessera_fit_law (terms, sizes, out_law);
}

static uint64_t
round_up (uint64_t value, uint64_t to)
{
  return (value + to - 1) / to * to;
}

static TesseraFitSteps
steps_of (uint32_t n, bool has_batch)
{
  TesseraFitSteps steps = { .n_steps = n, .has_batch = has_batch };

  for (uint32_t i = 0; i < n; i++)
    steps.parameters[i] =
        (TesseraParameters){ .batch = has_batch ? batches[i] : 1, .length = lengths[i] };
  return steps;
}

static uint64_t
known_size (int law, uint64_t b, uint64_t l, uint64_t cap)
{
  switch (law)
    {
    case 0:
      return 4096;
    case 1:
      return 8 * b * l;
    case 2:
      return 2048 * b * round_up (l, 8);
    case 3:
      return b * l * l * 2 + 512;
    case 4:
      return 8 * b * (l - 1);
    case 5:
      return 4 * b * l * round_up (l, 8);
    case 6:
      return 1024 * b * round_up (l, 128) + 64;
    case 8: /* a batch of 16 in pieces of 64 tokens */
      return 512 * b * round_up (l, 4);
    default:
      return MIN (65536 * b * round_up (l, 16), 65536 * cap);
    }
}

static void
test_known (void)
{
  static const uint8_t kinds[] = { TESSERA_SIZE_CONSTANT, TESSERA_SIZE_AFFINE,
                                   TESSERA_SIZE_ROUNDED,  TESSERA_SIZE_QUADRATIC,
                                   TESSERA_SIZE_AFFINE,   TESSERA_SIZE_ROUNDED,
                                   TESSERA_SIZE_ROUNDED,  TESSERA_SIZE_ROUNDED,
                                   TESSERA_SIZE_ROUNDED };

  for (int has_batch = 0; has_batch < 2; has_batch++)
    for (int law = 0; law < 9; law++)
      {
        TesseraFitSteps steps = steps_of (8, has_batch);
        /* So that four observations at least are below it, and two above. */
        uint64_t sizes[8], cap = has_batch ? 4700 : 3000;
        TesseraSizeLaw found;

        for (uint32_t i = 0; i < 8; i++)
          sizes[i] = known_size (law, steps.parameters[i].batch, lengths[i], cap);
        fit (&steps, sizes, &found);
        g_assert_cmpint (found.kind, ==, kinds[law]);
        g_assert_true (tessera_size_law_is_valid (&found));
        /* It holds where nobody looked, too. */
        for (uint64_t l = 7; l < 6000; l += 61)
          {
            const TesseraParameters unseen = { has_batch ? 5 : 1, l };
            uint64_t bytes;

            g_assert_true (tessera_size_law_evaluate (&found, &unseen, &bytes));
            g_assert_cmpuint (bytes, ==, known_size (law, unseen.batch, l, cap));
          }
      }
}

/* One byte more anywhere, and there is no law: the largest size is what is left. */
static void
test_noise (void)
{
  for (int law = 1; law < 7; law++)
    for (uint32_t at = 0; at < 8; at++)
      {
        TesseraFitSteps steps = steps_of (8, true);
        uint64_t sizes[8], most = 0, bytes;
        TesseraSizeLaw found;

        for (uint32_t i = 0; i < 8; i++)
          {
            sizes[i] = known_size (law, batches[i], lengths[i], 0) + (i == at);
            most = MAX (most, sizes[i]);
          }
        fit (&steps, sizes, &found);
        g_assert_cmpint (found.kind, ==, TESSERA_SIZE_BOUNDED);
        g_assert_true (tessera_size_law_evaluate (&found, &steps.parameters[0], &bytes));
        g_assert_cmpuint (bytes, ==, most);
      }
}

/* Random sizes follow nothing, however few they are. */
static void
test_random_has_no_law (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);

  for (int round = 0; round < 2000; round++)
    {
      TesseraFitSteps steps = steps_of (8, round % 2);
      uint64_t sizes[8];
      TesseraSizeLaw found;

      for (uint32_t i = 0; i < 8; i++)
        sizes[i] = i < 3 + (uint32_t) round % 6
                       ? (uint64_t) g_rand_int_range (rand, 1, 1 << 30)
                       : TESSERA_ABSENT;
      fit (&steps, sizes, &found);
      g_assert_cmpint (found.kind, ==, TESSERA_SIZE_BOUNDED);
    }
}

/* k coefficients need k + 1 different observations; equal ones count once. */
static void
test_too_few (void)
{
  TesseraFitSteps steps = steps_of (8, false);
  uint64_t sizes[8];
  TesseraSizeLaw found;

  for (uint32_t n = 0; n <= 3; n++)
    {
      for (uint32_t i = 0; i < 8; i++)
        sizes[i] = i < n ? known_size (4, 1, lengths[i], 0) : TESSERA_ABSENT;
      fit (&steps, sizes, &found);
      g_assert_cmpint (found.kind, ==,
                       n < 3 ? TESSERA_SIZE_BOUNDED : TESSERA_SIZE_AFFINE);
    }
  steps.parameters[2] = steps.parameters[0];
  sizes[2] = sizes[0];
  fit (&steps, sizes, &found);
  g_assert_cmpint (found.kind, ==, TESSERA_SIZE_BOUNDED);
  sizes[2]++; /* the same parameters, another size */
  fit (&steps, sizes, &found);
  g_assert_cmpint (found.kind, ==, TESSERA_SIZE_BOUNDED);
}

/* The only step with a batch of its own says what the batch does, and nobody confirms it.
 */
static void
test_unconfirmed (void)
{
  TesseraFitSteps steps = steps_of (8, true);
  uint64_t sizes[8];
  TesseraSizeLaw found;

  for (uint32_t i = 0; i < 8; i++)
    {
      steps.parameters[i].batch = i == 5 ? 3 : 2;
      sizes[i] =
          16 * steps.parameters[i].batch * lengths[i] + 4 * steps.parameters[i].batch;
    }
  fit (&steps, sizes, &found);
  g_assert_cmpint (found.kind, !=, TESSERA_SIZE_BOUNDED); /* 16 B L + 4 B has two terms */
  for (uint32_t i = 0; i < 8; i++)
    sizes[i] = i == 5 ? 777 : 8 * lengths[i];
  fit (&steps, sizes, &found);
  g_assert_cmpint (found.kind, ==, TESSERA_SIZE_BOUNDED);
}

static void
test_extremes (void)
{
  TesseraFitSteps steps = { .n_steps = 4 };
  uint64_t sizes[4], bytes;
  TesseraSizeLaw law = { .numerators = { -5 }, .denominator = 1, .rounding = 1 };

  for (uint32_t i = 0; i < 4; i++)
    {
      steps.parameters[i] = (TesseraParameters){ 1, (UINT64_C (1) << 49) + i };
      sizes[i] = (UINT64_C (1) << 50) - i * 3;
    }
  fit (&steps, sizes, &law);
  g_assert_true (tessera_size_law_is_valid (&law));
  law = (TesseraSizeLaw){ .numerators = { -5 }, .denominator = 1, .rounding = 1 };
  g_assert_false (tessera_size_law_evaluate (&law, &steps.parameters[0], &bytes));
  law.numerators[TESSERA_TERM_TOKENS] = TESSERA_MAX_TERM;
  g_assert_false (tessera_size_law_evaluate (&law, &steps.parameters[0], &bytes));
  law.rounding = 9;
  g_assert_false (tessera_size_law_is_valid (&law));
}

/* The longest common sequence, by the table of all prefixes. */
static uint32_t
common_by_table (const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b)
{
  uint32_t table[33][33] = { { 0 } };

  for (uint32_t i = 1; i <= n_a; i++)
    for (uint32_t k = 1; k <= n_b; k++)
      table[i][k] = a[i - 1] == b[k - 1] ? table[i - 1][k - 1] + 1
                                         : MAX (table[i - 1][k], table[i][k - 1]);
  return table[n_a][n_b];
}

static void
test_diff (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);

  for (int round = 0; round < 3000; round++)
    {
      uint64_t a[32], b[32];
      uint32_t n_a = (uint32_t) g_rand_int_range (rand, 0, 33), b_of_a[32], n_common;
      uint32_t n_b = (uint32_t) g_rand_int_range (rand, 0, 33), n = 0, next = 0;

      for (uint32_t i = 0; i < 32; i++)
        {
          a[i] = (uint64_t) g_rand_int_range (rand, 0, 2 + round % 7);
          b[i] = (uint64_t) g_rand_int_range (rand, 0, 2 + round % 7);
        }
      n_common = tessera_diff (a, n_a, b, n_b, 64, b_of_a);
      for (uint32_t i = 0; i < n_a; i++)
        if (b_of_a[i] != TESSERA_NONE)
          {
            g_assert_cmpuint (b_of_a[i], >=, next);
            g_assert_cmpuint (b_of_a[i], <, n_b);
            g_assert_cmpuint (a[i], ==, b[b_of_a[i]]);
            next = b_of_a[i] + 1;
            n++;
          }
      g_assert_cmpuint (n, ==, n_common);
      g_assert_cmpuint (n, ==, common_by_table (a, n_a, b, n_b));
    }
}

/* Every block has one slot, slots are in the order of each step's requests, and none ends
 * before a block of it does. */
static void
check_kind (const TestStudied *of, const TesseraKind *kind)
{
  for (uint32_t k = 0; k < kind->n_steps; k++)
    {
      uint32_t before = 0, n = 0;

      for (uint32_t i = 0; i < kind->n_slots; i++)
        {
          uint32_t b = tessera_kind_block (kind, i, k);

          if (b == TESSERA_NONE)
            continue;
          g_assert_cmpuint (of->blocks->blocks[b].step, ==, kind->steps[k]);
          g_assert_true (n == 0 || b == before + 1);
          before = b;
          n++;
          for (uint32_t j = i + 1; j < kind->n_slots; j++)
            {
              uint32_t later = tessera_kind_block (kind, j, k);

              if (later != TESSERA_NONE && j >= kind->slots[i].died)
                g_assert_cmpuint (of->blocks->blocks[b].died_index, <=,
                                  of->blocks->blocks[later].born_index);
            }
        }
      for (uint32_t b = 0, n_born = 0; b <= of->blocks->n_blocks; b++)
        if (b == of->blocks->n_blocks)
          g_assert_cmpuint (n_born, ==, n);
        else
          n_born += of->blocks->blocks[b].step == kind->steps[k];
    }
}

static void
test_kinds (void)
{
  for (int variant = 0; variant < 8; variant++)
    {
      const TestSteps made = { 8, 12, variant & 1, variant & 2, variant & 4 };
      const TesseraKindLaws *laws;
      uint32_t n_once = made.first_makes_state ? TEST_STATES : 0;
      g_auto (TestStudied) studied = test_study (test_steps_trace (&made));
      const TesseraKind *kind = tessera_laws_main (studied.laws);

      g_assert_nonnull (kind);
      laws = &kind->laws;
      g_assert_cmpuint (kind->n_steps, ==, 8);
      g_assert_cmpuint (kind->n_slots, ==, 28 + (made.masks_pad ? 3 : 0) + n_once);
      g_assert_cmpint (laws->steps.has_batch, ==, made.has_batch);
      for (uint32_t i = 0; i < 8; i++)
        {
          const TesseraParameters *found = &laws->steps.parameters[i];

          g_assert_cmpuint (found->length, ==, lengths[kind->steps[i]]);
          g_assert_cmpuint (found->batch, ==,
                            made.has_batch ? batches[kind->steps[i]] : 1);
        }
      g_assert_cmpuint (laws->n_slots_by_kind[TESSERA_SIZE_CONSTANT], ==, 1);
      g_assert_cmpuint (laws->n_slots_by_kind[TESSERA_SIZE_AFFINE], ==, 15);
      g_assert_cmpuint (laws->n_slots_by_kind[TESSERA_SIZE_ROUNDED], ==,
                        made.masks_pad ? 3 : 0);
      g_assert_cmpuint (laws->n_slots_by_kind[TESSERA_SIZE_BOUNDED], ==, 12 + n_once);
      check_kind (&studied, kind);
    }
}

/* Of a long recording not all steps are compared, but the one that makes the state is. */
static void
test_long_recording (void)
{
  const TestSteps made = { 2 * TESSERA_FIT_STEPS, 12, .first_makes_state = true };
  g_auto (TestStudied) studied = test_study (test_steps_trace (&made));
  const TesseraKind *kind = tessera_laws_main (studied.laws);

  g_assert_nonnull (kind);
  g_assert_cmpuint (kind->n_steps, ==, TESSERA_FIT_STEPS);
  g_assert_cmpuint (kind->n_slots, ==, 28 + TEST_STATES);
  g_assert_cmpuint (kind->steps[TESSERA_FIT_STEPS - 1], ==, made.n_steps - 1);
  check_kind (&studied, kind);
}

/* A recording ends with its last step, whose gradients the next one would have dropped;
 * and the optimizer's state can be many requests beside those of a step. */
static void
test_ends_of_recordings (void)
{
  const TestSteps made = { 8, 12, .first_makes_state = true, .n_states = 40,
                           .drops_late = true };
  uint32_t n_cross = 0;
  g_auto (TestStudied) studied = test_study (test_steps_trace (&made));
  const TesseraKind *kind = tessera_laws_main (studied.laws);

  g_assert_nonnull (kind);
  g_assert_cmpuint (kind->n_steps, ==, 8);
  g_assert_cmpuint (kind->n_slots, ==, 28 + 12 + 40);
  for (uint32_t i = 0; i < kind->n_slots; i++)
    n_cross += kind->slots[i].n_cross > 0;
  g_assert_cmpuint (n_cross, ==, 1 + 40); /* the loss, and the state */
}

/* Steps of @n_sizes sizes: as many bytes as each of @counts says of the step, in turn. */
static void
study_counts (uint64_t (*count) (uint32_t step, uint32_t size),
              uint32_t n_sizes,
              TestStudied *studied)
{
  TesseraTrace *trace = test_trace_new ();
  uint64_t next = UINT64_C (1) << 30;

  for (uint32_t s = 0; s < 8; s++)
    {
      uint32_t begin = (uint32_t) trace->n_events;

      for (uint32_t i = 0; i < n_sizes; i++, next += UINT64_C (1) << 34)
        {
          uint64_t bytes = 512 * (i / 4 + 1) * count (s, i % 4);

          test_alloc (trace, next, bytes);
          test_free (trace, next, bytes);
        }
      test_step (trace, s, begin);
    }
  tessera_trace_settle_ranges (trace);
  *studied = test_study (trace);
}

static const uint64_t drawn_lengths[] = { 889, 193, 540, 773, 226, 113, 345, 610 };
static const uint64_t drawn_batches[] = { 2, 8, 3, 1, 4, 2, 8, 3 };

/* Tokens, and the pairs of each sequence. */
static uint64_t
tokens_or_pairs (uint32_t step, uint32_t size)
{
  uint64_t length = drawn_lengths[step];

  return drawn_batches[step] * length * (size == 3 ? length : 1);
}

/* Two batches, of few lengths: what is never multiplied with a batch is no length of it. */
static uint64_t
few_lengths (uint32_t step, uint32_t size)
{
  static const uint64_t firsts[] = { 66, 70, 73, 71, 70, 65, 66, 73 };
  static const uint64_t seconds[] = { 72, 72, 69, 68, 68, 69, 72, 69 };

  return size == 0   ? firsts[step]
         : size == 1 ? seconds[step]
                     : seconds[step] * seconds[step];
}

/* Tokens and their squares tell both, though neither batch nor length is asked for alone. */
static void
test_squares (void)
{
  const TesseraKindLaws *laws;
  g_auto (TestStudied) studied = { 0 };

  study_counts (tokens_or_pairs, 40, &studied);
  g_assert_nonnull (tessera_laws_main (studied.laws));
  laws = &tessera_laws_main (studied.laws)->laws;
  g_assert_true (laws->steps.has_batch);
  for (uint32_t k = 0; k < 8; k++)
    {
      uint32_t step = studied.laws->kinds[0].steps[k];

      g_assert_cmpuint (laws->steps.parameters[k].length, ==, drawn_lengths[step]);
      g_assert_cmpuint (laws->steps.parameters[k].batch, ==, drawn_batches[step]);
    }
}

static void
test_few_lengths (void)
{
  g_auto (TestStudied) studied = { 0 };

  study_counts (few_lengths, 40, &studied);
  const TesseraKind *kind = tessera_laws_main (studied.laws);
  g_assert_true (!kind || !kind->laws.steps.has_batch);
}

/* Two steps, or steps that are equal, have no law. */
static void
test_no_kind (void)
{
  const TestSteps two = { 2, 5, false, false, false };
  TestStudied studied = test_study (test_steps_trace (&two));

  g_assert_null (tessera_laws_main (studied.laws));
  test_study_clear (&studied);
  studied = test_study (test_trace_loop (6, 5, true));
  g_assert_null (tessera_laws_main (studied.laws));
  test_study_clear (&studied);
}

/* Their plans are within 2 % of the bound at every observed length, and at ten unseen. */
static void
assert_low (const TestStudied *studied)
{
  g_autoptr (TesseraLengths) of = test_plan_lengths (studied);

  for (uint32_t i = 0; i < of->n_observed + 10; i++)
    {
      TesseraParameters at = { 1 + i % of->most.batch, 1017 + i * 131 };
      TesseraLengthsNeed need;

      if (i < of->n_observed)
        at = of->observed[i];
      g_assert_true (tessera_lengths_measure (of, &at, &need));
      g_assert_cmpuint (need.height_bytes, <=, need.bound_bytes / 100 * 102);
    }
}

static void
test_real (void)
{
  static const struct
  {
    const char *path;
    bool has_batch;
    uint32_t n_steps, n[TESSERA_N_SIZE_KINDS];
  } files[] = {
    { "snapshots/jobs/llama1b_var_length.pickle.gz",
      false,
      12,
      { 902, 2264, 36, 113, 320 } },
    { "snapshots/jobs/llama1b_var_length_batch.pickle.gz",
      true,
      14,
      { 901, 2267, 36, 80, 346 } },
  };

  for (size_t f = 0; f < G_N_ELEMENTS (files); f++)
    {
      TesseraTrace *trace = test_trace_shared (files[f].path);
      const TesseraKindLaws *laws;

      if (trace == NULL)
        return;
      g_auto (TestStudied) studied = test_study (trace);
      const TesseraKind *kind = tessera_laws_main (studied.laws);
      g_assert_nonnull (kind);
      laws = &kind->laws;
      g_assert_cmpuint (kind->n_steps, ==, files[f].n_steps);
      g_assert_cmpint (laws->steps.has_batch, ==, files[f].has_batch);
      for (int k = 0; k < TESSERA_N_SIZE_KINDS; k++)
        g_assert_cmpuint (laws->n_slots_by_kind[k], ==, files[f].n[k]);
      assert_low (&studied);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/models/fit/known", test_known);
  g_test_add_func ("/planner/models/fit/noise", test_noise);
  g_test_add_func ("/planner/models/fit/random", test_random_has_no_law);
  g_test_add_func ("/planner/models/fit/too-few", test_too_few);
  g_test_add_func ("/planner/models/fit/unconfirmed", test_unconfirmed);
  g_test_add_func ("/planner/models/fit/extremes", test_extremes);
  g_test_add_func ("/planner/models/diff", test_diff);
  g_test_add_func ("/planner/models/kinds", test_kinds);
  g_test_add_func ("/planner/models/long-recording", test_long_recording);
  g_test_add_func ("/planner/models/ends-of-recordings", test_ends_of_recordings);
  g_test_add_func ("/planner/models/squares", test_squares);
  g_test_add_func ("/planner/models/few-lengths", test_few_lengths);
  g_test_add_func ("/planner/models/no-kind", test_no_kind);
  g_test_add_func ("/planner/models/real", test_real);
  return g_test_run ();
}
