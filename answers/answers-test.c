/*
 * What blocks are, and whose: of a small training program made here, whose blocks are known.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <string.h>

#include "answers/suggestions.h"
#include "answers/whose.h"
#include "simulator/simulate.h"
#include "tests/ok.h"

#define KIB ((uint64_t) 1024)
#define N_LAYERS 4
#define N_STEPS 3

enum
{
  IN_SETUP,
  IN_LAYER,
  IN_LOSS,
  IN_EVALUATION,
  IN_OPTIMIZER,
  IN_STATE,
  IN_LOADER,
  IN_CACHE,
  IN_APPLY,
  IN_AVERAGE,
  IN_BUFFERS,
  IN_BUFFERS_BELOW,
  N_STACKS
};

/* Each stack: innermost first, file and function in turn. */
static const char *const stacks[N_STACKS][6] = {
  [IN_SETUP] = { "/site-packages/torch/nn/modules/linear.py", "Linear.__init__",
                 "/home/me/train.py", "main" },
  /* In a wrapper, which is in the stacks of all that the model asks for. */
  [IN_LAYER] = { "/site-packages/torch/nn/modules/linear.py", "Linear.forward",
                 "/home/me/model.py", "Layer.forward",
                 "/site-packages/torch/nn/parallel/distributed.py",
                 "DistributedDataParallel.forward" },
  [IN_LOSS] = { "/site-packages/torch/nn/functional.py", "cross_entropy",
                "/site-packages/transformers/loss/loss_utils.py", "ForCausalLMLoss",
                "/home/me/train.py", "main" },
  [IN_EVALUATION] = { "/site-packages/torch/nn/functional.py", "cross_entropy",
                      "/home/me/evaluate.py", "main" },
  [IN_OPTIMIZER] = { "/site-packages/torch/optim/adam.py", "_multi_tensor_adam",
                     "/home/me/train.py", "main" },
  [IN_STATE] = { "/site-packages/torch/optim/adam.py", "Adam._init_group",
                 "/home/me/train.py", "main" },
  [IN_LOADER] = { "/home/me/train.py", "main" },
  [IN_CACHE] = { "/site-packages/transformers/cache_utils.py", "DynamicLayer.update",
                 "/home/me/train.py", "main" },
  [IN_APPLY] = { "/site-packages/torch/nn/modules/module.py", "Module._apply",
                 "/home/me/train.py", "main" },
  [IN_AVERAGE] = { "/site-packages/torch/optim/swa_utils.py", "AveragedModel.__init__",
                   "/home/me/train.py", "main" },
  [IN_BUFFERS] = { "/site-packages/megatron/core/distributed/param_and_grad_buffer.py",
                   "_ParamAndGradBuffer.__init__" },
  [IN_BUFFERS_BELOW] = { "/site-packages/megatron/core/distributed/"
                         "param_and_grad_buffer.py",
                         "_ParamAndGradBuffer.__init__" },
};

/* What another version of the program does. */
typedef struct
{
  uint64_t saved_bytes; /* of each layer */
  int64_t line;         /* where the layer is */
  const char *file;     /* that it is in */
} Version;

#define FIRST_VERSION                                                                    \
  (Version) { .saved_bytes = 32 * KIB, .line = 10, .file = "/home/me/model.py" }

static Version version = FIRST_VERSION;

typedef struct
{
  TesseraTrace *trace;
  GArray *expected; /* uint8_t by block, in order of birth */
  uint32_t stack[N_STACKS];
  uint64_t next;
} Program;

static uint32_t
intern (TesseraTrace *trace, const char *text)
{
  uint32_t id;

  OK (tessera_trace_intern (trace, text, strlen (text), &id));
  return id;
}

static void
add_event (
    Program *program, uint8_t action, uint64_t addr, uint64_t size_bytes, uint32_t stack)
{
  const TesseraEvent event = {
    .addr = addr, .size_bytes = size_bytes, .stack = stack, .action = action
  };

  OK (tessera_trace_add_event (program->trace, &event));
}

/* Returns: its address */
static uint64_t
make (Program *program, uint64_t size_bytes, uint32_t stack, TesseraCategory expected)
{
  const uint8_t category = (uint8_t) expected;
  const uint64_t addr = program->next;

  program->next += 1 << 24;
  add_event (program, TESSERA_ALLOC, addr, size_bytes, stack);
  g_array_append_val (program->expected, category);
  return addr;
}

static void
drop (Program *program, uint64_t addr, uint64_t size_bytes)
{
  add_event (program, TESSERA_FREE_REQUESTED, addr, size_bytes, TESSERA_NONE);
  add_event (program, TESSERA_FREE_COMPLETED, addr, size_bytes, TESSERA_NONE);
}

static uint32_t
begin (Program *program, TesseraRangeKind kind, const char *name)
{
  const TesseraRange range = { .name = intern (program->trace, name),
                               .begin_index = (uint32_t) program->trace->n_events,
                               .end_index = (uint32_t) program->trace->n_events,
                               .parent = TESSERA_NONE,
                               .kind = (uint8_t) kind };

  OK (tessera_trace_add_range (program->trace, &range));
  return (uint32_t) program->trace->n_ranges - 1;
}

static void
end (Program *program, uint32_t range)
{
  program->trace->ranges[range].end_index = (uint32_t) program->trace->n_events;
}

