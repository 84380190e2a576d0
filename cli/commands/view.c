/* tessera view [FILE]: starts the viewer. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/place.h"
#include "cli/process.h"

/* Beside this program, in the build tree beside it, or on PATH. */
static char *
find_viewer (void)
{
  char *path = cli_place_find (CLI_PLACE_VIEWER);
  return path != NULL ? path : g_find_program_in_path ("tessera-viewer");
}

static gboolean
has_display (void)
{
  static const char *const said_by[] = { "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "DISPLAY",
                                         "BROADWAY_DISPLAY", "GDK_BACKEND" };
  for (size_t i = 0; i < G_N_ELEMENTS (said_by); i++)
    if (g_getenv (said_by[i]) != NULL && *g_getenv (said_by[i]) != '\0')
      return TRUE;
  return FALSE;
}

int
cli_view (int argc, char **argv)
{
  TesseraError error = { 0 };
  if (!cli_parse ("view", &argc, &argv, NULL, NULL, 0, 1))
    return CLI_USAGE;
  if (argc > 1 && access (argv[1], R_OK) != 0)
    {
      g_autofree char *shown = g_filename_display_name (argv[1]);
      tessera_fail (&error, TESSERA_IO, "%s cannot be opened: %s", shown,
                    g_strerror (errno));
      return cli_fail (&error);
    }
  if (!has_display ())
    {
      tessera_fail (&error, TESSERA_IO,
                    "there is no display here: `tessera report FILE -o REPORT.html` "
                    "writes the same as a page");
      return cli_fail (&error);
    }
  g_autofree char *viewer = find_viewer ();
  if (viewer == NULL)
    {
      tessera_fail (
          &error, TESSERA_IO,
          "tessera-viewer is neither beside this program nor on PATH: build with GTK 4, "
          "or use `tessera report FILE -o REPORT.html`");
      return cli_fail (&error);
    }
  char *const arguments[] = { viewer, argc > 1 ? argv[1] : NULL, NULL };
  cli_process_restore ();
  execv (viewer, arguments);
  tessera_fail (&error, TESSERA_IO, "%s does not start: %s", viewer, g_strerror (errno));
  return cli_fail (&error);
}
