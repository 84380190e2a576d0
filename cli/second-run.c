/* See second-run.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/second-run.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

/* Of the steps that were brought to their end: the largest. */
static gint64
get_batch (const CliStudy *study)
{
  const char *text = tessera_trace_get_meta (study->trace, "batch");

  return text != NULL ? g_ascii_strtoll (text, NULL, 10) : 0;
}

static void
describe (const CliRehearsal *first, CliSecondRun *second)
{
  g_autofree char *batch = second->batch <= 0 || second->batch == second->batch_before
                               ? g_strdup ("")
                               : g_strdup_printf (" with batch %" G_GINT64_FORMAT
                                                  " instead of %" G_GINT64_FORMAT,
                                                  second->batch, second->batch_before);
  char reserved[32];

  second->text = g_strdup_printf (
      "Catches that memory is out and goes on%s: with the memory of %s %" G_GUINT64_FORMAT
      " request%s failed and %zu steps were done, at most %s reserved (%s).",
      batch, first->question.gpu, second->n_failed, second->n_failed == 1 ? "" : "s",
      second->n_steps,
      tessera_format_bytes (second->reserved_bytes, reserved, sizeof reserved),
      second->trace_path);
}

/* What the trace of the second run says. */
static void
judge (const CliRehearsal *first, const CliStudy *study, CliSecondRun *second)
{
  const CliCommon common = { .device = -1 };
  TesseraError error = { 0 };
  CliStudy again;

  if (cli_study_open (&again, second->trace_path, &common, &error) == TESSERA_OK &&
      cli_study_layout (&again, TESSERA_LAYOUT_RECORDED, &common, &error) == TESSERA_OK)
    {
      const TesseraStructure *structure = again.structure;
      const TesseraLayout *layout = again.layout;

      if (structure->n_steps > 0 && layout->n_ooms > 0 &&
          structure->steps[structure->n_steps - 1].begin_index >
              layout->ooms[0].event_index)
        second->n_failed = layout->n_ooms;
      second->n_steps = structure->n_steps;
      second->reserved_bytes = layout->peak_reserved_bytes;
      second->batch = get_batch (&again);
      second->batch_before = get_batch (study);
    }
  if (second->n_failed > 0)
    describe (first, second);
  cli_study_clear (&again);
}

void
cli_second_run (const CliRehearsal *first,
                const CliStudy *study,
                guint64 available_bytes,
                CliSecondRun *out_second)
{
  g_autofree char *stem = g_strndup (
      first->trace_path, strlen (first->trace_path) -
                             (g_str_has_suffix (first->trace_path, ".tsr") ? 4 : 0));
  g_autofree char *pattern = NULL;
  g_auto (GStrv) env = NULL;
  CliJob job = first->job;
  CliJobEnd end = { .status = -1 };
  TesseraError error = { 0 };

  *out_second = (CliSecondRun){ .trace_path = g_strdup_printf ("%s-adapted.tsr", stem) };
  job.record = pattern = cli_job_pattern (out_second->trace_path);
  job.budget_bytes = available_bytes;
  job.stacks = "0";
  g_unlink (out_second->trace_path);
  fprintf (stderr,
           "tessera: natively it does not fit %s; once more with the memory of that, to "
           "see whether the script adapts\n",
           first->question.gpu);
  if (cli_job_environ (&job, &env, &error) == TESSERA_OK &&
      cli_job_wait (first->program, env, TRUE, &end, &error) == TESSERA_OK &&
      end.status == 0 && end.signal_number == 0 && end.stopped_by == 0)
    judge (first, study, out_second);
  if (out_second->n_failed == 0)
    g_unlink (out_second->trace_path);
}

void
cli_second_run_json (JsonBuilder *builder, const CliSecondRun *second)
{
  json_builder_set_member_name (builder, "adapts");
  if (second->n_failed == 0)
    {
      json_builder_add_null_value (builder);
      return;
    }
  json_builder_begin_object (builder);
  cli_json_text (builder, "trace", second->trace_path);
  cli_json_bytes (builder, "failed_requests", second->n_failed);
  cli_json_bytes (builder, "steps", second->n_steps);
  cli_json_bytes (builder, "reserved_bytes", second->reserved_bytes);
  cli_json_bytes (builder, "batch", (guint64) MAX (second->batch, 0));
  cli_json_bytes (builder, "batch_before", (guint64) MAX (second->batch_before, 0));
  json_builder_end_object (builder);
}

void
cli_second_run_clear (CliSecondRun *second)
{
  g_free (second->trace_path);
  g_free (second->text);
  *second = (CliSecondRun){ 0 };
}
