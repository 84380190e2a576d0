/* tessera info FILE: the verdict. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/tell/kept.h"
#include "cli/tell/kinds.h"
#include "cli/recording.h"
#include "cli/study.h"
#include "cli/tell/verdict.h"

/* --at was not given: no number that a person may type. */
#define NO_EVENT G_MININT64

#define MOST_FAILURES 100

static const char *const steps_from[] = {
  [TESSERA_STEPS_NONE] = "none",
  [TESSERA_STEPS_ANNOTATED] = "annotations",
  [TESSERA_STEPS_REPETITION] = "repetition",
};

static double
fragmentation (const TesseraLayout *layout)
{
  return layout->peak_reserved_bytes > 0 ? 1.0 - (double) layout->peak_allocated_bytes /
                                                     (double) layout->peak_reserved_bytes
                                         : 0.0;
}

static void
json_facts (JsonBuilder *builder, const CliStudy *study)
{
  const TesseraTrace *trace = study->trace;
  const TesseraLayout *layout = study->layout;
  CliRecording recording;

  cli_json_text (builder, "file", study->path);
  cli_json_text (builder, "format", tessera_trace_get_meta (trace, "format"));
  cli_json_bytes (builder, "device", trace->device);
  cli_json_bytes (builder, "devices", trace->n_devices);
  cli_json_bytes (builder, "device_bytes",
                  trace->device_bytes ? trace->device_bytes : G_MAXUINT64);
  cli_json_bytes (builder, "events", trace->n_events);
  cli_json_bytes (builder, "blocks", study->blocks->n_blocks);
  cli_json_bytes (builder, "streams", trace->n_streams);
  cli_json_bytes (builder, "steps", study->structure->n_steps);
  cli_json_text (builder, "steps_from", steps_from[study->structure->steps_from]);
  cli_json_number (builder, "steps_confidence", study->structure->confidence);
  cli_json_bytes (builder, "phases", study->structure->n_phases);
  cli_json_bool (builder, "phases_inferred", study->structure->phases_inferred);
  cli_json_text (builder, "layout", cli_layout_name (layout->kind));
  cli_json_text (builder, "note", layout->note);
  cli_study_json_notes (builder, study);
  cli_json_bytes (builder, "peak_live_bytes", layout->peak_live_bytes);
  cli_json_bytes (builder, "peak_allocated_bytes", layout->peak_allocated_bytes);
  cli_json_bytes (builder, "peak_active_bytes", layout->peak_active_bytes);
  cli_json_bytes (builder, "peak_reserved_bytes", layout->peak_reserved_bytes);
  cli_json_number (builder, "fragmentation", fragmentation (layout));
  cli_json_bytes (builder, "ooms", layout->n_ooms);
  cli_recording (study, &recording);
  cli_recording_json (builder, &recording);
}

static TesseraStatus
json_failures (JsonBuilder *builder, const CliStudy *study, TesseraError *error)
{
  json_builder_set_member_name (builder, "failures");
  json_builder_begin_array (builder);
  /* The last ones: a loop that catches the error may fail thousands of times. */
  size_t n = study->layout->n_ooms;
  for (size_t i = n > MOST_FAILURES ? n - MOST_FAILURES : 0; i < n; i++)
    {
      TesseraParts parts;
      TesseraStatus status =
          cli_study_parts (study, study->layout->ooms[i].event_index, &parts, error);
      if (status != TESSERA_OK)
        return status;
      json_builder_begin_object (builder);
      cli_json_parts (builder, study, &parts);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  return TESSERA_OK;
}

static TesseraStatus
print_json (const CliStudy *study,
            const TesseraVerdict *verdict,
            const TesseraParts *parts,
            TesseraError *error)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  json_builder_begin_object (builder);
  json_facts (builder, study);
  cli_json_text (builder, "headline", verdict->headline);
  cli_json_text (builder, "sentence", verdict->sentence);
  cli_json_text (builder, "cause", cli_cause_name (verdict->cause));
  cli_json_bool (builder, "died", verdict->died);
  cli_json_warnings (builder, study);
  cli_json_parts (builder, study, parts);
  TesseraStatus status = json_failures (builder, study, error);
  if (status != TESSERA_OK)
    return status;
  if (study->plan != NULL)
    {
      cli_study_json_edits (builder, study);
      cli_json_kinds (builder, study->plan);
    }
  json_builder_set_member_name (builder, "needs");
  json_builder_begin_object (builder);
  cli_json_needs (builder, study);
  json_builder_end_object (builder);
  json_builder_end_object (builder);
  cli_print_json (builder);
  return TESSERA_OK;
}

