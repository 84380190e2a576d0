/*
 * Plans: what folds and what does not, against the real trace block by block; the rule of
 * streams against a naive reading of it; height against the bound on the shared files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/planner.h"

#include "planner/plan/test-case.h"

#include <string.h>

/* The batch needs a spare, the loss wraps; parameters are the start. */
static void
test_fold (void)
{
  g_auto (PlanCase) c = plan_case_new (test_trace_loop (5, 6, true), &plan_all_steps);
  size_t n_spares = 0, n_wraps = 0;

  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
  g_assert_cmpuint (c.plan->n_sections, ==, 2);
  g_assert_cmpuint (c.plan->sections[0].n_slots, ==, 6);
  g_assert_cmpuint (c.plan->sections[1].n_slots, ==, 6 + 2 + 1);
  for (size_t i = 0; i < c.plan->n_slots; i++)
    {
      n_spares += c.plan->slots[i].ordinal == TESSERA_NONE;
      n_wraps += c.plan->slots[i].wraps;
    }
  g_assert_cmpuint (n_spares, ==, 1);
  g_assert_cmpuint (n_wraps, >=, 2); /* the loss and the spare */
  g_assert_cmpuint (c.plan->height_bytes, ==, c.plan->bound_bytes);
  plan_case_check (&c, 0, 5);
}

/* What comes before the first and after the last of the steps has sections of its own. */
static void
test_end (void)
{
  TesseraTrace *trace = test_trace_loop (4, 6, true);

  test_free (trace, 0x40000000, 4);
  for (uint64_t i = 0; i < 5; i++)
    test_alloc (trace, 0x50000000 + (i << 20), 512 * (100 + i));
  g_auto (PlanCase) c = plan_case_new (trace, &plan_all_steps);
  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
  g_assert_cmpuint (c.plan->n_sections, ==, 3);
  g_assert_cmpuint (c.plan->sections[2].n_slots, ==, 5);
  plan_case_check (&c, 0, 4);
}

/* An evaluation after the last of equal steps, before another kind of step: it is no part
 * of any of them, and moves none of their requests. */
static void
test_gap_behind (void)
{
  TesseraTrace *trace = test_trace_loop (4, 6, true);
  const uint32_t per_step = 8;

  for (uint64_t i = 0; i < 9; i++)
    {
      test_alloc (trace, 0x50000000 + (i << 20), 512 * (100 + i));
      test_free (trace, 0x50000000 + (i << 20), 512 * (100 + i));
    }
  uint32_t begin = (uint32_t) trace->n_events;
  test_alloc (trace, 0x60000000, 512);
  test_range (trace, TESSERA_RANGE_STEP, "step 4", begin, (uint32_t) trace->n_events);
  tessera_trace_settle_ranges (trace);
  g_auto (PlanCase) c = plan_case_new (trace, &plan_all_steps);
  g_assert_cmpuint (c.structure->n_steps, ==, 5);
  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
  g_assert_cmpuint (c.plan->n_sections, ==, 3);
  g_assert_cmpuint (c.plan->sections[1].n_slots, ==, per_step + 1); /* and a spare */
  g_assert_cmpuint (c.plan->sections[2].n_slots, ==, 10);
  plan_case_check (&c, 0, 4);
}

static TesseraTrace *
leaking_loop (void)
{
  TesseraTrace *trace = test_trace_new ();

  for (uint64_t s = 0; s < 4; s++)
    {
      uint32_t begin = (uint32_t) trace->n_events;

      test_alloc (trace, (s + 1) << 30, 5000);
      test_alloc (trace, 0x1000, 800);
      test_free (trace, 0x1000, 800);
      test_step (trace, (uint32_t) s, begin);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

static void
test_whole (void)
{
  PlanCase c = plan_case_new (leaking_loop (), &plan_all_steps);

  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_SAME_BATCHES);
  g_assert_nonnull (strstr (c.plan->follow_reason, "keep some"));
  g_assert_cmpuint (c.plan->n_sections, ==, 1);
  plan_case_check (&c, 0, 0);
  plan_case_clear (&c);

  c = plan_case_new (test_trace_random (5, 300, 1), &plan_all_steps);
  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_SAME_BATCHES);
  g_assert_nonnull (strstr (c.plan->follow_reason, "no step"));
  g_assert_cmpuint (c.plan->bound_bytes, ==,
                    tessera_blocks_bound (c.blocks, 0, c.blocks->n_events, NULL));
  plan_case_check (&c, 0, 0);
  plan_case_clear (&c);
}