static void
make_stacks (Program *program)
{
  for (size_t i = 0; i < N_STACKS; i++)
    {
      uint32_t frames[3];
      size_t n = 0;

      for (; n < 3 && stacks[i][2 * n] != NULL; n++)
        {
          const bool is_layer = i == IN_LAYER && n == 1;
          const TesseraFrame frame = {
            .file = intern (program->trace, is_layer ? version.file : stacks[i][2 * n]),
            .name = intern (program->trace, stacks[i][2 * n + 1]),
            .line = is_layer                ? version.line
                    : i == IN_BUFFERS_BELOW ? 20
                                            : 10,
          };
          OK (tessera_trace_add_frame (program->trace, &frame, &frames[n]));
        }
      OK (tessera_trace_add_stack (program->trace, frames, n, &program->stack[i]));
    }
}

/* One step: a batch, layers forward, the loss, layers backward without stacks, the optimizer. */
static void
run_step (Program *program, uint32_t step)
{
  const uint32_t *stack = program->stack;
  uint64_t saved[N_LAYERS], gradients[N_LAYERS];
  g_autofree char *name = g_strdup_printf ("step %u", step);
  const uint32_t whole = begin (program, TESSERA_RANGE_STEP, name);
  const uint64_t batch = make (program, 40 * KIB, stack[IN_LOADER], TESSERA_INPUT);
  const uint32_t forward = begin (program, TESSERA_RANGE_PHASE, "forward");

  for (int i = 0; i < N_LAYERS; i++)
    {
      g_autofree char *layer = g_strdup_printf ("blocks.%d.mlp", i);
      const uint32_t module = begin (program, TESSERA_RANGE_MODULE, layer);
      const uint64_t temporary =
          make (program, 24 * KIB, stack[IN_LAYER], TESSERA_TEMPORARY_FORWARD);

      saved[i] = make (program, version.saved_bytes, stack[IN_LAYER], TESSERA_ACTIVATION);
      drop (program, temporary, 24 * KIB);
      end (program, module);
    }
  const uint64_t loss = make (program, 88 * KIB, stack[IN_LOSS], TESSERA_LOSS);
  end (program, forward);
  const uint32_t backward = begin (program, TESSERA_RANGE_PHASE, "backward");
  for (int i = N_LAYERS - 1; i >= 0; i--)
    {
      const uint64_t temporary =
          make (program, 48 * KIB, TESSERA_NONE, TESSERA_TEMPORARY_BACKWARD);

      gradients[i] = make (program, 16 * KIB, TESSERA_NONE, TESSERA_GRADIENT);
      drop (program, temporary, 48 * KIB);
      drop (program, saved[i], version.saved_bytes);
    }
  drop (program, loss, 88 * KIB);
  end (program, backward);
  const uint32_t optimizer = begin (program, TESSERA_RANGE_PHASE, "optimizer");
  const uint64_t squares =
      make (program, 64 * KIB, stack[IN_OPTIMIZER], TESSERA_TEMPORARY_OPTIMIZER);
  for (int i = 0; step == 0 && i < N_LAYERS; i++)
    make (program, 16 * KIB, stack[IN_STATE], TESSERA_OPTIMIZER_STATE);
  drop (program, squares, 64 * KIB);
  end (program, optimizer);
  for (int i = 0; i < N_LAYERS; i++)
    drop (program, gradients[i], 16 * KIB);
  drop (program, batch, 40 * KIB);
  end (program, whole);
}

static Program
run_program (void)
{
  Program program = { .expected = g_array_new (FALSE, FALSE, 1), .next = 1 << 30 };

  OK (tessera_trace_new (&program.trace));
  program.trace->starts_empty = true;
  make_stacks (&program);
  for (int i = 0; i < N_LAYERS; i++)
    make (&program, 16 * KIB, program.stack[IN_SETUP], TESSERA_PARAMETER);
  for (uint32_t step = 0; step < N_STEPS; step++)
    run_step (&program, step);
  return program;
}

#define N_MOVED 4
#define N_TOKENS 20

/* A step whose lines are not recorded: what its evaluation asks for is no optimizer's, which asked
 * for as much as often; its phase says what is made again. */
static void
run_unseen_step (Program *program)
{
  const uint32_t whole = begin (program, TESSERA_RANGE_STEP, "unseen");
  const uint32_t evaluation = begin (program, TESSERA_RANGE_PHASE, "eval");

  for (int i = 0; i < 2 * N_LAYERS; i++)
    drop (program, make (program, 16 * KIB, TESSERA_NONE, TESSERA_TEMPORARY_FORWARD),
          16 * KIB);
  end (program, evaluation);
  const uint32_t again = begin (program, TESSERA_RANGE_PHASE, "recompute");
  drop (program, make (program, 24 * KIB, TESSERA_NONE, TESSERA_TEMPORARY_RECOMPUTATION),
        24 * KIB);
  end (program, again);
  end (program, whole);
}

