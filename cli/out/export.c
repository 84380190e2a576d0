/*
 * tessera export FILE: tables as CSV or JSON, or the whole as a snapshot of PyTorch's.
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

static guint64
or_empty (uint32_t index)
{
  return index == TESSERA_NONE ? G_MAXUINT64 : index;
}

static void
write_blocks (const CliStudy *study, CliTable *table)
{
  const TesseraBlocks *blocks = study->blocks;
  g_auto (TesseraWhose) whose = { 0 };

  cli_whose_init (&whose, study, rules_path);
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
      cli_table_integer (table, or_empty (block->step));
      cli_table_text (table, phase_name (study, block->born_phase));
      cli_table_text (table, phase_name (study, block->died_phase));
      cli_table_text (table, tessera_category_name (whose.categories[i]));
      cli_table_text (table, module);
      cli_table_text (table, line);
    }
}

static void
write_events (const CliStudy *study, CliTable *table)
{
  const TesseraTrace *trace = study->trace;
  for (size_t i = 0; i < trace->n_events; i++)
    {
      const TesseraEvent *event = &trace->events[i];
      cli_table_integer (table, i);
      cli_table_text (table, tessera_action_name (event->action));
      CLI_INTEGERS (table, event->addr, event->size_bytes, event->stream, event->pool,
                    trace->has_time ? (guint64) event->at_ns : G_MAXUINT64,
                    or_empty (study->blocks->block_of_event[i]));
    }
}

static void
write_segments (const CliStudy *study, CliTable *table)
{
  for (size_t i = 0; i < study->layout->n_spans; i++)
    {
      const TesseraSpan *span = &study->layout->spans[i];
      CLI_INTEGERS (table, span->addr, span->size_bytes, span->born_index,
                    span->died_index >= study->layout->n_events ? G_MAXUINT64
                                                                : span->died_index,
                    span->stream, span->pool);
      cli_table_text (table, span->is_expandable ? "expandable" : "segment");
    }
}

static void
write_curves (const CliStudy *study, CliTable *table)
{
  const TesseraCurves *curves = &study->layout->curves;
  for (size_t i = 0; i < study->layout->n_events; i++)
    {
      CLI_INTEGERS (table, i, curves->live_bytes[i], curves->allocated_bytes[i],
                    curves->active_bytes[i], curves->reserved_bytes[i]);
    }
}

static void
write_steps (const CliStudy *study, CliTable *table)
{
  for (size_t i = 0; i < study->structure->n_steps; i++)
    {
      const TesseraStep *step = &study->structure->steps[i];
      CLI_INTEGERS (table, (guint64) step->number, step->begin_index, step->end_index,
                    step->kind);
    }
}

static void
write_slots (const CliStudy *study, CliTable *table)
{
  const TesseraPlan *plan = study->plan;

  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      CLI_INTEGERS (table, i, slot->section, slot->size_bytes, slot->block_bytes,
                    slot->offset_bytes, slot->born, slot->died, slot->stream);
      cli_table_text (table, cli_class_name (slot->lifetime_class));
      cli_table_text (table,
                      slot->phase == TESSERA_NONE ? NULL : plan->strings[slot->phase]);
    }
}

static void
write_unplanned (const CliStudy *study, CliTable *table)
{
  const TesseraPlan *plan = study->plan;

  for (size_t i = 0; i < plan->n_unplanned; i++)
    {
      const TesseraUnplanned *unplanned = &plan->unplanned[i];
      CLI_INTEGERS (table, i, unplanned->section, unplanned->before,
                    unplanned->size_bytes, unplanned->block_bytes, unplanned->born,
                    unplanned->stream);
      cli_table_text (table, unplanned->phase == TESSERA_NONE
                                 ? NULL
                                 : plan->strings[unplanned->phase]);
      cli_table_integer (table, or_empty (unplanned->block));
    }
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
  const char *const *columns;
  void (*write) (const CliStudy *study, CliTable *table);
  gboolean is_of_plan; /* in a plan's file, not in a trace */
  void (*write_file) (const CliStudy *study,
                      const char *output); /* of what is no table */
} tables[] = {
  { "blocks",
    (const char *const[]){ "block", "size_bytes", "block_bytes", "addr", "born_index",
                           "freed_index", "died_index", "stream", "pool", "class", "step",
                           "born_phase", "died_phase", "category", "module", "line",
                           NULL },
    write_blocks, FALSE },
  { "events",
    (const char *const[]){ "event", "action", "addr", "size_bytes", "stream", "pool",
                           "at_ns", "block", NULL },
    write_events, FALSE },
  { "segments",
    (const char *const[]){ "addr", "size_bytes", "born_index", "died_index", "stream",
                           "pool", "kind", NULL },
    write_segments, FALSE },
  { "curves",
    (const char *const[]){ "event", "live_bytes", "allocated_bytes", "active_bytes",
                           "reserved_bytes", NULL },
    write_curves, FALSE },
  { "steps", (const char *const[]){ "number", "begin_index", "end_index", "kind", NULL },
    write_steps, FALSE },
  { "slots",
    (const char *const[]){ "slot", "section", "size_bytes", "block_bytes", "offset_bytes",
                           "born", "died", "stream", "class", "phase", NULL },
    write_slots, TRUE },
  { "unplanned",
    (const char *const[]){ "unplanned", "section", "before_slot", "size_bytes",
                           "block_bytes", "born", "stream", "phase", "block", NULL },
    write_unplanned, TRUE },
  { "flamegraph", .write_file = write_flamegraph },
  { "snapshot", .write_file = cli_study_write_snapshot },
};

