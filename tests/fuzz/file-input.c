/*
 * What a fuzzer made up, as a file that can be opened.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/file-input.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define MAGIC "SQLite format 3"
#define CHANGE_BYTES 4

static char *path;
static char *base;
static size_t n_base_bytes;

static void
remove_file (void)
{
  g_remove (path);
  g_free (path);
  g_free (base);
}

static void
begin (void (*make_base) (const char *path))
{
  const char *folder = g_access ("/dev/shm", W_OK) == 0 ? "/dev/shm" : g_get_tmp_dir ();

  path = g_strdup_printf ("%s/tessera-fuzz-%ld", folder, (long) getpid ());
  make_base (path);
  g_assert_true (g_file_get_contents (path, &base, &n_base_bytes, NULL));
  atexit (remove_file);
}

const char *
fuzz_file_input (const uint8_t *data,
                 size_t n_bytes,
                 void (*make_base) (const char *path))
{
  g_autofree char *changed = NULL;
  const void *contents = data;
  size_t n_contents = n_bytes;

  if (!path)
    begin (make_base);
  if (n_bytes < sizeof MAGIC || memcmp (data, MAGIC, sizeof MAGIC) != 0)
    {
      changed = g_memdup2 (base, n_base_bytes);
      for (; n_bytes >= CHANGE_BYTES; data += CHANGE_BYTES, n_bytes -= CHANGE_BYTES)
        {
          size_t at = (size_t) data[0] << 16 | (size_t) data[1] << 8 | data[2];

          changed[at % n_base_bytes] = (char) data[3];
        }
      contents = changed;
      n_contents = n_base_bytes;
    }
  g_assert_true (g_file_set_contents_full (path, contents, (gssize) n_contents,
                                           G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  return path;
}