/* Trains, and keeps a copy of the best weights behind each evaluation: no state that came back. */
static Program
run_with_best (void)
{
  Program program = run_program ();
  uint64_t best[N_LAYERS] = { 0 };

  for (uint32_t step = N_STEPS; step < 2 * N_STEPS; step++)
    {
      run_step (&program, step);
      const uint32_t evaluation = begin (&program, TESSERA_RANGE_PHASE, "eval");
      drop (&program,
            make (&program, 40 * KIB, program.stack[IN_LAYER], TESSERA_TEMPORARY_FORWARD),
            40 * KIB);
      end (&program, evaluation);
      for (int i = 0; step + 1 < 2 * N_STEPS && i < N_LAYERS; i++)
        {
          const uint64_t before = best[i];

          best[i] = make (&program, 16 * KIB, program.stack[IN_LOADER], TESSERA_KEPT);
          if (step > N_STEPS)
            drop (&program, before, 16 * KIB);
        }
    }
  run_unseen_step (&program);
  return program;
}

/* Generates and trains: what is not in a phase has the program's own line at most. */
static void
run_round (Program *program, uint32_t step)
{
  const uint32_t *stack = program->stack;
  uint64_t state[N_MOVED];
  g_autofree char *name = g_strdup_printf ("step %u", step);
  const uint32_t whole = begin (program, TESSERA_RANGE_STEP, name);
  const uint64_t prompts = make (program, 8 * KIB, stack[IN_LOADER], TESSERA_INPUT);
  const uint32_t rollout = begin (program, TESSERA_RANGE_PHASE, "generate");
  const uint64_t cache = make (program, 512 * KIB, stack[IN_CACHE], TESSERA_KV_CACHE);
  for (int i = 0; i < N_TOKENS; i++)
    drop (program, make (program, 4 * KIB, stack[IN_LAYER], TESSERA_TEMPORARY_FORWARD),
          4 * KIB);
  drop (program, cache, 512 * KIB);
  end (program, rollout);
  const uint64_t reference = make (program, 16 * KIB, stack[IN_APPLY], TESSERA_PARAMETER);
  const uint32_t scoring = begin (program, TESSERA_RANGE_PHASE, "scoring");
  drop (program, make (program, 40 * KIB, stack[IN_LAYER], TESSERA_TEMPORARY_FORWARD),
        40 * KIB);
  end (program, scoring);
  const uint64_t logs =
      make (program, 72 * KIB, stack[IN_LOADER], TESSERA_TEMPORARY_FORWARD);
  drop (program, logs, 72 * KIB);
  const uint64_t before = make (program, 12 * KIB, stack[IN_LOADER], TESSERA_INPUT);
  drop (program, reference, 16 * KIB);
  for (int i = 0; step > 0 && i < N_MOVED; i++)
    state[i] = make (program, 16 * KIB, stack[IN_LOADER], TESSERA_OPTIMIZER_STATE);
  const uint32_t forward = begin (program, TESSERA_RANGE_PHASE, "forward");
  const uint64_t saved = make (program, 96 * KIB, stack[IN_LAYER], TESSERA_ACTIVATION);
  make (program, 2 * KIB, stack[IN_LAYER], step < 2 ? TESSERA_KEPT : TESSERA_ACTIVATION);
  end (program, forward);
  const uint64_t ratio = make (program, 20 * KIB, stack[IN_LOADER], TESSERA_LOSS);
  const uint64_t loss = make (program, 1 * KIB, stack[IN_LOADER], TESSERA_LOSS);
  const uint32_t backward = begin (program, TESSERA_RANGE_PHASE, "backward");
  const uint64_t gradient = make (program, 16 * KIB, TESSERA_NONE, TESSERA_GRADIENT);
  drop (program, ratio, 20 * KIB);
  drop (program, saved, 96 * KIB);
  end (program, backward);
  const uint64_t norm =
      make (program, 6 * KIB, stack[IN_LOADER], TESSERA_TEMPORARY_OPTIMIZER);
  drop (program, norm, 6 * KIB);
  const uint32_t optimizer = begin (program, TESSERA_RANGE_PHASE, "optimizer");
  const uint64_t squares =
      make (program, 64 * KIB, stack[IN_OPTIMIZER], TESSERA_TEMPORARY_OPTIMIZER);
  for (int i = 0; step == 0 && i < N_MOVED; i++)
    state[i] = make (program, 16 * KIB, stack[IN_STATE], TESSERA_OPTIMIZER_STATE);
  drop (program, squares, 64 * KIB);
  end (program, optimizer);
  for (int i = 0; i < N_MOVED; i++)
    drop (program, state[i], 16 * KIB);
  drop (program, gradient, 16 * KIB);
  drop (program, before, 12 * KIB);
  drop (program, loss, 1 * KIB);
  drop (program, prompts, 8 * KIB);
  end (program, whole);
}

static Program
run_rounds (void)
{
  Program program = { .expected = g_array_new (FALSE, FALSE, 1), .next = 1 << 30 };

  OK (tessera_trace_new (&program.trace));
  program.trace->starts_empty = true;
  make_stacks (&program);
  make (&program, 16 * KIB, program.stack[IN_SETUP], TESSERA_PARAMETER);
  make (&program, 16 * KIB, program.stack[IN_AVERAGE], TESSERA_KEPT);
  make (&program, 3 * KIB, program.stack[IN_BUFFERS], TESSERA_PARAMETER);
  make (&program, 5 * KIB, program.stack[IN_BUFFERS_BELOW], TESSERA_GRADIENT);
  for (uint32_t step = 0; step < N_STEPS; step++)
    run_round (&program, step);
  return program;
}

typedef struct
{
  Program program;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraLayout *layout;
  TesseraWhose whose;
} Fixture;

