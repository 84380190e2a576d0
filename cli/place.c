/* See place.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/place.h"

/* Relative to this program's folder: in a build folder inside the sources, and installed.
 */
static const struct
{
  const char *built;
  const char *installed;
} places[] = {
  [CLI_PLACE_VIEWER] = { "../viewer/tessera-viewer", "tessera-viewer" },
  [CLI_PLACE_LIBRARY] = { "../runtime/libtessera.so",
                          TESSERA_LIBRARIES "/libtessera.so" },
  [CLI_PLACE_NULLCUDA] = { "../nullcuda", TESSERA_LIBRARIES "/tessera/nullcuda" },
  [CLI_PLACE_AUTOLOAD] = { "../../python/tessera/autoload",
                           TESSERA_PYTHON "/tessera/autoload" },
};

char *
cli_place_find (CliPlace place)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  if (self == NULL)
    return NULL;
  g_autofree char *folder = g_path_get_dirname (self);
  const char *const candidates[] = { places[place].built, places[place].installed };
  for (size_t i = 0; i < G_N_ELEMENTS (candidates); i++)
    {
      g_autofree char *path = g_canonicalize_filename (candidates[i], folder);
      if (g_file_test (path, G_FILE_TEST_EXISTS))
        return g_steal_pointer (&path);
    }
  return NULL;
}
