/* See changes.h. SPDX-License-Identifier: Apache-2.0 */
#include "answers/changes.h"

#include <string.h>

static void
clear_change (gpointer data)
{
  g_free (((TesseraChange *) data)->name);
}

static uint64_t
size_of_change (const TesseraChange *change)
{
  return change->after_bytes > change->before_bytes
             ? change->after_bytes - change->before_bytes
             : change->before_bytes - change->after_bytes;
}

static int
compare_changes (const void *a, const void *b)
{
  const TesseraChange *x = a, *y = b;
  const uint64_t left = size_of_change (x), right = size_of_change (y);

  if (left != right)
    return left > right ? -1 : 1;
  if (x->after_bytes != y->after_bytes)
    return x->after_bytes > y->after_bytes ? -1 : 1;
  return strcmp (x->name, y->name);
}

static char *
name_alike (const char *name, TesseraBy by)
{
  return by == TESSERA_BY_MODULE ? tessera_name_alike (name) : g_strdup (name);
}

static void
add_owners (
    GArray *changes, GHashTable *rows, const GArray *owners, TesseraBy by, bool is_after)
{
  for (guint i = 0; i < owners->len; i++)
    {
      const TesseraOwner *owner = &g_array_index (owners, TesseraOwner, i);
      g_autofree char *name = name_alike (owner->name, by);
      gpointer row;

      if (!g_hash_table_lookup_extended (rows, name, NULL, &row))
        {
          const TesseraChange fresh = { .name = g_strdup (name) };

          row = GUINT_TO_POINTER (changes->len);
          g_hash_table_insert (rows, g_steal_pointer (&name), row);
          g_array_append_val (changes, fresh);
        }
      TesseraChange *change =
          &g_array_index (changes, TesseraChange, GPOINTER_TO_UINT (row));
      *(is_after ? &change->after_bytes : &change->before_bytes) += owner->bytes;
      *(is_after ? &change->after_blocks : &change->before_blocks) += owner->n_blocks;
    }
}

/* "train.py:214 loss_of" without the number; NULL: it has none. */
static char *
without_number (const char *name)
{
  const char *colon = strchr (name, ':');
  const size_t n_digits = colon != NULL ? strspn (colon + 1, "0123456789") : 0;

  return n_digits > 0 ? g_strdup_printf ("%.*s%s", (int) (colon - name), name,
                                         colon + 1 + n_digits)
                      : NULL;
}

static int
compare_numbers (const void *a, const void *b, void *user)
{
  const GArray *changes = user;
  const char *x = g_array_index (changes, TesseraChange, *(const guint *) a).name;
  const char *y = g_array_index (changes, TesseraChange, *(const guint *) b).name;
  const guint64 left = g_ascii_strtoull (strchr (x, ':') + 1, NULL, 10);
  const guint64 right = g_ascii_strtoull (strchr (y, ':') + 1, NULL, 10);

  return (left > right) - (left < right);
}

/* The rows of one function that only one of the two runs has. */
typedef struct
{
  GArray *gone, *new; /* guint */
} Moved;

static void
free_moved (gpointer data)
{
  Moved *moved = data;

  g_array_unref (moved->gone);
  g_array_unref (moved->new);
  g_free (moved);
}

/* Where a function lost as many lines as it won, they are the same in their order. */
static void
join_moved (GArray *changes)
{
  g_autoptr (GHashTable) functions =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_moved);
  GHashTableIter iter;
  gpointer value;

  for (guint i = 0; i < changes->len; i++)
    {
      const TesseraChange *change = &g_array_index (changes, TesseraChange, i);
      g_autofree char *function = without_number (change->name);

      if (function == NULL || (change->before_bytes > 0 && change->after_bytes > 0))
        continue;
      Moved *moved = g_hash_table_lookup (functions, function);
      if (moved == NULL)
        {
          moved = g_new (Moved, 1);
          *moved = (Moved){ g_array_new (FALSE, FALSE, sizeof (guint)),
                            g_array_new (FALSE, FALSE, sizeof (guint)) };
          g_hash_table_insert (functions, g_steal_pointer (&function), moved);
        }
      g_array_append_val (change->before_bytes > 0 ? moved->gone : moved->new, i);
    }
  g_hash_table_iter_init (&iter, functions);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const Moved *moved = value;

      if (moved->gone->len != moved->new->len)
        continue;
      g_array_sort_with_data (moved->gone, compare_numbers, changes);
      g_array_sort_with_data (moved->new, compare_numbers, changes);
      for (guint i = 0; i < moved->gone->len; i++)
        {
          TesseraChange *gone = &g_array_index (changes, TesseraChange,
                                                g_array_index (moved->gone, guint, i));
          TesseraChange *new = &g_array_index (changes, TesseraChange,
                                               g_array_index (moved->new, guint, i));

          new->before_bytes = gone->before_bytes;
          new->before_blocks = gone->before_blocks;
          gone->before_bytes = gone->before_blocks = 0;
        }
    }
  for (guint i = changes->len; i > 0; i--)
    if (g_array_index (changes, TesseraChange, i - 1).before_blocks == 0 &&
        g_array_index (changes, TesseraChange, i - 1).after_blocks == 0)
      g_array_remove_index_fast (changes, i - 1);
}

GArray *
tessera_changes (const TesseraWhose *before,
                 uint32_t before_index,
                 const TesseraWhose *after,
                 uint32_t after_index,
                 TesseraBy by)
{
  g_autoptr (GHashTable) rows =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GArray) old = tessera_owners (before, by, before_index);
  g_autoptr (GArray) new = tessera_owners (after, by, after_index);
  GArray *changes = g_array_new (FALSE, TRUE, sizeof (TesseraChange));

  g_array_set_clear_func (changes, clear_change);
  add_owners (changes, rows, old, by, false);
  add_owners (changes, rows, new, by, true);
  if (by == TESSERA_BY_LINE || by == TESSERA_BY_USE)
    join_moved (changes);
  g_array_sort (changes, compare_changes);
  return changes;
}
