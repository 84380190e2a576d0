/* tessera run. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/job.h"
#include "cli/output.h"

/* A plan that does not hold is declined while the program runs; one that is not there is
 * a slip, which would show only once CUDA is used. Of a pattern each process has its own.
 */
static int
check_there (const char *plan)
{
  g_autofree char *shown = g_filename_display_name (plan);
  TesseraError error = { 0 };
  struct stat about;
  const char *why = NULL;
  int file;

  if (strchr (plan, '%') != NULL)
    return CLI_DONE;
  /* Opening a pipe must not wait for its writer. */
  file = open (plan, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 || fstat (file, &about) < 0)
    why = g_strerror (errno);
  else if (S_ISDIR (about.st_mode))
    why = g_strerror (EISDIR);
  else if (!S_ISREG (about.st_mode))
    why = "it is not a file but a device or pipe";
  if (file >= 0)
    close (file);
  if (why == NULL)
    return CLI_DONE;
  (void) tessera_fail (&error, TESSERA_IO, "Cannot read %s: %s", shown, why);
  return cli_fail (&error);
}

int
cli_run (int argc, char **argv)
{
  g_autofree char *output = NULL, *plan = NULL, *follow = NULL;
  gboolean force = FALSE;
  GOptionEntry entries[] = {
    { "plan", 0, 0, G_OPTION_ARG_FILENAME, &plan,
      "The plan to follow; %r rank, %h host, %p process", "P.tsp" },
    { "follow", 0, 0, G_OPTION_ARG_STRING, &follow,
      "length: also steps of other lengths than those it was made from; trace: the same "
      "batches only (default: length where the plan has steps that vary)",
      "length|trace" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
      "Record as well, into this trace; patterns as above", "T.tsr" },
    CLI_FORCE (&force),
    { NULL }
  };
  CliJob job = { .policy = "plan" };

  if (!cli_parse ("run", &argc, &argv, entries, NULL, 1, -1))
    return CLI_USAGE;
  if (plan == NULL || *plan == '\0')
    return cli_usage ("run", "say which plan to follow with --plan P.tsp");
  if (!cli_job_follow_is_known (follow))
    return cli_usage ("run", "--follow takes length or trace, not \"%s\"", follow);
  int result = check_there (plan);
  if (result == CLI_DONE)
    result = cli_check_recording ("run", plan, output, force);
  if (result != CLI_DONE)
    return result;
  job.plan = plan;
  job.follow = follow;
  job.record = output;
  job.overwrites = force;
  return cli_job_become (&job, argv + 1);
}
