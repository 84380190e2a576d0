/*
 * Following a plan by length: other lengths than those it was made from are served, no
 * two blocks alive together ever overlap, and no more is reserved than expandable
 * segments do.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/test-steps.h"
#include "planner/lengths.h"
#include "planner/planner.h"
#include "tests/simulator/made-case.h"
#include "tests/simulator/made-program.h"

/* @most_length: 0: the longest seen. */
static TesseraPlan *
plan_of (TestStudied *of, uint64_t most_length)
{
  const TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  const TesseraLengthsOptions by_length = { .most = { most_length ? 4 : 0,
                                                      most_length } };
  TesseraPlan *plan;

  WORKS (error, tessera_plan_trace (of->trace, of->blocks, of->structure, &options,
                                    &error, &plan));
  WORKS (error, tessera_lengths_plan (of->trace, of->blocks, of->structure, of->laws,
                                      &by_length, &error, &plan->lengths));
  g_assert_nonnull (plan->lengths);
  return plan;
}

static TesseraLayout *
simulate (const TestStudied *of, TesseraLayoutKind kind, const TesseraPlan *plan)
{
  const TesseraSimulateOptions options = { .kind = kind,
                                           .plan = plan,
                                           .by_length = plan != NULL };
  TesseraLayout *layout;

  WORKS (error, tessera_simulate (of->trace, of->blocks, of->structure, &options, &error,
                                  &layout));
  return layout;
}

/* A plan of one run that another follows, where no two blocks overlap; and what that run
 * reserves with expandable segments. */
typedef struct
{
  TestStudied made, other;
  TesseraPlan *plan;
  TesseraLayout *layout, *expandable;
} Followed;

static void
follow (Followed *followed)
{
  followed->layout = simulate (&followed->other, TESSERA_LAYOUT_PLAN, followed->plan);
  followed->expandable = simulate (&followed->other, TESSERA_LAYOUT_EXPANDABLE, NULL);
  case_assert_no_overlap (followed->other.blocks, followed->layout);
}

/* Takes both traces over. */
static Followed
followed_new (TesseraTrace *made, TesseraTrace *other, uint64_t most_length)
{
  Followed followed = { .made = test_study (made), .other = test_study (other) };

  followed.plan = plan_of (&followed.made, most_length);
  follow (&followed);
  return followed;
}

static void
followed_clear (Followed *followed)
{
  tessera_layout_free (followed->layout);
  tessera_layout_free (followed->expandable);
  tessera_plan_free (followed->plan);
  test_study_clear (&followed->made);
  test_study_clear (&followed->other);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Followed, followed_clear)

/* Plans of one run followed by runs whose every step is longer by some, in all variants.
 */
static void
test_other_lengths (void)
{
  for (int variant = 0; variant < 8; variant++)
    for (uint32_t longer = 0; longer < 500; longer += 97)
      {
        const TestSteps made = { 8, 12, variant & 1, variant & 2, variant & 4, 0 };
        const TestSteps other = { 8, 12, variant & 1, variant & 2, variant & 4, longer };
        Followed f =
            followed_new (test_steps_trace (&made), test_steps_trace (&other), 4500);
        uint64_t asked_bytes = 0;

        for (size_t i = 0; i < f.other.blocks->n_blocks; i++)
          asked_bytes += f.other.blocks->blocks[i].size_bytes;
        /* Two requests of five have no law: they miss, or are taken for others. */
        g_assert_cmpuint (f.layout->n_hits, >, f.layout->n_misses);
        g_assert_cmpuint (f.layout->miss_bytes, <, asked_bytes / 8);
        g_assert_cmpuint (f.layout->n_ooms, ==, 0);
        followed_clear (&f);
      }
}

/* A loop that zeroes its gradients when it has its batch takes no more for them than one
 * that does so a few requests before. */
static void
test_zeroes_later (void)
{
  uint64_t reserved[2], n_misses[2];

  for (int is_later = 0; is_later < 2; is_later++)
    {
      const TestSteps made = { 8, 12, .drops_late = true, .drops_later = is_later };
      const TestSteps other = { 8, 12, .drops_late = true, .drops_later = is_later,
                                .longer = 97 };
      Followed f =
          followed_new (test_steps_trace (&made), test_steps_trace (&other), 4500);
      uint32_t n_swept = 0; /* although they live into the next step */

      for (uint32_t i = 0; i < f.plan->lengths->n_slots; i++)
        n_swept += f.plan->lengths->slots[i].place == TESSERA_PLACE_SWEPT &&
                   f.plan->lengths->slots[i].crosses;
      g_assert_cmpuint (n_swept, ==, is_later ? 12 : 0);
      reserved[is_later] = f.layout->peak_reserved_bytes;
      n_misses[is_later] = f.layout->n_misses;
      followed_clear (&f);
    }
  g_assert_cmpuint (reserved[1], <=, reserved[0]);
  g_assert_cmpuint (n_misses[1], <=, n_misses[0]);
}

