/*
 * libtessera.so itself, opened and closed as a program does, in a process that has no
 * libstdc++ to throw an exception.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/tessera.h"

#include <dlfcn.h>
#include <glib.h>
#include <string.h>

static const char *library_path;

#define FUNCTION(library, name)                                                          \
  ((__typeof__ (name) *) symbol (library, G_STRINGIFY (name)))

static void *
symbol (void *library, const char *name)
{
  void *found = dlsym (library, name);

  if (found == NULL)
    g_error ("%s", dlerror ());
  return found;
}

static void
test_open_and_close (void)
{
  void *library = dlopen (library_path, RTLD_NOW | RTLD_LOCAL);
  char notice[1024];

  if (library == NULL)
    g_error ("%s", dlerror ());
  g_assert_cmpstr (FUNCTION (library, tessera_version) (), !=, "");
  g_assert_cmpint (FUNCTION (library, tessera_configure) ("limit", "0.05"), ==, 0);
  g_assert_cmpint (FUNCTION (library, tessera_start) (), ==, 0);
  FUNCTION (library, tessera_torch_has_record_stream) (1);
  void *ptr = FUNCTION (library, tessera_torch_alloc) (1000, 0, NULL);
  g_assert_nonnull (ptr);

  /* No exception can be raised here: NULL, and a sentence. */
  g_assert_null (FUNCTION (library, tessera_torch_alloc) ((ssize_t) 1 << 40, 0, NULL));
  g_assert_cmpuint (FUNCTION (library, tessera_take_notice) (notice, sizeof notice), >,
                    0);
  g_assert_nonnull (strstr (notice, "CUDA out of memory."));
  g_assert_nonnull (strstr (notice, "libstdc++"));

  /* It stays where it is: PyTorch keeps its addresses. */
  FUNCTION (library, tessera_torch_free) (ptr, 1000, 0, NULL);
  dlclose (library);
  g_assert_nonnull (dlopen (library_path, RTLD_NOW | RTLD_NOLOAD));
}

static void
test_hidden_sqlite (void)
{
  void *library = dlopen (library_path, RTLD_NOW | RTLD_LOCAL);

  g_assert_null (dlsym (library, "sqlite3_open"));
  g_assert_null (dlsym (library, "tessera_trace_load"));
  dlclose (library);
}

int
main (int argc, char **argv)
{
  library_path = g_getenv ("TESSERA_LIBRARY");
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/library/open-and-close", test_open_and_close);
  g_test_add_func ("/library/hidden-sqlite", test_hidden_sqlite);
  return g_test_run ();
}
