/*
 * What comes often and is kept once: a hash table from content to index, strings, and
 * stacks as a tree.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"
#include "db/trace.h"

/* A hash table from content to index, for items that live in somebody else's array.
 *
 * It keeps (hash, index) pairs only; the owner says whether item @index equals what is
 * looked for. Open addressing, at most half full, nothing is ever removed. */

typedef struct
{
  uint32_t hash;
  uint32_t index; /* TESSERA_NONE: an empty place */
} TesseraIndexPlace;

typedef struct
{
  TesseraIndexPlace *places;
  size_t n_places; /* a power of two, or 0 */
  size_t n_used;
} TesseraIndex;

typedef bool (*TesseraIndexEqual) (const void *owner, uint32_t index, const void *wanted);

void tessera_index_clear (TesseraIndex *index);

/* Makes room for one more. Returns: false when the host has no memory. */
bool tessera_index_reserve (TesseraIndex *index);

/* Returns: the index of the item that equals @wanted, or TESSERA_NONE. */
uint32_t tessera_index_find (const TesseraIndex *index,
                             uint64_t hash,
                             TesseraIndexEqual equal,
                             const void *owner,
                             const void *wanted);

/* After tessera_index_reserve(); cannot fail. */
void tessera_index_insert (TesseraIndex *index, uint64_t hash, uint32_t item);

/* Interned strings: equal text, equal id; the text never moves.
 *
 * Ids count from 0 by first use. Text ends at its first NUL byte. */

TESSERA_MUST_USE TesseraStatus tessera_strings_new (TesseraStrings **out_strings);
void tessera_strings_free (TesseraStrings *strings); /* NULL is fine */

/* Returns: TESSERA_NO_MEMORY, or TESSERA_BAD_INPUT beyond 2^32 - 2 strings. */
TESSERA_MUST_USE TesseraStatus tessera_strings_intern (TesseraStrings *strings,
                                                       const char *text,
                                                       size_t n_bytes,
                                                       uint32_t *out_string);
const char *tessera_strings_get (const TesseraStrings *strings, uint32_t string);
size_t tessera_strings_count (const TesseraStrings *strings);
/* All of them, by id; until the next one is added. */
const char *const *tessera_strings_all (const TesseraStrings *strings);

/* Stacks of a trace as a tree, the way files hold them.
 *
 * Stacks of one program share their outer calls. Frames in lists and nodes in the tree,
 * on real snapshots: 1,837 and 313; 8,061 and 3,942; 9,376 and 4,482; 24,215 and 4,159.
 */

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