/* Two places as large as in the longest step would be nobody's while steps are shorter:
 * what each step keeps until the next has its own gets none, and is known to. */
static void
test_outlives (void)
{
  const TestSteps made = { 8, 12, .kept_bytes = 20 << 10 };
  g_auto (Followed) f =
      followed_new (test_steps_trace (&made), test_steps_trace (&made), 8000);
  uint32_t n = 0;

  for (uint32_t i = 0; i < f.plan->lengths->n_slots; i++)
    n += tessera_lengths_slot_is_kept (&f.plan->lengths->slots[i]);
  g_assert_cmpuint (n, ==, 1);
  /* The first step is not known yet. */
  g_assert_cmpuint (f.layout->n_planned_misses, >=, 7);
  g_assert_cmpuint (f.layout->peak_reserved_bytes, <=,
                    f.expandable->peak_reserved_bytes / 20 * 21);
}

/* Where the loss takes more than that, it has two places in turns, which are others'
 * meanwhile: little more is reserved than is alive, in steps that are longer than any seen,
 * too. */
static void
test_turns (void)
{
  for (uint32_t longer = 0; longer < 500; longer += 97)
    {
      const TestSteps made = { 8, 12, .kept_bytes = 4 << 10, .loss_bytes = 8 << 10 };
      const TestSteps other = { 8, 12, .kept_bytes = 4 << 10, .loss_bytes = 8 << 10,
                                .longer = longer };
      g_auto (Followed) f =
          followed_new (test_steps_trace (&made), test_steps_trace (&other), 0);
      uint32_t n = 0;

      for (uint32_t i = 0; i < f.plan->lengths->n_slots; i++)
        n += tessera_lengths_slot_turns (&f.plan->lengths->slots[i]);
      g_assert_cmpuint (n, ==, 1);
      g_assert_cmpuint (f.layout->n_planned_misses, ==, 0);
      g_assert_cmpuint (
          f.layout->peak_reserved_bytes, <=,
          tessera_blocks_bound (f.other.blocks, 0, f.other.blocks->n_events, NULL) / 20 *
              21);
    }
}

/* What a step asks for beyond its plan lies where that needs nothing any more, and not
 * beside the pool that a longer step makes. */
static void
test_strays (void)
{
  const TestSteps made = { 8, 40, .drops_late = true };
  const TestSteps other = { 8, 40, .longer = 7, .drops_late = true,
                            .stray_bytes = 10 << 20 };
  g_auto (Followed) f =
      followed_new (test_steps_trace (&made), test_steps_trace (&other), 4500);

  g_test_message ("%" G_GUINT64_FORMAT " misses, %.4f of what is allocated",
                  (guint64) f.layout->n_misses,
                  (double) f.layout->peak_reserved_bytes /
                      (double) f.layout->peak_allocated_bytes);
  g_assert_cmpuint (f.layout->n_misses, >, 0);
  g_assert_cmpuint (f.layout->peak_reserved_bytes, <,
                    f.layout->peak_allocated_bytes / 100 * 106);
}

/* A step tells its length inside a phase: what comes next in it, however like the first
 * request of another length, is the same step's. */
static void
test_reported_in_a_phase (void)
{
  const MadeOptions options = {
    .n_kinds = 1, .varies = true, .has_phases = true, .scale = 64
  };
  uint64_t n_hits = 0, n_misses = 0;

  for (guint32 seed = 0; seed < 8; seed++)
    {
      g_autoptr (GRand) random = g_rand_new_with_seed (seed);
      const MadeProgram program = made_program (random, &options);
      MadeUnit units[MADE_MAX_UNITS];
      guint counts[MADE_MAX_KINDS] = { 0 };

      made_units (random, &program, 10, units, counts);
      g_auto (TestStudied) of = test_study (made_run (random, &program, units, 12));
      g_autoptr (TesseraPlan) plan = plan_of (&of, 0);
      g_autoptr (TesseraLayout) layout = simulate (&of, TESSERA_LAYOUT_PLAN, plan);
      case_assert_no_overlap (of.blocks, layout);
      n_hits += layout->n_hits;
      n_misses += layout->n_misses;
    }
  g_test_message ("%" G_GUINT64_FORMAT " hits, %" G_GUINT64_FORMAT " misses", n_hits,
                  n_misses);
  g_assert_cmpuint (n_misses * 100, <, n_hits);
}

