/*
 * What is started in place of this program: tessera record, run and view.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/run.h"
#include "cli/process.h"

static char *policy, *plan, *follow;
static gboolean has_stacks;

static int
run_record (int n_words, char **program)
{
  if (policy != NULL &&
      (!cli_job_policy_is_known (policy) || g_str_equal (policy, "plan")))
    cli_usage ("--policy takes native, expandable or direct, not \"%s\"", policy);
  cli_check_recording (NULL, cli_given.output);
  const CliJob job = { .record = cli_given.output,
                       .overwrites = cli_given.force,
                       .policy = policy,
                       .stacks = has_stacks ? "1" : NULL };
  cli_job_become (&job, program);
}

static const GOptionEntry record_options[] = {
  CLI_OPTION_OUTPUT ("The trace to write; %r rank, %h host, %p process", "T.tsr"),
  { CLI_OPTION ("policy", STRING, &policy),
    "native (default), expandable, or direct, which asks the driver for every tensor so "
    "that only what lives must fit",
    "POLICY" },
  { CLI_OPTION ("stacks", NONE, &has_stacks), "Record the lines that allocate" },
  CLI_OPTION_FORCE,
  { NULL }
};

const CliCommand cli_record = {
  .name = "record",
  .synopsis = "-o T.tsr -- PROGRAM...",
  .summary = "train on a GPU and record a trace",
  .help =
      "PROGRAM is what you would type, torchrun included. The exit status is PROGRAM's.",
  .takes = CLI_RUNS_PROGRAM | CLI_NEEDS_OUTPUT,
  .n_least = 1,
  .n_most = -1,
  .options = record_options,
  .run = run_record,
};

/* A plan that does not hold is declined while the program runs; one that is not there is
 * a slip, which would show only once CUDA is used. Of a pattern each process has its own.
 */
static void
check_plan_is_there (void)
{
  g_autofree char *shown = g_filename_display_name (plan);
  const char *why = access (plan, R_OK) != 0 ? g_strerror (errno)
                    : !g_file_test (plan, G_FILE_TEST_IS_REGULAR)
                        ? "it is not a file but a device or pipe"
                        : NULL;

  if (strchr (plan, '%') == NULL && why != NULL)
    cli_fail_with ("Cannot read %s: %s", shown, why);
}

static int
run_run (int n_words, char **program)
{
  if (plan == NULL || *plan == '\0')
    cli_usage ("say which plan to follow with --plan P.tsp");
  if (!cli_job_follow_is_known (follow))
    cli_usage ("--follow takes length or trace, not \"%s\"", follow);
  cli_job_find_plan (&plan, -1);
  check_plan_is_there ();
  if (cli_given.output != NULL)
    cli_check_recording (plan, cli_given.output);
  const CliJob job = { .policy = "plan",
                       .plan = plan,
                       .follow = follow,
                       .record = cli_given.output,
                       .overwrites = cli_given.force };
  cli_job_become (&job, program);
}

static const GOptionEntry run_options[] = {
  { CLI_OPTION ("plan", FILENAME, &plan),
    "The plan to follow, or the folder of each rank's; %r rank, %h host, %p process",
    "P.tsp" },
  CLI_OPTION_FOLLOW (&follow),
  CLI_OPTION_OUTPUT ("Record as well, into this trace; patterns as above", "T.tsr"),
  CLI_OPTION_FORCE,
  { NULL }
};

const CliCommand cli_run = {
  .name = "run",
  .synopsis = "--plan P.tsp -- PROGRAM...",
  .summary = "train on a GPU and follow a plan",
  .help = "A plan that does not hold for the job is declined, and the job goes on "
          "without. The exit\nstatus is PROGRAM's.",
  .takes = CLI_RUNS_PROGRAM,
  .n_least = 1,
  .n_most = -1,
  .options = run_options,
  .run = run_run,
};

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

static int
run_view (int n_files, char **files)
{
  if (n_files > 0 && access (files[0], R_OK) != 0)
    {
      int why = errno;
      g_autofree char *shown = g_filename_display_name (files[0]);
      cli_fail_with ("%s cannot be opened: %s", shown, g_strerror (why));
    }
  if (!has_display ())
    cli_fail_with ("there is no display here: `tessera report FILE -o REPORT.html` "
                   "writes the same as a page");
  char *viewer = cli_place_find (CLI_PLACE_VIEWER);
  if (viewer == NULL)
    viewer = g_find_program_in_path ("tessera-viewer");
  if (viewer == NULL)
    cli_fail_with ("tessera-viewer is neither beside this program nor on PATH: build "
                   "with GTK 4, or use `tessera report FILE -o REPORT.html`");
  char *const arguments[] = { viewer, n_files > 0 ? files[0] : NULL, NULL };
  cli_process_restore ();
  execv (viewer, arguments);
  cli_fail_with ("%s does not start: %s", viewer, g_strerror (errno));
}

const CliCommand cli_view = {
  .name = "view",
  .synopsis = "[FILE]",
  .summary = "open the viewer",
  .help = "Starts tessera-viewer.",
  .n_least = 0,
  .n_most = 1,
  .run = run_view,
};
