/* See study.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/edit-add.h"
#include "cli/tell/culprits.h"
#include "edits/edits.h"
#include "recorder/import/import.h"
#include "simulator/advice.h"

/* What was found of the trace, or of a plan for it, with the name of the file. */
static TesseraStatus
name_file (const char *path,
           TesseraStatus status,
           const TesseraError *found,
           TesseraError *error)
{
  g_autofree char *base = g_path_get_basename (path);

  if (status == TESSERA_OK)
    return status;
  if (strstr (found->text, base) != NULL)
    return tessera_fail (error, status, "%s", found->text);
  return tessera_fail (error, status, "%s: %s", path, found->text);
}

TesseraStatus
cli_study_open (CliStudy *study,
                const char *path,
                const CliCommon *common,
                TesseraError *error)
{
  const TesseraOpenOptions options = {
    .device = common->device < 0 ? TESSERA_NONE : (uint32_t) common->device,
    .device_bytes = common->device_bytes,
    .limit_bytes = common->limit_bytes,
    .progress = cli_progress ("opening"),
  };
  TesseraError found = { 0 };

  memset (study, 0, sizeof *study);
  study->path = g_strdup (path);
  TesseraStatus status = tessera_open (path, &options, error, &study->trace);
  if (status == TESSERA_OK)
    status = tessera_blocks_new (study->trace, &study->blocks);
  if (status == TESSERA_OK)
    status =
        name_file (path, tessera_check_blocks (study->blocks, &found), &found, error);
  if (status == TESSERA_OK)
    status = tessera_structure_new (study->trace, study->blocks, &study->structure);
  if (status == TESSERA_OK)
    status = tessera_leak_find (study->blocks, study->structure, &study->needs.leak);
  if (status == TESSERA_OK && study->needs.leak.stack != TESSERA_NONE)
    {
      g_autofree char *line = cli_own_line (study->trace, study->needs.leak.stack);
      tessera_show_text (line, study->needs.leak_line, sizeof study->needs.leak_line);
    }
  cli_progress_end ();
  if (status == TESSERA_NO_MEMORY)
    tessera_fail (error, status, "%s: not enough memory to open it", path);
  return status;
}

TesseraStatus
cli_study_simulate (const CliStudy *study,
                    const TesseraSimulateOptions *options,
                    const char *plan_path,
                    TesseraError *error,
                    TesseraLayout **out_layout)
{
  TesseraError found = { 0 };
  TesseraStatus status = tessera_simulate (study->trace, study->blocks, study->structure,
                                           options, &found, out_layout);

  return name_file (plan_path != NULL ? plan_path : study->path, status, &found, error);
}

TesseraStatus
cli_study_layout (CliStudy *study,
                  TesseraLayoutKind kind,
                  const CliCommon *common,
                  TesseraError *error)
{
  bool recorded = study->trace->has_addresses && study->trace->has_segments;
  TesseraSimulateOptions options = {
    .kind = kind == TESSERA_LAYOUT_RECORDED && !recorded ? TESSERA_LAYOUT_NATIVE : kind,
    .first_step = -1,
    .last_step = -1,
    .progress = cli_progress ("simulating"),
  };
  if (options.kind != TESSERA_LAYOUT_RECORDED && common != NULL)
    {
      options.device_bytes = common->device_bytes;
      options.limit_bytes = common->limit_bytes;
    }
  g_clear_pointer (&study->layout, tessera_layout_free);
  TesseraStatus status =
      cli_study_simulate (study, &options, NULL, error, &study->layout);
  cli_progress_end ();
  return status;
}

TesseraStatus
cli_study_edits (CliStudy *study,
                 const char *edits_path,
                 gboolean no_edits,
                 TesseraPlanOptions *options,
                 TesseraError *error)
{
  if (edits_path != NULL)
    study->history = tessera_history_read (edits_path, error);
  else if (no_edits)
    study->history = tessera_history_new ();
  else
    study->history = tessera_history_load (study->path, error);
  if (study->history == NULL)
    return error->status;
  TesseraStatus status = tessera_history_find_blocks (
      study->history, edits_path != NULL ? edits_path : study->path, study->trace,
      study->blocks, study->structure, error);
  if (status != TESSERA_OK)
    return status;
  options->edits = tessera_history_get (study->history, NULL);
  options->n_edits = tessera_history_get_n_standing (study->history);
  return TESSERA_OK;
}

