/*
 * tessera: one command, a subcommand per question.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/command.h"
#include "cli/process.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static const CliCommand *const commands[] = {
  &cli_info,    &cli_oom,     &cli_job,     &cli_import, &cli_simulate,
  &cli_fit,     &cli_plan,    &cli_explain, &cli_edits,  &cli_check,
  &cli_compare, &cli_diff,    &cli_export,  &cli_render, &cli_report,
  &cli_view,    &cli_dry_run, &cli_gate,    &cli_record, &cli_run,
};

static void
print_help (FILE *to)
{
  fputs ("tessera: GPU memory fragmentation, seen, explained and planned away\n\n"
         "usage: tessera COMMAND [OPTIONS]\n\n",
         to);
  for (size_t i = 0; i < G_N_ELEMENTS (commands); i++)
    fprintf (to, "  %-9s %-26s %s\n", commands[i]->name, commands[i]->synopsis,
             commands[i]->summary);
  fputs ("\n`tessera COMMAND --help` tells a command's options. Status: 0 done, 1 the "
         "input is\n"
         "at fault, 2 the command line is; see dry-run for its own.\n",
         to);
}

int
main (int argc, char **argv)
{
  cli_process_begin ();
  setlocale (LC_CTYPE, "");
  if (argc < 2)
    {
      print_help (stderr);
      return CLI_USAGE;
    }
  if (strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "-h") == 0 ||
      strcmp (argv[1], "help") == 0)
    {
      print_help (stdout);
      return CLI_DONE;
    }
  if (strcmp (argv[1], "--version") == 0)
    {
      puts ("tessera " TESSERA_VERSION);
      return CLI_DONE;
    }
  for (size_t i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (commands[i]->name, argv[1]) == 0)
      return cli_start (commands[i], argc - 1, argv + 1);
  fprintf (stderr, "tessera: there is no command \"%s\" (see tessera --help)\n",
           cli_shown (argv[1]));
  return CLI_USAGE;
}
