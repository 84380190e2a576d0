/* tessera record. SPDX-License-Identifier: Apache-2.0 */
#include "cli/job.h"
#include "cli/output.h"

int
cli_record (int argc, char **argv)
{
  g_autofree char *output = NULL, *policy = NULL;
  gboolean stacks = FALSE, force = FALSE;
  GOptionEntry entries[] = { { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
                               "The trace to write; %r rank, %h host, %p process",
                               "T.tsr" },
                             { "policy", 0, 0, G_OPTION_ARG_STRING, &policy,
                               "native (default), expandable, or direct, which asks the "
                               "driver for every tensor so "
                               "that only what lives must fit",
                               "POLICY" },
                             { "stacks", 0, 0, G_OPTION_ARG_NONE, &stacks,
                               "Record the lines that allocate", NULL },
                             CLI_FORCE (&force),
                             { NULL } };
  CliJob job = { 0 };

  if (!cli_parse ("record", &argc, &argv, entries, NULL, 1, -1))
    return CLI_USAGE;
  if (output == NULL)
    return cli_usage ("record", "say where to write with -o T.tsr");
  if (policy != NULL &&
      (!cli_job_policy_is_known (policy) || g_str_equal (policy, "plan")))
    return cli_usage ("record", "--policy takes native, expandable or direct, not \"%s\"",
                      policy);
  int result = cli_check_recording ("record", NULL, output, force);
  if (result != CLI_DONE)
    return result;
  job.record = output;
  job.overwrites = force;
  job.policy = policy;
  job.stacks = stacks ? "1" : NULL;
  return cli_job_become (&job, argv + 1);
}
