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

static const CliCommand commands[] = {
  { "info", "FILE", "why is reserved above allocated: the verdict and its parts",
    "FILE is a PyTorch snapshot (.pickle, .pickle.gz), a CSV or a .tsr.\n"
    "The parts sum to the reserved bytes of that moment, to the byte. The plan is made "
    "with the\n"
    "edits that are kept with FILE (tessera edits), as `tessera plan` makes it, unless "
    "--no-edits is\ngiven.",
    cli_info },
  { "import", "FILE -o T.tsr",
    "turn a snapshot or CSV into a trace that anyone can query",
    "docs/FORMAT.md describes the tables and answers ten questions in SQL.", cli_import },
  { "simulate", "FILE...",
    "run a trace again under a policy, or verify our allocator against it",
    "--verify replays recorded snapshots through our own allocator and compares every\n"
    "address, segment, out-of-memory and final block; status 1 unless all are equal.",
    cli_simulate },
  { "fit", "FILE", "the smallest device that completes the trace, policy by policy",
    "Found by bisection over the simulation, to 2 MiB. The plan is made with the edits "
    "that are kept\nwith FILE, unless --no-edits is given.",
    cli_fit },
  { "plan", "FILE -o P.tsp", "plan where every block goes; checked before it is written",
    "The same trace, edits, options and budget give the same plan on every machine. "
    "Edits "
    "that\n"
    "are kept with FILE (tessera edits) are applied unless --edits or --no-edits is "
    "given.",
    cli_plan },
  { "explain", "FILE [BLOCK]",
    "why a block lies where the plan puts it; what makes the peak of live",
    "Without BLOCK: what is alive at the peak of live, and what the plan would take if "
    "it "
    "were freed before.\n"
    "BLOCK is an index as `tessera export --table blocks` and the viewer show it. The "
    "plan is made\n"
    "with the edits that are kept with FILE, unless --edits or --no-edits is given, and "
    "they are told.",
    cli_explain },
  { "edits", "list|add|apply|undo|redo|export FILE",
    "what you changed about groups and places: listed, added, undone",
    "Edits are kept in a .tsr itself, beside any other trace in FILE.edits.json.\n"
    "  tessera edits add FILE --kind pin --what \"class=persistent size>=1MiB\" --at 0 "
    "--shape P.tsp\n"
    "  tessera edits add FILE --kind cap --at 30GiB\n"
    "  tessera edits apply FILE EDITS.json     adds those of a file: JSON, or what a "
    ".tsp "
    "or\n"
    "                                          another .tsr was edited with\n"
    "A query is conditions that all have to hold: size>=1MiB phase=backward "
    "died=optimizer\n"
    "module=*mlp* source=train.py:12 group=\"...\" class=transient life<100 step=3 "
    "stream=1\n"
    "ordinal=0 alive=12345 blocks=3,7-9. docs/FORMAT.md describes the JSON.\n"
    "Sizes, here and everywhere: 24GB is 24 x 10^9 bytes, 24GiB is 24 x 2^30.",
    cli_edits },
  { "check", "P.tsp", "accept a plan or name the law it breaks",
    "The checker shares no code with the planner.", cli_check },
  { "compare", "A.tsp B.tsp", "what lies elsewhere in another plan of the same trace",
    "With --trace the hits that each is expected to have, by simulation.", cli_compare },
  { "bench", "planner [FILE...]", "what planning reaches and costs, file by file",
    "A table of height over load bound and processor seconds. Without FILE: the samples "
    "in\n"
    "the folder samples. FILE may be a planner's instance (CSV: id,lower,upper,size).",
    cli_bench },
  { "export", "FILE -o OUT",
    "tables as CSV or JSON: blocks, events, segments, curves, steps, slots",
    "FILE is a snapshot, a .tsr, or (for slots and placeless) a .tsp.", cli_export },
  { "render", "FILE -o PICTURE.png|svg", "draw both layouts side by side",
    "Time runs to the right, addresses upward; reserved but free memory is hatched.",
    cli_render },
  { "report", "FILE -o REPORT.html",
    "one self-contained HTML page: verdict, pictures, tables",
    "The page needs no network and prints well.", cli_report },
  { "view", "[FILE]", "open the viewer", "Starts tessera-viewer.", cli_view },
  { "dry-run", "-- PROGRAM...", "train with no GPU: will it fit, and what is its plan?",
    "PROGRAM is what you would type, e.g. python train.py --lr 3e-4. It runs unchanged "
    "over a\n"
    "CUDA that computes nothing, one rank, and goes on to its end, to 2000000 events "
    "(--events, "
    "--for)\n"
    "or to Ctrl-C. Then its trace is simulated; the plan is made of its first whole "
    "steps.\n"
    "The first line says what was seen. Status: 0 it fits natively or with expandable "
    "segments (with "
    "--plan:\n"
    "or with the plan), 3 it does not, or PROGRAM died of memory, 4 PROGRAM failed "
    "otherwise,\n"
    "1 and 2 as with every command.",
    cli_dry_run, TRUE },
  { "record", "-o T.tsr -- PROGRAM...", "train on a GPU and record a trace",
    "PROGRAM is what you would type, torchrun included. The exit status is PROGRAM's.",
    cli_record, TRUE },
  { "run", "--plan P.tsp -- PROGRAM...", "train on a GPU and follow a plan",
    "A plan that does not hold for the job is declined, and the job goes on without. The "
    "exit\n"
    "status is PROGRAM's.",
    cli_run, TRUE },
};

static const CliCommand *
find (const char *name)
{
  for (size_t i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (commands[i].name, name) == 0)
      return &commands[i];
  return NULL;
}

static void
print_help (FILE *to)
{
  fputs ("tessera: GPU memory fragmentation, seen, explained and planned away\n\n"
         "usage: tessera COMMAND [OPTIONS]\n\n",
         to);
  for (size_t i = 0; i < G_N_ELEMENTS (commands); i++)
    fprintf (to, "  %-9s %-26s %s\n", commands[i].name, commands[i].synopsis,
             commands[i].summary);
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
  const CliCommand *command = find (argv[1]);
  if (command == NULL)
    {
      fprintf (stderr, "tessera: there is no command \"%s\" (see tessera --help)\n",
               cli_shown (argv[1]));
      return CLI_USAGE;
    }
  cli_set_command (command);
  return command->run (argc - 1, argv + 1);
}