/* The real one: within 1 % of what is allocated, where expandable segments take 4.5 %. */
static void
test_real (void)
{
  static const char path[] = "snapshots/jobs/llama1b_var_length.pickle.gz";
  TesseraTrace *trace = test_trace_shared (path);

  if (trace == NULL)
    return;
  g_auto (Followed) f = followed_new (trace, test_trace_shared (path), 3860);
  g_assert_cmpuint (f.layout->n_misses, <, 100);
  g_assert_cmpuint (f.layout->peak_reserved_bytes, <,
                    f.layout->peak_allocated_bytes / 100 * 101);
  g_assert_cmpuint (f.layout->peak_reserved_bytes, <, f.expandable->peak_reserved_bytes);
}

/* On a device that hardly holds what is allocated: no request fails. */
static void
test_full_device (void)
{
  TesseraTrace *trace = test_trace_shared ("snapshots/jobs/llama1b_var_length.pickle.gz");
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_PLAN, .by_length = true };

  if (trace == NULL)
    return;
  g_auto (TestStudied) of = test_study (trace);
  g_autoptr (TesseraPlan) plan = plan_of (&of, 3860);
  options.plan = plan;
  for (uint64_t percent = 101; percent < 105; percent += 3)
    {
      g_autoptr (TesseraLayout) layout = NULL;

      options.device_bytes = (uint64_t) 36288 * 1024 * 1024 / 100 * percent;
      WORKS (error, tessera_simulate (of.trace, of.blocks, of.structure, &options, &error,
                                      &layout));
      g_assert_cmpuint (layout->n_ooms, ==, 0);
      g_assert_cmpuint (layout->peak_reserved_bytes, <=, options.device_bytes);
    }
}

/* A plan for lengths that the device could not hold serves those that it can. */
static void
test_longest_is_too_long (void)
{
  const TestSteps made = { 8, 12, false, false, false, 0 };
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_PLAN, .by_length = true };
  g_autoptr (TesseraLayout) endless = NULL, layout = NULL;
  TesseraLengthsNeed need;
  g_auto (TestStudied) of = test_study (test_steps_trace (&made));
  g_autoptr (TesseraPlan) plan = plan_of (&of, 45000);

  endless = simulate (&of, TESSERA_LAYOUT_PLAN, plan);
  options.plan = plan;
  options.device_bytes = endless->peak_reserved_bytes + endless->peak_reserved_bytes / 50;
  g_assert_true (tessera_lengths_measure (plan->lengths, &plan->lengths->most, &need));
  g_assert_cmpuint (need.height_bytes, >, options.device_bytes * 2);
  WORKS (error,
         tessera_simulate (of.trace, of.blocks, of.structure, &options, &error, &layout));
  g_assert_cmpuint (layout->n_ooms, ==, 0);
  g_assert_cmpuint (layout->n_hits, ==, endless->n_hits);
  case_assert_no_overlap (of.blocks, layout);
}

/* Runs that a plan suits or not reserve no more than with expandable segments, also where
 * the pool and what lies beside it would: what is idle goes back. */
static void
test_lends (void)
{
  static const TestSteps programs[] = {
    { .n_steps = 8, .n_layers = 12 },
    { .n_steps = 12, .n_layers = 12 },
    { .n_steps = 8, .n_layers = 4 },
    { .n_steps = 8, .n_layers = 12, .stray_bytes = 30 << 20 },
    { .n_steps = 8, .n_layers = 12, .kept_bytes = 640 },
  };
  guint n_more = 0;

  for (size_t made = 0; made < G_N_ELEMENTS (programs); made++)
    for (size_t other = 0; other < G_N_ELEMENTS (programs); other++)
      {
        g_auto (Followed) f = followed_new (test_steps_trace (&programs[made]),
                                            test_steps_trace (&programs[other]), 4500);

        g_assert_cmpuint (f.layout->peak_reserved_bytes, <=,
                          f.expandable->peak_reserved_bytes);
        n_more += f.layout->kept_bytes > f.expandable->peak_reserved_bytes;
      }
  g_assert_cmpuint (n_more, >, 10);
}