static void
clear (Fixture *f)
{
  tessera_whose_clear (&f->whose);
  tessera_layout_free (f->layout);
  tessera_structure_free (f->structure);
  tessera_blocks_free (f->blocks);
  tessera_trace_free (f->program.trace);
  g_array_unref (f->program.expected);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fixture, clear)

static Fixture
look_at (Program program)
{
  const TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_NATIVE };
  TesseraError error = { 0 };
  Fixture f = { .program = program };

  f.blocks = tessera_blocks_new (program.trace);
  f.structure = tessera_structure_new (program.trace, f.blocks);
  OK (tessera_simulate (program.trace, f.blocks, f.structure, &options, &error,
                        &f.layout));
  f.whose = (TesseraWhose){ .trace = program.trace,
                            .blocks = f.blocks,
                            .structure = f.structure,
                            .layout = f.layout };
  OK (tessera_whose_find (&f.whose, NULL, "mine.rules", &error));
  return f;
}

static const char *
name_at (const GArray *rows, guint i)
{
  return g_array_index (rows, TesseraOwner, i).name;
}

static void
check_categories (Program program)
{
  g_auto (Fixture) f = look_at (program);

  g_assert_cmpuint (f.blocks->n_blocks, ==, f.program.expected->len);
  for (size_t i = 0; i < f.blocks->n_blocks; i++)
    g_assert_cmpstr (tessera_category_name ((TesseraCategory) f.whose.categories[i]), ==,
                     tessera_category_name ((TesseraCategory) g_array_index (
                         f.program.expected, uint8_t, i)));
}

static void
test_categories (void)
{
  check_categories (run_program ());
  check_categories (run_with_best ());
  check_categories (run_rounds ());
}

static void
test_phase_peaks (void)
{
  static const struct
  {
    const char *name;
    uint64_t kib; /* in the last round: 40 are of the setup, 2 of each round so far */
  } expected[] = {
    { "generate", 40 + 2 * 2 + 8 + 512 + 4 },
    { "scoring", 40 + 2 * 2 + 8 + 16 + 40 },
    { "forward", 46 + 8 + 12 + 64 + 96 },
    { "backward", 46 + 8 + 12 + 64 + 96 + 21 + 16 },
    { "optimizer", 46 + 8 + 12 + 64 + 1 + 16 + 64 },
    { TESSERA_OUTSIDE_OF_PHASES, 46 + 8 + 12 + 64 + 96 + 21 },
  };
  g_auto (Fixture) f = look_at (run_rounds ());

  g_autoptr (GArray) peaks = tessera_phase_peaks (&f.whose);
  g_assert_cmpuint (peaks->len, ==, G_N_ELEMENTS (expected));
  for (guint i = 0; i < peaks->len; i++)
    {
      const TesseraPhasePeak *peak = &g_array_index (peaks, TesseraPhasePeak, i);

      g_assert_cmpstr (peak->name, ==, expected[i].name);
      g_assert_cmpuint (peak->live_bytes, ==,
                        f.layout->curves.live_bytes[peak->event_index]);
      g_assert_cmpuint (peak->live_bytes / KIB, ==, expected[i].kib);
      g_assert_cmpuint (peak->reserved_bytes, >=, peak->live_bytes);
    }
}

/* What the run said goes before what it looks like, and a person's rules before both. */
static void
test_said (void)
{
  Program program = run_program ();
  TesseraTrace *trace = program.trace;
  const TesseraTensor tensor = {
    .event_index = N_LAYERS,
    .name = intern (trace, "blocks.2.mlp.weight"),
    .addr = trace->events[2].addr,
    .kind = TESSERA_TENSOR_OPTIMIZER_STATE,
  };

  OK (tessera_trace_add_tensor (trace, &tensor));
  g_auto (Fixture) f = look_at (program);
  g_assert_cmpuint (f.whose.categories[2], ==, TESSERA_OPTIMIZER_STATE);
  g_assert_cmpuint (f.whose.categories[1], ==, TESSERA_PARAMETER);
  g_autofree char *module = tessera_owner_of (&f.whose, TESSERA_BY_MODULE, 2);
  g_assert_cmpstr (module, ==, "blocks.2.mlp");
  tessera_whose_clear (&f.whose);
  OK (tessera_whose_find (
      &f.whose, "KV cache: tensor optimizer_state\nworkspace: size 16384, born setup\n",
      "", NULL));
  g_assert_cmpuint (f.whose.categories[2], ==, TESSERA_KV_CACHE);
  g_assert_cmpuint (f.whose.categories[1], ==, TESSERA_WORKSPACE);
}

static void
test_bad_rules (void)
{
  static const char *const bad[][2] = {
    { "\n# fine\nlunch: kept\n", "mine.rules, line 3: there is no category \"lunch\"" },
    { "parameter kept\n", "line 1: a rule is CATEGORY: CONDITION" },
    { "parameter: kept today\n", "line 1: the condition \"kept today\"" },
    { "parameter: born yesterday\n", "the condition \"born yesterday\"" },
    { "parameter: spans lunch\n", "the condition \"spans lunch\"" },
    { "parameter: after\n", "the condition \"after\"" },
    { "parameter: in torch/|\n", "the condition \"in torch/|\"" },
    { "parameter: tensor of lies\n", "the condition \"tensor of lies\"" },
    { "parameter: size big\n", "the condition \"size big\"" },
    { "parameter:\n", "a rule is CATEGORY: CONDITION" },
    { "unknown: no rule holds: kept\n", "there is no category \"unknown\"" },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      TesseraError error = { 0 };

      g_assert_null (tessera_rules_new (bad[i][0], "mine.rules", &error));
      g_assert_nonnull (strstr (error.text, bad[i][1]));
    }
}

