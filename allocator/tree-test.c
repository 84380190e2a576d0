/*
 * The ordered set against a sorted array, and the table of addresses against one of GLib's, by
 * random operations.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/table.h"
#include "allocator/tree.h"
#include "tests/ok.h"

#include <glib.h>

enum
{
  N_NODES = 200,
  N_OPERATIONS = 20000
};

typedef struct
{
  TesseraTree tree;
  TesseraTreeNode nodes[N_NODES];
  GPtrArray *sorted; /* nodes in the tree */
} Pair;

static int
compare_keys (const TesseraTreeKey *a, const TesseraTreeKey *b)
{
  if (a->major != b->major)
    return a->major < b->major ? -1 : 1;
  if (a->middle != b->middle)
    return a->middle < b->middle ? -1 : 1;
  return (a->minor > b->minor) - (a->minor < b->minor);
}

static int
compare_nodes (gconstpointer a, gconstpointer b)
{
  return compare_keys (&(*(TesseraTreeNode *const *) a)->key,
                       &(*(TesseraTreeNode *const *) b)->key);
}

/* How many nodes are below @key. */
static guint
rank_of (const Pair *pair, const TesseraTreeKey *key)
{
  guint rank = 0;

  while (rank < pair->sorted->len &&
         compare_keys (&((TesseraTreeNode *) pair->sorted->pdata[rank])->key, key) < 0)
    rank++;
  return rank;
}

static gpointer
at (const Pair *pair, guint rank)
{
  return rank < pair->sorted->len ? pair->sorted->pdata[rank] : NULL;
}

static void
compare (const Pair *pair, const TesseraTreeKey *key)
{
  guint rank = rank_of (pair, key);
  TesseraTreeNode *node = tessera_tree_at_least (&pair->tree, *key);

  g_assert_true (node == at (pair, rank));
  g_assert_true (tessera_tree_below (&pair->tree, *key) ==
                 (rank > 0 ? at (pair, rank - 1) : NULL));
  g_assert_true (tessera_tree_first (&pair->tree) == at (pair, 0));
  if (node != NULL)
    {
      g_assert_true (tessera_tree_next (node) == at (pair, rank + 1));
      g_assert_true (tessera_tree_previous (node) ==
                     (rank > 0 ? at (pair, rank - 1) : NULL));
    }
}

static void
test_random (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (20260101);
  Pair pair = { .sorted = g_ptr_array_new () };
  bool is_in[N_NODES] = { false };

  for (guint i = 0; i < N_OPERATIONS; i++)
    {
      guint k = (guint) g_rand_int_range (rand, 0, N_NODES);
      TesseraTreeKey key = { (guint) g_rand_int_range (rand, 0, 2),
                             (guint) g_rand_int_range (rand, 0, 4), k };

      if (is_in[k])
        {
          g_assert_true (tessera_tree_at_least (&pair.tree, pair.nodes[k].key) ==
                         &pair.nodes[k]);
          tessera_tree_remove (&pair.tree, &pair.nodes[k]);
          g_ptr_array_remove (pair.sorted, &pair.nodes[k]);
        }
      else
        {
          tessera_tree_insert (&pair.tree, &pair.nodes[k], key);
          g_ptr_array_add (pair.sorted, &pair.nodes[k]);
          g_ptr_array_sort (pair.sorted, compare_nodes);
        }
      is_in[k] = !is_in[k];
      compare (&pair, &key);
      if (i % 64 == 0)
        g_assert_true (tessera_tree_check (&pair.tree));
    }
  g_ptr_array_unref (pair.sorted);
}

/* Ascending keys would make a plain tree a list. */
static void
test_depth (void)
{
  enum
  {
    N = 1 << 16
  };
  g_autofree TesseraTreeNode *nodes = g_new (TesseraTreeNode, N);
  TesseraTree tree = { 0 };
  guint deepest = 0;

  for (guint i = 0; i < N; i++)
    tessera_tree_insert (&tree, &nodes[i], (TesseraTreeKey){ 0, i, 0 });
  for (guint i = 0; i < N; i++)
    {
      guint depth = 0;

      for (TesseraTreeNode *node = &nodes[i]; node != NULL; node = node->parent)
        depth++;
      deepest = MAX (deepest, depth);
    }
  g_assert_cmpuint (deepest, <, 64);
  g_assert_true (tessera_tree_check (&tree));
  nodes[N / 2].key.middle = 0; /* the check must be able to fail */
  g_assert_false (tessera_tree_check (&tree));
}

/* ---- The table of addresses ---- */

enum
{
  N_ADDRESSES = 4000,
  N_CHANGES = 100000
};

static void
test_table (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (20260102);
  g_autoptr (GHashTable) model = g_hash_table_new (g_direct_hash, g_direct_equal);
  TesseraTable table = { 0 };

  for (guint i = 0; i < N_CHANGES; i++)
    {
      gsize addr = 512u * (gsize) g_rand_int_range (rand, 1, N_ADDRESSES);
      gpointer value = GSIZE_TO_POINTER (addr + 1);
      gpointer held = g_hash_table_lookup (model, GSIZE_TO_POINTER (addr));

      g_assert_true (tessera_table_get (&table, addr) == held);
      if (held != NULL)
        {
          g_assert_true (tessera_table_remove (&table, addr) == value);
          g_hash_table_remove (model, GSIZE_TO_POINTER (addr));
        }
      else
        {
          OK (tessera_table_reserve (&table));
          tessera_table_add (&table, addr, value);
          g_hash_table_insert (model, GSIZE_TO_POINTER (addr), value);
        }
      g_assert_null (tessera_table_remove (&table, addr + 1));
      g_assert_cmpuint (table.n_used, ==, g_hash_table_size (model));
    }
  g_assert_null (tessera_table_get (&table, 0));
  tessera_table_clear (&table);
  g_assert_null (tessera_table_get (&table, 512));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tree/random", test_random);
  g_test_add_func ("/tree/depth", test_depth);
  g_test_add_func ("/table/random", test_table);
  return g_test_run ();
}