/* On the smallest device, what misses lies in the plan's pool before anything is flushed for it. */
static void
test_no_flush (void)
{
  const TestSteps made = { 8, 4, false, false, false, 0 };
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_PLAN, .by_length = true };
  TesseraNeed need;
  g_auto (TestStudied) of = test_study (test_steps_trace (&made));
  g_autoptr (TesseraPlan) plan = plan_of (&of, 0);

  options.plan = plan;
  WORKS (error, tessera_fit (of.trace, of.blocks, of.structure, &options, &error, &need));
  g_test_message ("%" G_GUINT64_FORMAT " flushes", need.retries);
  g_assert_cmpuint (need.smallest_bytes, <, need.endless_bytes);
  g_assert_cmpuint (need.retries, ==, 0);
}

static TesseraTrace *
trace_of_parts (uint32_t n_steps, uint32_t n_micro, int way, uint32_t seed)
{
  const TestParts made = { n_steps,
                           n_micro,
                           10,
                           .seed = seed,
                           .drops_late = way == 1,
                           .drops_never = way == 2,
                           .has_small_gradients = way == 3 };

  return test_parts_trace (&made);
}

/* Micro-batches of a length each: plans of one run followed by others, of more steps and
 * of other lengths. Nothing misses but what is longer than all that the plan is for. */
static void
test_parts (void)
{
  for (uint32_t i = 0; i < 24; i++)
    {
      uint32_t n_micro = 2 + i % 3;
      int way = (int) (i / 3 % 4);
      g_auto (Followed) f =
          followed_new (trace_of_parts (5, n_micro, way, i),
                        trace_of_parts (9, n_micro, way, 100 + i), 2000);

      g_assert_nonnull (f.plan->lengths->cut_phase);
      g_assert_cmpuint (f.layout->n_misses, ==, 0);
      g_assert_cmpuint (f.layout->peak_reserved_bytes, <=,
                        f.layout->peak_allocated_bytes / 100 * 103);
      g_assert_cmpuint (f.layout->peak_reserved_bytes, <=,
                        f.expandable->peak_reserved_bytes);
    }
}

/* What the plan knows no phase of, an evaluation, lies in the pool from its first request
 * on: beside it, the same memory would be held twice. */
static void
test_evaluations (void)
{
  const TestParts made = { 6, 3, 10, .seed = 1, .evaluates = true };
  const TestParts other = { 9, 3, 10, .seed = 2, .evaluates = true };
  g_auto (Followed) f =
      followed_new (test_parts_trace (&made), test_parts_trace (&other), 2000);
  size_t n_outside = 0;

  for (size_t i = 0; i < f.other.blocks->n_blocks; i++)
    n_outside += f.layout->addr[i] - f.layout->pool_addr >= f.layout->peak_reserved_bytes;
  g_assert_cmpuint (n_outside, ==, 0);
}

/* Another number of micro-batches than the plan was made from. */
static void
test_other_parts (void)
{
  for (uint32_t n_micro = 1; n_micro < 6; n_micro++)
    {
      g_auto (Followed) f = followed_new (trace_of_parts (5, 3, 0, 1),
                                          trace_of_parts (6, n_micro, 0, 2), 2000);

      g_assert_cmpuint (f.layout->n_misses, ==, 0);
    }
}

/* First parts that are longer than all that the plan is for leave their gradients
 * elsewhere: the parts behind them are planned as ever. */
static void
test_long_parts (void)
{
  uint64_t n_hits = 0, n_misses = 0;
  double reserved = 0;

  for (uint32_t i = 0; i < 8; i++)
    {
      Followed f =
          followed_new (trace_of_parts (5, 3, 0, i), trace_of_parts (9, 3, 0, 50 + i), 0);

      tessera_layout_free (f.layout);
      tessera_layout_free (f.expandable);
      f.plan->lengths->most.length = 900;
      follow (&f);
      g_assert_cmpuint (f.layout->n_ooms, ==, 0);
      n_hits += f.layout->n_hits;
      n_misses += f.layout->n_misses;
      reserved += (double) f.layout->peak_reserved_bytes /
                  (double) f.layout->peak_allocated_bytes / 8;
      followed_clear (&f);
    }
  g_assert_cmpuint (n_misses, <, n_hits);
  /* 1.29 where parts behind an unplanned one wait for gradients that are elsewhere. */
  g_assert_cmpfloat (reserved, <, 1.27);
}

/* Beyond what the plan is for a step is planned as far as laws go, and no farther:
 * served, and nothing overlaps. */
