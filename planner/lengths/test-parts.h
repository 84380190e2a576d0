/*
 * Made traces of steps that accumulate gradients over micro-batches of different length.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/lengths/test-steps.h"

typedef struct
{
  uint32_t n_steps, n_micro, n_layers;
  uint32_t seed;    /* of the lengths */
  bool is_constant; /* all micro-batches of a step have one length */
  bool is_padded;   /* they are all computed at one length: only the tokens vary */
  bool keeps;       /* what the forward passes give, up to the step's end */
  bool drops_late;  /* gradients: the next step begins by dropping them */
  bool drops_never; /* ... they are zeroed instead, and there for good */
  bool evaluates;   /* between steps, a batch of another length */
} TestParts;

/* Each micro-batch makes an activation a layer on the way forward, and drops them in turn
 * on the way back, where each layer has a workspace and a gradient: the first micro-batch
 * keeps it, what the others make is added to it and dropped. The optimizer has a
 * temporary a layer, and makes its state in the first step. Steps and phases are told,
 * those of later micro-batches with their number. */
TesseraTrace *test_parts_trace (const TestParts *made);