/* A plan of an instance is nobody's; an empty trace has none. */
static void
test_odd (void)
{
  TesseraTrace *trace = test_trace_random (5, 30, 1);
  TesseraError error = { 0 };

  trace->alignment_bytes = 1;
  PlanCase c = plan_case_new (trace, &plan_all_steps);
  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_NO);
  plan_case_clear (&c);

  trace = test_trace_new ();
  TesseraBlocks *blocks = tessera_blocks_new (trace);
  GIVES (TESSERA_INVALID, tessera_check_blocks (blocks, &error));
  g_assert_nonnull (strstr (error.text, "the trace holds no events"));
  tessera_blocks_free (blocks);
  tessera_trace_free (trace);

  trace = test_trace_new ();
  test_held (trace, 0x1000, 700, false);
  test_event (trace, TESSERA_SNAPSHOT, 0, 0, 0);
  c = plan_case_new (trace, &plan_all_steps);
  g_assert_cmpuint (c.plan->n_slots, ==, 1);
  g_assert_cmpuint (c.plan->slots[0].ordinal, ==, TESSERA_NONE);
  g_assert_cmpuint (c.plan->height_bytes, ==, 1024);
  plan_case_clear (&c);
}

static void
test_steps (void)
{
  const TesseraPlanOptions some = { .first_step = 1, .last_step = 2 };
  const TesseraPlanOptions alone = { .first_step = 1, .last_step = 1 };
  const TesseraPlanOptions none = { .first_step = 1, .last_step = 9 };
  const TesseraPlanOptions backwards = { .first_step = 3, .last_step = 2 };
  PlanCase c = plan_case_new (test_trace_loop (5, 6, true), &some);
  TesseraError error = { 0 };
  TesseraPlan *refused;

  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
  g_assert_cmpuint (c.plan->n_positions, ==, c.structure->steps[1].end_index);
  GIVES (TESSERA_INVALID,
         tessera_plan_trace (c.trace, c.blocks, c.structure, &none, &error, &refused));
  g_assert_null (refused);
  g_assert_nonnull (strstr (error.text, "steps 0 to 4"));
  error = (TesseraError){ 0 };
  GIVES (TESSERA_INVALID, tessera_plan_trace (c.trace, c.blocks, c.structure, &backwards,
                                              &error, &refused));
  plan_case_clear (&c);

  /* One step says nothing of the next. */
  c = plan_case_new (test_trace_loop (5, 6, true), &alone);
  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_SAME_BATCHES);
  g_assert_nonnull (strstr (c.plan->follow_reason, "one step was asked for"));
  g_assert_nonnull (strstr (c.plan->follow_reason, "same order"));
  plan_case_clear (&c);
}