/* Under every heading rows are all that is live, at every moment. */
static void
test_sums (void)
{
  g_auto (Fixture) f = look_at (run_program ());

  for (uint32_t at = 0; at < f.blocks->n_events; at += 3)
    for (int by = 0; by < TESSERA_N_BYS; by++)
      {
        g_autoptr (GArray) rows = tessera_whose (&f.whose, (TesseraBy) by, at);
        uint64_t bytes = 0;

        for (guint i = 0; i < rows->len; i++)
          if (g_array_index (rows, TesseraOwner, i).depth == 0)
            bytes += g_array_index (rows, TesseraOwner, i).bytes;
        g_assert_cmpuint (bytes, ==, f.layout->curves.live_bytes[at]);
      }
}

static void
test_rows (void)
{
  g_auto (Fixture) f = look_at (run_program ());

  const uint32_t at = tessera_fullest (f.layout, 0, f.blocks->n_events);
  g_autoptr (GArray) modules = tessera_whose (&f.whose, TESSERA_BY_MODULE, at);
  gboolean is_folded = FALSE;
  for (guint i = 0; i < modules->len; i++)
    is_folded |= strcmp (name_at (modules, i), "blocks.0-3.mlp") == 0 &&
                 g_array_index (modules, TesseraOwner, i).n_times == N_LAYERS &&
                 g_array_index (modules, TesseraOwner, i).bytes == N_LAYERS * 32 * KIB;
  g_assert_true (is_folded);
  g_autoptr (GArray) lines = tessera_whose (&f.whose, TESSERA_BY_LINE, at);
  g_assert_cmpstr (name_at (lines, 0), ==, "train.py:10 main");
  g_assert_cmpstr (name_at (lines, 1), ==, "model.py:10 Layer.forward");
  /* Of the program and of a model's library, the innermost. */
  g_autofree char *line =
      tessera_owner_of (&f.whose, TESSERA_BY_LINE, 4 + 1 + 2 * N_LAYERS);
  g_assert_cmpstr (line, ==, "loss_utils.py:10 ForCausalLMLoss");
  g_autofree char *folded = tessera_folded_stacks (&f.whose, at);
  g_assert_nonnull (
      strstr (folded, "model.py:10 Layer.forward;linear.py:10 Linear.forward 131072\n"));
}

static const TesseraSuggestion *
find_suggestion (const GArray *suggestions, TesseraTry what)
{
  for (guint i = 0; i < suggestions->len; i++)
    if (g_array_index (suggestions, TesseraSuggestion, i).what == what)
      return &g_array_index (suggestions, TesseraSuggestion, i);
  return NULL;
}

/* The peak of a step here is in its forward pass or in its optimizer; each change is worked out by
 * hand. What steps would keep of a former one is the delete's. */
static void
test_suggestions (void)
{
  g_auto (Fixture) f = look_at (run_program ());

  const uint64_t peak = f.layout->peak_live_bytes;
  g_autoptr (GArray) suggestions = tessera_suggest (&f.whose);
  g_assert_cmpuint (suggestions->len, >, 0);
  for (guint i = 0; i < suggestions->len; i++)
    {
      const TesseraSuggestion *one = &g_array_index (suggestions, TesseraSuggestion, i);

      g_assert_cmpuint (one->wins_bytes + one->peak_bytes, ==, peak);
      g_assert_cmpuint (one->wins_bytes, >=, peak / 100);
      g_assert_true (one->sentence[0] != '\0' && one->type[0] != '\0');
    }
  /* 64 of parameters, 64 of state, 40 of the batch, 128 saved, 88 of the loss, 48 in the backward. */
  g_assert_cmpuint (peak, ==, (64 + 64 + 40 + 128 + 88 + 48 + 16) * KIB);
  const TesseraSuggestion *bits = find_suggestion (suggestions, TESSERA_TRY_8BIT);
  g_assert_cmpuint (bits->wins_bytes, ==, 48 * KIB);
  const TesseraSuggestion *host = find_suggestion (suggestions, TESSERA_TRY_OFFLOAD);
  g_assert_cmpuint (host->wins_bytes, ==, 64 * KIB);
  g_assert_cmpstr (bits->type, ==, "bitsandbytes.optim.AdamW8bit(...)");
  g_assert_true (g_str_has_suffix (host->type, "torch.optim.AdamW, fused=True)"));
  /* A layer saves what the next one starts from, and nothing else. */
  g_assert_null (find_suggestion (suggestions, TESSERA_TRY_CHECKPOINT));
  g_assert_null (find_suggestion (suggestions, TESSERA_TRY_DELETE));
  g_assert_null (find_suggestion (suggestions, TESSERA_TRY_ZERO_GRAD));
  /* The program's own optimizer is the one that is named. */
  OK (tessera_trace_set_meta (f.program.trace, "optimizer", "RMSprop"));
  g_autoptr (GArray) other = tessera_suggest (&f.whose);
  bits = find_suggestion (other, TESSERA_TRY_8BIT);
  g_assert_cmpstr (bits->type, ==, "bitsandbytes.optim.RMSprop8bit(...)");
  host = find_suggestion (other, TESSERA_TRY_OFFLOAD);
  g_assert_true (g_str_has_suffix (host->type, "torch.optim.RMSprop)"));
  /* What is in eight bits already stays so. */
  OK (tessera_trace_set_meta (f.program.trace, "state_item_bytes", "1"));
  g_autoptr (GArray) small = tessera_suggest (&f.whose);
  g_assert_null (find_suggestion (small, TESSERA_TRY_8BIT));
  g_assert_nonnull (find_suggestion (small, TESSERA_TRY_OFFLOAD));
  OK (tessera_trace_set_meta (f.program.trace, "state_item_bytes", "4"));
  /* Neither eight bits nor the host take sparse gradients, or another state than Adam's; of what is not known nothing is. */
  static const char *const alone[] = { "SparseAdam", "LBFGS", "Muon", "Adafactor",
                                       "Adadelta" };
  for (gsize i = 0; i < G_N_ELEMENTS (alone); i++)
    {
      OK (tessera_trace_set_meta (f.program.trace, "optimizer", alone[i]));
      g_autoptr (GArray) others = tessera_suggest (&f.whose);
      g_assert_null (find_suggestion (others, TESSERA_TRY_8BIT));
      g_assert_null (find_suggestion (others, TESSERA_TRY_OFFLOAD));
    }
}

