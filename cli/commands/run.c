/* tessera run. SPDX-License-Identifier: Apache-2.0 */
#include "cli/job.h"
#include "cli/output.h"

int
cli_run (int argc, char **argv)
{
  g_autofree char *output = NULL, *plan = NULL;
  GOptionEntry entries[] = {
    { "plan", 0, 0, G_OPTION_ARG_FILENAME, &plan,
      "The plan to follow; %r rank, %h host, %p process", "P.tsp" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
      "Record as well, into this trace; patterns as above", "T.tsr" },
    { NULL }
  };
  CliJob job = { .policy = "plan" };

  if (!cli_parse ("run", &argc, &argv, entries, NULL, 1, -1))
    return CLI_USAGE;
  if (plan == NULL || *plan == '\0')
    return cli_usage ("run", "say which plan to follow with --plan P.tsp");
  int result = cli_check_trace_output ("run", plan, output);
  if (result != CLI_DONE)
    return result;
  job.plan = plan;
  job.record = output;
  return cli_job_become (&job, argv + 1);
}
