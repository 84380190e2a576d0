/* See study.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/study.h"

#include <stdlib.h>
#include <string.h>

#include "edits/edits.h"
#include "planner/check.h"
#include "planner/groups.h"
#include "picture/colour.h"
#include "recorder/import/import.h"

TesseraStatus
cli_open_trace (const char *path,
                const char *doing,
                TesseraError *error,
                TesseraTrace **out_trace)
{
  const TesseraOpenOptions options = {
    .device = cli_given.device < 0 ? TESSERA_NONE : (uint32_t) cli_given.device,
    .device_bytes = cli_given.device_bytes,
    .limit_bytes = cli_given.limit_bytes,
    .progress = cli_progress (doing),
  };

  return tessera_open (path, &options, error, out_trace);
}

void
cli_study_open (CliStudy *study, const char *path)
{
  *study = (CliStudy){ .path = g_strdup (path) };
  cli_must (cli_open_trace (path, "opening", cli_error (), &study->trace));
  study->blocks = tessera_blocks_new (study->trace);
  cli_must_of (path, tessera_check_blocks (study->blocks, cli_error ()));
  study->structure = tessera_structure_new (study->trace, study->blocks);
  study->needs.leak = tessera_leak_find (study->trace, study->blocks, study->structure);
  cli_progress_end ();
}

TesseraLayout *
cli_study_simulate (const CliStudy *study,
                    const TesseraSimulateOptions *options,
                    const char *plan_path)
{
  TesseraLayout *layout = NULL;

  cli_must_of (plan_path != NULL ? plan_path : study->path,
               tessera_simulate (study->trace, study->blocks, study->structure, options,
                                 cli_error (), &layout));
  return layout;
}

static void
lay_out (CliStudy *study, TesseraLayoutKind kind, bool without_sizes)
{
  bool recorded = study->trace->has_addresses && study->trace->has_segments;
  TesseraSimulateOptions options = {
    .kind = kind == TESSERA_LAYOUT_RECORDED && !recorded ? TESSERA_LAYOUT_NATIVE : kind,
    .progress = cli_progress ("simulating"),
    .without_sizes = without_sizes,
  };

  if (options.kind != TESSERA_LAYOUT_RECORDED)
    {
      options.device_bytes = cli_given.device_bytes;
      options.limit_bytes = cli_given.limit_bytes;
    }
  g_clear_pointer (&study->layout, tessera_layout_free);
  study->layout = cli_study_simulate (study, &options, NULL);
  cli_progress_end ();
}

void
cli_study_layout (CliStudy *study, TesseraLayoutKind kind)
{
  lay_out (study, kind, false);
}

void
cli_study_live (CliStudy *study)
{
  lay_out (study, TESSERA_LAYOUT_RECORDED, true);
}

void
cli_study_streams (TesseraPlanOptions *options)
{
  options->streams = cli_given.across_streams  ? TESSERA_STREAMS_ACROSS
                     : cli_given.streams_apart ? TESSERA_STREAMS_APART
                                               : TESSERA_STREAMS_AS_KNOWN;
}

gboolean
cli_study_may_cross (const CliStudy *study)
{
  return study->trace->n_streams > 1 && !cli_given.streams_apart &&
         tessera_plan_broken_contract (study->trace) == NULL;
}

/* Returns: how many stand; none before cli_study_edits() */
static size_t
get_edits (const CliStudy *study, const TesseraEdit **out_edits)
{
  if (study->history == NULL)
    return 0;
  *out_edits = tessera_history_get (study->history, NULL);
  return tessera_history_get_n_standing (study->history);
}

void
cli_study_edits (CliStudy *study, TesseraPlanOptions *options)
{
  const char *from = cli_given.edits_path != NULL ? cli_given.edits_path : study->path;
  TesseraError *error = cli_error ();

  study->history = cli_given.edits_path != NULL ? tessera_history_read (from, error)
                   : cli_given.no_edits         ? tessera_history_new ()
                                                : tessera_history_load (from, error);
  if (study->history == NULL)
    cli_fail (error);
  cli_must (tessera_history_find_blocks (study->history, from, study->trace,
                                         study->blocks, study->structure, error));
  options->n_edits = get_edits (study, &options->edits);
  cli_study_streams (options);
}

static void
count_seconds (CliStudy *study)
{
  study->plan_seconds = (double) (g_get_monotonic_time () - study->plan_begin_us) / 1e6;
}

void
cli_study_plan (CliStudy *study, const TesseraPlanOptions *options)
{
  study->plan_begin_us = g_get_monotonic_time ();
  cli_must (tessera_plan_trace (study->trace, study->blocks, study->structure, options,
                                cli_error (), &study->plan));
  count_seconds (study);
  if (study->history != NULL)
    tessera_history_into_plan (study->history, study->plan);
}

void
cli_study_under_offsets (CliStudy *study)
{
  const TesseraSimulateOptions follow = { .kind = TESSERA_LAYOUT_PLAN,
                                          .plan = study->plan };

  if (study->planned != NULL && !study->follows_length)
    return;
  study->follows_length = FALSE;
  tessera_layout_free (study->planned);
  study->planned = cli_study_simulate (study, &follow, NULL);
}