/* Events and ranges in no order at all: there is a plan, or a reason against it. */
static void
test_nonsense (void)
{
  static const char *const names[] = { "step 1", "forward", "Optimizer.step#A",
                                       "layers.0", "Optimizer.zero_grad#A" };

  for (uint32_t seed = 1; seed <= 300; seed++)
    {
      TesseraTrace *trace = test_trace_new ();
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      const TesseraPlanOptions options = { .first_step = seed % 3 ? -1 : 1,
                                           .last_step = -1 };
      TesseraError error = { 0 };
      TesseraStatus status;

      for (int i = 0; i < 12; i++)
        {
          uint32_t begin = (uint32_t) g_rand_int_range (rand, 0, 70);

          test_range (trace, (TesseraRangeKind) g_rand_int_range (rand, 0, 4),
                      names[g_rand_int_range (rand, 0, G_N_ELEMENTS (names))], begin,
                      begin + (uint32_t) g_rand_int_range (rand, 0, 30));
        }
      for (int i = 0; i < 60; i++)
        test_event (trace, (TesseraAction) g_rand_int_range (rand, 1, 11),
                    (uint64_t) g_rand_int_range (rand, 0, 6) << 12,
                    (uint64_t) g_rand_int_range (rand, 0, 9) << 9,
                    (uint16_t) g_rand_int_range (rand, 0, 2));
      tessera_trace_settle_ranges (trace);
      g_auto (PlanCase) c = plan_case_look (trace);
      status =
          tessera_plan_trace (trace, c.blocks, c.structure, &options, &error, &c.plan);
      g_assert_true (status == TESSERA_OK || (status == TESSERA_INVALID && !c.plan));
    }
}

static void
test_giant (void)
{
  TesseraTrace *trace = test_trace_new ();
  TesseraError error = { 0 };

  test_alloc (trace, 0x1000, UINT64_MAX);
  test_alloc (trace, 0x2000, UINT64_MAX);
  g_auto (PlanCase) c = plan_case_look (trace);
  GIVES (TESSERA_REFUSED, tessera_plan_trace (trace, c.blocks, c.structure,
                                              &plan_all_steps, &error, &c.plan));
  g_assert_null (c.plan);
  g_assert_cmpuint (error.text[0], !=, '\0');
}

/* Equal whenever it is asked for. */
static void
test_digest (void)
{
  g_auto (PlanCase) c = plan_case_new (test_trace_random (11, 900, 2), &plan_all_steps);
  g_auto (PlanCase) again =
      plan_case_new (test_trace_random (11, 900, 2), &plan_all_steps);

  g_assert_cmpuint (c.plan->slot_digest, ==, again.plan->slot_digest);
}

static void
test_streams (void)
{
  for (uint32_t seed = 1; seed <= 12; seed++)
    {
      g_auto (PlanCase) c =
          plan_case_new (test_trace_random (seed, 200, 3), &plan_all_steps);

      plan_case_check (&c, 0, 0);
    }
}

/* Of one stream small and large share addresses in any order. */
static void
test_one_stream (void)
{
  TesseraTrace *trace = test_trace_new ();

  test_alloc (trace, 1 << 30, 3 << 20);
  test_free (trace, 1 << 30, 3 << 20);
  test_alloc (trace, 2 << 20, 1 << 20);
  test_alloc (trace, 4 << 20, 512);
  g_auto (PlanCase) c = plan_case_new (trace, &plan_all_steps);
  plan_case_check (&c, 0, 0);
  g_assert_cmpuint (c.plan->height_bytes, ==, 3 << 20);
}

/* As a run of ours records it: small blocks and large ones, in waves of each. */
static TesseraTrace *
recorded_trace (uint32_t seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  TesseraTrace *trace = test_trace_new ();
  uint64_t sizes[48] = { 0 };

  OK (tessera_trace_set_meta (trace, "policy", "native"));
  for (uint32_t n = 0; n < 300; n++)
    {
      uint64_t i = (uint64_t) g_rand_int_range (rand, 0, G_N_ELEMENTS (sizes));
      bool is_small = n / 50 % 2 == 0 || g_rand_int_range (rand, 0, 4) == 0;
      uint64_t units = (uint64_t) (is_small ? g_rand_int_range (rand, 1024, 2049)
                                            : g_rand_int_range (rand, 2049, 6000));

      if (sizes[i] > 0)
        test_free (trace, (i + 1) << 30, sizes[i]);
      sizes[i] = sizes[i] > 0 ? 0 : units * TEST_UNIT;
      if (sizes[i] > 0)
        test_alloc (trace, (i + 1) << 30, sizes[i]);
    }
  return trace;
}

