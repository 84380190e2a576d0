/*
 * Steps, phases and classes of made-up traces, and what the real ones are known to hold.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/modules.h"
#include "planner/structure.h"

#include "db/plan.h"
#include "planner/plan/test-case.h"

#include <string.h>

static void
test_ranges (void)
{
  g_auto (PlanCase) c = plan_case_look (test_trace_loop (4, 3, true));
  const TesseraStructure *s = c.structure;

  g_assert_cmpint (s->steps_from, ==, TESSERA_STEPS_ANNOTATED);
  g_assert_cmpuint (s->n_steps, ==, 4);
  for (size_t i = 0; i < 4; i++)
    g_assert_cmpint (s->steps[i].number, ==, (int64_t) i);
  g_assert_cmpuint (s->steps[0].kind, ==, 0);
  g_assert_cmpuint (s->steps[1].kind, ==, 1);
  g_assert_cmpuint (s->steps[2].kind, ==, 1);
  g_assert_cmpuint (s->steps[3].kind, ==, 1);
  g_assert_cmpuint (s->n_phases, ==, 8);
  g_assert_false (s->phases_inferred);
  g_assert_cmpstr (tessera_phase_name (c.trace, &s->phases[1]), ==, "backward");
}

/* The same loop without a name: found by repetition, cut anywhere but of full length. */
static void
test_repetition (void)
{
  g_auto (PlanCase) named = plan_case_look (test_trace_loop (6, 12, true));
  g_auto (PlanCase) c = plan_case_look (test_trace_loop (6, 12, false));
  uint32_t length =
      named.structure->steps[2].end_index - named.structure->steps[2].begin_index;

  g_assert_cmpint (c.structure->steps_from, ==, TESSERA_STEPS_REPETITION);
  g_assert_cmpuint (c.structure->n_steps, >=, 4);
  g_assert_cmpfloat (c.structure->confidence, >=, 0.99);
  for (size_t i = 1; i < c.structure->n_steps; i++)
    g_assert_cmpuint (c.structure->steps[i].end_index - c.structure->steps[i].begin_index,
                      ==, length);
}

/* One pass of equal layers is no loop of steps: these keep their activations, or all lies in one call
 * of a model. */
static void
test_layers (void)
{
  TesseraTrace *checkpointed = test_trace_loop (6, 12, false);
  test_range (checkpointed, TESSERA_RANGE_PHASE, "forward", 0,
              (uint32_t) checkpointed->n_events);
  PlanCase call = plan_case_look (checkpointed);
  g_assert_cmpint (call.structure->steps_from, ==, TESSERA_STEPS_NONE);
  plan_case_clear (&call);

  TesseraTrace *trace = test_trace_new ();

  for (uint64_t l = 0; l < 40; l++)
    {
      for (uint64_t i = 0; i < 8; i++)
        test_alloc (trace, (l * 8 + i + 1) << 20, 512 * (i + 1));
      for (uint64_t i = 0; i < 6; i++)
        test_free (trace, (l * 8 + i + 1) << 20, 512 * (i + 1));
    }
  g_auto (PlanCase) c = plan_case_look (trace);
  g_assert_cmpint (c.structure->steps_from, ==, TESSERA_STEPS_NONE);
}

static void
test_random (void)
{
  g_auto (PlanCase) c = plan_case_look (test_trace_random (3, 2000, 3));

  g_assert_cmpint (c.structure->steps_from, ==, TESSERA_STEPS_NONE);
  g_assert_cmpuint (c.structure->n_steps, ==, 0);
  g_assert_cmpfloat (c.structure->confidence, ==, 0);
}

/* Without ranges of steps, the ends of optimizer steps: zero_grad right after included.
 */
