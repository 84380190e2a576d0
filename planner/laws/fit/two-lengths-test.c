/*
 * Steps with an encoder and a decoder: which lengths are found, what holds at others, and
 * what the checker refuses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/follow/lengths/guess.h"
#include "allocator/follow/lengths/instance.h"
#include "planner/laws/fit/two-lengths.h"
#include "planner/laws/test-steps.h"
#include "planner/lengths.h"

#define PAGE (UINT64_C (1) << 30)

enum
{
  N_STEPS = 10,
  N_LAYERS = 6,
  N_ATTENTIONS = 2, /* of the layers that have one */
  N_PASSES = 12,    /* of the backward pass */
  SORTS_FROM = 400, /* tokens of the target: other requests from there on */
  N_UNSEEN = 60,
  MOST = 1600 /* of plans by hand */
};

/* Some sources are multiples of 8. */
static const uint64_t sources[N_STEPS] = { 359, 128, 374, 362, 226,
                                           449, 157, 274, 424, 386 };
static const uint64_t targets[N_STEPS] = { 65, 79, 233, 155, 64, 77, 193, 195, 91, 111 };
static const uint64_t batches[N_STEPS] = { 3, 2, 4, 3, 2, 4, 3, 2, 4, 3 };

typedef struct
{
  TesseraTrace *trace;
  GArray *held; /* address and size, in turn */
  uint64_t next;
} Maker;

/* The law of one row of sizes. */
static void
fit (const TesseraFitSteps *steps, const uint64_t *sizes, TesseraSizeLaw *out_law)
{
  TesseraFitTerms *terms;

  g_assert_cmpint (tessera_fit_terms_new (steps, &terms), ==, TESSERA_OK);
  tessera_fit_law (terms, sizes, out_law);
  free (terms);
}

static uint64_t
hold (Maker *maker, uint64_t bytes)
{
  uint64_t addr = maker->next;

  maker->next += PAGE;
  test_alloc (maker->trace, addr, bytes);
  g_array_append_val (maker->held, addr);
  g_array_append_val (maker->held, bytes);
  return addr;
}

static void
pass (Maker *maker, uint64_t bytes)
{
  test_alloc (maker->trace, maker->next, bytes);
  test_free (maker->trace, maker->next, bytes);
  maker->next += PAGE;
}

/* Scores of attention with a bias: rounded up, a copy lives on, else the scores do. */
static void
attend (Maker *maker, uint64_t rows, uint64_t columns)
{
  uint64_t addr = maker->next;

  if (columns % 8 == 0)
    {
      hold (maker, 16 * rows * columns);
      return;
    }
  maker->next += PAGE;
  test_alloc (maker->trace, addr, 16 * rows * columns);
  hold (maker, 16 * rows * ((columns + 7) / 8 * 8));
  test_free (maker->trace, addr, 16 * rows * columns);
}

/* Names what came since @begin. Returns: where the next phase begins. */
static uint32_t
end_phase (Maker *maker, const char *name, uint32_t begin)
{
  uint32_t end = (uint32_t) maker->trace->n_events;

  test_range (maker->trace, TESSERA_RANGE_PHASE, name, begin, end);
  return end;
}

