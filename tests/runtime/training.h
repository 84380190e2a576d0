/*
 * For tests: a program that asks for memory as training does, and a plan for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "tests/runtime/program.h"

enum
{
  TRAINING_LAYERS = 12,
  TRAINING_STEPS = 4
};

/* @parameters: [2 * TRAINING_LAYERS] weights, and gradients once there are some; NULL at
 * first */
void training_make_model (void **parameters);
void training_free_model (void **parameters);
/* @batch: samples; a plan is made with one. @evaluates: after the third step, which is
 * something that the plan never saw */
void training_steps (void **parameters, gsize batch, int n_steps, gboolean evaluates);
/* All of it. */
void training_run (gboolean evaluates);

/* As rank 1 of 4, for which the plan was made: starts with run.tsp, recording followed.tsr. */
void training_follow (void);

/* run.tsr, in a process of its own -> run.tsp. The test's main() adds the child. */
void training_record_body (void);
void training_plan (void);