void
cli_study_plan_as_edited (CliStudy *study)
{
  TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };

  cli_study_edits (study, &options);
  cli_study_plan (study, &options);
  cli_study_as_run (study, (TesseraParameters){ 0 });
}

void
cli_study_unedited (CliStudy *study, const TesseraPlanOptions *options)
{
  TesseraPlanOptions bare = *options;
  g_autoptr (TesseraPlan) plan = NULL;

  if (options->n_edits == 0)
    return;
  bare.edits = NULL;
  bare.n_edits = 0;
  bare.work_budget = 1;
  bare.listener = NULL;
  cli_must (tessera_plan_trace (study->trace, study->blocks, study->structure, &bare,
                                cli_error (), &plan));
  study->unedited_bytes = plan->height_bytes;
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

void
cli_study_as_run (CliStudy *study, TesseraParameters most)
{
  TesseraFollowOptions options = { .lengths = { .most = most },
                                   .progress = cli_progress ("simulating") };

  study->laws = tessera_laws_new (study->trace, study->blocks, study->structure);
  options.laws = study->laws;
  options.lengths.n_edits = get_edits (study, &options.lengths.edits);
  cli_must_of (study->path,
               tessera_follow_plan (study->trace, study->blocks, study->structure,
                                    &options, study->plan, cli_error (), &study->planned,
                                    &study->why_no_lengths));
  study->lengths = study->plan->lengths;
  study->follows_length = study->lengths != NULL;
  count_seconds (study);
}

void
cli_study_follow (CliStudy *study,
                  TesseraPlan *plan,
                  const char *path,
                  gboolean by_length)
{
  tessera_plan_free (study->plan);
  g_clear_pointer (&study->planned, tessera_layout_free);
  g_clear_pointer (&study->why_no_lengths, g_free);
  study->plan = plan;
  study->lengths = plan->lengths;
  study->followed = g_path_get_basename (path);
  study->follows_length = by_length && plan->lengths != NULL;
}

typedef struct
{
  const CliStudy *study;
  TesseraSimulateOptions options;
  TesseraError error;
  TesseraStatus status;
  TesseraNeed need;
} Fitting;

static gpointer
fit (gpointer data)
{
  Fitting *fitting = data;
  const CliStudy *study = fitting->study;

  fitting->status = tessera_fit (study->trace, study->blocks, study->structure,
                                 &fitting->options, &fitting->error, &fitting->need);
  return NULL;
}

static TesseraNeed
get_need (const Fitting *fitting)
{
  *cli_error () = fitting->error;
  cli_must_of (fitting->study->path, fitting->status);
  return fitting->need;
}

static TesseraNeed
find_need (CliStudy *study, const TesseraPlan *plan)
{
  Fitting fitting = { study,
                      { .kind = TESSERA_LAYOUT_PLAN,
                        .plan = plan,
                        .by_length = study->follows_length && plan == study->plan,
                        .progress = cli_progress ("finding the smallest device") } };

  fit (&fitting);
  return get_need (&fitting);
}

/* Nobody asked for such a plan, nor for one without: what it would win is told. */
static void
find_need_across (CliStudy *study)
{
  TesseraPlanOptions options = { .first_step = -1,
                                 .last_step = -1,
                                 .progress = cli_progress ("planning across streams") };
  g_autoptr (TesseraPlan) plan = NULL;

  if (study->plan->crosses_streams)
    study->across_bound_bytes = study->plan->bound_bytes;
  if (!cli_study_may_cross (study) || study->plan->crosses_streams ||
      study->follows_length)
    return;
  options.n_edits = get_edits (study, &options.edits);
  options.streams = TESSERA_STREAMS_ACROSS;
  if (tessera_plan_trace (study->trace, study->blocks, study->structure, &options, NULL,
                          &plan) == TESSERA_OK)
    {
      study->across = find_need (study, plan);
      study->across_bound_bytes = plan->bound_bytes;
    }
}

void
cli_study_needs (CliStudy *study)
{
  TesseraNeed *need = study->need;
  /* A plan that was declined from the start left it to the rules of expandable segments. */
  const gboolean has_pool =
      study->plan != NULL && (study->followed == NULL || study->layout->pool_bytes > 0);
  Fitting native = { study, { .kind = TESSERA_LAYOUT_NATIVE } };
  Fitting expandable = { study, { .kind = TESSERA_LAYOUT_EXPANDABLE } };

  if (!has_pool)
    native.options.progress = cli_progress ("finding the smallest device");
  GThread *of_native = g_thread_new ("native", fit, &native);
  GThread *of_expandable = g_thread_new ("expandable", fit, &expandable);
  if (has_pool)
    need[TESSERA_LAYOUT_PLAN] = find_need (study, study->plan);
  if (study->plan != NULL && study->followed == NULL)
    find_need_across (study);
  g_thread_join (of_native);
  g_thread_join (of_expandable);
  need[TESSERA_LAYOUT_NATIVE] = get_need (&native);
  need[TESSERA_LAYOUT_EXPANDABLE] = get_need (&expandable);
  if (study->followed != NULL)
    {
      if (!has_pool)
        need[TESSERA_LAYOUT_PLAN] = need[TESSERA_LAYOUT_EXPANDABLE];
      need[TESSERA_LAYOUT_PLAN].endless_bytes = study->layout->peak_reserved_bytes;
    }
  cli_progress_end ();
  study->needs.across_bytes = study->across.smallest_bytes;
  study->needs.native_bytes = need[TESSERA_LAYOUT_NATIVE].smallest_bytes;
  study->needs.expandable_bytes = need[TESSERA_LAYOUT_EXPANDABLE].smallest_bytes;
  study->needs.plan_bytes = need[TESSERA_LAYOUT_PLAN].smallest_bytes;
  study->needs.bound_bytes =
      tessera_blocks_bound (study->blocks, 0, study->blocks->n_events, NULL);
}

void
cli_study_clear (CliStudy *study)
{
  g_clear_pointer (&study->planned, tessera_layout_free);
  g_clear_pointer (&study->plan, tessera_plan_free);
  g_clear_pointer (&study->followed, g_free);
  g_clear_pointer (&study->history, tessera_history_free);
  g_clear_pointer (&study->why_no_lengths, g_free);
  g_clear_pointer (&study->laws, tessera_laws_free);
  g_clear_pointer (&study->layout, tessera_layout_free);
  g_clear_pointer (&study->structure, tessera_structure_free);
  g_clear_pointer (&study->blocks, tessera_blocks_free);
  g_clear_pointer (&study->trace, tessera_trace_free);
  g_clear_pointer (&study->path, g_free);
}

TesseraVerdict
cli_study_verdict (const CliStudy *study)
{
  TesseraVerdict verdict;
  const TesseraParts parts = tessera_parts_at (study->trace, study->blocks, study->layout,
                                               tessera_verdict_moment (study->layout));

  tessera_verdict (study->trace, study->layout, &parts, &study->needs, &verdict);
  return verdict;
}

TesseraParts
cli_study_parts (const CliStudy *study, uint32_t event_index)
{
  if (event_index >= study->layout->n_events)
    cli_fail_with ("%s has events 0 to %u, so there is no event %u", study->path,
                   study->layout->n_events - 1, event_index);
  return tessera_parts_at (study->trace, study->blocks, study->layout, event_index);
}

CliRegrouped
cli_regroup (const CliStudy *study)
{
  CliRegrouped regrouped = { .blocks = *study->blocks };

  regrouped.blocks.blocks = NULL;
  cli_must_of (study->path,
               tessera_edits_regroup (study->trace, study->blocks, study->structure,
                                      tessera_history_get (study->history, NULL),
                                      tessera_history_get_n_standing (study->history),
                                      cli_error (), NULL, &regrouped.blocks.blocks,
                                      &regrouped.groups, &regrouped.n_groups));
  return regrouped;
}

void
cli_regrouped_clear (CliRegrouped *regrouped)
{
  tessera_groups_free (regrouped->groups, regrouped->n_groups);
  free (regrouped->blocks.blocks);
  *regrouped = (CliRegrouped){ 0 };
}

TesseraPlan *
cli_load_plan (const char *path)
{
  TesseraPlan *plan = NULL;

  cli_must (tessera_plan_load (path, cli_error (), &plan));
  return plan;
}

TesseraStatus
cli_check_plan (const TesseraPlan *plan,
                const TesseraTrace *trace,
                TesseraLaw *out_law,
                TesseraError *error)
{
  TesseraStatus status = tessera_check_plan (plan, trace, out_law, error);

  return status == TESSERA_OK && plan->lengths != NULL
             ? tessera_check_lengths (plan->lengths, out_law, error)
             : status;
}

void
cli_accept_plan (const char *path, const TesseraPlan *plan, const TesseraTrace *trace)
{
  TesseraError found = { 0 };
  TesseraLaw law = TESSERA_LAW_NONE;

  if (cli_check_plan (plan, trace, &law, &found) == TESSERA_OK)
    return;
  if (law == TESSERA_LAW_NONE)
    cli_fail_with ("%s: %s", path, found.text);
  cli_fail_with ("%s: breaks the law of %s: %s", path, tessera_law_name (law),
                 found.text);
}

gboolean
cli_parse_policy (const char *text, TesseraLayoutKind *out_kind, const char **out_plan)
{
  static const char *const names[] = { "recorded", "native", "expandable", NULL };
  int chosen = cli_choose (text, names);

  *out_plan = NULL;
  if (chosen >= 0)
    *out_kind = (TesseraLayoutKind) chosen;
  else if (g_str_has_prefix (text, "plan:") && text[5] != '\0')
    {
      *out_kind = TESSERA_LAYOUT_PLAN;
      *out_plan = text + 5;
    }
  else
    return FALSE;
  return TRUE;
}