static void
make_step (Maker *maker, uint64_t b, uint64_t s, uint64_t t)
{
  uint32_t begin;

  hold (maker, 8 * b * s);
  hold (maker, 8 * b * t);
  hold (maker, 8 * s);
  begin = (uint32_t) maker->trace->n_events;
  hold (maker, 24 * s * s);
  for (uint32_t k = 0; k < N_LAYERS; k++)
    {
      hold (maker, 2048 * b * s);
      if (k < N_ATTENTIONS)
        attend (maker, b * s, s);
      pass (maker, 8192 * b * s);
      for (uint32_t i = 0; i < 4; i++)
        hold (maker, 4096 * b * s);
    }
  begin = end_phase (maker, "forward", begin);
  for (uint32_t k = 0; k < N_LAYERS; k++)
    {
      hold (maker, 2048 * b * t);
      hold (maker, 16 * b * t * t);
      if (k < N_ATTENTIONS)
        attend (maker, b * t, s);
      pass (maker, 8192 * b * t);
      for (uint32_t i = 0; i < 4; i++)
        hold (maker, 4096 * b * t);
    }
  begin = end_phase (maker, "forward decoder", begin);
  for (uint32_t k = 0; k < 4 && b * t >= SORTS_FROM; k++)
    hold (maker, 24 * b * t);
  pass (maker, 60000 * b * t);
  for (guint i = maker->held->len; i > 0; i -= 2)
    {
      uint64_t bytes = g_array_index (maker->held, uint64_t, i - 1);

      if (i <= 2 * N_PASSES)
        pass (maker, 4096);
      test_free (maker->trace, g_array_index (maker->held, uint64_t, i - 2), bytes);
    }
  end_phase (maker, "backward", begin);
  g_array_set_size (maker->held, 0);
}

/* @has_second: else each target is as long as its source. */
static TesseraTrace *
make_trace (bool has_batch, bool has_second)
{
  Maker maker = { test_trace_new (), g_array_new (FALSE, FALSE, sizeof (uint64_t)),
                  PAGE };

  test_alloc (maker.trace, maker.next, 1 << 20);
  maker.next += PAGE;
  for (uint32_t k = 0; k < N_STEPS; k++)
    {
      g_autofree char *name = g_strdup_printf ("step %u", k);
      uint32_t begin = (uint32_t) maker.trace->n_events;

      make_step (&maker, has_batch ? batches[k] : 4, sources[k],
                 has_second ? targets[k] : sources[k]);
      test_range (maker.trace, TESSERA_RANGE_STEP, name, begin,
                  (uint32_t) maker.trace->n_events);
    }
  tessera_trace_settle_ranges (maker.trace);
  g_array_free (maker.held, TRUE);
  return maker.trace;
}

typedef struct
{
  TestStudied of;
  const TesseraKind *kind;
  const TesseraKindLaws *laws;
  TesseraLengths *lengths;
} Planned;

static void
plan (bool has_batch, Planned *out)
{
  const TesseraLengthsOptions options = { { 0 } };
  TesseraError error = { 0 };

  test_study (make_trace (has_batch, true), &out->of);
  out->kind = tessera_laws_main (out->of.laws, &out->laws);
  g_assert_nonnull (out->kind);
  if (tessera_lengths_plan (out->of.trace, out->of.blocks, out->of.structure,
                            out->of.laws, &options, &error, &out->lengths) != TESSERA_OK)
    g_error ("%s", error.text);
  g_assert_nonnull (out->lengths);
}

static void
clear (Planned *planned)
{
  tessera_lengths_free (planned->lengths);
  test_study_clear (&planned->of);
}

/* The source is the first length, and only what is sorted from some number of tokens on,
 * or rounded, is not asked for in each step. */
static void
test_found (void)
{
  for (int has_batch = 0; has_batch < 2; has_batch++)
    {
      Planned planned;

      plan (has_batch, &planned);
      g_assert_true (planned.laws->steps.has_second);
      g_assert_cmpint (planned.laws->steps.has_batch, ==, has_batch);
      for (uint32_t k = 0; k < planned.kind->n_steps; k++)
        {
          const TesseraParameters *at = &planned.laws->steps.parameters[k];
          uint32_t step = planned.kind->steps[k];

          g_assert_cmpuint (at->length, ==, sources[step]);
          g_assert_cmpuint (at->second, ==, targets[step]);
          g_assert_cmpuint (at->batch, ==, has_batch ? batches[step] : 1);
        }
      g_assert_cmpuint (planned.laws->n_slots_by_kind[TESSERA_SIZE_BOUNDED], ==, 0);
      g_assert_cmpuint (planned.lengths->most.second, ==, 233);
      clear (&planned);
    }
}

