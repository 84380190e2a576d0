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

#include <glib.h>

typedef enum
{
  /* Three models whose micro-batches are in flight together, as in a pipeline: each has
   * its own depth, number of layers and sizes (36 in all), and they take turns layer by
   * layer. What a forward pass keeps goes in the backward pass of its micro-batch, layers
   * in reverse; besides there is what one layer needs in passing. */
  GENERATE_PIPELINES,
  /* The same where it is drawn whose turn it is. */
  GENERATE_DRIFT,
  /* One model with experts: what each expert gets of a micro-batch is drawn, so that
   * hardly two sizes are equal. */
  GENERATE_EXPERTS
} GenerateKind;

#define GENERATE_N_KINDS 3

/* For people. */
const char *generate_name (GenerateKind kind);

/* @items: (array length=n_items): filled */
void
generate_items (GenerateKind kind, uint64_t seed, TesseraItem *items, uint32_t n_items);

/* One step of one rank of four stages of a pipeline, as Megatron-LM runs it: GPT, eight
 * layers a rank, 56 micro-batches: some 18,000 buffers. */
typedef struct
{
  uint32_t rank;      /* 0 .. 3 */
  uint32_t n_chunks;  /* 1: one forward, one backward; 2: interleaved */
  bool is_recomputed; /* attention's scores go, and are made again (selective) */
  double jitter;      /* sizes of a micro-batch differ by up to this part */
} GenerateSchedule;

/* Returns: of TesseraItem. */
GArray *generate_schedule (const GenerateSchedule *schedule);
/* Like what a compiler hands its allocator for a model such as Pangu 2.6B: 18,692 buffers of
 * 33 sizes, a forward and a backward half. */
GArray *generate_graph (void);
