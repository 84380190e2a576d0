/* tessera simulate: a trace under a policy; --verify. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

#include "cli/accept.h"
#include "cli/study.h"
#include "db/store.h"
#include "recorder/import/import.h"
#include "simulator/verify/verify.h"

static void
print_verification (const char *path, size_t n_events, const TesseraVerification *v)
{
  if (!v->has_history)
    {
      printf ("%s: not verified: no allocation in the file\n", cli_shown (path));
      return;
    }
  printf ("%s: addresses %" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT
          " segments %" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT " oom %" G_GUINT64_FORMAT
          "/%" G_GUINT64_FORMAT " final %" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT "\n",
          cli_shown (path), v->addresses_right, v->addresses, v->segments_right,
          v->segments, v->ooms_right, v->ooms, v->final_right, v->final_blocks);
  if (v->difference[0] == '\0')
    return;
  if (v->first_difference < n_events)
    printf ("  entry %u: %s\n", v->first_difference, cli_shown (v->difference));
  else
    printf ("  %s\n", cli_shown (v->difference)); /* says that it is the final state */
}

static void
json_verification (JsonBuilder *builder, const char *path, const TesseraVerification *v)
{
  json_builder_begin_object (builder);
  cli_json_text (builder, "file", path);
  cli_json_bool (builder, "verified",
                 v->has_history && tessera_verification_is_exact (v));
  cli_json_bool (builder, "has_history", v->has_history);
  cli_json_bytes (builder, "addresses_right", v->addresses_right);
  cli_json_bytes (builder, "addresses", v->addresses);
  cli_json_bytes (builder, "segments_right", v->segments_right);
  cli_json_bytes (builder, "segments", v->segments);
  cli_json_bytes (builder, "ooms_right", v->ooms_right);
  cli_json_bytes (builder, "ooms", v->ooms);
  cli_json_bytes (builder, "final_right", v->final_right);
  cli_json_bytes (builder, "final_blocks", v->final_blocks);
  if (v->first_difference != TESSERA_NONE)
    cli_json_bytes (builder, "first_difference", v->first_difference);
  cli_json_text (builder, "difference", v->difference);
  json_builder_end_object (builder);
}

/* Where the library served by rules that are not PyTorch's there is nothing to compare.
 */
static TesseraStatus
check_rules (const TesseraTrace *trace, const char *path, TesseraError *error)
{
  const char *policy = tessera_trace_get_meta (trace, "policy");

  if (g_strcmp0 (policy, "plan") != 0 && g_strcmp0 (policy, "direct") != 0)
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_REFUSED,
                       "%s was recorded under policy %s, which does not place blocks as "
                       "PyTorch does: there is nothing to verify (tessera info says how "
                       "the run went)",
                       path, policy);
}

/* Returns the status to exit with: a file that differs, or cannot be read, is a failure.
 */
static int
verify_one (const char *path, const CliCommon *common, JsonBuilder *builder)
{
  const TesseraOpenOptions options = {
    .device = common->device < 0 ? TESSERA_NONE : (uint32_t) common->device,
    .device_bytes = common->device_bytes,
    .limit_bytes = common->limit_bytes,
    .progress = cli_progress ("verifying"),
  };
  TesseraError error = { 0 };
  TesseraTrace *trace = NULL;
  TesseraVerification verification = { 0 };
  int result = CLI_DONE;

  TesseraStatus status = tessera_open (path, &options, &error, &trace);
  if (status == TESSERA_OK)
    status = check_rules (trace, path, &error);
  if (status == TESSERA_OK)
    status = tessera_verify (trace, options.progress, &verification);
  cli_progress_end ();
  if (status != TESSERA_OK)
    result = cli_fail (&error);
  else
    {
      if (builder != NULL)
        json_verification (builder, path, &verification);
      else
        print_verification (path, trace->n_events, &verification);
      if (verification.has_history && !tessera_verification_is_exact (&verification))
        result = CLI_FAILED;
    }
  tessera_verification_clear (&verification);
  tessera_trace_free (trace);
  return result;
}

static int
verify_all (int n_files, char **files, const CliCommon *common)
{
  g_autoptr (JsonBuilder) builder = common->json ? json_builder_new () : NULL;
  int result = CLI_DONE;

  if (builder != NULL)
    json_builder_begin_array (builder);
  for (int i = 0; i < n_files; i++)
    if (verify_one (files[i], common, builder) != CLI_DONE)
      result = CLI_FAILED;
  if (builder != NULL)
    {
      json_builder_end_array (builder);
      cli_print_json (builder);
    }
  return result;
}

