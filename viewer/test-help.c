/*
 * What the viewer's tests share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/test-help.h"

#include "tests/recorder/snapshot-writer.h"

#include <glib/gstdio.h>
#include <unistd.h>

char *
test_sample_path (void)
{
  const char *root = g_getenv ("TESSERA_SOURCE_ROOT");
  const char *shared = g_getenv ("TESSERA_SHARED_DATA");
  g_autofree char *bundled = NULL;
  g_autofree char *given = NULL;

  if (root != NULL)
    bundled = g_build_filename (root, "samples", "finetune-oom.pickle.gz", NULL);
  if (bundled != NULL && g_file_test (bundled, G_FILE_TEST_EXISTS))
    return g_steal_pointer (&bundled);
  if (shared != NULL)
    given = g_build_filename (shared, "sample", "finetune-oom.pickle", NULL);
  if (given != NULL && g_file_test (given, G_FILE_TEST_EXISTS))
    return g_steal_pointer (&given);
  return NULL;
}

char *
test_three_blocks_path (void)
{
  static const char table[] =
      "seq,time_us,action,id,size_bytes,stream,iteration,phase,module\n"
      "0,0,alloc,1,1048576,0,0,forward,a\n"
      "1,10,alloc,2,2097152,0,0,forward,b\n"
      "2,20,mark,0,0,0,0,forward,\n"
      "3,30,free,2,2097152,0,0,backward,b\n"
      "4,40,alloc,3,2097152,0,0,backward,c\n"
      "5,50,free,1,1048576,0,0,backward,a\n"
      "6,60,mark,0,0,0,0,backward,\n";
  char *path = NULL;
  int fd = g_file_open_tmp ("three-blocks-XXXXXX.csv", &path, NULL);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, table, sizeof table - 1), ==, sizeof table - 1);
  close (fd);
  return path;
}

typedef struct
{
  int id;
  int size_mib;
} Alive;

static void
add_row (GString *table, guint *n_rows, const char *action, const Alive *block)
{
  g_string_append_printf (table, "%u,%u,%s,%d,%d,0\n", *n_rows, *n_rows * 10, action,
                          block->id, block->size_mib << 20);
  (*n_rows)++;
}

char *
test_hard_path (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autoptr (GArray) alive = g_array_new (FALSE, FALSE, sizeof (Alive));
  g_autoptr (GString) table = g_string_new ("seq,time_us,action,id,size_bytes,stream\n");
  char *path = NULL;
  int fd = g_file_open_tmp ("hard-XXXXXX.csv", &path, NULL), load_mib = 0;
  guint n_rows = 0;

  g_assert_cmpint (fd, >=, 0);
  close (fd);
  for (int i = 0; i < 160; i++)
    {
      Alive block = { i, g_rand_int_range (random, 8, 61) };

      while (load_mib + block.size_mib > 256)
        {
          guint which = (guint) g_rand_int_range (random, 0, (int) alive->len);
          Alive gone = g_array_index (alive, Alive, which);

          add_row (table, &n_rows, "free", &gone);
          load_mib -= gone.size_mib;
          g_array_remove_index_fast (alive, which);
        }
      add_row (table, &n_rows, "alloc", &block);
      load_mib += block.size_mib;
      g_array_append_val (alive, block);
    }
  for (guint i = 0; i < alive->len; i++)
    add_row (table, &n_rows, "free", &g_array_index (alive, Alive, i));
  g_assert_true (g_file_set_contents (path, table->str, -1, NULL));
  return path;
}

char *
test_devices_path (void)
{
  g_autoptr (GByteArray) pickle = devices_snapshot ();
  char *path = NULL;
  int fd = g_file_open_tmp ("devices-XXXXXX.pickle", &path, NULL);

  g_assert_cmpint (fd, >=, 0);
  close (fd);
  g_assert_true (
      g_file_set_contents (path, (const char *) pickle->data, pickle->len, NULL));
  return path;
}

void
test_copy_file (const char *from, const char *to)
{
  g_autoptr (GFile) source = g_file_new_for_path (from);
  g_autoptr (GFile) target = g_file_new_for_path (to);

  g_assert_true (g_file_copy (source, target, G_FILE_COPY_TARGET_DEFAULT_PERMS, NULL,
                              NULL, NULL, NULL));
}

void
test_open (TesseraDocument *document, const char *path)
{
  tessera_document_open (document, path);
  WAIT (!tessera_document_is_busy (document), SLOW_MS);
  g_assert_cmpstr (document->error, ==, NULL);
  g_assert_nonnull (document->data);
}

gboolean
test_is_fit (const TesseraDocument *document)
{
  const TesseraView *v = &document->view;

  return v->t0 <= 0 && v->t1 >= 1 && v->y0 <= 0 && v->y1 >= document->world_bytes;
}