static int
run_export (int n_files, char **files)
{
  g_auto (CliStudy) study = { 0 };
  const char *output = cli_given.output;
  gboolean is_plan = tessera_file_kind (files[0]) == TESSERA_FILE_PLAN;
  const char *name = table_name != NULL ? table_name : is_plan ? "slots" : "blocks";
  size_t which = 0;

  while (which < G_N_ELEMENTS (tables) && !g_str_equal (tables[which].name, name))
    which++;
  const gboolean is_known = which < G_N_ELEMENTS (tables);
  if (is_plan && (!is_known || !tables[which].is_of_plan))
    cli_usage ("%s is a plan: it holds slots and unplanned, not %s", files[0], name);
  if (!is_known)
    cli_usage ("there is no table \"%s\": blocks, events, segments, curves, steps, "
               "slots, unplanned, flamegraph or snapshot",
               name);
  if (tables[which].write_file == cli_study_write_snapshot && output == NULL)
    cli_usage ("say where to write the snapshot with -o OUT.pickle");
  if (tables[which].is_of_plan)
    study.plan = cli_load_plan (files[0]);
  else
    {
      cli_study_open (&study, files[0]);
      cli_study_layout (&study, TESSERA_LAYOUT_RECORDED);
    }
  if (tables[which].write_file != NULL)
    {
      tables[which].write_file (&study, output);
      return CLI_DONE;
    }
  if (output != NULL && g_str_has_suffix (output, ".json"))
    cli_given.json = TRUE;
  CliTable *table = cli_table_new_file (tables[which].columns);
  tables[which].write (&study, table);
  cli_table_write (table, output);
  return CLI_DONE;
}

static const GOptionEntry export_options[] = {
  CLI_OPTION_OUTPUT ("Where to write (default: stdout)", "OUT"),
  { "table", 't', 0, G_OPTION_ARG_STRING, &table_name,
    "blocks (default), events, segments, curves, steps, flamegraph (folded stacks of "
    "what is live), or snapshot: all as a pickle for PyTorch's viewer; of a plan slots "
    "(default) or unplanned",
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
  .summary = "tables as CSV or JSON, or a snapshot for PyTorch's own viewer",
  .help = "FILE is a snapshot, a .tsr, or (for slots and unplanned) a .tsp.",
  .takes = CLI_READS_TRACE | CLI_WRITES_OTHER,
  .n_least = 1,
  .options = export_options,
  .run = run_export,
};
