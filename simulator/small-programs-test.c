/*
 * The smallest training programs: a run that repeats what was planned misses nothing.
 *
 * Made traces of one to three linear layers under the usual optimizers, as the recorder
 * marks them: the first step begins with its forward pass, each later one where the
 * optimizer has stepped. The first makes the optimizer's state, so that it is the start's,
 * though it is as short as the others and begins like them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "planner/planner.h"
#include "planner/test-traces.h"
#include "simulator/simulate.h"
#include "tests/simulator/made-case.h"

#define SPACING ((uint64_t) 1 << 28) /* of addresses: none is handed out twice */

enum
{
  N_PLANNED_STEPS = 3,
  N_STEPS = 20,
  MOST_LAYERS = 3
};

typedef enum
{
  SGD,
  MOMENTUM,
  ADAM_FOREACH, /* temporaries of all parameters together */
  ADAM_SINGLE,  /* ... of one after another */
  ADAM_FUSED,
  N_OPTIMIZERS
} Optimizer;

typedef enum
{
  DROP_AT_END,
  DROP_AT_START,
  DROP_NEVER, /* set to zero instead */
  N_DROPS
} Drop;

typedef struct
{
  guint n_layers;
  uint64_t width, batch;
  Optimizer optimizer;
  Drop drop;
  gboolean has_two_losses;
} Program;

typedef struct
{
  uint64_t addr, size_bytes; /* 0 bytes: there is none */
} Piece;

typedef struct
{
  const Program *program;
  TesseraTrace *trace;
  uint64_t addr;
  Piece parameters[2 * MOST_LAYERS], gradients[2 * MOST_LAYERS];
  guint n_parameters;
} Run;

static Piece
get (Run *run, uint64_t size_bytes)
{
  const Piece piece = { run->addr += SPACING, size_bytes };

  test_alloc (run->trace, piece.addr, piece.size_bytes);
  return piece;
}

static void
drop (Run *run, Piece *piece)
{
  if (piece->size_bytes > 0)
    test_free (run->trace, piece->addr, piece->size_bytes);
  piece->size_bytes = 0;
}

static void
drop_gradients (Run *run)
{
  for (guint p = 0; p < run->n_parameters; p++)
    drop (run, &run->gradients[p]);
}

static void
optimize (Run *run, gboolean is_first)
{
  static const guint n_states[] = { 0, 1, 2, 2, 2 };
  const Optimizer optimizer = run->program->optimizer;
  Piece temporaries[2 * MOST_LAYERS];

  for (guint p = 0; is_first && p < run->n_parameters; p++)
    for (guint k = 0; k < n_states[optimizer]; k++)
      get (run, run->parameters[p].size_bytes);
  if (is_first && optimizer == ADAM_FUSED)
    for (guint p = 0; p < run->n_parameters; p++)
      get (run, 4);
  for (guint p = 0; p < run->n_parameters; p++)
    if (optimizer == ADAM_FOREACH || optimizer == ADAM_SINGLE)
      {
        temporaries[p] = get (run, run->parameters[p].size_bytes);
        if (optimizer == ADAM_SINGLE)
          drop (run, &temporaries[p]);
      }
  for (guint p = 0; optimizer == ADAM_FOREACH && p < run->n_parameters; p++)
    drop (run, &temporaries[p]);
}

static void
backward (Run *run, Piece *activations)
{
  uint64_t activation_bytes = activations[0].size_bytes;
  Piece gradient = get (run, activation_bytes);

  for (guint l = run->program->n_layers; l-- > 0;)
    {
      for (guint p = 2 * l; p < 2 * l + 2; p++)
        if (run->gradients[p].size_bytes == 0)
          run->gradients[p] = get (run, run->parameters[p].size_bytes);
        else
          {
            Piece added = get (run, run->parameters[p].size_bytes);

            drop (run, &added);
          }
      drop (run, &activations[l]);
      if (l > 0)
        {
          Piece below = get (run, activation_bytes);

          drop (run, &gradient);
          gradient = below;
        }
    }
  drop (run, &gradient);
}