static void
test_optimizer (void)
{
  TesseraTrace *trace = test_trace_new ();

  for (uint64_t i = 0; i < 40; i++)
    test_alloc (trace, (i + 1) << 20, 512 * (i % 7 + i / 10 + 1));
  test_range (trace, TESSERA_RANGE_PHASE, "Optimizer.step#AdamW.step", 6, 9);
  test_range (trace, TESSERA_RANGE_PHASE, "Optimizer.zero_grad#AdamW.zero_grad", 9, 10);
  test_range (trace, TESSERA_RANGE_PHASE, "Optimizer.step#AdamW.step", 26, 29);
  test_range (trace, TESSERA_RANGE_PHASE, "Optimizer.zero_grad#AdamW.zero_grad", 29, 30);
  tessera_trace_settle_ranges (trace);
  g_auto (PlanCase) c = plan_case_look (trace);
  g_assert_cmpuint (c.structure->n_steps, ==, 2);
  g_assert_cmpuint (c.structure->steps[0].begin_index, ==, 0);
  g_assert_cmpuint (c.structure->steps[0].end_index, ==, 10);
  g_assert_cmpuint (c.structure->steps[1].begin_index, ==, 10);
  g_assert_cmpuint (c.structure->steps[1].end_index, ==, 30);
}

/* A step that an evaluation interrupted before its first work begins anew; the last is
 * begun again with nothing in it where the program ended. Steps whose names all end with
 * the same number are all steps. */
static void
test_begun_twice (void)
{
  static const char *const again[] = { "step 4", "step 5", "step 5", "step 6", "step 7" };
  static const char *const alike[] = { "v2", "v2", "v2", "v2", "v2" };

  for (size_t k = 0; k < 2; k++)
    {
      TesseraTrace *trace = test_trace_new ();

      for (uint64_t i = 0; i < 50; i++)
        test_alloc (trace, (i + 1) << 20, 512);
      for (uint32_t i = 0; i < 5; i++)
        test_range (trace, TESSERA_RANGE_STEP, k ? alike[i] : again[i], 10 * i,
                    10 * i + 8);
      test_range (trace, TESSERA_RANGE_STEP, k ? "v2" : "step 7", 48, 48);
      tessera_trace_settle_ranges (trace);
      g_auto (PlanCase) c = plan_case_look (trace);
      g_assert_cmpuint (c.structure->n_steps, ==, k ? 5 : 3);
      for (size_t i = 0; i < c.structure->n_steps; i++)
        g_assert_cmpint (c.structure->steps[i].number, ==, (int64_t) (k ? i : i + 4));
      if (k == 0)
        g_assert_cmpuint (c.structure->steps[1].begin_index, ==, 20);
    }
}

static void
test_nesting (void)
{
  TesseraTrace *trace = test_trace_new ();

  for (uint64_t i = 0; i < 10; i++)
    test_alloc (trace, (i + 1) << 20, 512);
  test_range (trace, TESSERA_RANGE_PHASE, "fwdbwd", 0, 9);
  test_range (trace, TESSERA_RANGE_PHASE, "forward", 1, 8);
  test_range (trace, TESSERA_RANGE_OTHER, "all_gather (layers.0)", 2, 4);
  tessera_trace_settle_ranges (trace);
  g_auto (PlanCase) c = plan_case_look (trace);
  g_assert_cmpuint (c.structure->phase_of_event[0], ==, 0);
  g_assert_cmpuint (c.structure->phase_of_event[2], ==, 2);
  g_assert_cmpuint (c.structure->phase_of_event[4], ==, 1);
  g_assert_cmpuint (c.structure->phase_of_event[9], ==, TESSERA_NONE);
  const TesseraPhase *inner = &c.structure->phases[2];
  g_assert_cmpuint (inner->depth, ==, 2);
  g_assert_cmpuint (inner->parent, ==, 1);
  g_assert_cmpuint (inner->main, ==, 1);
}

static uint32_t
add_stack (TesseraTrace *trace, const char *name, const char *file)
{
  TesseraFrame frame = { 0 };
  uint32_t index, stack;

  OK (tessera_trace_intern (trace, name, strlen (name), &frame.name));
  OK (tessera_trace_intern (trace, file, strlen (file), &frame.file));
  OK (tessera_trace_add_frame (trace, &frame, &index));
  OK (tessera_trace_add_stack (trace, &index, 1, &stack));
  return stack;
}

