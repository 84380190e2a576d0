/*
 * tessera export FILE: tables as CSV or JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/tell.h"

static char *table_name;

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
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      cli_table_integer (table, i);
      cli_table_integer (table, block->size_bytes);
      cli_table_integer (table, study->layout->block_bytes[i]);
      cli_table_integer (table, study->layout->addr[i]);
      cli_table_integer (table, block->born_index);
      cli_table_integer (table, block->freed_index >= blocks->n_events
                                    ? G_MAXUINT64
                                    : block->freed_index);
      cli_table_integer (
          table, block->died_index >= blocks->n_events ? G_MAXUINT64 : block->died_index);
      cli_table_integer (table, block->stream);
      cli_table_integer (table, block->pool);
      cli_table_text (table, cli_class_name (block->lifetime_class));
      cli_table_integer (table, or_empty (block->step));
      cli_table_text (table, phase_name (study, block->born_phase));
      cli_table_text (table, phase_name (study, block->died_phase));
      cli_table_end_row (table);
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
      cli_table_integer (table, event->addr);
      cli_table_integer (table, event->size_bytes);
      cli_table_integer (table, event->stream);
      cli_table_integer (table, event->pool);
      cli_table_integer (table, trace->has_time ? (guint64) event->at_ns : G_MAXUINT64);
      cli_table_integer (table, or_empty (study->blocks->block_of_event[i]));
      cli_table_end_row (table);
    }
}

static void
write_segments (const CliStudy *study, CliTable *table)
{
  for (size_t i = 0; i < study->layout->n_spans; i++)
    {
      const TesseraSpan *span = &study->layout->spans[i];
      cli_table_integer (table, span->addr);
      cli_table_integer (table, span->size_bytes);
      cli_table_integer (table, span->born_index);
      cli_table_integer (table, span->died_index >= study->layout->n_events
                                    ? G_MAXUINT64
                                    : span->died_index);
      cli_table_integer (table, span->stream);
      cli_table_integer (table, span->pool);
      cli_table_text (table, span->is_expandable ? "expandable" : "segment");
      cli_table_end_row (table);
    }
}

static void
write_curves (const CliStudy *study, CliTable *table)
{
  const TesseraCurves *curves = &study->layout->curves;
  for (size_t i = 0; i < study->layout->n_events; i++)
    {
      cli_table_integer (table, i);
      cli_table_integer (table, curves->live_bytes[i]);
      cli_table_integer (table, curves->allocated_bytes[i]);
      cli_table_integer (table, curves->active_bytes[i]);
      cli_table_integer (table, curves->reserved_bytes[i]);
      cli_table_end_row (table);
    }
}

static void
write_steps (const CliStudy *study, CliTable *table)
{
  for (size_t i = 0; i < study->structure->n_steps; i++)
    {
      const TesseraStep *step = &study->structure->steps[i];
      cli_table_integer (table, (guint64) step->number);
      cli_table_integer (table, step->begin_index);
      cli_table_integer (table, step->end_index);
      cli_table_integer (table, step->kind);
      cli_table_end_row (table);
    }
}

static void
write_slots (const TesseraPlan *plan, CliTable *table)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      cli_table_integer (table, i);
      cli_table_integer (table, slot->section);
      cli_table_integer (table, slot->size_bytes);
      cli_table_integer (table, slot->block_bytes);
      cli_table_integer (table, slot->offset_bytes);
      cli_table_integer (table, slot->born);
      cli_table_integer (table, slot->died);
      cli_table_integer (table, slot->stream);
      cli_table_text (table, cli_class_name (slot->lifetime_class));
      cli_table_text (table,
                      slot->phase == TESSERA_NONE ? NULL : plan->strings[slot->phase]);
      cli_table_end_row (table);
    }
}

static void
write_placeless (const TesseraPlan *plan, CliTable *table)
{
  for (size_t i = 0; i < plan->n_placeless; i++)
    {
      const TesseraPlaceless *placeless = &plan->placeless[i];
      cli_table_integer (table, i);
      cli_table_integer (table, placeless->section);
      cli_table_integer (table, placeless->before);
      cli_table_integer (table, placeless->size_bytes);
      cli_table_integer (table, placeless->block_bytes);
      cli_table_integer (table, placeless->born);
      cli_table_integer (table, placeless->stream);
      cli_table_text (table, placeless->phase == TESSERA_NONE
                                 ? NULL
                                 : plan->strings[placeless->phase]);
      cli_table_integer (table, or_empty (placeless->block));
      cli_table_end_row (table);
    }
}

static const struct
{
  const char *name;
  const char *const *columns;
  void (*write) (const CliStudy *study, CliTable *table);
} tables[] = {
  { "blocks",
    (const char *const[]){ "block", "size_bytes", "block_bytes", "addr", "born_index",
                           "freed_index", "died_index", "stream", "pool", "class", "step",
                           "born_phase", "died_phase", NULL },
    write_blocks },
  { "events",
    (const char *const[]){ "event", "action", "addr", "size_bytes", "stream", "pool",
                           "at_ns", "block", NULL },
    write_events },
  { "segments",
    (const char *const[]){ "addr", "size_bytes", "born_index", "died_index", "stream",
                           "pool", "kind", NULL },
    write_segments },
  { "curves",
    (const char *const[]){ "event", "live_bytes", "allocated_bytes", "active_bytes",
                           "reserved_bytes", NULL },
    write_curves },
  { "steps", (const char *const[]){ "number", "begin_index", "end_index", "kind", NULL },
    write_steps },
};

/* Of a plan's file. */
static const struct
{
  const char *name;
  const char *const *columns;
  void (*write) (const TesseraPlan *plan, CliTable *table);
} plan_tables[] = {
  { "slots",
    (const char *const[]){ "slot", "section", "size_bytes", "block_bytes", "offset_bytes",
                           "born", "died", "stream", "class", "phase", NULL },
    write_slots },
  { "placeless",
    (const char *const[]){ "placeless", "section", "before_slot", "size_bytes",
                           "block_bytes", "born", "stream", "phase", "block", NULL },
    write_placeless },
};