/* Groups and classes may be other edits' work: who asks for these is not judged. */
static gboolean
is_about_nothing (const CliStudy *study, const TesseraEdit *edit)
{
  g_autofree uint8_t *selected = g_new0 (uint8_t, study->blocks->n_blocks + 1);

  return edit->what.group == NULL && edit->what.lifetime_class == 0 &&
         tessera_select (&edit->what, study->trace, study->blocks, study->structure, NULL,
                         0, selected) == TESSERA_OK &&
         memchr (selected, 1, study->blocks->n_blocks) == NULL;
}

static gboolean
is_note (const TesseraMeta *meta)
{
  return g_str_has_prefix (meta->key, "note.");
}

void
cli_study_print_notes (const CliStudy *study)
{
  for (size_t i = 0; i < study->trace->n_meta; i++)
    if (is_note (&study->trace->meta[i]))
      printf ("note: %s\n", cli_shown (study->trace->meta[i].value));
}

void
cli_study_json_notes (JsonBuilder *builder, const CliStudy *study)
{
  json_builder_set_member_name (builder, "notes");
  json_builder_begin_array (builder);
  for (size_t i = 0; i < study->trace->n_meta; i++)
    if (is_note (&study->trace->meta[i]))
      json_builder_add_string_value (builder, cli_shown (study->trace->meta[i].value));
  json_builder_end_array (builder);
}

void
cli_study_print_edits (const CliStudy *study, const char *edits_path)
{
  size_t n_edits = tessera_history_get_n_standing (study->history);
  const TesseraEdit *edits = tessera_history_get (study->history, NULL);

  if (n_edits > 0)
    printf ("%zu edit%s of %s applied%s\n", n_edits, n_edits == 1 ? "" : "s",
            cli_shown (edits_path != NULL ? edits_path : study->path),
            edits_path != NULL ? "" : " (--no-edits leaves them out)");
  for (size_t i = 0; i < n_edits; i++)
    if (is_about_nothing (study, &edits[i]))
      printf ("  of these \"%s\" is about no block of %s\n", cli_shown (edits[i].name),
              cli_shown (study->path));
}

