/* See output.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/process.h"
#include "db/output.h"
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
  int failure = tessera_output_check (output);
  if (failure == EISDIR)
    return cannot_write (output, "it is a folder; name a file in it");
  if (failure != 0)
    return cannot_write (output, g_strerror (failure));
  if (input != NULL && stat (output, &out) == 0 && S_ISREG (out.st_mode) &&
      tessera_output_descriptor (output) < 0 && stat (input, &in) == 0 &&
      in.st_dev == out.st_dev && in.st_ino == out.st_ino)
    return cli_usage (name, "-o names the file that is read: choose another one");
  if (tessera_output_descriptor (output) == STDOUT_FILENO)
    cli_process_print_to_stderr ();
  return CLI_DONE;
}

int
cli_check_result (const char *name,
                  const char *input,
                  const char *output,
                  TesseraFileKind kind,
                  gboolean force)
{
  struct stat there;
  int result = cli_check_output (name, input, output);

  if (result != CLI_DONE || output == NULL || force || stat (output, &there) != 0 ||
      !S_ISREG (there.st_mode) || there.st_size == 0 ||
      tessera_output_descriptor (output) >= 0 || tessera_file_kind (output) == kind)
    return result;
  return cannot_write (output,
                       kind == TESSERA_FILE_TRACE
                           ? "a file that is no trace would be lost; name another "
                             "one, or overwrite it with --force"
                       : kind == TESSERA_FILE_PLAN
                           ? "a file that is no plan would be lost; name another "
                             "one, or overwrite it with --force"
                           : "a trace or plan would be lost; name another file, or "
                             "overwrite it with --force");
}

int
cli_check_recording (const char *name,
                     const char *input,
                     const char *output,
                     gboolean force)
{
  struct stat there;

  if (output != NULL && stat (output, &there) == 0 && !S_ISREG (there.st_mode) &&
      !S_ISDIR (there.st_mode))
    return cannot_write (output, "it is a device or pipe; name a file");
  return cli_check_result (name, input, output, TESSERA_FILE_TRACE, force);
}
