/*
 * A program that trains nothing: see training.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/runtime/training.h"

#define MIB ((gsize) 1 << 20)

static void
forward_and_backward (void **parameters, gsize batch)
{
  void *activations[TRAINING_LAYERS], *workspace;

  tessera_phase_begin ("forward");
  for (int i = 0; i < TRAINING_LAYERS; i++)
    {
      workspace = program_must_alloc ((ssize_t) (batch * (MIB + 4096 * (gsize) i)), 0);
      activations[i] =
          program_must_alloc ((ssize_t) (batch * (3 * MIB + 512 * (gsize) i)), 0);
      program_free (workspace, 0);
    }
  tessera_phase_end ();
  tessera_phase_begin ("backward");
  for (int i = TRAINING_LAYERS - 1; i >= 0; i--)
    {
      if (parameters[TRAINING_LAYERS + i] == NULL) /* a gradient */
        parameters[TRAINING_LAYERS + i] = program_must_alloc (2 * (ssize_t) MIB, 0);
      workspace = program_must_alloc (5 * (ssize_t) MIB, 0);
      program_free (activations[i], 0);
      program_free (workspace, 0);
    }
  tessera_phase_end ();
}

/* Something that the plan never saw. */
static void
evaluate (void)
{
  void *logits[3];

  tessera_phase_begin ("evaluation");
  for (int i = 0; i < 3; i++)
    logits[i] = program_must_alloc ((7 + i) * (ssize_t) MIB, 0);
  for (int i = 0; i < 3; i++)
    program_free (logits[i], 0);
  tessera_phase_end ();
}

void
training_steps (void **parameters, gsize batch, int n_steps, gboolean evaluates)
{
  for (int step = 0; step < n_steps; step++)
    {
      tessera_step (step);
      void *samples = program_must_alloc (1000000, program_stream (1));
      forward_and_backward (parameters, batch);
      program_free (samples, program_stream (1));
      if (evaluates && step == 2)
        {
          tessera_step (-1);
          evaluate ();
        }
    }
  tessera_step (-1);
}

void
training_make_model (void **parameters)
{
  for (int i = 0; i < TRAINING_LAYERS; i++)
    parameters[i] = program_must_alloc (2 * (ssize_t) MIB, 0);
}

void
training_free_model (void **parameters)
{
  for (int i = 0; i < 2 * TRAINING_LAYERS; i++)
    program_free (parameters[i], 0);
}

void
training_run (gboolean evaluates)
{
  void *parameters[2 * TRAINING_LAYERS] = { NULL };

  training_make_model (parameters);
  training_steps (parameters, 1, TRAINING_STEPS, evaluates);
  training_free_model (parameters);
}

void
training_record_body (void)
{
  program_start ("record", program_file ("run.tsr"), "rank", "1", "world", "4", "torch",
                 "2.15.0", NULL);
  training_run (FALSE);
  tessera_stop ();
}

void
training_plan (void)
{
  PROGRAM_RUN_CHILD (training_record_body);
  program_plan ("run.tsr", 0, "run.tsp");
}

void
training_follow (void)
{
  program_start ("plan", program_file ("run.tsp"), "rank", "1", "world", "4", "record",
                 program_file ("followed.tsr"), NULL);
}
