/* tessera run. SPDX-License-Identifier: Apache-2.0 */
#include "cli/job.h"
#include "cli/output.h"

int
cli_run (int argc, char **argv)
{
  g_autofree char *output = NULL, *plan = NULL, *follow = NULL;
  GOptionEntry entries[] = {
    { "plan", 0, 0, G_OPTION_ARG_FILENAME, &plan,
      "The plan to follow; %r rank, %h host, %p process", "P.tsp" },
    { "follow", 0, 0, G_OPTION_ARG_STRING, &follow,
      "length: also steps of other lengths than those it was made from; trace: the same "
      "batches only (default: length where the plan has steps that vary)",
      "length|trace" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
      "Record as well, into this trace; patterns as above", "T.tsr" },
    { NULL }
  };
  CliJob job = { .policy = "plan" };

  if (!cli_parse ("run", &argc, &argv, entries, NULL, 1, -1))
    return CLI_USAGE;
  if (plan == NULL || *plan == '\0')
    return cli_usage ("run", "say which plan to follow with --plan P.tsp");
  if (!cli_job_follow_is_known (follow))
    return cli_usage ("run", "--follow takes length or trace, not \"%s\"", follow);
  int result = cli_check_trace_output ("run", plan, output);
  if (result != CLI_DONE)
    return result;
  job.plan = plan;
  job.follow = follow;
  job.record = output;
  return cli_job_become (&job, argv + 1);
}