static void
write_plan_table (const char *path, size_t which, CliTableFormat format)
{
  TesseraPlan *plan = cli_load_plan (path);
  CliTable *table = cli_table_new (format, plan_tables[which].columns);

  plan_tables[which].write (plan, table);
  tessera_plan_free (plan);
  cli_table_write (table, cli_given.output);
}

static void
write_table (const char *path, size_t which, CliTableFormat format)
{
  g_auto (CliStudy) study = { 0 };

  cli_study_open (&study, path);
  cli_study_layout (&study, TESSERA_LAYOUT_RECORDED);
  CliTable *table = cli_table_new (format, tables[which].columns);
  tables[which].write (&study, table);
  cli_table_write (table, cli_given.output);
}

static int
run_export (int n_files, char **files)
{
  const char *output = cli_given.output;
  bool is_plan = tessera_file_kind (files[0]) == TESSERA_FILE_PLAN;
  const char *name = table_name != NULL ? table_name : is_plan ? "slots" : "blocks";
  CliTableFormat format =
      cli_given.json || (output != NULL && g_str_has_suffix (output, ".json"))
          ? CLI_TABLE_JSON
          : CLI_TABLE_CSV;

  for (size_t i = 0; i < G_N_ELEMENTS (plan_tables); i++)
    if (g_str_equal (plan_tables[i].name, name))
      {
        write_plan_table (files[0], i, format);
        return CLI_DONE;
      }
  if (is_plan)
    cli_usage ("%s is a plan: it holds slots and placeless, not %s", files[0], name);
  for (size_t i = 0; i < G_N_ELEMENTS (tables); i++)
    if (g_str_equal (tables[i].name, name))
      {
        write_table (files[0], i, format);
        return CLI_DONE;
      }
  cli_usage ("there is no table \"%s\": blocks, events, segments, curves, steps, slots, "
             "placeless",
             name);
}

static const GOptionEntry export_options[] = {
  CLI_OPTION_OUTPUT ("Where to write (default: stdout)", "OUT"),
  CLI_OPTION ("table",
              't',
              STRING,
              &table_name,
              "blocks (default), events, segments, curves, steps; of a plan slots "
              "(default) or placeless",
              "TABLE"),
  CLI_OPTION_FORCE,
  { NULL }
};

const CliCommand cli_export = {
  .name = "export",
  .synopsis = "FILE -o OUT",
  .summary = "tables as CSV or JSON: blocks, events, segments, curves, steps, slots",
  .help = "FILE is a snapshot, a .tsr, or (for slots and placeless) a .tsp.",
  .takes = CLI_READS_TRACE | CLI_WRITES_OTHER,
  .n_least = 1,
  .n_most = 1,
  .options = export_options,
  .run = run_export,
};