static void
test_one_length (void)
{
  for (int has_batch = 0; has_batch < 2; has_batch++)
    {
      TestStudied of;
      const TesseraKindLaws *laws;

      test_study (make_trace (has_batch, false), &of);
      g_assert_nonnull (tessera_laws_main (of.laws, &laws));
      g_assert_false (laws->steps.has_second);
      test_study_clear (&of);
    }
}

/* Blocks of a step that nobody has seen, as the plan has them, in bytes. */
static uint64_t
sum_of (const TesseraPlan *instance)
{
  uint64_t sum = 0;

  for (size_t i = 0; i < instance->n_slots; i++)
    sum += instance->slots[i].block_bytes;
  return sum;
}

/* ... and as such a step would ask for them. */
static uint64_t
asked_for (uint64_t b, uint64_t s, uint64_t t)
{
  Maker maker = { test_trace_new (), g_array_new (FALSE, FALSE, sizeof (uint64_t)),
                  PAGE };
  uint64_t sum = 0;

  make_step (&maker, b, s, t);
  for (size_t i = 0; i < maker.trace->n_events; i++)
    if (maker.trace->events[i].action == TESSERA_ALLOC)
      sum += (maker.trace->events[i].size_bytes + 511) / 512 * 512;
  g_array_free (maker.held, TRUE);
  tessera_trace_free (maker.trace);
  return sum;
}

/* At each pair that was seen, and at others in the box, the plan holds exactly what such
 * a step asks for, overlaps nowhere and is hardly above the bound. */
static void
check_at (const Planned *planned, const TesseraParameters *at, uint64_t batch)
{
  const TesseraInstanceOptions later = { 0 };
  TesseraError error = { 0 };
  TesseraLengthsNeed need;
  TesseraPlan *instance;
  TesseraLaw law;

  g_assert_cmpint (tessera_instance_of_step (planned->lengths, at, &later, &instance), ==,
                   TESSERA_OK);
  if (tessera_check_plan (instance, NULL, &law, &error) != TESSERA_OK)
    g_error ("%s", error.text);
  g_assert_cmpuint (sum_of (instance), ==, asked_for (batch, at->length, at->second));
  g_assert_cmpint (tessera_lengths_measure (planned->lengths, at, &need), ==, TESSERA_OK);
  g_assert_cmpuint (instance->height_bytes, <=, need.height_bytes);
  g_assert_cmpuint (need.height_bytes, >=, need.bound_bytes);
  g_assert_cmpfloat ((double) need.height_bytes, <=, 1.02 * (double) need.bound_bytes);
  tessera_plan_free (instance);
}

static void
test_pairs (void)
{
  for (int has_batch = 0; has_batch < 2; has_batch++)
    {
      Planned planned;

      plan (has_batch, &planned);
      for (uint32_t k = 0; k < planned.lengths->n_observed; k++)
        check_at (&planned, &planned.lengths->observed[k],
                  has_batch ? planned.lengths->observed[k].batch : 4);
      for (uint64_t i = 0; i < N_UNSEEN; i++)
        {
          const TesseraParameters at = { has_batch ? 2 + i % 3 : 1, 128 + i * 37 % 320,
                                         64 + i * 53 % 169 };
          uint64_t batch = has_batch ? at.batch : 4, tokens = batch * at.second;

          /* Between the largest that was not sorted and the least that was nobody knows.
           */
          if (tokens < 308 || tokens > 465)
            check_at (&planned, &at, batch);
        }
      clear (&planned);
    }
}

/* What cuts in a corner of the box only, one length the most and the other the least, is
 * refused: the second of two slots that lie one above the other no longer rests on it,
 * and its floor is the first one's height in the middle. */