/* A recording of one stream is planned for a run that may bring another: ranges pass
 * between small and large, where that is worth it, only once they are open. */
static void
test_recorded (void)
{
  uint32_t n_shared = 0;

  for (uint32_t seed = 1; seed <= 12; seed++)
    {
      g_auto (PlanCase) c = plan_case_new (recorded_trace (seed), &plan_all_steps);

      plan_case_check (&c, 0, 0);
      for (uint32_t a = 0; a < c.plan->n_slots; a++)
        for (uint32_t b = 0; b < a; b++)
          n_shared += (c.plan->slots[a].block_bytes <= 1 << 20) !=
                          (c.plan->slots[b].block_bytes <= 1 << 20) &&
                      plan_case_shares (&c.plan->slots[a], &c.plan->slots[b]);
    }
  g_assert_cmpuint (n_shared, >, 0);
}

/* A step for each letter of @kinds; equal letters ask for the same. */
static TesseraTrace *
steps_of_kinds (const char *kinds)
{
  TesseraTrace *trace = test_trace_new ();

  test_alloc (trace, 1 << 20, 4096);
  for (uint32_t s = 0; kinds[s]; s++)
    {
      uint32_t begin = (uint32_t) trace->n_events;

      for (uint64_t i = 2; i < 6; i++)
        test_alloc (trace, i << 20, 512 * (uint64_t) kinds[s]);
      for (uint64_t i = 2; i < 6; i++)
        test_free (trace, i << 20, 512 * (uint64_t) kinds[s]);
      test_step (trace, s, begin);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

/* Most steps are alike although few are so in a row; two alike among many are chance. */
static void
test_interrupted (void)
{
  g_auto (PlanCase) often =
      plan_case_new (steps_of_kinds ("xaabaacaad"), &plan_all_steps);
  g_auto (PlanCase) chance =
      plan_case_new (steps_of_kinds ("xaabcdefgh"), &plan_all_steps);

  g_assert_cmpint (often.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
  g_assert_cmpint (chance.plan->followable, !=, TESSERA_FOLLOWABLE_YES);
}

/* Steps of random allocations on three streams, in sizes of both classes, all alike; a
 * few blocks live on into the next step. */
static TesseraTrace *
streams_loop (uint32_t seed)
{
  enum
  {
    N_STEPS = 4,
    N_BLOCKS = 24
  };
  TesseraTrace *trace = test_trace_new ();

  for (uint64_t s = 0; s < N_STEPS; s++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      uint32_t begin = (uint32_t) trace->n_events;

      for (uint64_t i = 0; i < N_BLOCKS; i++)
        {
          uint64_t size = (uint64_t) g_rand_int_range (rand, 1, 9) << (i % 3 ? 18 : 9);

          /* Who ends now: born in this step or the one before. */
          for (uint64_t k = 0; k < N_BLOCKS; k++)
            {
              uint64_t end = k + 1 + (k * 7 + seed) % (N_BLOCKS - 1);
              uint64_t addr = (s - (end >= N_BLOCKS)) * N_BLOCKS + k + 1;

              if (end % N_BLOCKS != i || (end >= N_BLOCKS && s == 0))
                continue;
              for (int action = TESSERA_FREE_REQUESTED; action <= TESSERA_FREE_COMPLETED;
                   action++)
                test_event (trace, (TesseraAction) action, addr << 30, 512,
                            (uint16_t) ((k + seed) % 3));
            }
          test_event (trace, TESSERA_ALLOC, (s * N_BLOCKS + i + 1) << 30, size,
                      (uint16_t) ((i + seed) % 3));
        }
      test_step (trace, (uint32_t) s, begin);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

static void
test_streams_fold (void)
{
  for (uint32_t seed = 1; seed <= 40; seed++)
    {
      g_auto (PlanCase) c = plan_case_new (streams_loop (seed), &plan_all_steps);

      g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
      plan_case_check (&c, 0, 4);
    }
}

static bool
stop_at_once (void *user, double fraction)
{
  return false;
}

static void
test_cancel (void)
{
  const TesseraProgress progress = { stop_at_once, NULL };
  const TesseraPlanOptions options = { .first_step = -1,
                                       .last_step = -1,
                                       .progress = &progress };
  g_auto (PlanCase) c = plan_case_look (test_trace_random (4, 3000, 1));
  TesseraError error = { 0 };

  GIVES (TESSERA_CANCELLED,
         tessera_plan_trace (c.trace, c.blocks, c.structure, &options, &error, &c.plan));
  g_assert_null (c.plan);
}

/* The most that height may be above the bound of the trace itself, in parts of 10,000. */
typedef struct
{
  const char *path;
  uint64_t parts;
} Shared;

static const Shared shared[] = {
  { "sample/finetune-oom.pickle", 5 },
  { "sample/pretrain-gpt.pickle", 5 },
  { "snapshots/real/cnn-small.pickle", 5 },
  { "snapshots/real/finetune-2.1-no-time.pickle", 5 },
  { "snapshots/real/large-ctx256-fullstep.pickle", 5 },
  { "snapshots/real/medium-seq128-train.pickle", 5 },
  { "snapshots/real/medium-seq512-train.pickle", 5 },
  { "snapshots/real/xl-ctx128-forward-amp.pickle", 5 },
  { "snapshots/jobs/meg_pp4vp2_tp2_rcfull.pickle.gz", 50 },
  { "snapshots/jobs/moe64_perm_moeck.pickle.gz", 50 },
  { "snapshots/jobs/unet_var.pickle.gz", 50 },
  { "snapshots/jobs/llama1b_var_length.pickle.gz", 50 },
  { "snapshots/jobs/llama1b_var_length_batch.pickle.gz", 50 },
  { "snapshots/jobs/hf_qwen3moe_eager.pickle.gz", 50 },
};

static void
test_shared (gconstpointer user)
{
  const Shared *file = user;
  TesseraTrace *trace = test_trace_shared (file->path);

  if (!trace)
    return;
  g_auto (PlanCase) c = plan_case_new (trace, &plan_all_steps);
  uint64_t bound = tessera_blocks_bound (c.blocks, 0, c.blocks->n_events, NULL);
  g_test_message ("%s: bound %" G_GUINT64_FORMAT " height %" G_GUINT64_FORMAT " (%s; %s)",
                  file->path, bound, c.plan->height_bytes, c.plan->strategy,
                  c.plan->follow_reason);
  g_assert_cmpuint (c.plan->height_bytes, >=, bound);
  g_assert_cmpuint (c.plan->height_bytes - bound, <=, bound / 10000 * file->parts);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/plan/fold", test_fold);
  g_test_add_func ("/planner/plan/end", test_end);
  g_test_add_func ("/planner/plan/gap-behind", test_gap_behind);
  g_test_add_func ("/planner/plan/whole", test_whole);
  g_test_add_func ("/planner/plan/odd", test_odd);
  g_test_add_func ("/planner/plan/steps", test_steps);
  g_test_add_func ("/planner/plan/nonsense", test_nonsense);
  g_test_add_func ("/planner/plan/giant", test_giant);
  g_test_add_func ("/planner/plan/digest", test_digest);
  g_test_add_func ("/planner/plan/streams", test_streams);
  g_test_add_func ("/planner/plan/recorded", test_recorded);
  g_test_add_func ("/planner/plan/interrupted", test_interrupted);
  g_test_add_func ("/planner/plan/one-stream", test_one_stream);
  g_test_add_func ("/planner/plan/streams-fold", test_streams_fold);
  g_test_add_func ("/planner/plan/cancel", test_cancel);
  for (size_t i = 0; i < G_N_ELEMENTS (shared); i++)
    {
      g_autofree char *path = g_strdup_printf ("/planner/plan/%s", shared[i].path);

      g_test_add_data_func (path, &shared[i], test_shared);
    }
  return g_test_run ();
}
