/*
 * tessera export FILE: its blocks as CSV or JSON, what is live as folded stacks, or the whole as a
 * snapshot of PyTorch's. All else that a trace or a plan holds is a table of SQLite's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cli/process.h"
#include "cli/tell.h"
#include "db/output.h"

static char *table_name, *at_text, *rules_path;

static const char *
phase_name (const CliStudy *study, uint32_t phase)
{
  return phase == TESSERA_NONE
             ? NULL
             : tessera_phase_name (study->trace, &study->structure->phases[phase]);
}

static void
write_blocks (const CliStudy *study, const char *output)
{
  static const char *const columns[] = {
    "block",      "size_bytes", "block_bytes", "addr",  "born_index", "freed_index",
    "died_index", "stream",     "pool",        "class", "step",       "born_phase",
    "died_phase", "category",   "module",      "line",  NULL
  };
  const TesseraBlocks *blocks = study->blocks;
  g_auto (TesseraWhose) whose = { 0 };

  cli_whose_init (&whose, study, rules_path);
  if (output != NULL && g_str_has_suffix (output, ".json"))
    cli_given.json = TRUE;
  CliTable *table = cli_table_new_file (columns);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      g_autofree char *line = tessera_owner_of (&whose, TESSERA_BY_LINE, i);
      g_autofree char *module = tessera_owner_of (&whose, TESSERA_BY_MODULE, i);

      CLI_INTEGERS (
          table, i, block->size_bytes, study->layout->block_bytes[i],
          study->layout->addr[i], block->born_index,
          block->freed_index >= blocks->n_events ? G_MAXUINT64 : block->freed_index,
          block->died_index >= blocks->n_events ? G_MAXUINT64 : block->died_index,
          block->stream, block->pool);
      cli_table_text (table, cli_class_name (block->lifetime_class));
      cli_table_integer (table, block->step == TESSERA_NONE ? G_MAXUINT64 : block->step);
      cli_table_text (table, phase_name (study, block->born_phase));
      cli_table_text (table, phase_name (study, block->died_phase));
      cli_table_text (table, tessera_category_name (whose.categories[i]));
      cli_table_text (table, module);
      cli_table_text (table, line);
    }
  cli_table_write (table, output);
}

/* What is live at one moment, a line a stack, for flamegraph.pl, speedscope or inferno. */
static void
write_flamegraph (const CliStudy *study, const char *output)
{
  g_auto (TesseraWhose) whose = { 0 };

  cli_whose_init (&whose, study, rules_path);
  g_autofree char *text =
      tessera_folded_stacks (&whose, cli_read_moment (study, at_text));
  if (output == NULL)
    cli_process_print_data (text, strlen (text));
  else
    cli_must (tessera_write_file (output, text, strlen (text), cli_error ()));
}

static const struct
{
  const char *name;
  void (*write) (const CliStudy *study, const char *output);
} tables[] = {
  { "blocks", write_blocks },
  { "flamegraph", write_flamegraph },
  { "snapshot", cli_study_write_snapshot },
};

static int
run_export (int n_files, char **files)
{
  g_auto (CliStudy) study = { 0 };
  const char *name = table_name != NULL ? table_name : "blocks";
  size_t which = 0;

  while (which < G_N_ELEMENTS (tables) && !g_str_equal (tables[which].name, name))
    which++;
  if (which == G_N_ELEMENTS (tables))
    cli_usage ("there is no table \"%s\": blocks, flamegraph or snapshot; all others are "
               "SQLite's, in a .tsr or .tsp (docs/FORMAT.md)",
               name);
  if (tables[which].write == cli_study_write_snapshot && cli_given.output == NULL)
    cli_usage ("say where to write the snapshot with -o OUT.pickle");
  cli_study_open (&study, files[0]);
  cli_study_layout (&study, TESSERA_LAYOUT_RECORDED);
  tables[which].write (&study, cli_given.output);
  return CLI_DONE;
}

static const GOptionEntry export_options[] = {
  CLI_OPTION_OUTPUT ("Where to write (default: stdout)", "OUT"),
  { "table", 't', 0, G_OPTION_ARG_STRING, &table_name,
    "blocks (default), flamegraph (folded stacks of what is live), or snapshot: all as a "
    "pickle for PyTorch's viewer",
    "TABLE" },
  { CLI_OPTION ("at", STRING, &at_text),
    "The moment of a flamegraph: an event, peak, failure, or the fullest of a range A..B "
    "(default: the failure, else the peak)",
    "EVENT" },
  CLI_OPTION_RULES (&rules_path),
  CLI_OPTION_FORCE,
  { NULL }
};

const CliCommand cli_export = {
  .name = "export",
  .synopsis = "FILE -o OUT",
  .summary = "blocks as CSV or JSON, or a snapshot for PyTorch's own viewer",
  .help = "FILE is a snapshot or a .tsr. All other tables can be queried: tessera import "
          "FILE "
          "-o T.tsr makes an\nSQLite file, and a .tsp is one (docs/FORMAT.md).",
  .takes = CLI_READS_TRACE | CLI_WRITES_OTHER,
  .n_least = 1,
  .options = export_options,
  .run = run_export,
};