/* The line that is named is one of the peak: an evaluation has a larger loss, where less is live. */
static void
test_line_of_advice (void)
{
  Program program = run_program ();
  const uint32_t evaluation = begin (&program, TESSERA_RANGE_PHASE, "eval");
  drop (&program, make (&program, 160 * KIB, program.stack[IN_EVALUATION], TESSERA_LOSS),
        160 * KIB);
  end (&program, evaluation);
  g_auto (Fixture) f = look_at (program);

  g_autoptr (GArray) suggestions = tessera_suggest (&f.whose);
  const TesseraSuggestion *chunks = find_suggestion (suggestions, TESSERA_TRY_CHUNKS);
  g_assert_nonnull (strstr (chunks->sentence, "(loss_utils.py:10 ForCausalLMLoss)"));
  /* Where the loss is Liger's, it comes in chunks already. */
  const TesseraFrame liger = {
    .file = intern (f.program.trace, "/site-packages/liger_kernel/ops/fused_linear_"
                                     "cross_entropy.py"),
    .name = intern (f.program.trace, "fused_linear_cross_entropy_forward")
  };
  uint32_t index;
  OK (tessera_trace_add_frame (f.program.trace, &liger, &index));
  g_autoptr (GArray) others = tessera_suggest (&f.whose);
  g_assert_null (find_suggestion (others, TESSERA_TRY_CHUNKS));
}

/* Two evaluations of eight layers and a result, whose graphs a variable keeps until the next one
 * has been made; @keeps: autograd does. */
static Program
run_evaluations (const char *name, gboolean keeps)
{
  enum
  {
    N_MADE = 9
  };
  Program program = run_program ();
  uint64_t made[2][N_MADE];

  for (int n = 0; n < 2; n++)
    {
      const uint32_t phase = begin (&program, TESSERA_RANGE_PHASE, name);

      for (int i = 0; i < N_MADE; i++)
        {
          made[n][i] =
              make (&program, 128 * KIB, program.stack[IN_LAYER], TESSERA_ACTIVATION);
          if (!keeps && i > 0)
            drop (&program, made[n][i - 1], 128 * KIB);
        }
      for (int i = keeps ? 0 : N_MADE - 1; n > 0 && i < N_MADE; i++)
        drop (&program, made[n - 1][i], 128 * KIB);
      end (&program, phase);
    }
  return program;
}

static void
test_evaluations (void)
{
  g_auto (Fixture) with = look_at (run_evaluations ("eval with gradients", TRUE));
  g_auto (Fixture) without = look_at (run_evaluations ("eval", FALSE));
  g_auto (Fixture) kept = look_at (run_evaluations ("eval", TRUE));

  g_autoptr (GArray) suggestions = tessera_suggest (&with.whose);
  const TesseraSuggestion *no_grad = find_suggestion (suggestions, TESSERA_TRY_NO_GRAD);
  g_assert_cmpuint (no_grad->peak_bytes, ==, without.layout->peak_live_bytes);
  g_assert_nonnull (strstr (no_grad->type, "torch.no_grad()"));
  g_autoptr (GArray) none = tessera_suggest (&without.whose);
  g_assert_null (find_suggestion (none, TESSERA_TRY_NO_GRAD));
  /* Nothing says that it was autograd that kept them. */
  g_autoptr (GArray) others = tessera_suggest (&kept.whose);
  g_assert_null (find_suggestion (others, TESSERA_TRY_NO_GRAD));
}

