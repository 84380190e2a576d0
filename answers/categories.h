/*
 * What each block of memory is: a parameter, a gradient, an activation ...
 *
 * Rules decide, in one readable file (answers/categories.rules) that users extend with their
 * own. They look at what the run itself said, at stacks, at the part of the step in which a
 * block is born, and at how long it lives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "planner/structure.h"

/* Which line and which module asked for each block, in every step. */
typedef struct
{
  uint32_t *stacks;  /* [n_blocks], or TESSERA_NONE */
  uint32_t *modules; /* [n_blocks] string ids, or TESSERA_NONE; NULL: none is named */
} TesseraOrigins;

/* A recording has stacks and modules of its first steps only: a request of a later step that
 * is the same one (of its size and stream the same in its step, by number) has those of that
 * one. Linear in blocks and events. */
TesseraOrigins tessera_origins_new (const TesseraTrace *trace,
                                    const TesseraBlocks *blocks,
                                    const TesseraStructure *structure);
void tessera_origins_clear (TesseraOrigins *origins);

typedef enum
{
  TESSERA_PARAMETER, /* and buffers of modules */
  TESSERA_GRADIENT,
  TESSERA_OPTIMIZER_STATE,
  TESSERA_ACTIVATION, /* made in the forward pass and alive after it */
  TESSERA_LOSS,       /* and logits */
  TESSERA_TEMPORARY_FORWARD,
  TESSERA_TEMPORARY_BACKWARD,
  TESSERA_TEMPORARY_RECOMPUTATION,
  TESSERA_TEMPORARY_OPTIMIZER,
  TESSERA_INPUT,
  TESSERA_COMMUNICATION,
  TESSERA_WORKSPACE,
  TESSERA_KV_CACHE,
  TESSERA_KEPT, /* from step to step, and none of these */
  /* Unknown, and why. */
  TESSERA_UNKNOWN_BEFORE,   /* there before the recording began, without a stack */
  TESSERA_UNKNOWN_NO_STACK, /* and nothing tells forward and backward passes apart */
  TESSERA_UNKNOWN,          /* no rule holds */
  TESSERA_N_CATEGORIES
} TesseraCategory;

/* "optimizer state", "unknown: no rule"; static. */
const char *tessera_category_name (TesseraCategory category);
bool tessera_category_is_unknown (TesseraCategory category);

typedef struct TesseraRules TesseraRules;

/* The built-in rules, behind those of @text (nullable), which is a file called @name. Returns
 * NULL and says in @error which line is not understood, and why. */
TesseraRules *tessera_rules_new (const char *text, const char *name, TesseraError *error);
void tessera_rules_free (TesseraRules *rules); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraRules, tessera_rules_free)

/* The tensor that the run said lies in each block: [n_blocks] index into the trace's tensors
 * or TESSERA_NONE, g_free(). NULL: it said nothing. */
uint32_t *tessera_find_tensors (const TesseraTrace *trace, const TesseraBlocks *blocks);

/* The category of each block: [n_blocks], g_free(). @blocks: with their phases and steps.
 * @tensors: (nullable): as above.  Linear in blocks, and in stacks times the rules' lines of stacks. */
uint8_t *tessera_categorize (const TesseraTrace *trace,
                             const TesseraBlocks *blocks,
                             const TesseraStructure *structure,
                             const uint32_t *tensors,
                             const TesseraOrigins *origins,
                             const TesseraRules *rules);
