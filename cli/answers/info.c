/*
 * What a file is: tessera info, fit and import.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/tell.h"

#define MOST_FAILURES 100

static char *at_text; /* NULL: the verdict's moment, of --by the failure or the peak */
static char *by_text;
static char *rules_path;
static gboolean is_fast, of_growth;

static const char *const steps_from[] = {
  [TESSERA_STEPS_NONE] = "none",
  [TESSERA_STEPS_ANNOTATED] = "annotations",
  [TESSERA_STEPS_REPETITION] = "repetition",
};

/* What the file is, in two lines. */
static void
tell_facts (const CliStudy *study)
{
  const TesseraTrace *trace = study->trace;
  const TesseraStructure *structure = study->structure;
  const TesseraLayout *layout = study->layout;
  const char *format = tessera_trace_get_meta (trace, "format");
  const double fragmentation = layout->peak_reserved_bytes > 0
                                   ? 1.0 - (double) layout->peak_allocated_bytes /
                                               (double) layout->peak_reserved_bytes
                                   : 0.0;

  cli_say ("\n%s: %s, device %u of %zu; %zu events, %zu blocks, %zu stream%s\n",
           cli_shown (trace->source != NULL ? trace->source : study->path),
           format != NULL ? cli_shown (format) : "trace", trace->device,
           trace->n_devices > 0 ? trace->n_devices : 1, trace->n_events,
           study->blocks->n_blocks, trace->n_streams, trace->n_streams == 1 ? "" : "s");
  cli_say ("%zu step%s (%s, confidence %.2f), %zu phase%s%s; layout %s; fragmentation "
           "%.1f %%\n",
           structure->n_steps, structure->n_steps == 1 ? "" : "s",
           steps_from[structure->steps_from], structure->confidence, structure->n_phases,
           structure->n_phases == 1 ? "" : "s",
           structure->phases_inferred ? " (inferred)" : "",
           cli_layout_name (layout->kind), fragmentation * 100);
  cli_member ("file", study->path);
  cli_member ("format", format);
  cli_member ("device", trace->device);
  cli_member ("devices", trace->n_devices);
  cli_member ("device_bytes", trace->device_bytes ? trace->device_bytes : G_MAXUINT64);
  cli_member ("events", trace->n_events);
  cli_member ("blocks", study->blocks->n_blocks);
  cli_member ("streams", trace->n_streams);
  cli_member ("steps", structure->n_steps);
  cli_member ("steps_from", steps_from[structure->steps_from]);
  cli_member ("phases", structure->n_phases);
  cli_member ("layout", cli_layout_name (layout->kind));
  cli_member ("note", layout->note);
  cli_member ("peak_live_bytes", layout->peak_live_bytes);
  cli_member ("peak_allocated_bytes", layout->peak_allocated_bytes);
  cli_member ("peak_reserved_bytes", layout->peak_reserved_bytes);
  cli_member ("fragmentation", fragmentation);
  cli_member ("ooms", layout->n_ooms);
}

/* For programs: each request that failed, with the parts of that moment. */
static void
member_failures (const CliStudy *study)
{
  /* The last ones: a loop that catches the error may fail thousands of times. */
  size_t n = study->layout->n_ooms;

  cli_array ("failures");
  for (size_t i = n > MOST_FAILURES ? n - MOST_FAILURES : 0; cli_given.json && i < n; i++)
    {
      TesseraParts parts = cli_study_parts (study, study->layout->ooms[i].event_index);

      cli_object (NULL);
      cli_tell_parts (study, &parts);
      cli_close ();
    }
  cli_close ();
}

static void
tell (const CliStudy *study,
      const TesseraVerdict *verdict,
      const TesseraParts *parts,
      const TesseraWhose *whose)
{
  g_autofree char *filling = tessera_describe_filling (whose);
  /* Where nothing failed and nothing was asked for, the peak of live says more than that of
   * reserved. */
  const uint32_t whose_at =
      at_text != NULL ? parts->event_index : cli_read_moment (study, NULL);

  cli_say ("%s\n%s\n%s\n", verdict->headline, cli_shown (filling), verdict->sentence);
  cli_member ("headline", verdict->headline);
  cli_member ("filling", filling);
  cli_member ("sentence", verdict->sentence);
  cli_member ("cause", cli_cause_name (verdict->cause));
  cli_member_bool ("died", verdict->died);
  cli_member_warnings (study);
  cli_tell_parts (study, parts);
  member_failures (study);
  cli_tell_whose_briefly (study, whose, whose_at);
  cli_object ("needs");
  cli_tell_needs (study);
  cli_close ();
  if (study->plan != NULL)
    cli_tell_edits (study);
  tell_facts (study);
  if (study->plan != NULL)
    cli_tell_kept (study);
  cli_tell_recording (study);
  if (study->layout->note[0] != '\0')
    cli_say ("note: %s\n", cli_shown (study->layout->note));
  cli_tell_notes (study);
  cli_tell_suggestions (study, whose);
}

static int
run_info (int n_files, char **files)
{
  g_auto (CliStudy) study = { 0 };
  g_auto (TesseraWhose) whose = { 0 };

  const TesseraBy by =
      cli_read_by (by_text, of_growth ? TESSERA_BY_LINE : TESSERA_BY_CATEGORY);

  if (of_growth && at_text != NULL)
    cli_usage ("--growth is from step to step: it has no --at");
  cli_study_open (&study, files[0]);
  if (of_growth || by_text != NULL)
    {
      cli_study_live (&study);
      cli_whose_init (&whose, &study, rules_path);
      if (of_growth)
        cli_tell_growth (&study, &whose, by);
      else
        cli_tell_whose (&study, &whose, by, cli_read_moment (&study, at_text));
      return CLI_DONE;
    }
  cli_study_layout (&study, TESSERA_LAYOUT_RECORDED);
  cli_whose_init (&whose, &study, rules_path);
  if (!is_fast)
    {
      cli_study_plan_as_edited (&study);
      cli_study_needs (&study);
    }
  const TesseraVerdict verdict = cli_study_verdict (&study);
  const TesseraParts parts =
      cli_study_parts (&study, at_text == NULL ? tessera_verdict_moment (study.layout)
                                               : cli_read_moment (&study, at_text));
  tell (&study, &verdict, &parts, &whose);
  return CLI_DONE;
}