/* A request that failed is told by what it was for, with the line where there is one. */
static void
test_refused (void)
{
  g_auto (Fixture) f = look_at (run_program ());
  size_t loss = 0, temporary = 0;

  while (f.whose.categories[loss] != TESSERA_LOSS)
    loss++;
  while (f.whose.categories[temporary] != TESSERA_TEMPORARY_BACKWARD)
    temporary++;
  TesseraOom oom = { .event_index = f.blocks->blocks[loss].born_index,
                     .size_bytes = 88 * KIB };
  TesseraLayout layout = { .ooms = &oom, .n_ooms = 1 };
  f.whose.layout = &layout;
  g_autofree char *line = tessera_owner_of (&f.whose, TESSERA_BY_LINE, loss);
  g_autofree char *expected = g_strdup_printf ("88.00 KiB for loss and logits, %s", line);
  g_autofree char *told = tessera_describe_refused (&f.whose, oom.event_index);
  g_assert_cmpstr (told, ==, expected);
  g_assert_nonnull (strstr (told, ".py:10 "));
  g_assert_null (tessera_describe_refused (&f.whose, oom.event_index + 1));
  oom = (TesseraOom){ .event_index = f.blocks->blocks[temporary].born_index,
                      .size_bytes = 48 * KIB };
  g_autofree char *bare = tessera_describe_refused (&f.whose, oom.event_index);
  g_assert_cmpstr (bare, ==, "48.00 KiB for temporary of backward");
  g_autofree char *named = tessera_name_block (&f.whose, loss);
  g_assert_cmpstr (named, ==, line);
  g_autofree char *known = tessera_name_block (&f.whose, temporary);
  g_assert_cmpstr (known, ==, "temporary of backward");
  f.whose.layout = f.layout;
  g_autofree char *filling = tessera_describe_filling (&f.whose);
  g_assert_cmpstr (filling, ==,
                   "Fullest in step 1, backward, with 448.00 KiB: 29 % activation "
                   "(blocks.0-3), 20 % loss and logits, 14 % optimizer state.");
}

/* What a dry run found is said beside what was predicted, by as much as they differ; what won
 * nothing there is no advice. */
static void
test_tried (void)
{
  g_auto (Fixture) f = look_at (run_program ());
  g_autofree char *text = NULL;

  g_autoptr (GArray) before = tessera_suggest (&f.whose);
  const TesseraSuggestion *bits = find_suggestion (before, TESSERA_TRY_8BIT);
  g_assert_nonnull (strstr (bits->sentence, " (dry-run --try 8-bit verifies it)"));
  g_assert_cmpuint (bits->tried_bytes, ==, 0);
  for (uint64_t percent = 101; percent <= 103; percent += 2)
    {
      text = g_strdup_printf ("%" G_GUINT64_FORMAT, bits->peak_bytes * percent / 100);
      OK (tessera_trace_set_meta (f.program.trace, "tried_8-bit", text));
      g_autoptr (GArray) after = tessera_suggest (&f.whose);
      const TesseraSuggestion *tried = find_suggestion (after, TESSERA_TRY_8BIT);
      g_assert_cmpuint (tried->tried_bytes, ==, bits->peak_bytes * percent / 100);
      g_assert_cmpuint (tried->peak_bytes, ==, bits->peak_bytes);
      g_assert_cmpuint (tried->wins_bytes + tried->tried_bytes, ==,
                        f.layout->peak_live_bytes);
      g_assert_nonnull (
          strstr (tried->sentence, percent == 101 ? " (verified: " : " (but "));
      g_clear_pointer (&text, g_free);
    }
  OK (tessera_trace_set_meta (f.program.trace, "tried_8-bit",
                              "the script fails with it"));
  g_autoptr (GArray) failed = tessera_suggest (&f.whose);
  const TesseraSuggestion *untried = find_suggestion (failed, TESSERA_TRY_8BIT);
  g_assert_nonnull (
      strstr (untried->sentence, " (not verified: the script fails with it)"));
  g_assert_cmpuint (untried->wins_bytes, ==, bits->wins_bytes);
  text = g_strdup_printf ("%" G_GUINT64_FORMAT, f.layout->peak_live_bytes);
  OK (tessera_trace_set_meta (f.program.trace, "tried_8-bit", text));
  g_autoptr (GArray) last = tessera_suggest (&f.whose);
  g_assert_null (find_suggestion (last, TESSERA_TRY_8BIT));
}

/* Policies go by the smallest devices; what wins a hundredth or less is not said, and the text to
 * type is safe to paste. */