void
cli_study_json_edits (JsonBuilder *builder, const CliStudy *study)
{
  size_t n_edits = tessera_history_get_n_standing (study->history);
  const TesseraEdit *edits = tessera_history_get (study->history, NULL);

  json_builder_set_member_name (builder, "edits");
  json_builder_begin_array (builder);
  for (size_t i = 0; i < n_edits; i++)
    {
      g_autofree char *text = tessera_edit_describe (&edits[i]);

      json_builder_begin_object (builder);
      cli_json_text (builder, "name", edits[i].name);
      cli_json_text (builder, "text", text);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
}

static void
count_seconds (CliStudy *study)
{
  study->plan_seconds = (double) (g_get_monotonic_time () - study->plan_begin_us) / 1e6;
}

TesseraStatus
cli_study_plan (CliStudy *study, const TesseraPlanOptions *options, TesseraError *error)
{
  TesseraStatus status;

  study->plan_begin_us = g_get_monotonic_time ();
  status = tessera_plan_trace (study->trace, study->blocks, study->structure, options,
                               error, &study->plan);
  count_seconds (study);
  if (status != TESSERA_OK)
    return status;
  if (study->history != NULL)
    tessera_history_into_plan (study->history, study->plan);
  const TesseraSimulateOptions follow = {
    .kind = TESSERA_LAYOUT_PLAN,
    .plan = study->plan,
    .first_step = -1,
    .last_step = -1,
  };
  return cli_study_simulate (study, &follow, NULL, error, &study->planned);
}

TesseraStatus
cli_study_unedited (CliStudy *study,
                    const TesseraPlanOptions *options,
                    TesseraError *error)
{
  TesseraPlanOptions bare = *options;
  TesseraPlan *plan = NULL;
  TesseraStatus status;

  if (options->n_edits == 0)
    return TESSERA_OK;
  bare.edits = NULL;
  bare.n_edits = 0;
  bare.work_budget = 1;
  bare.resumed = NULL;
  bare.listener = NULL;
  status = tessera_plan_trace (study->trace, study->blocks, study->structure, &bare,
                               error, &plan);
  if (status == TESSERA_OK)
    study->unedited_bytes = plan->height_bytes;
  tessera_plan_free (plan);
  return status;
}

uint64_t
cli_study_edits_cost (const CliStudy *study)
{
  uint64_t pool_bytes = tessera_plan_pool_bytes (study->plan);
  uint64_t needed_bytes = study->plan->height_bytes +
                          MAX (study->planned->peak_reserved_bytes, pool_bytes) -
                          pool_bytes;

  return study->unedited_bytes > 0 && needed_bytes > study->unedited_bytes
             ? needed_bytes - study->unedited_bytes
             : 0;
}

TesseraStatus
cli_study_advise (CliStudy *study, gboolean counts_misses, TesseraError *error)
{
  TesseraError found = { 0 };
  char *why_no_lengths = NULL;
  TesseraStatus status = tessera_advise_plan (
      study->trace, study->blocks, study->structure, study->plan, counts_misses,
      study->planned, cli_progress ("simulating"), &found, &why_no_lengths);

  if (why_no_lengths != NULL)
    {
      g_free (study->why_no_lengths);
      study->why_no_lengths = g_strdup (why_no_lengths);
      free (why_no_lengths);
    }
  study->lengths = study->plan->lengths;
  count_seconds (study);
  return name_file (study->path, status, &found, error);
}

TesseraStatus
cli_study_laws (CliStudy *study,
                const TesseraLengthsOptions *options,
                TesseraError *error)
{
  TesseraError declined = { 0 };
  TesseraStatus status =
      tessera_laws_new (study->trace, study->blocks, study->structure, &study->laws);
  if (status == TESSERA_OK)
    status =
        tessera_lengths_plan (study->trace, study->blocks, study->structure, study->laws,
                              options, &declined, &study->plan->lengths);
  if (status == TESSERA_REFUSED || status == TESSERA_INVALID)
    {
      study->why_no_lengths = g_strdup (
          declined.text[0] != 0
              ? declined.text
              : "sizes are beyond what can be computed: no plan for every length");
      status = TESSERA_OK;
    }
  if (status != TESSERA_OK)
    return tessera_fail (error, status, "%s: not enough memory to compare its steps",
                         study->path);
  return cli_study_advise (study, TRUE, error);
}

/* One run without curves: peak of reserved memory, and flushes with a retry. */
static TesseraStatus
run_once (CliStudy *study,
          const TesseraSimulateOptions *options,
          uint64_t *out_reserved_bytes,
          uint64_t *out_retries,
          TesseraError *error)
{
  TesseraLayout *layout = NULL;
  TesseraStatus status = cli_study_simulate (study, options, NULL, error, &layout);

  if (status != TESSERA_OK)
    return status;
  if (out_reserved_bytes != NULL)
    *out_reserved_bytes = layout->peak_reserved_bytes;
  if (out_retries != NULL)
    *out_retries = layout->n_retries;
  tessera_layout_free (layout);
  return TESSERA_OK;
}

static TesseraStatus
find_need (CliStudy *study, TesseraLayoutKind kind, CliNeed *need, TesseraError *error)
{
  TesseraSimulateOptions options = {
    .kind = kind,
    .plan = kind == TESSERA_LAYOUT_PLAN ? study->plan : NULL,
    .first_step = -1,
    .last_step = -1,
    .without_curves = true,
    .progress = cli_progress ("finding the smallest device"),
  };
  TesseraError found = { 0 };
  TesseraStatus status = tessera_fit (study->trace, study->blocks, study->structure,
                                      &options, &found, &need->smallest_bytes);

  status = name_file (study->path, status, &found, error);
  if (status == TESSERA_OK)
    status = run_once (study, &options, &need->endless_bytes, NULL, error);
  options.device_bytes = need->smallest_bytes;
  if (status == TESSERA_OK)
    status = run_once (study, &options, NULL, &need->retries, error);
  return status;
}

TesseraStatus
cli_study_needs (CliStudy *study, TesseraError *error)
{
  static const TesseraLayoutKind kinds[] = { TESSERA_LAYOUT_NATIVE,
                                             TESSERA_LAYOUT_EXPANDABLE,
                                             TESSERA_LAYOUT_PLAN };
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < G_N_ELEMENTS (kinds) && status == TESSERA_OK; i++)
    if (kinds[i] != TESSERA_LAYOUT_PLAN || study->plan != NULL)
      status = find_need (study, kinds[i], &study->need[kinds[i]], error);
  cli_progress_end ();
  study->needs.native_bytes = study->need[TESSERA_LAYOUT_NATIVE].smallest_bytes;
  study->needs.expandable_bytes = study->need[TESSERA_LAYOUT_EXPANDABLE].smallest_bytes;
  study->needs.plan_bytes = study->need[TESSERA_LAYOUT_PLAN].smallest_bytes;
  study->needs.bound_bytes =
      tessera_blocks_bound (study->blocks, 0, study->blocks->n_events, NULL);
  return status;
}