static const GOptionEntry info_options[] = {
  { CLI_OPTION ("at", STRING, &at_text),
    "The moment that is shown: an event, peak (of live), failure, or the fullest of a "
    "range A..B (default: the last failure, else the first maximum of reserved, of a "
    "followed plan the fullest; with --by the peak)",
    "EVENT" },
  { CLI_OPTION ("by", STRING, &by_text),
    "Only whose memory it is then: category, module, line, stack, phase, step or use "
    "(line and category)",
    "WHAT" },
  { CLI_OPTION ("growth", NONE, &of_growth),
    "Only what each step adds, from where the third begins to where the last does, by "
    "line or what --by names" },
  CLI_OPTION_RULES (&rules_path),
  CLI_OPTION_NO_EDITS,
  { CLI_OPTION ("fast", NONE, &is_fast), "Leave out plan and smallest devices" },
  { NULL }
};

const CliCommand cli_info = {
  .name = "info",
  .synopsis = "FILE",
  .summary = "why is reserved above allocated: the verdict and its parts",
  .help = "FILE is a PyTorch snapshot (.pickle, .pickle.gz), a profiler's trace (.json), "
          "a CSV or a .tsr.\nThe parts sum to the reserved bytes of that moment, to the "
          "byte. The plan is made with the\nedits that are kept with FILE (tessera "
          "edits), as `tessera plan` makes it, unless --no-edits is\ngiven.",
  .takes = CLI_READS_TRACE | CLI_PLANS,
  .n_least = 1,
  .options = info_options,
  .run = run_info,
};

static int
run_fit (int n_files, char **files)
{
  g_auto (CliStudy) study = { 0 };

  cli_study_open (&study, files[0]);
  cli_study_plan_as_edited (&study);
  cli_study_needs (&study);
  cli_member ("file", study.path);
  cli_tell_warnings (&study);
  cli_tell_needs (&study);
  cli_tell_edits (&study);
  return CLI_DONE;
}

static const GOptionEntry fit_options[] = { CLI_OPTION_NO_EDITS, { NULL } };

const CliCommand cli_fit = {
  .name = "fit",
  .synopsis = "FILE",
  .summary = "the smallest device that completes the trace, policy by policy",
  .help = "Found by bisection over the simulation, to 2 MiB. The plan is made with the "
          "edits that are kept\nwith FILE, unless --no-edits is given.",
  .takes = CLI_READS_TRACE | CLI_PLANS,
  .n_least = 1,
  .options = fit_options,
  .run = run_fit,
};

/* What no other command takes is no trace that anybody should keep: a replay can fail where
 * something was held at the start. */
static void
check_replay (const CliStudy *study)
{
  const TesseraTrace *trace = study->trace;
  bool is_recorded = trace->has_addresses && trace->has_segments;
  const TesseraSimulateOptions options = {
    .kind = is_recorded ? TESSERA_LAYOUT_RECORDED : TESSERA_LAYOUT_NATIVE,
    .without_curves = true,
    .progress = cli_progress ("checking"),
  };

  if (!is_recorded && trace->start.n_segments == 0 && trace->start.n_blocks == 0)
    return;
  tessera_layout_free (cli_study_simulate (study, &options, NULL));
}

static int
run_import (int n_files, char **files)
{
  g_auto (CliStudy) study = { 0 };
  const char *output = cli_given.output;

  cli_study_open (&study, files[0]);
  check_replay (&study);
  if (rules_path != NULL)
    {
      g_autofree char *rules = cli_read_rules (rules_path);

      cli_must (tessera_trace_set_meta (study.trace, TESSERA_META_RULES, rules));
    }
  cli_must (
      tessera_trace_save (study.trace, output, cli_progress ("writing"), cli_error ()));
  cli_progress_end ();
  cli_say ("%s: %zu events, %zu blocks, %zu stacks\n", cli_shown (output),
           study.trace->n_events, study.blocks->n_blocks, study.trace->n_stacks);
  cli_member ("file", output);
  cli_member ("events", study.trace->n_events);
  cli_member ("stacks", study.trace->n_stacks);
  cli_member ("blocks", study.blocks->n_blocks);
  cli_tell_notes (&study);
  return CLI_DONE;
}

static const GOptionEntry import_options[] = {
  CLI_OPTION_OUTPUT ("The trace to write", "T.tsr"),
  CLI_OPTION_FORCE,
  { CLI_OPTION ("rules", FILENAME, &rules_path),
    "Rules for categories that the trace is to carry (docs/CATEGORIES.md)", "FILE" },
  { NULL }
};

const CliCommand cli_import = {
  .name = "import",
  .synopsis = "FILE -o T.tsr",
  .summary = "turn a snapshot or CSV into a trace that anyone can query",
  .help = "docs/FORMAT.md describes the tables and answers ten questions in SQL.",
  .takes = CLI_READS_TRACE | CLI_NEEDS_OUTPUT | CLI_WRITES_TRACE,
  .n_least = 1,
  .options = import_options,
  .run = run_import,
};
