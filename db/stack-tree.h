/*
 * Stacks of a trace as a tree, the way files hold them.
 *
 * Stacks of one program share their outer calls. Frames in lists and nodes in the tree,
 * on real snapshots: 1,837 and 313; 8,061 and 3,942; 9,376 and 4,482; 24,215 and 4,159.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/index.h"
#include "db/trace.h"

typedef struct
{
  uint32_t caller; /* an earlier node, or TESSERA_NONE: outermost */
  uint32_t frame;
} TesseraStackNode;

typedef struct
{
  TesseraStackNode *nodes;
  size_t n_nodes, cap_nodes;
  uint32_t *stack_nodes; /* of each stack: its innermost node; TESSERA_NONE: no frames */
  size_t n_stacks, cap_stacks;
  TesseraIndex index; /* finds nodes */
} TesseraStackTree;

/* Finds or adds the calls of one stack, @frames innermost first. No frames:
 * TESSERA_NONE. */
TESSERA_MUST_USE TesseraStatus tessera_stack_tree_add (TesseraStackTree *tree,
                                                       const uint32_t *frames,
                                                       size_t n_frames,
                                                       uint32_t *out_node);

/* Builds the tree of all stacks of @trace. @tree is zeroed by the caller; to be cleared
 * also after a failure. */
TESSERA_MUST_USE TesseraStatus tessera_stack_tree_fill (TesseraStackTree *tree,
                                                        const TesseraTrace *trace);
void tessera_stack_tree_clear (TesseraStackTree *tree);

/* Adds the stack whose innermost call is @node (checked by the caller) to @trace.
 * Returns: TESSERA_BAD_INPUT if the trace has it already, or too much of it. */
TESSERA_MUST_USE TesseraStatus tessera_stack_tree_unfold (const TesseraStackTree *tree,
                                                          uint32_t node,
                                                          TesseraTrace *trace);