/* Forward by its frames, backward by having none after it, optimizer by its file; an average of
 * the weights that is evaluated is none. */
static void
test_inferred (void)
{
  TesseraTrace *trace = test_trace_new ();
  uint32_t forward = add_stack (trace, "forward", "model.py");
  uint32_t optimizer = add_stack (trace, "_multi_tensor_adamw", "torch/optim/adamw.py");
  uint32_t average = add_stack (trace, "forward", "torch/optim/swa_utils.py");

  for (uint64_t i = 0; i < 40; i++)
    {
      test_alloc (trace, (i + 1) << 20, 512 * (i + 1));
      trace->events[i].stack = i < 10   ? forward
                               : i < 20 ? TESSERA_NONE
                               : i < 30 ? optimizer
                                        : average;
    }
  trace->events[5].stack = optimizer; /* a stray: smoothed away */
  g_auto (PlanCase) c = plan_case_look (trace);
  g_assert_true (c.structure->phases_inferred);
  g_assert_cmpuint (c.structure->n_phases, ==, 4);
  g_assert_cmpstr (tessera_phase_name (trace, &c.structure->phases[0]), ==, "forward");
  g_assert_cmpstr (tessera_phase_name (trace, &c.structure->phases[1]), ==, "backward");
  g_assert_cmpstr (tessera_phase_name (trace, &c.structure->phases[2]), ==, "optimizer");
  g_assert_cmpstr (tessera_phase_name (trace, &c.structure->phases[3]), ==, "forward");
  g_assert_cmpuint (c.structure->phases[1].begin_index, ==, 10);
}

/* A checkpoint makes activations again in hooks of the engine's, which free between what has
 * no stack. */
static void
test_recomputed (void)
{
  TesseraTrace *trace = test_trace_new ();
  const uint32_t forward = add_stack (trace, "forward", "model.py");
  const uint32_t again = add_stack (trace, "unpack_hook", "torch/utils/checkpoint.py");
  const uint32_t apply = add_stack (trace, "apply", "torch/autograd/function.py");

  for (uint64_t i = 0; i < 40; i++)
    {
      test_alloc (trace, (i + 1) << 20, 512 * (i + 1));
      trace->events[i].stack = i < 10   ? forward
                               : i < 20 ? TESSERA_NONE
                               : i < 30 ? again
                               : i < 31 ? apply
                                        : TESSERA_NONE;
    }
  g_auto (PlanCase) c = plan_case_look (trace);
  g_assert_cmpuint (c.structure->n_phases, ==, 2);
  g_assert_cmpstr (tessera_phase_name (trace, &c.structure->phases[0]), ==, "forward");
  g_assert_cmpstr (tessera_phase_name (trace, &c.structure->phases[1]), ==, "backward");
}

/* A stack is named by the program's line; what the engine asks for inside of a call by PyTorch has
 * none. */
static void
test_lines (void)
{
  static const char *const files[] = { "/lib/torch/autograd/graph.py",
                                       "/lib/torch/utils/checkpoint.py", "/me/train.py" };
  static const char *const names[] = { "_engine_run_backward", "backward", "main" };
  g_autoptr (TesseraTrace) trace = test_trace_new ();
  uint32_t frames[3], stack;

  for (size_t i = 0; i < 3; i++)
    {
      const uint32_t one = add_stack (trace, names[i], files[i]);

      frames[i] = trace->stack_frames[trace->stack_begin[one]];
    }
  for (uint32_t n = 1; n <= 3; n++)
    {
      OK (tessera_trace_add_stack (trace, frames, n, &stack));
      g_assert_cmpuint (tessera_line_of_stack (trace, stack), ==,
                        n == 3 ? frames[2] : TESSERA_NONE);
    }
  OK (tessera_trace_add_stack (trace, &frames[1], 1, &stack));
  g_assert_cmpuint (tessera_line_of_stack (trace, stack), ==, frames[1]);
  const uint32_t operator=
      add_stack (trace, "eager_router", "/lib/torch/_native/registry.py");
  g_assert_cmpuint (tessera_line_of_stack (trace, operator), ==, TESSERA_NONE);
}

