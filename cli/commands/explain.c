/* tessera explain FILE [BLOCK]: why it lies there, what makes the peak.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/tell/explain.h"
#include "db/store.h"

static TesseraStatus
find_moments (CliExplain *explain, TesseraError *error)
{
  const CliStudy *study = &explain->study;
  const char *name = explain->freed_before;
  TesseraStatus status;
  guint64 event;

  if (name == NULL)
    status =
        tessera_moments_of_peaks (study->blocks, study->structure, &explain->moments);
  else if (g_ascii_string_to_unsigned (name, 10, 0, TESSERA_NONE - 1, &event, NULL))
    {
      if (event >= study->blocks->n_events)
        return tessera_fail (error, TESSERA_INVALID,
                             "%s has events 0 to %u, so there is no event %s",
                             study->path, study->blocks->n_events - 1, name);
      explain->moments.events = malloc (sizeof *explain->moments.events);
      status = explain->moments.events != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
      if (status == TESSERA_OK)
        explain->moments.events[explain->moments.n_events++] = (uint32_t) event;
    }
  else
    status = tessera_moments_of_phase (study->trace, study->structure, name,
                                       &explain->moments);
  if (status == TESSERA_OK && explain->moments.n_events == 0)
    return tessera_fail (error, TESSERA_INVALID,
                         "%s has no phase called \"%s\": the viewer shows those it has",
                         study->path, name != NULL ? name : "");
  return status == TESSERA_OK
             ? status
             : tessera_fail (error, status, "%s: not enough memory", study->path);
}

/* The plan that the engineer has: with the edits that stand. */
static TesseraStatus
plan_as_edited (CliExplain *explain,
                const char *edits_path,
                gboolean no_edits,
                TesseraError *error)
{
  CliStudy *study = &explain->study;
  TesseraPlanOptions *options = &explain->options;
  TesseraStatus status = cli_study_edits (study, edits_path, no_edits, options, error);

  if (status == TESSERA_OK)
    status = cli_regroup (study, &explain->regrouped, error);
  if (status == TESSERA_OK)
    status = cli_study_plan (study, options, error);
  if (status != TESSERA_OK)
    return status;
  explain->settled = g_new0 (TesseraEdit, options->n_edits + 1);
  for (size_t i = 0; i < options->n_edits && status == TESSERA_OK; i++)
    status = tessera_edit_copy (&options->edits[i], &explain->settled[i]);
  if (status == TESSERA_OK)
    status = tessera_edits_settle (study->trace, study->blocks, study->structure,
                                   explain->settled, options->n_edits);
  return status == TESSERA_OK
             ? status
             : tessera_fail (error, status, "%s: not enough memory", study->path);
}

static void
clear (CliExplain *explain)
{
  for (size_t i = 0; explain->settled != NULL && i < explain->options.n_edits; i++)
    tessera_edit_clear (&explain->settled[i]);
  g_free (explain->settled);
  free (explain->moments.events);
  cli_regrouped_clear (&explain->regrouped);
  cli_study_clear (&explain->study);
}

static gboolean
parse_by (const char *text, CliPeakBy *out_by)
{
  static const char *const names[] = {
    [CLI_BY_PHASES] = "phases", [CLI_BY_LINE] = "line", [CLI_BY_SIZE] = "size"
  };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_str_equal (text, names[i]))
      {
        *out_by = (CliPeakBy) i;
        return TRUE;
      }
  return FALSE;
}

int
cli_explain (int argc, char **argv)
{
  g_autofree char *by = NULL;
  g_autofree char *before = NULL;
  g_autofree char *edits_path = NULL;
  gboolean no_edits = FALSE;
  CliCommon common = { 0 };
  CliExplain explain = { .options = { .first_step = -1, .last_step = -1 }, .n_rows = 5 };
  GOptionEntry entries[] = {
    { "by", 0, 0, G_OPTION_ARG_STRING, &by,
      "Rows of the peak of live: phases (of birth and death), line, or size", "WHAT" },
    { "freed-before", 0, 0, G_OPTION_ARG_STRING, &before,
      "What if it were freed before each phase of this name, or before an event "
      "(default: the peak of live of each step)",
      "PHASE|EVENT" },
    { "rows", 0, 0, G_OPTION_ARG_INT, &explain.n_rows,
      "Plan again for so many rows, largest first (default 5)", "N" },
    { "edits", 0, 0, G_OPTION_ARG_FILENAME, &edits_path,
      "Apply these edits, not those kept with FILE", "EDITS.json" },
    { "no-edits", 0, 0, G_OPTION_ARG_NONE, &no_edits, "Apply no edits", NULL },
    { NULL }
  };
  TesseraError error = { 0 };

  if (!cli_parse ("explain", &argc, &argv, entries, &common, 1, 2))
    return CLI_USAGE;
  if (by != NULL && !parse_by (by, &explain.by))
    return cli_usage ("explain", "--by takes phases, line or size, not \"%s\"", by);
  if (explain.n_rows < 0)
    return cli_usage ("explain", "--rows takes a number of rows, 0 or more");
  if (edits_path != NULL && no_edits)
    return cli_usage ("explain", "--edits and --no-edits can't be had together");
  explain.json = common.json;
  explain.freed_before = before;
  TesseraStatus status = cli_study_open (&explain.study, argv[1], &common, &error);
  explain.options.progress = cli_progress ("planning");
  if (status == TESSERA_OK && explain.study.blocks->n_blocks == 0)
    status = tessera_fail (&error, TESSERA_INVALID, "%s holds no blocks", argv[1]);
  if (status == TESSERA_OK)
    status = plan_as_edited (&explain, edits_path, no_edits, &error);
  if (status == TESSERA_OK)
    status = find_moments (&explain, &error);
  cli_progress_end ();
  if (status == TESSERA_OK && !common.json)
    cli_study_print_edits (&explain.study, edits_path);
  if (status == TESSERA_OK)
    status = argc == 3 ? cli_explain_block (&explain, argv[2], &error)
                       : cli_explain_peak (&explain, &error);
  cli_progress_end ();
  int result = status == TESSERA_OK ? CLI_DONE : cli_fail (&error);
  clear (&explain);
  return result;
}