/* @out_forward: the event with which its forward pass begins; @out_end: where it ends */
static void
make_step (Run *run, guint s, Piece *loss, uint32_t *out_forward, uint32_t *out_end)
{
  const Program *program = run->program;
  uint64_t activation_bytes = program->batch * program->width * 4;
  Piece activations[MOST_LAYERS], batch, losses[2];

  if (program->drop == DROP_AT_START)
    drop_gradients (run);
  batch = get (run, activation_bytes);
  *out_forward = (uint32_t) run->trace->n_events;
  for (guint l = 0; l < program->n_layers; l++)
    activations[l] = get (run, activation_bytes);
  for (guint k = 0; k < 2; k++)
    losses[k] = (Piece){ 0 };
  for (guint k = 0; program->has_two_losses && k < 2; k++)
    losses[k] = get (run, 4);
  drop (run, loss);
  *loss = get (run, 4);
  for (guint k = 0; k < 2; k++)
    drop (run, &losses[k]);
  backward (run, activations);
  drop (run, &batch);
  optimize (run, s == 0);
  *out_end = (uint32_t) run->trace->n_events;
  if (program->drop == DROP_AT_END)
    drop_gradients (run);
}

static TesseraTrace *
run_program (const Program *program, guint n_steps)
{
  Run run = { .program = program,
              .trace = test_trace_new (),
              .n_parameters = 2 * program->n_layers };
  Piece loss = { 0 };
  uint32_t begins[N_STEPS + 1];

  run.trace->alignment_bytes = 512;
  for (guint p = 0; p < run.n_parameters; p++)
    run.parameters[p] =
        get (&run, program->width * 4 * (p % 2 == 0 ? program->width : 1));
  for (guint s = 0; s < n_steps; s++)
    {
      uint32_t forward;

      make_step (&run, s, &loss, &forward, &begins[s + 1]);
      if (s == 0)
        begins[0] = forward;
    }
  for (guint s = 0; s < n_steps; s++)
    {
      g_autofree char *name = g_strdup_printf ("step %u", s);

      test_range (run.trace, TESSERA_RANGE_STEP, name, begins[s], begins[s + 1]);
    }
  tessera_trace_settle_ranges (run.trace);
  return run.trace;
}

static void
check (const Program *program)
{
  g_auto (Case) planned = case_new (run_program (program, N_PLANNED_STEPS));
  g_auto (Case) longer = case_new (run_program (program, N_STEPS));
  g_autoptr (TesseraPlan) plan = case_plan (&planned, NULL);

  (void) case_advise (&planned, plan);
  g_autoptr (TesseraLayout) layout = case_follow (&longer, plan);
  if (plan->followable != TESSERA_FOLLOWABLE_YES || layout->n_misses > 0)
    g_error ("%u layers of %" G_GUINT64_FORMAT
             ", optimizer %d, drop %d, %s: of %" G_GUINT64_FORMAT
             " requests %" G_GUINT64_FORMAT " missed; %s",
             program->n_layers, program->width, program->optimizer, program->drop,
             program->has_two_losses ? "two losses" : "one loss",
             layout->n_hits + layout->n_misses, layout->n_misses, plan->follow_reason);
}

/* Of parameters and activations below, about and above 1 MiB. */
static void
every_request_hits (void)
{
  static const uint64_t widths[] = { 64, 600, 4000 };

  for (guint w = 0; w < G_N_ELEMENTS (widths); w++)
    for (guint n_layers = 1; n_layers <= MOST_LAYERS; n_layers++)
      for (int optimizer = 0; optimizer < N_OPTIMIZERS; optimizer++)
        for (int drops = 0; drops < N_DROPS; drops++)
          for (int two = 0; two < 2; two++)
            check (&(Program){ .n_layers = n_layers,
                               .width = widths[w],
                               .batch = w == 1 ? 512 : 64,
                               .optimizer = (Optimizer) optimizer,
                               .drop = (Drop) drops,
                               .has_two_losses = two });
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/small-programs/every-request-hits", every_request_hits);
  return g_test_run ();
}
