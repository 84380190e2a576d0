/* tessera export FILE: tables as CSV or JSON. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/output.h"
#include "cli/study.h"
#include "cli/table.h"
#include "db/store.h"

static const char *const class_names[] = {
  [TESSERA_CLASS_PERSISTENT] = "persistent",
  [TESSERA_CLASS_SCOPED] = "scoped",
  [TESSERA_CLASS_TRANSIENT] = "transient",
  [TESSERA_CLASS_DYNAMIC] = "dynamic",
};

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
      cli_table_text (table, class_names[block->lifetime_class]);
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
      cli_table_text (table, class_names[slot->lifetime_class]);
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

static TesseraStatus
export_of_plan (const char *path,
                size_t which,
                const char *output,
                CliTableFormat format,
                TesseraError *error)
{
  TesseraPlan *plan = NULL;
  TesseraStatus status = tessera_plan_load (path, error, &plan);
  if (status != TESSERA_OK)
    return status;
  CliTable *table = cli_table_new (output, format, plan_tables[which].columns);
  plan_tables[which].write (plan, table);
  tessera_plan_free (plan);
  return cli_table_close (table, error);
}

static TesseraStatus
export_table (const char *path,
              size_t which,
              const char *output,
              CliTableFormat format,
              const CliCommon *common,
              TesseraError *error)
{
  CliStudy study;
  TesseraStatus status = cli_study_open (&study, path, common, error);
  if (status == TESSERA_OK)
    status = cli_study_layout (&study, TESSERA_LAYOUT_RECORDED, common, error);
  if (status == TESSERA_OK)
    {
      CliTable *table = cli_table_new (output, format, tables[which].columns);
      tables[which].write (&study, table);
      status = cli_table_close (table, error);
    }
  cli_study_clear (&study);
  return status;
}

int
cli_export (int argc, char **argv)
{
  g_autofree char *output = NULL;
  g_autofree char *what = NULL;
  gboolean force = FALSE;
  CliCommon common = { 0 };
  GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
      "Where to write (default: stdout)", "OUT" },
    { "table", 't', 0, G_OPTION_ARG_STRING, &what,
      "blocks (default), events, segments, curves, steps; of a plan slots (default) or "
      "placeless",
      "TABLE" },
    CLI_FORCE (&force),
    { NULL }
  };
  TesseraError error = { 0 };

  if (!cli_parse ("export", &argc, &argv, entries, &common, 1, 1))
    return CLI_USAGE;
  int result = cli_check_result ("export", argv[1], output, TESSERA_FILE_OTHER, force);
  if (result != CLI_DONE)
    return result;
  CliTableFormat format =
      common.json || (output != NULL && g_str_has_suffix (output, ".json")) ? CLI_JSON
                                                                            : CLI_CSV;
  bool is_plan = tessera_file_kind (argv[1]) == TESSERA_FILE_PLAN;
  for (size_t i = 0; i < G_N_ELEMENTS (plan_tables); i++)
    if (what != NULL ? g_str_equal (plan_tables[i].name, what) : is_plan && i == 0)
      return export_of_plan (argv[1], i, output, format, &error) == TESSERA_OK
                 ? CLI_DONE
                 : cli_fail (&error);
  if (is_plan)
    return cli_usage ("export", "%s is a plan: it holds slots and placeless, not %s",
                      argv[1], what);
  for (size_t i = 0; i < G_N_ELEMENTS (tables); i++)
    if (g_str_equal (tables[i].name, what != NULL ? what : "blocks"))
      return export_table (argv[1], i, output, format, &common, &error) == TESSERA_OK
                 ? CLI_DONE
                 : cli_fail (&error);
  return cli_usage ("export",
                    "there is no table \"%s\": blocks, events, segments, curves, steps, "
                    "slots, placeless",
                    what);
}
