/*
 * Made traces of steps that vary, for tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/lengths.h"
#include "planner/test-traces.h"

#define TEST_STATES 3 /* blocks of the optimizer's state */

/* Eight steps, and what is asked of them where it varies. */
extern const uint64_t test_steps_lengths[8];
extern const uint64_t test_steps_batches[8];

typedef struct
{
  uint32_t n_steps, n_layers;
  bool has_batch, first_makes_state, masks_pad;
  uint32_t longer;   /* than test_steps_lengths, each step */
  uint32_t n_states; /* 0: TEST_STATES */
  bool drops_late;   /* gradients, one a layer: the next step begins by dropping them */
  uint64_t stray_bytes; /* each step holds such a block at its end */
  bool drops_later; /* ... once it has its batch: they are there for its first requests */
  uint32_t kept_bytes; /* of each token; there until the next step has its own */
  uint32_t keepers;    /* a bit for each step: it keeps a small block for good that others
                          drop; 0: nobody asks for it */
  uint32_t loss_bytes; /* of each token, once what was kept is gone */
  bool copies_first;   /* before the first step another stream uses a block as well */
} TestSteps;

/* A training loop over batches of different length: tokens, positions, rotations, for
 * each layer an activation, a mask (in some layers, and only where the length is no
 * multiple of 8) and a short-lived workspace without a law; a loss that lives on into the
 * next step. The first step makes the optimizer's state. */
TesseraTrace *test_steps_trace (const TestSteps *made);

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
  bool has_small_gradients; /* as of adapters, in a run that was recorded here */
} TestParts;

/* Each micro-batch makes an activation a layer on the way forward, and drops them in turn
 * on the way back, where each layer has a workspace and a gradient: the first micro-batch
 * keeps it, what the others make is added to it and dropped. The optimizer has a
 * temporary a layer, and makes its state in the first step. Steps and phases are told,
 * those of later micro-batches with their number. */
TesseraTrace *test_parts_trace (const TestParts *made);

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraLaws *laws;
} TestStudied;

/* Takes the trace. */
TestStudied test_study (TesseraTrace *trace);
void test_study_clear (TestStudied *of);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TestStudied, test_study_clear)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraLengths, tessera_lengths_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraLaws, tessera_laws_free)
/* The plan that has to be made of it. */
TesseraLengths *test_plan_lengths (const TestStudied *of);
