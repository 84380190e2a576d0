/*
 * Stacks of a trace as a tree, the way files hold them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/stack-tree.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "db/hash.h"
#include "db/index.h"

/* A small tree can unfold to very long lists; beyond this (1 GiB of them) it is not one
 * that a program made. */
#define MAX_STACK_FRAMES ((size_t) 1 << 28)

static bool
node_equal (const void *owner, uint32_t index, const void *wanted)
{
  const TesseraStackNode *node = &((const TesseraStackTree *) owner)->nodes[index];
  const TesseraStackNode *want = wanted;

  return node->caller == want->caller && node->frame == want->frame;
}

static TesseraStatus
find_or_add (TesseraStackTree *tree, TesseraStackNode node, uint32_t *out_node)
{
  TesseraIndex *index = &tree->index;
  uint64_t hash =
      tessera_hash_number (TESSERA_HASH_START, (uint64_t) node.caller << 32 | node.frame);

  *out_node = tessera_index_find (index, hash, node_equal, tree, &node);
  if (*out_node != TESSERA_NONE)
    return TESSERA_OK;
  if (!TESSERA_RESERVE (tree->nodes, tree->cap_nodes, tree->n_nodes + 1) ||
      !tessera_index_reserve (index))
    return TESSERA_NO_MEMORY;
  *out_node = (uint32_t) tree->n_nodes;
  tree->nodes[tree->n_nodes++] = node;
  tessera_index_insert (index, hash, *out_node);
  return TESSERA_OK;
}

TesseraStatus
tessera_stack_tree_add (TesseraStackTree *tree,
                        const uint32_t *frames,
                        size_t n_frames,
                        uint32_t *out_node)
{
  TesseraStackNode node = { .caller = TESSERA_NONE };
  TesseraStatus status = TESSERA_OK;

  for (size_t i = n_frames; status == TESSERA_OK && i-- > 0;)
    {
      node.frame = frames[i];
      status = find_or_add (tree, node, &node.caller);
    }
  *out_node = node.caller;
  return status;
}

TesseraStatus
tessera_stack_tree_fill (TesseraStackTree *tree, const TesseraTrace *trace)
{
  TesseraStatus status = TESSERA_OK;

  if (trace->n_stack_frames > MAX_STACK_FRAMES)
    return TESSERA_INVALID;
  if (!TESSERA_RESERVE (tree->stack_nodes, tree->cap_stacks, trace->n_stacks))
    return TESSERA_NO_MEMORY;
  for (size_t stack = 0; status == TESSERA_OK && stack < trace->n_stacks; stack++)
    {
      uint32_t begin = trace->stack_begin[stack], node;

      status = tessera_stack_tree_add (tree, trace->stack_frames + begin,
                                       trace->stack_begin[stack + 1] - begin, &node);
      tree->stack_nodes[tree->n_stacks++] = node;
    }
  return status;
}

void
tessera_stack_tree_clear (TesseraStackTree *tree)
{
  free (tree->nodes);
  free (tree->stack_nodes);
  tessera_index_clear (&tree->index);
  memset (tree, 0, sizeof *tree);
}

TesseraStatus
tessera_stack_tree_unfold (const TesseraStackTree *tree,
                           uint32_t node,
                           TesseraTrace *trace)
{
  uint32_t *frames, stack;
  size_t n_frames = 0, n_before = trace->n_stacks;
  TesseraStatus status;

  for (uint32_t at = node; at != TESSERA_NONE; at = tree->nodes[at].caller)
    n_frames++;
  if (n_frames > MAX_STACK_FRAMES - trace->n_stack_frames)
    return TESSERA_BAD_INPUT;
  frames = malloc ((n_frames + 1) * sizeof *frames);
  if (!frames)
    return TESSERA_NO_MEMORY;
  n_frames = 0;
  for (uint32_t at = node; at != TESSERA_NONE; at = tree->nodes[at].caller)
    frames[n_frames++] = tree->nodes[at].frame;
  status = tessera_trace_add_stack (trace, frames, n_frames, &stack);
  free (frames);
  return status == TESSERA_OK && trace->n_stacks == n_before ? TESSERA_BAD_INPUT : status;
}