static void
test_policies (void)
{
  g_auto (Fixture) f = look_at (run_program ());
  TesseraNeeds needs = { .native_bytes = 2000,
                         .expandable_bytes = 1500,
                         .plan_bytes = 1000 };
  TesseraPlan plan = { .followable = TESSERA_FOLLOWABLE_YES };
  TesseraTrace *trace = f.program.trace;

  g_autoptr (GArray) both =
      tessera_suggest_policies (trace, &needs, &plan, "runs/a b;c.pickle.gz");
  g_assert_cmpuint (both->len, ==, 2);
  const TesseraSuggestion *row = find_suggestion (both, TESSERA_TRY_EXPANDABLE);
  g_assert_cmpuint (row->wins_bytes, ==, 500);
  g_assert_cmpstr (row->of, ==, "needed");
  g_assert_cmpstr (row->type, ==, "PYTORCH_ALLOC_CONF=expandable_segments:True");
  row = find_suggestion (both, TESSERA_TRY_PLAN);
  g_assert_cmpuint (row->wins_bytes, ==, 1000);
  g_assert_cmpuint (row->peak_bytes, ==, 1000);
  g_assert_cmpstr (row->type, ==,
                   "tessera plan 'runs/a b;c.pickle.gz' -o 'runs/a b;c.tsp' && "
                   "tessera run --plan 'runs/a b;c.tsp' -- PROGRAM");
  g_assert_null (strstr (row->sentence, "same batches"));
  plan.followable = TESSERA_FOLLOWABLE_SAME_BATCHES;
  g_autoptr (GArray) narrow = tessera_suggest_policies (trace, &needs, &plan, "a.tsr");
  row = find_suggestion (narrow, TESSERA_TRY_PLAN);
  g_assert_nonnull (strstr (row->sentence, "same batches"));
  /* What steps of the recorded lengths cannot, a plan for every length can. */
  TesseraLengths lengths = { .most = { .batch = 1, .length = 250 } };
  plan.followable = TESSERA_FOLLOWABLE_NO;
  plan.lengths = &lengths;
  g_autoptr (GArray) every = tessera_suggest_policies (trace, &needs, &plan, "a.tsr");
  row = find_suggestion (every, TESSERA_TRY_PLAN);
  g_assert_nonnull (strstr (row->sentence, "every length up to 250"));
  plan.lengths = NULL;
  g_autoptr (GArray) not_followed =
      tessera_suggest_policies (trace, &needs, &plan, "a.tsr");
  g_assert_null (find_suggestion (not_followed, TESSERA_TRY_PLAN));
  plan.followable = TESSERA_FOLLOWABLE_YES;
  trace->settings.is_expandable = true;
  needs.plan_bytes = 1485;
  g_autoptr (GArray) none = tessera_suggest_policies (trace, &needs, &plan, "a.tsr");
  g_assert_cmpuint (none->len, ==, 0);
}

static const TesseraChange *
find_change (const GArray *changes, const char *name)
{
  for (guint i = 0; i < changes->len; i++)
    if (strcmp (g_array_index (changes, TesseraChange, i).name, name) == 0)
      return &g_array_index (changes, TesseraChange, i);
  return NULL;
}

static Fixture
look_at_version (Version wanted)
{
  version = wanted;
  Fixture fixture = look_at (run_program ());
  version = FIRST_VERSION;
  return fixture;
}

/* Sums of both sides are what is live; a line that moved is the same, layers are one row. */
static void
test_changes (void)
{
  g_auto (Fixture) before = look_at_version (FIRST_VERSION);
  g_auto (Fixture) after = look_at_version (
      (Version){ .saved_bytes = 48 * KIB, .line = 14, .file = version.file });
  g_auto (Fixture) renamed = look_at_version (
      (Version){ .saved_bytes = 48 * KIB, .line = 14, .file = "/tmp/model_2.py" });
  const uint32_t old = tessera_fullest (before.layout, 0, before.blocks->n_events);
  const uint32_t new = tessera_fullest (after.layout, 0, after.blocks->n_events);
  for (int by = 0; by < TESSERA_N_BYS; by++)
    {
      g_autoptr (GArray) changes =
          tessera_changes (&before.whose, old, &after.whose, new, (TesseraBy) by);
      uint64_t before_bytes = 0, after_bytes = 0;

      for (guint i = 0; i < changes->len; i++)
        {
          before_bytes += g_array_index (changes, TesseraChange, i).before_bytes;
          after_bytes += g_array_index (changes, TesseraChange, i).after_bytes;
        }
      g_assert_cmpuint (before_bytes, ==, before.layout->curves.live_bytes[old]);
      g_assert_cmpuint (after_bytes, ==, after.layout->curves.live_bytes[new]);
    }
  g_autoptr (GArray) lines =
      tessera_changes (&before.whose, old, &after.whose, new, TESSERA_BY_LINE);
  const TesseraChange *line = find_change (lines, "model.py:14 Layer.forward");
  g_assert_true (line == &g_array_index (lines, TesseraChange, 0));
  g_assert_null (find_change (lines, "model.py:10 Layer.forward"));
  g_assert_cmpuint (line->before_blocks, ==, line->after_blocks);
  g_autoptr (GArray) lines_renamed =
      tessera_changes (&before.whose, old, &renamed.whose, new, TESSERA_BY_LINE);
  line = find_change (lines_renamed, "model_2.py:14 Layer.forward");
  g_assert_nonnull (line);
  g_assert_cmpuint (line->before_blocks, ==, line->after_blocks);
  g_assert_cmpuint (lines_renamed->len, ==, lines->len);
  g_autoptr (GArray) modules =
      tessera_changes (&before.whose, old, &after.whose, new, TESSERA_BY_MODULE);
  g_assert_nonnull (find_change (modules, "blocks.*.mlp"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/answers/categories", test_categories);
  g_test_add_func ("/answers/phase-peaks", test_phase_peaks);
  g_test_add_func ("/answers/policies", test_policies);
  g_test_add_func ("/answers/refused", test_refused);
  g_test_add_func ("/answers/said", test_said);
  g_test_add_func ("/answers/bad-rules", test_bad_rules);
  g_test_add_func ("/answers/sums", test_sums);
  g_test_add_func ("/answers/rows", test_rows);
  g_test_add_func ("/answers/changes", test_changes);
  g_test_add_func ("/answers/suggestions", test_suggestions);
  g_test_add_func ("/answers/line-of-advice", test_line_of_advice);
  g_test_add_func ("/answers/evaluations", test_evaluations);
  g_test_add_func ("/answers/tried", test_tried);
  return g_test_run ();
}