static void
print_text (const CliStudy *study,
            const TesseraVerdict *verdict,
            const TesseraParts *parts)
{
  const TesseraTrace *trace = study->trace;
  const TesseraStructure *structure = study->structure;
  const char *format = tessera_trace_get_meta (trace, "format");
  CliRecording recording;

  printf ("%s\n%s\n", verdict->headline, verdict->sentence);
  cli_print_parts (study, parts);
  cli_print_needs (study);
  if (study->plan != NULL)
    cli_study_print_edits (study, NULL);
  printf ("\n%s: %s, device %u of %zu; %zu events, %zu blocks, %zu stream%s\n",
          cli_shown (trace->source != NULL ? trace->source : study->path),
          format != NULL ? cli_shown (format) : "trace", trace->device,
          trace->n_devices > 0 ? trace->n_devices : 1, trace->n_events,
          study->blocks->n_blocks, trace->n_streams, trace->n_streams == 1 ? "" : "s");
  printf (
      "%zu steps (%s, confidence %.2f), %zu phases%s; layout %s; fragmentation %.1f %%\n",
      structure->n_steps, steps_from[structure->steps_from], structure->confidence,
      structure->n_phases, structure->phases_inferred ? " (inferred)" : "",
      cli_layout_name (study->layout->kind), fragmentation (study->layout) * 100);
  if (study->plan != NULL)
    {
      cli_print_kept (study);
      cli_print_kinds (study->plan);
    }
  cli_recording (study, &recording);
  cli_recording_print (&recording);
  if (study->layout->note[0] != '\0')
    printf ("note: %s\n", cli_shown (study->layout->note));
  cli_study_print_notes (study);
}

int
cli_info (int argc, char **argv)
{
  gint64 at = NO_EVENT;
  gboolean fast = FALSE, no_edits = FALSE;
  CliCommon common = { 0 };
  GOptionEntry entries[] = {
    { "at", 0, 0, G_OPTION_ARG_INT64, &at,
      "The moment whose parts are told (default: the verdict's: the last failure, "
      "else the first maximum of reserved, of a followed plan the fullest)",
      "EVENT" },
    { "no-edits", 0, 0, G_OPTION_ARG_NONE, &no_edits,
      "The plan without the edits that are kept with FILE", NULL },
    { "fast", 0, 0, G_OPTION_ARG_NONE, &fast, "Leave out plan and smallest devices",
      NULL },
    { NULL }
  };
  TesseraPlanOptions plan_options = { .first_step = -1, .last_step = -1 };
  CliStudy study;
  TesseraVerdict verdict;
  TesseraParts parts;
  TesseraError error = { 0 };

  if (!cli_parse ("info", &argc, &argv, entries, &common, 1, 1))
    return CLI_USAGE;
  if (at != NO_EVENT && (at < 0 || at >= (gint64) TESSERA_NONE))
    return cli_usage ("info", "--at takes an event index, 0 or more");
  TesseraStatus status = cli_study_open (&study, argv[1], &common, &error);
  if (status == TESSERA_OK)
    status = cli_study_layout (&study, TESSERA_LAYOUT_RECORDED, &common, &error);
  if (status == TESSERA_OK && !fast)
    status = cli_study_edits (&study, NULL, no_edits, &plan_options, &error);
  if (status == TESSERA_OK && !fast)
    status = cli_study_plan (&study, &plan_options, &error);
  if (status == TESSERA_OK && !fast)
    status = cli_study_needs (&study, &error);
  if (status == TESSERA_OK)
    status = cli_study_verdict (&study, &verdict, &error);
  if (status == TESSERA_OK)
    status = cli_study_parts (&study,
                              at == NO_EVENT ? cli_study_moment (&study) : (uint32_t) at,
                              &parts, &error);
  if (status == TESSERA_OK && common.json)
    status = print_json (&study, &verdict, &parts, &error);
  else if (status == TESSERA_OK)
    print_text (&study, &verdict, &parts);
  int result = status == TESSERA_OK ? CLI_DONE : cli_fail (&error);
  cli_study_clear (&study);
  return result;
}