static void
test_corner (void)
{
  Planned planned;
  TesseraLengths *of;
  TesseraError error = { 0 };
  TesseraLaw law;

  plan (false, &planned);
  of = planned.lengths;
  g_assert_cmpint (tessera_check_lengths (of, &law, &error), ==, TESSERA_OK);
  of->n_observed = 0; /* nothing but the box */
  g_assert_cmpint (tessera_check_lengths (of, &law, &error), ==, TESSERA_OK);
  for (uint32_t k = 0; k < of->n_orders; k++)
    for (uint32_t i = 0; i < of->n_swept; i++)
      {
        const TesseraSizeLaw *own = &of->laws[of->orders[k].laws[i]];
        bool is_second;

        if (!tessera_law_tells_one (own, &is_second) || !is_second ||
            of->orders[k].first_edge[i] == of->orders[k].first_edge[i + 1])
          continue;
        /* It rests on the lowest slot alone, as if that were all below it. */
        for (uint32_t e = of->orders[k].first_edge[i];
             e < of->orders[k].first_edge[i + 1]; e++)
          of->orders[k].below[e] = 0;
      }
  g_assert_cmpint (tessera_check_lengths (of, &law, &error), ==, TESSERA_REFUSED);
  g_assert_cmpint (law, ==, TESSERA_LAW_OVERLAP);
  g_assert_true (
      g_pattern_match_simple ("at batch 1 and length *, second length *: *", error.text));
  clear (&planned);
}

/* Three slots: A of the target and @least_bytes is gone when B, of the source, comes and
 * lies there as well; C rests on A, as if B were never larger. */
static TesseraLengths *
make_cut (int64_t least_bytes)
{
  enum
  {
    A,
    B,
    C,
    N_SLOTS
  };
  TesseraLengths *of;

  g_assert_cmpint (tessera_lengths_new (&of), ==, TESSERA_OK);
  of->alignment_bytes = 512;
  of->most = (TesseraParameters){ 1, MOST, MOST };
  of->n_laws = of->n_slots = of->n_swept = N_SLOTS;
  of->laws = g_new0 (TesseraSizeLaw, N_SLOTS);
  of->slots = g_new0 (TesseraLengthsSlot, N_SLOTS);
  of->orders = calloc (1, sizeof *of->orders);
  of->n_orders = 1;
  g_assert_cmpint (tessera_order_init (of->orders, N_SLOTS, 1), ==, TESSERA_OK);
  for (uint32_t i = 0; i < N_SLOTS; i++)
    {
      of->laws[i] = (TesseraSizeLaw){ .denominator = 1, .rounding = 1 };
      of->slots[i] = (TesseraLengthsSlot){ .law = i, .phase = TESSERA_NONE };
      of->orders->slots[i] = of->orders->laws[i] = i;
    }
  of->slots[A].died = B;
  of->slots[B].died = of->slots[C].died = N_SLOTS;
  of->laws[A].numerators[TESSERA_TERM_ONE] = least_bytes;
  of->laws[A].numerators[TESSERA_TERM_SECOND_TOKENS] = 512;
  of->laws[B].numerators[TESSERA_TERM_TOKENS] = 512;
  of->laws[C].numerators[TESSERA_TERM_ONE] = 512;
  of->orders->first_edge[N_SLOTS] = 1;
  of->orders->below[0] = A;
  return of;
}

/* B is larger than A where the source is longer by nine tenths of the most: that is in
 * one corner only, and in none of what is looked at inside the box. */
static void
test_only_corner (void)
{
  TesseraLengths *of = make_cut (512 * MOST);
  TesseraError error = { 0 };
  TesseraLaw law;

  g_assert_cmpint (tessera_check_lengths (of, &law, &error), ==, TESSERA_OK);
  tessera_lengths_free (of);
  of = make_cut (512 * MOST / 10 * 9);
  g_assert_cmpint (tessera_check_lengths (of, &law, &error), ==, TESSERA_REFUSED);
  g_assert_cmpint (law, ==, TESSERA_LAW_OVERLAP);
  g_assert_true (
      g_str_has_prefix (error.text, "at batch 1 and length 1600, second length 1: "));
  tessera_lengths_free (of);
}

/* A second length counts where one over the other takes four values: three steps that are
 * paired a few requests off look the same. */
