/* See whose.h. SPDX-License-Identifier: Apache-2.0 */
#include "answers/whose.h"

#include <string.h>

static void
clear_change (gpointer data)
{
  g_free (((TesseraChange *) data)->name);
}

static int
compare_changes (const void *a, const void *b)
{
  const TesseraChange *x = a, *y = b;
  const int64_t left = ABS ((int64_t) x->after_bytes - (int64_t) x->before_bytes);
  const int64_t right = ABS ((int64_t) y->after_bytes - (int64_t) y->before_bytes);

  if (left != right)
    return left > right ? -1 : 1;
  if (x->after_bytes != y->after_bytes)
    return x->after_bytes > y->after_bytes ? -1 : 1;
  return strcmp (x->name, y->name);
}

/* The row called @name, made where it is new. @rows: by name. */
static TesseraChange *
find_change (GArray *changes, GHashTable *rows, const char *name)
{
  gpointer row;

  if (!g_hash_table_lookup_extended (rows, name, NULL, &row))
    {
      const TesseraChange fresh = { .name = g_strdup (name) };

      row = GUINT_TO_POINTER (changes->len);
      g_hash_table_insert (rows, fresh.name, row);
      g_array_append_val (changes, fresh);
    }
  return &g_array_index (changes, TesseraChange, GPOINTER_TO_UINT (row));
}

static void
add_owners (
    GArray *changes, GHashTable *rows, const GArray *owners, TesseraBy by, bool is_after)
{
  for (guint i = 0; i < owners->len; i++)
    {
      const TesseraOwner *owner = &g_array_index (owners, TesseraOwner, i);
      g_autofree char *name = by == TESSERA_BY_MODULE ? tessera_name_alike (owner->name)
                                                      : g_strdup (owner->name);
      TesseraChange *change = find_change (changes, rows, name);

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
compare_numbers (const void *a, const void *b)
{
  const TesseraOwner *const *x = a, *const *y = b;
  const guint64 left = g_ascii_strtoull (strchr ((*x)->name, ':') + 1, NULL, 10);
  const guint64 right = g_ascii_strtoull (strchr ((*y)->name, ':') + 1, NULL, 10);

  return (left > right) - (left < right);
}

/* Lines of one function, from the first on, by its name without numbers. */
static GHashTable *
list_functions (const GArray *owners)
{
  GHashTable *functions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                                 (GDestroyNotify) g_ptr_array_unref);
  GHashTableIter iter;
  gpointer lines;

  for (guint i = 0; i < owners->len; i++)
    {
      TesseraOwner *owner = &g_array_index (owners, TesseraOwner, i);
      char *function = without_number (owner->name);

      if (function == NULL)
        continue;
      lines = g_hash_table_lookup (functions, function);
      if (lines == NULL)
        g_hash_table_insert (functions, g_strdup (function), lines = g_ptr_array_new ());
      g_ptr_array_add (lines, owner);
      g_free (function);
    }
  g_hash_table_iter_init (&iter, functions);
  while (g_hash_table_iter_next (&iter, NULL, &lines))
    g_ptr_array_sort (lines, compare_numbers);
  return functions;
}

static void
rename_owner (TesseraOwner *owner, char *name)
{
  g_free (owner->name);
  owner->name = name;
}

/* Of a function with as many lines as before they are the same in their order; else those that
 * hold as much are, and of the others those of one number. */
static void
match_function (GPtrArray *old, GPtrArray *new)
{
  const bool is_pairwise = old->len == new->len;
  g_autoptr (GHashTable) taken = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) others = g_ptr_array_new ();
  guint next = 0;

  for (guint i = 0; i < old->len; i++)
    {
      TesseraOwner *owner = old->pdata[i];
      guint at = is_pairwise ? i : next;

      while (at < new->len && !is_pairwise &&
             ((TesseraOwner *) new->pdata[at])->bytes != owner->bytes)
        at++;
      if (at == new->len)
        {
          g_ptr_array_add (others, owner);
          continue;
        }
      rename_owner (owner, g_strdup (((TesseraOwner *) new->pdata[at])->name));
      g_hash_table_add (taken, owner->name);
      next = at + 1;
    }
  for (guint i = 0; i < others->len; i++)
    {
      TesseraOwner *owner = others->pdata[i];

      if (g_hash_table_contains (taken, owner->name))
        rename_owner (owner, g_strdup_printf ("%s (before)", owner->name));
    }
}