static void
test_classes (void)
{
  g_auto (PlanCase) c = plan_case_look (test_trace_loop (4, 3, true));
  const TesseraBlock *all = c.blocks->blocks;

  for (size_t i = 0; i < 3; i++)
    g_assert_cmpint (all[i].lifetime_class, ==, TESSERA_CLASS_PERSISTENT);
  for (size_t i = 3; i < c.blocks->n_blocks; i++)
    if (all[i].size_bytes >= 8192)
      g_assert_cmpint (all[i].lifetime_class, ==, TESSERA_CLASS_SCOPED);
}

/* A block of another size in each step, and one that only some steps have. */
static void
test_dynamic (void)
{
  TesseraTrace *trace = test_trace_new ();
  size_t n_dynamic = 0;

  for (uint64_t s = 0; s < 4; s++)
    {
      uint32_t begin = (uint32_t) trace->n_events;

      for (uint64_t i = 0; i < 20; i++)
        {
          uint64_t size = i == 5 ? 512 * (s + 1) : 512 * (i + 10);

          test_alloc (trace, (i + 1) << 20, size);
          test_free (trace, (i + 1) << 20, size);
          if (i == 12 && s == 2)
            {
              test_alloc (trace, 100 << 20, 77 * 512);
              test_free (trace, 100 << 20, 77 * 512);
            }
        }
      test_step (trace, (uint32_t) s, begin);
    }
  tessera_trace_settle_ranges (trace);
  g_auto (PlanCase) c = plan_case_look (trace);
  for (size_t i = 0; i < c.blocks->n_blocks; i++)
    if (c.blocks->blocks[i].lifetime_class == TESSERA_CLASS_DYNAMIC)
      n_dynamic++;
  g_assert_cmpuint (n_dynamic, ==, 4 + 1);
}

/* The shared sample repeats from its second step on; so does its sequence without names.
 */
static void
test_shared (void)
{
  TesseraTrace *trace = test_trace_shared ("sample/pretrain-gpt.pickle");

  if (!trace)
    return;
  g_auto (PlanCase) c = plan_case_look (trace);
  g_assert_cmpuint (c.structure->n_steps, ==, 4);
  g_assert_cmpuint (c.structure->steps[1].kind, ==, c.structure->steps[3].kind);
  g_assert_cmpuint (c.structure->steps[0].kind, !=, c.structure->steps[1].kind);
  tessera_structure_free (c.structure);
  trace->n_ranges = 0;
  c.structure = tessera_structure_new (trace, c.blocks);
  g_assert_cmpint (c.structure->steps_from, ==, TESSERA_STEPS_REPETITION);
  g_assert_cmpuint (c.structure->n_steps, ==, 3);
  g_assert_true (c.structure->phases_inferred);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/structure/ranges", test_ranges);
  g_test_add_func ("/planner/structure/repetition", test_repetition);
  g_test_add_func ("/planner/structure/layers", test_layers);
  g_test_add_func ("/planner/structure/random", test_random);
  g_test_add_func ("/planner/structure/optimizer", test_optimizer);
  g_test_add_func ("/planner/structure/begun-twice", test_begun_twice);
  g_test_add_func ("/planner/structure/nesting", test_nesting);
  g_test_add_func ("/planner/structure/inferred", test_inferred);
  g_test_add_func ("/planner/structure/recomputed", test_recomputed);
  g_test_add_func ("/planner/structure/lines", test_lines);
  g_test_add_func ("/planner/structure/classes", test_classes);
  g_test_add_func ("/planner/structure/dynamic", test_dynamic);
  g_test_add_func ("/planner/structure/shared", test_shared);
  return g_test_run ();
}