static void
print_layout (const TesseraLayout *layout, gboolean json)
{
  const struct
  {
    const char *key;
    uint64_t value;
  } rows[] = {
    { "peak_live_bytes", layout->peak_live_bytes },
    { "peak_allocated_bytes", layout->peak_allocated_bytes },
    { "peak_active_bytes", layout->peak_active_bytes },
    { "peak_reserved_bytes", layout->peak_reserved_bytes },
    { "ooms", layout->n_ooms },
    { "retries", layout->n_retries },
    { "hits", layout->n_hits },
    { "misses", layout->n_misses },
    { "planned_misses", layout->n_planned_misses },
    { "declined_at_event", layout->declined_index },
  };
  if (json)
    {
      g_autoptr (JsonBuilder) builder = json_builder_new ();
      json_builder_begin_object (builder);
      cli_json_text (builder, "policy", cli_layout_name (layout->kind));
      for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
        cli_json_bytes (builder, rows[i].key, rows[i].value);
      cli_json_text (builder, "note", layout->note);
      json_builder_end_object (builder);
      cli_print_json (builder);
      return;
    }
  printf ("policy: %s\n", cli_layout_name (layout->kind));
  for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
    printf ("  %-22s %" G_GUINT64_FORMAT "\n", rows[i].key, rows[i].value);
  if (layout->note[0] != '\0')
    printf ("note: %s\n", cli_shown (layout->note));
}

/* Counting in steps that are not there would say 0 hits and 0 misses. */
static TesseraStatus
find_steps (const CliStudy *study,
            const TesseraSimulateOptions *options,
            TesseraError *error)
{
  const TesseraStructure *structure = study->structure;
  for (size_t i = 0; i < structure->n_steps; i++)
    if (structure->steps[i].number >= options->first_step &&
        structure->steps[i].number <= options->last_step)
      return TESSERA_OK;
  if (structure->n_steps == 0)
    return tessera_fail (error, TESSERA_INVALID,
                         "%s has no steps to count in: leave --steps out", study->path);
  return tessera_fail (error, TESSERA_INVALID,
                       "%s has steps %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                       ": choose among these",
                       study->path, (gint64) structure->steps[0].number,
                       (gint64) structure->steps[structure->n_steps - 1].number);
}

static int
simulate_one (const char *path,
              const TesseraSimulateOptions *given,
              const char *plan_path,
              const CliCommon *common)
{
  TesseraSimulateOptions options = *given;
  TesseraError error = { 0 };
  TesseraPlan *plan = NULL;
  TesseraLayout *layout = NULL;
  CliStudy study;

  TesseraStatus status = cli_study_open (&study, path, common, &error);
  if (status == TESSERA_OK && plan_path != NULL)
    status = tessera_plan_load (plan_path, &error, &plan);
  /* Of whichever trace: what another run would do with it is a question, too. */
  if (status == TESSERA_OK && plan != NULL)
    status = cli_accept_plan (plan_path, plan, NULL, &error);
  if (status == TESSERA_OK && plan != NULL && options.by_length && plan->lengths == NULL)
    status = tessera_fail (&error, TESSERA_INVALID,
                           "%s has nothing for steps of other lengths: leave --by-length "
                           "out",
                           plan_path);
  if (status == TESSERA_OK && options.first_step >= 0)
    status = find_steps (&study, &options, &error);
  options.plan = plan;
  options.device_bytes = common->device_bytes;
  options.limit_bytes = common->limit_bytes;
  options.progress = cli_progress ("simulating");
  if (status == TESSERA_OK)
    status = cli_study_simulate (&study, &options, plan_path, &error, &layout);
  cli_progress_end ();
  int result = status == TESSERA_OK ? CLI_DONE : cli_fail (&error);
  if (status == TESSERA_OK)
    print_layout (layout, common->json);
  tessera_layout_free (layout);
  tessera_plan_free (plan);
  cli_study_clear (&study);
  return result;
}

int
cli_simulate (int argc, char **argv)
{
  gboolean verify = FALSE, by_length = FALSE;
  g_autofree char *policy = NULL;
  g_autofree char *steps = NULL;
  CliCommon common = { 0 };
  GOptionEntry entries[] = { { "verify", 0, 0, G_OPTION_ARG_NONE, &verify,
                               "Compare every recorded decision with ours", NULL },
                             { "policy", 0, 0, G_OPTION_ARG_STRING, &policy,
                               "recorded, native, expandable or plan:P.tsp", "POLICY" },
                             { "by-length", 0, 0, G_OPTION_ARG_NONE, &by_length,
                               "Follow what the plan has for steps of every length",
                               NULL },
                             { "steps", 0, 0, G_OPTION_ARG_STRING, &steps,
                               "Count hits and misses in these steps only", "A-B" },
                             { NULL } };
  TesseraSimulateOptions options = { .first_step = -1, .last_step = -1 };
  const char *plan_path = NULL;

  if (!cli_parse ("simulate", &argc, &argv, entries, &common, 1, -1))
    return CLI_USAGE;
  if (verify)
    return policy != NULL
               ? cli_usage ("simulate", "--verify and --policy exclude each other")
               : verify_all (argc - 1, argv + 1, &common);
  if (policy == NULL || !cli_parse_policy (policy, &options.kind, &plan_path))
    return cli_usage ("simulate",
                      "say --verify, or --policy native|expandable|recorded|plan:P.tsp");
  if (by_length && plan_path == NULL)
    return cli_usage ("simulate",
                      "--by-length says how to follow a plan: add --policy plan:P.tsp");
  options.by_length = by_length;
  if (argc != 2)
    return cli_usage ("simulate", "--policy takes one FILE, got %d", argc - 1);
  if (steps != NULL && !cli_parse_steps (steps, &options.first_step, &options.last_step))
    return cli_usage ("simulate", "--steps takes A or A-B, not \"%s\"", steps);
  return simulate_one (argv[1], &options, plan_path, &common);
}
