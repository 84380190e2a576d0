/*
 * For tests: files of the shared data, where they are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "recorder/import/import.h"
#include "tests/ok.h"

/* The path of a file, which may be packed and may be named without ".pickle". NULL, with a
 * skip: it is not there. To be freed. */
static inline char *
test_shared (const char *name)
{
  static const char *const endings[] = { "", ".gz", ".pickle", ".pickle.gz" };
  const char *folder = g_getenv ("TESSERA_SHARED_DATA");

  for (gsize i = 0; i < G_N_ELEMENTS (endings); i++)
    {
      g_autofree char *path =
          g_strdup_printf ("%s/%s%s", folder != NULL ? folder : ".", name, endings[i]);

      if (g_file_test (path, G_FILE_TEST_EXISTS))
        return g_steal_pointer (&path);
    }
  g_test_skip_printf ("%s is not in the shared data", name);
  return NULL;
}

/* ... as a trace, which it has to be. */
static inline TesseraTrace *
test_shared_trace (const char *name)
{
  const TesseraOpenOptions options = { .device = TESSERA_NONE };
  g_autofree char *path = test_shared (name);
  TesseraTrace *trace = NULL;

  WORKS (error, path != NULL && tessera_open (path, &options, &error, &trace));
  return trace;
}