static void
test_beyond (void)
{
  const TestSteps made = { 8, 12, true, true, true, 0 };
  const TestSteps other = { 8, 12, true, true, true, 3000 };
  g_auto (Followed) f =
      followed_new (test_steps_trace (&made), test_steps_trace (&other), 3860);

  g_assert_cmpuint (f.layout->n_ooms, ==, 0);
  g_assert_cmpuint (f.layout->n_misses, >, 0);
}

/* The plan of a made trace under one edit of a block of its third step. Where there is a
 * cap it is of a share of what the plan takes otherwise. */
static TesseraPlan *
plan_with (TestStudied *of, TesseraEditKind kind, uint32_t block)
{
  TesseraEdit edit = { .kind = kind,
                       .name = (char *) "mine",
                       .lifetime_class = TESSERA_CLASS_SCOPED };
  const TesseraLengthsOptions options = { .edits = &edit, .n_edits = 1 };
  TesseraPlan *plan = plan_of (of, 0);

  tessera_selector_init (&edit.what);
  edit.what.blocks = &block;
  edit.what.n_blocks = 1;
  if (kind == TESSERA_EDIT_CAP)
    edit.at = plan->height_bytes / 1024 * 512;
  tessera_lengths_free (plan->lengths);
  WORKS (error, tessera_lengths_plan (of->trace, of->blocks, of->structure, of->laws,
                                      &options, &error, &plan->lengths));
  g_assert_nonnull (plan->lengths);
  return plan;
}

/* With an edit of any kind nothing misses that did not miss before, but what the plan
 * leaves to others: that misses in each step. */
static void
test_edits (void)
{
  const TestSteps made = { 8, 12, false, false, false, 0 };
  uint64_t n_misses = 0;
  g_auto (TestStudied) of = test_study (test_steps_trace (&made));

  for (TesseraEditKind kind = TESSERA_EDIT_MERGE; kind <= TESSERA_EDIT_CAP; kind++)
    {
      g_autoptr (TesseraPlan) plan = plan_with (&of, kind, 19);
      g_autoptr (TesseraLayout) layout = simulate (&of, TESSERA_LAYOUT_PLAN, plan);
      bool leaves = kind == TESSERA_EDIT_DYNAMIC || kind == TESSERA_EDIT_CAP;

      case_assert_no_overlap (of.blocks, layout);
      if (kind == TESSERA_EDIT_MERGE)
        n_misses = layout->n_misses;
      g_assert_cmpuint (layout->n_misses - layout->n_planned_misses, <=, n_misses);
      if (leaves)
        g_assert_cmpuint (layout->n_planned_misses, >=, made.n_steps);
      else
        g_assert_cmpuint (layout->n_planned_misses, ==, 0);
    }
}

/* A plan without lengths can't be followed by them. */
static void
test_refused (void)
{
  const TestSteps made = { 8, 12, false, false, false, 0 };
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_PLAN, .by_length = true };
  TesseraError error = { 0 };
  TesseraLayout *layout;
  g_auto (TestStudied) of = test_study (test_steps_trace (&made));
  g_autoptr (TesseraPlan) plan = plan_of (&of, 4500);

  tessera_lengths_free (plan->lengths);
  plan->lengths = NULL;
  options.plan = plan;
  GIVES (TESSERA_REFUSED,
         tessera_simulate (of.trace, of.blocks, of.structure, &options, &error, &layout));
  g_assert_cmpstr (error.text, ==, "the plan has nothing for steps of other lengths");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/by-length/other-lengths", test_other_lengths);
  g_test_add_func ("/by-length/zeroes-later", test_zeroes_later);
  g_test_add_func ("/by-length/outlives", test_outlives);
  g_test_add_func ("/by-length/turns", test_turns);
  g_test_add_func ("/by-length/strays", test_strays);
  g_test_add_func ("/by-length/told-in-a-phase", test_reported_in_a_phase);
  g_test_add_func ("/by-length/real", test_real);
  g_test_add_func ("/by-length/full-device", test_full_device);
  g_test_add_func ("/by-length/longest-is-too-long", test_longest_is_too_long);
  g_test_add_func ("/by-length/lends", test_lends);
  g_test_add_func ("/by-length/no-flush", test_no_flush);
  g_test_add_func ("/by-length/parts", test_parts);
  g_test_add_func ("/by-length/evaluations", test_evaluations);
  g_test_add_func ("/by-length/other-parts", test_other_parts);
  g_test_add_func ("/by-length/long-parts", test_long_parts);
  g_test_add_func ("/by-length/beyond", test_beyond);
  g_test_add_func ("/by-length/edits", test_edits);
  g_test_add_func ("/by-length/refused", test_refused);
  return g_test_run ();
}
