/*
 * The ordered set of tree.h: insertion hangs a leaf and rotates it up, removal rotates
 * the node down until it is a leaf.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/tree.h"

static bool
is_below (TesseraTreeKey a, TesseraTreeKey b)
{
  if (a.major != b.major)
    return a.major < b.major;
  if (a.middle != b.middle)
    return a.middle < b.middle;
  if (a.minor != b.minor)
    return a.minor < b.minor;
  return a.least < b.least;
}

/* The finaliser of splitmix64: neighbouring counters give unrelated priorities. */
static uint64_t
mix (uint64_t value)
{
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

static void
replace_child (TesseraTree *tree,
               TesseraTreeNode *parent,
               TesseraTreeNode *old,
               TesseraTreeNode *replacement)
{
  if (parent == NULL)
    tree->root = replacement;
  else
    parent->child[parent->child[1] == old] = replacement;
  if (replacement != NULL)
    replacement->parent = parent;
}

/* @node takes the place of its parent. */
static void
rotate_up (TesseraTree *tree, TesseraTreeNode *node)
{
  TesseraTreeNode *parent = node->parent;
  int side = parent->child[1] == node;
  TesseraTreeNode *inner = node->child[!side];

  replace_child (tree, parent->parent, parent, node);
  parent->child[side] = inner;
  if (inner != NULL)
    inner->parent = parent;
  node->child[!side] = parent;
  parent->parent = node;
}

void
tessera_tree_insert (TesseraTree *tree, TesseraTreeNode *node, TesseraTreeKey key)
{
  TesseraTreeNode *parent = NULL, *at = tree->root;
  int side = 0;

  node->key = key;
  node->child[0] = node->child[1] = NULL;
  node->priority = mix (tree->n_inserted++);
  while (at != NULL)
    {
      parent = at;
      side = !is_below (key, at->key);
      at = at->child[side];
    }
  node->parent = parent;
  if (parent == NULL)
    tree->root = node;
  else
    parent->child[side] = node;
  while (node->parent != NULL && node->parent->priority < node->priority)
    rotate_up (tree, node);
  tree->n_nodes++;
}

void
tessera_tree_remove (TesseraTree *tree, TesseraTreeNode *node)
{
  while (node->child[0] != NULL && node->child[1] != NULL)
    rotate_up (tree, node->child[node->child[1]->priority > node->child[0]->priority]);
  replace_child (tree, node->parent, node,
                 node->child[0] != NULL ? node->child[0] : node->child[1]);
  node->parent = node->child[0] = node->child[1] = NULL;
  tree->n_nodes--;
}

TesseraTreeNode *
tessera_tree_at_least (const TesseraTree *tree, TesseraTreeKey key)
{
  TesseraTreeNode *at = tree->root, *found = NULL;

  while (at != NULL)
    {
      bool is_too_small = is_below (at->key, key);

      if (!is_too_small)
        found = at;
      at = at->child[is_too_small];
    }
  return found;
}

TesseraTreeNode *
tessera_tree_below (const TesseraTree *tree, TesseraTreeKey key)
{
  TesseraTreeNode *at = tree->root, *found = NULL;

  while (at != NULL)
    {
      bool is_small_enough = is_below (at->key, key);

      if (is_small_enough)
        found = at;
      at = at->child[is_small_enough];
    }
  return found;
}

static TesseraTreeNode *
outermost (TesseraTreeNode *node, int side)
{
  while (node != NULL && node->child[side] != NULL)
    node = node->child[side];
  return node;
}

static TesseraTreeNode *
step (const TesseraTreeNode *node, int side)
{
  if (node->child[side] != NULL)
    return outermost (node->child[side], !side);
  while (node->parent != NULL && node->parent->child[side] == node)
    node = node->parent;
  return node->parent;
}

TesseraTreeNode *
tessera_tree_first (const TesseraTree *tree)
{
  return outermost (tree->root, 0);
}

TesseraTreeNode *
tessera_tree_next (const TesseraTreeNode *node)
{
  return step (node, 1);
}

TesseraTreeNode *
tessera_tree_previous (const TesseraTreeNode *node)
{
  return step (node, 0);
}

static bool
is_sound (const TesseraTreeNode *node)
{
  for (int side = 0; side < 2; side++)
    if (node->child[side] != NULL && (node->child[side]->parent != node ||
                                      node->child[side]->priority > node->priority))
      return false;
  return true;
}

bool
tessera_tree_check (const TesseraTree *tree)
{
  const TesseraTreeNode *before = NULL;
  size_t n = 0;

  for (const TesseraTreeNode *at = tessera_tree_first (tree); at != NULL;
       at = tessera_tree_next (at))
    {
      if (!is_sound (at) || (before != NULL && !is_below (before->key, at->key)))
        return false;
      before = at;
      if (++n > tree->n_nodes)
        return false;
    }
  return n == tree->n_nodes;
}
