/*
 * An ordered set of nodes that live inside other structs.
 *
 * Keys are four unsigned numbers compared in order; no two nodes of a tree may have the
 * same key. A treap: a search tree by key that is a heap by a random priority, so it is
 * about 2 log2 n deep whatever the order of insertion. Priorities come from a counter
 * through a mixing function: equal histories give equal trees. Nothing here allocates or
 * recurses. All zeros is an empty tree. Nodes stay the caller's, and where they are as
 * long as they are in the tree. Not thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct
{
  uint64_t major, middle, minor, least;
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

/* @node is in no tree, and no node of this one has the key. */
void tessera_tree_insert (TesseraTree *tree, TesseraTreeNode *node, TesseraTreeKey key);
/* @node is in this tree. */
void tessera_tree_remove (TesseraTree *tree, TesseraTreeNode *node);

/* Returns: the first node whose key is not below @key, or NULL. */
TesseraTreeNode *tessera_tree_at_least (const TesseraTree *tree, TesseraTreeKey key);
/* Returns: the last node whose key is below @key, or NULL. */
TesseraTreeNode *tessera_tree_below (const TesseraTree *tree, TesseraTreeKey key);
/* Return: (nullable): the node with the least key, with the next greater one, and with
 * the next smaller one. */
TesseraTreeNode *tessera_tree_first (const TesseraTree *tree);
TesseraTreeNode *tessera_tree_next (const TesseraTreeNode *node);
TesseraTreeNode *tessera_tree_previous (const TesseraTreeNode *node);
/* Walks all nodes: are keys in order, priorities a heap, links whole, and the count
 * right? */
bool tessera_tree_check (const TesseraTree *tree);
