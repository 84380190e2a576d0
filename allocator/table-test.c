/*
 * The address table against GLib's, by random operations on few addresses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/table.h"

#include <glib.h>

enum
{
  N_ADDRESSES = 4000,
  N_OPERATIONS = 100000
};

static void
test_random (void)
{
  GRand *rand = g_rand_new_with_seed (20260102);
  GHashTable *model = g_hash_table_new (g_direct_hash, g_direct_equal);
  TesseraTable table = { 0 };

  for (guint i = 0; i < N_OPERATIONS; i++)
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
          g_assert_cmpint (tessera_table_reserve (&table), ==, TESSERA_OK);
          tessera_table_add (&table, addr, value);
          g_hash_table_insert (model, GSIZE_TO_POINTER (addr), value);
        }
      g_assert_null (tessera_table_remove (&table, addr + 1));
      g_assert_cmpuint (table.n_used, ==, g_hash_table_size (model));
    }
  g_assert_null (tessera_table_get (&table, 0));
  tessera_table_clear (&table);
  g_assert_null (tessera_table_get (&table, 512));
  g_hash_table_unref (model);
  g_rand_free (rand);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/table/random", test_random);
  return g_test_run ();
}
