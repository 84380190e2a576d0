/*
 * An ordered set of nodes that live inside other structs.
 *
 * Keys are three unsigned numbers compared in order; no two nodes of a tree may have the
 * same key. A treap: a search tree by key that is a heap by a random priority, so it is
 * about 2 log2 n deep whatever the order of insertion. Priorities come from a counter
 * through a mixing function: equal histories give equal trees. Nothing here allocates or
 * recurses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct
{
  uint64_t major, middle, minor;
} TesseraTreeKey;

typedef struct TesseraTreeNode TesseraTreeNode;
struct TesseraTreeNode
{
  TesseraTreeNode *parent;
  TesseraTreeNode *child[2]; /* smaller keys, greater keys */
  TesseraTreeKey key;
  uint64_t priority; /* never below a child's */
};

typedef struct
{
  TesseraTreeNode *root;
  size_t n_nodes;
  uint64_t n_inserted; /* ever: the source of priorities */
} TesseraTree;

void tessera_tree_insert (TesseraTree *tree, TesseraTreeNode *node, TesseraTreeKey key);
void tessera_tree_remove (TesseraTree *tree, TesseraTreeNode *node);

/* Returns: the first node whose key is not below @key, or NULL. */
TesseraTreeNode *tessera_tree_at_least (const TesseraTree *tree, TesseraTreeKey key);
/* Returns: the last node whose key is below @key, or NULL. */
TesseraTreeNode *tessera_tree_below (const TesseraTree *tree, TesseraTreeKey key);
TesseraTreeNode *tessera_tree_first (const TesseraTree *tree);
TesseraTreeNode *tessera_tree_next (const TesseraTreeNode *node);
TesseraTreeNode *tessera_tree_previous (const TesseraTreeNode *node);
bool tessera_tree_contains (const TesseraTree *tree, const TesseraTreeNode *node);
bool tessera_tree_check (const TesseraTree *tree);