static void
test_few_values (void)
{
  TesseraDirection known[2] = { { .n_slots = 9 }, { .n_slots = 5 } };
  TesseraFitSteps found[TESSERA_TWO_LENGTHS];

  for (uint32_t k = 0; k < N_STEPS; k++)
    known[0].values[k] = known[1].values[k] = sources[k];
  for (uint32_t n_other = 0; n_other < 6; n_other++)
    {
      size_t n = tessera_two_lengths_find (known, 2, known, 2, N_STEPS, found);

      if (n_other < 3)
        g_assert_cmpuint (n, ==, 0);
      else
        g_assert_cmpuint (n, >, 0);
      known[1].values[n_other] *= n_other + 2;
    }
}

/* Source and target are known by what a step asks for first, in any order of the two. */
static void
test_guess (void)
{
  TesseraGuess *guess = g_new (TesseraGuess, 1);
  Planned planned;
  TesseraParameters known;

  plan (true, &planned);
  for (uint64_t i = 0; i < N_UNSEEN; i++)
    {
      const uint64_t b = 2 + i % 3, s = 100 + i * 37 % 349, t = 50 + i * 53 % 183;
      const uint64_t sizes[] = { 8 * b * s, 8 * b * t, 8 * s };

      tessera_guess_init (guess, planned.lengths);
      for (uint32_t slot = 0; slot < 3; slot++)
        {
          g_assert_false (tessera_guess_is_known (guess, &known));
          g_assert_true (tessera_guess_see (guess, slot, sizes[slot]));
        }
      g_assert_true (tessera_guess_is_known (guess, &known));
      g_assert_cmpuint (known.batch, ==, b);
      g_assert_cmpuint (known.length, ==, s);
      g_assert_cmpuint (known.second, ==, t);
      g_assert_false (tessera_guess_see (guess, 1, 8 * b * t + 8));
      /* The same as what came last before the first step. */
      tessera_guess_init (guess, planned.lengths);
      planned.lengths->slots[3].phase = 0;
      g_assert_cmpuint (tessera_guess_see_batch (guess, sizes, 3), ==, 3);
      g_assert_true (tessera_guess_is_known (guess, &known));
      g_assert_cmpuint (known.second, ==, t);
    }
  clear (&planned);
  g_free (guess);
}

/* A law of two lengths is no law until an observation confirms it. */
static void
test_held_out (void)
{
  TesseraFitSteps steps = { .has_second = true };
  TesseraSizeLaw law;
  uint64_t sizes[4];

  for (steps.n_steps = 1; steps.n_steps <= 4; steps.n_steps++)
    {
      uint32_t k = steps.n_steps - 1;

      steps.parameters[k] = (TesseraParameters){ 1, sources[k], targets[k] };
      sizes[k] = 640 * sources[k] * targets[k] + 72 * sources[k];
      fit (&steps, sizes, &law);
      if (k < 2)
        g_assert_cmpint (law.kind, ==, TESSERA_SIZE_BOUNDED);
    }
  g_assert_cmpint (law.kind, ==, TESSERA_SIZE_QUADRATIC);
  g_assert_cmpint (law.numerators[TESSERA_TERM_CROSS], ==, 640);
  g_assert_cmpint (law.numerators[TESSERA_TERM_TOKENS], ==, 72);
  sizes[3] += 1;
  steps.n_steps = 4;
  fit (&steps, sizes, &law);
  g_assert_cmpint (law.kind, ==, TESSERA_SIZE_BOUNDED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/two-lengths/found", test_found);
  g_test_add_func ("/planner/two-lengths/one-length", test_one_length);
  g_test_add_func ("/planner/two-lengths/pairs", test_pairs);
  g_test_add_func ("/planner/two-lengths/corner", test_corner);
  g_test_add_func ("/planner/two-lengths/only-corner", test_only_corner);
  g_test_add_func ("/planner/two-lengths/few-values", test_few_values);
  g_test_add_func ("/planner/two-lengths/guess", test_guess);
  g_test_add_func ("/planner/two-lengths/held-out", test_held_out);
  return g_test_run ();
}