/* "train.py" of "train.py loss_of": files are told by their names, without folders. */
static char *
file_of (const char *function)
{
  return g_strndup (function, strcspn (function, " "));
}

static GHashTable *
list_files (GHashTable *functions)
{
  GHashTable *files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GHashTableIter iter;
  gpointer function;

  g_hash_table_iter_init (&iter, functions);
  while (g_hash_table_iter_next (&iter, &function, NULL))
    g_hash_table_add (files, file_of (function));
  return files;
}

/* The lines of @function in a file that only the new run has, where one such file has it: the
 * source was renamed, or copied and changed. NULL: none, or several. */
static GPtrArray *
find_renamed (const char *function, GHashTable *after, GHashTable *files_before)
{
  GHashTableIter iter;
  gpointer other, lines;
  GPtrArray *found = NULL;

  g_hash_table_iter_init (&iter, after);
  while (g_hash_table_iter_next (&iter, &other, &lines))
    {
      g_autofree char *file = file_of (other);

      if (g_hash_table_contains (files_before, file) ||
          strcmp (function + strcspn (function, " "), (char *) other + strlen (file)) !=
              0)
        continue;
      if (found != NULL)
        return NULL;
      found = lines;
    }
  return found;
}

/* Gives lines of @old the names that they have in @new, where the source was changed. */
static void
match_lines (const GArray *old, const GArray *new)
{
  g_autoptr (GHashTable) before = list_functions (old);
  g_autoptr (GHashTable) after = list_functions (new);
  g_autoptr (GHashTable) files_before = list_files (before);
  g_autoptr (GHashTable) files_after = list_files (after);
  GHashTableIter iter;
  gpointer function, lines;

  g_hash_table_iter_init (&iter, before);
  while (g_hash_table_iter_next (&iter, &function, &lines))
    {
      g_autofree char *file = file_of (function);
      GPtrArray *same = g_hash_table_lookup (after, function);

      if (same == NULL && !g_hash_table_contains (files_after, file))
        same = find_renamed (function, after, files_before);
      if (same != NULL)
        match_function (lines, same);
    }
}

GArray *
tessera_changes (const TesseraWhose *before,
                 uint32_t before_index,
                 const TesseraWhose *after,
                 uint32_t after_index,
                 TesseraBy by)
{
  g_autoptr (GHashTable) rows = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GArray) old = tessera_owners (before, by, NULL, before_index);
  g_autoptr (GArray) new = tessera_owners (after, by, NULL, after_index);
  GArray *changes = g_array_new (FALSE, TRUE, sizeof (TesseraChange));

  g_array_set_clear_func (changes, clear_change);
  if (by == TESSERA_BY_LINE || by == TESSERA_BY_USE)
    match_lines (old, new);
  add_owners (changes, rows, old, by, false);
  add_owners (changes, rows, new, by, true);
  g_array_sort (changes, compare_changes);
  return changes;
}

GArray *
tessera_phase_changes (const TesseraWhose *before, const TesseraWhose *after)
{
  const TesseraWhose *const sides[] = { before, after };
  g_autoptr (GHashTable) rows = g_hash_table_new (g_str_hash, g_str_equal);
  GArray *changes = g_array_new (FALSE, TRUE, sizeof (TesseraChange));

  g_array_set_clear_func (changes, clear_change);
  for (int side = 0; side < 2; side++)
    {
      g_autoptr (GArray) peaks = tessera_phase_peaks (sides[side]);

      for (guint i = 0; i < peaks->len; i++)
        {
          const TesseraPhasePeak *peak = &g_array_index (peaks, TesseraPhasePeak, i);
          TesseraChange *change = find_change (changes, rows, peak->name);

          *(side == 1 ? &change->after_bytes : &change->before_bytes) = peak->live_bytes;
          *(side == 1 ? &change->after_blocks : &change->before_blocks) = 1;
        }
    }
  return changes;
}
