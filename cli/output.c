/* See output.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/store.h"

static int
cannot_write (const char *output, const char *why)
{
  g_autofree char *shown = g_filename_display_name (output);
  TesseraError error = { 0 };
  tessera_fail (&error, TESSERA_IO, "%s cannot be written: %s", shown, why);
  return cli_fail (&error);
}

int
cli_check_output (const char *name, const char *input, const char *output)
{
  struct stat in, out;
  if (output == NULL)
    return CLI_DONE;
  if (*output == '\0')
    return cli_usage (name, "-o takes the name of a file, not an empty one");
  if (stat (output, &out) == 0)
    {
      if (S_ISDIR (out.st_mode))
        return cannot_write (output, "it is a folder; name a file in it");
      /* A new file takes the place of the old one: never that of a device. */
      if (!S_ISREG (out.st_mode))
        return cannot_write (output, "it is a device or pipe; name a file");
      if (input != NULL && stat (input, &in) == 0 && in.st_dev == out.st_dev &&
          in.st_ino == out.st_ino)
        return cli_usage (name, "-o names the file that is read: choose another one");
    }
  g_autofree char *folder = g_path_get_dirname (output);
  if (access (folder, W_OK | X_OK) != 0)
    return cannot_write (output, g_strerror (errno));
  return CLI_DONE;
}

int
cli_check_trace_output (const char *name, const char *input, const char *output)
{
  struct stat there;
  int result = cli_check_output (name, input, output);

  if (result != CLI_DONE || output == NULL || g_str_has_suffix (output, ".tsr") ||
      stat (output, &there) != 0 || there.st_size == 0 ||
      tessera_file_kind (output) == TESSERA_FILE_TRACE)
    return result;
  return cannot_write (
      output, "a file that is no trace is there and would be lost; name one that "
              "ends in .tsr");
}

/* Of GLib's sentence the end: the file that it names is another one, gone by now. */
static const char *
reason_of (const GError *failure)
{
  const char *colon = strrchr (failure->message, ':');

  return colon != NULL && colon[1] == ' ' ? colon + 2 : failure->message;
}

TesseraStatus
cli_write_file (const char *output, const char *data, gssize n_bytes, TesseraError *error)
{
  g_autoptr (GError) failure = NULL;
  g_autofree char *shown = g_filename_display_name (output);

  if (g_file_set_contents (output, data, n_bytes, &failure))
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_IO, "%s cannot be written: %s", shown,
                       reason_of (failure));
}