void
cli_study_clear (CliStudy *study)
{
  g_clear_pointer (&study->planned, tessera_layout_free);
  g_clear_pointer (&study->plan, tessera_plan_free);
  g_clear_pointer (&study->history, tessera_history_free);
  g_clear_pointer (&study->why_no_lengths, g_free);
  g_clear_pointer (&study->laws, tessera_laws_free);
  g_clear_pointer (&study->layout, tessera_layout_free);
  g_clear_pointer (&study->structure, tessera_structure_free);
  g_clear_pointer (&study->blocks, tessera_blocks_free);
  g_clear_pointer (&study->trace, tessera_trace_free);
  g_clear_pointer (&study->path, g_free);
}

uint32_t
cli_study_moment (const CliStudy *study)
{
  const TesseraLayout *layout = study->layout;
  return layout->n_ooms > 0 ? layout->ooms[layout->n_ooms - 1].event_index
                            : layout->peak_reserved_index;
}

TesseraStatus
cli_study_parts (const CliStudy *study,
                 uint32_t event_index,
                 TesseraParts *out_parts,
                 TesseraError *error)
{
  if (event_index >= study->layout->n_events)
    return tessera_fail (error, TESSERA_INVALID,
                         "%s has events 0 to %u, so there is no event %u", study->path,
                         study->layout->n_events - 1, event_index);
  return tessera_parts_at (study->trace, study->blocks, study->layout, event_index,
                           out_parts);
}

TesseraStatus
cli_study_verdict (const CliStudy *study,
                   TesseraVerdict *out_verdict,
                   TesseraError *error)
{
  TesseraParts parts;
  TesseraStatus status = cli_study_parts (study, cli_study_moment (study), &parts, error);
  if (status == TESSERA_OK)
    tessera_verdict (study->trace, study->layout, &parts, &study->needs, out_verdict);
  return status;
}

const char *
cli_layout_name (TesseraLayoutKind kind)
{
  switch (kind)
    {
    case TESSERA_LAYOUT_RECORDED:
      return "as recorded";
    case TESSERA_LAYOUT_NATIVE:
      return "native";
    case TESSERA_LAYOUT_EXPANDABLE:
      return "expandable segments";
    case TESSERA_LAYOUT_PLAN:
      return "plan";
    }
  return "";
}

const char *
cli_followable_name (const TesseraPlan *plan)
{
  switch (plan->followable)
    {
    case TESSERA_FOLLOWABLE_YES:
      return "yes";
    case TESSERA_FOLLOWABLE_SAME_BATCHES:
      return "same batches only";
    default:
      return "no";
    }
}

char *
cli_followable_text (const TesseraPlan *plan)
{
  if (plan->lengths != NULL && plan->followable == TESSERA_FOLLOWABLE_NO)
    return g_strdup_printf ("at other lengths by the plan for every length; these "
                            "offsets by no run: %s",
                            plan->follow_reason);
  if (plan->lengths != NULL && plan->followable == TESSERA_FOLLOWABLE_SAME_BATCHES)
    return g_strdup ("at other lengths by the plan for every length; these "
                     "offsets with the same batches in the same order");
  return g_strdup_printf ("%s%s%s", cli_followable_name (plan),
                          plan->follow_reason != NULL ? ": " : "",
                          plan->follow_reason != NULL ? plan->follow_reason : "");
}

gboolean
cli_parse_policy (const char *text, TesseraLayoutKind *out_kind, const char **out_plan)
{
  *out_plan = NULL;
  if (g_str_equal (text, "recorded"))
    *out_kind = TESSERA_LAYOUT_RECORDED;
  else if (g_str_equal (text, "native"))
    *out_kind = TESSERA_LAYOUT_NATIVE;
  else if (g_str_equal (text, "expandable"))
    *out_kind = TESSERA_LAYOUT_EXPANDABLE;
  else if (g_str_has_prefix (text, "plan:") && text[5] != '\0')
    {
      *out_kind = TESSERA_LAYOUT_PLAN;
      *out_plan = text + 5;
    }
  else
    return FALSE;
  return TRUE;
}
