/*
 * Made-up packing problems that are like training and hard for simple orders.
 *
 * For benchmarks and tests, at any size: on both kinds first fit by size ends two to
 * twenty percent above the bound. The same number and seed give the same items on every
 * machine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"

typedef enum
{
  /* Three models whose micro-batches are in flight together, as in a pipeline: each has
   * its own depth, number of layers and sizes (36 in all), and they take turns layer by
   * layer. What a forward pass keeps goes in the backward pass of its micro-batch, layers
   * in reverse; besides there is what one layer needs in passing. */
  TESSERA_GENERATE_PIPELINES,
  /* The same where it is drawn whose turn it is. */
  TESSERA_GENERATE_DRIFT,
  /* One model with experts: what each expert gets of a micro-batch is drawn, so that
   * hardly two sizes are equal. */
  TESSERA_GENERATE_EXPERTS
} TesseraGenerateKind;

#define TESSERA_N_GENERATE_KINDS 3

/* For people. */
const char *tessera_generate_name (TesseraGenerateKind kind);

/*
 * tessera_generate:
 * @items: (array length=n_items): filled
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY.
 */
TESSERA_MUST_USE TesseraStatus tessera_generate (TesseraGenerateKind kind,
                                                 uint64_t seed,
                                                 TesseraItem *items,
                                                 uint32_t n_items);
