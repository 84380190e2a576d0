/*
 * tessera simulate: a trace under a policy; --verify.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/tell.h"
#include "simulator/verify/verify.h"

static gboolean verify, by_length;
static char *policy;

static void
tell_verification (const char *path, size_t n_events, const TesseraVerification *v)
{
  if (!v->has_history)
    cli_say ("%s: not verified: no allocation in the file\n", cli_shown (path));
  else
    cli_say ("%s: addresses %" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT
             " segments %" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT
             " oom %" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT " final %" G_GUINT64_FORMAT
             "/%" G_GUINT64_FORMAT "\n",
             cli_shown (path), v->addresses_right, v->addresses, v->segments_right,
             v->segments, v->ooms_right, v->ooms, v->final_right, v->final_blocks);
  if (v->has_history && v->difference[0] != '\0' && v->first_difference < n_events)
    cli_say ("  entry %u: %s\n", v->first_difference, cli_shown (v->difference));
  else if (v->has_history && v->difference[0] != '\0')
    cli_say ("  %s\n", cli_shown (v->difference)); /* says that it is the final state */
  cli_object (NULL);
  cli_member ("file", path);
  cli_member_bool ("verified", v->has_history && tessera_verification_is_exact (v));
  cli_member ("addresses_right", v->addresses_right);
  cli_member ("addresses", v->addresses);
  cli_member ("segments_right", v->segments_right);
  cli_member ("segments", v->segments);
  cli_member ("ooms_right", v->ooms_right);
  cli_member ("ooms", v->ooms);
  cli_member ("final_right", v->final_right);
  cli_member ("final_blocks", v->final_blocks);
  cli_member ("difference", v->difference);
  cli_close ();
}

/* Where the library served by rules that are not PyTorch's there is nothing to compare. */
static TesseraStatus
check_rules (const TesseraTrace *trace, const char *path, TesseraError *error)
{
  const char *served = tessera_trace_get_meta (trace, "policy");

  if (g_strcmp0 (served, "plan") != 0 && g_strcmp0 (served, "direct") != 0)
    return TESSERA_OK;
  return tessera_fail (
      error, TESSERA_REFUSED,
      "%s was recorded under policy %s, which does not place blocks as PyTorch does: "
      "there is nothing to verify (tessera info says how the run went)",
      path, served);
}

/* Returns: whether the file could be read, and is as our allocator has it */
static gboolean
verify_file (const char *path)
{
  TesseraVerification verification = { 0 };
  g_autoptr (TesseraTrace) trace = NULL;
  TesseraError *error = cli_error ();
  TesseraStatus status = cli_open_trace (path, "verifying", error, &trace);
  gboolean is_right = FALSE;

  if (status == TESSERA_OK)
    status = check_rules (trace, path, error);
  if (status == TESSERA_OK)
    status = tessera_verify (trace, cli_progress ("verifying"), &verification);
  cli_progress_end ();
  if (status != TESSERA_OK)
    cli_complain ("%s", error->text);
  else
    {
      tell_verification (path, trace->n_events, &verification);
      is_right =
          !verification.has_history || tessera_verification_is_exact (&verification);
    }
  tessera_verification_clear (&verification);
  return is_right;
}

static int
verify_files (char **files)
{
  int result = CLI_DONE;

  cli_array (NULL);
  for (; *files != NULL; files++)
    if (!verify_file (*files))
      result = CLI_FAILED;
  cli_close ();
  return result;
}

static void
tell_layout (const TesseraLayout *layout)
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

  cli_say ("policy: %s\n", cli_layout_name (layout->kind));
  cli_member ("policy", cli_layout_name (layout->kind));
  for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      cli_say ("  %-22s %" G_GUINT64_FORMAT "\n", rows[i].key, rows[i].value);
      cli_member (rows[i].key, rows[i].value);
    }
  if (layout->note[0] != '\0')
    cli_say ("note: %s\n", cli_shown (layout->note));
  cli_member ("note", layout->note);
}

static int
simulate_file (const char *path, TesseraSimulateOptions *options, const char *plan_path)
{
  g_auto (CliStudy) study = { 0 };

  cli_study_open (&study, path);
  if (plan_path != NULL)
    {
      /* Of whichever trace: what another run would do with it is a question, too. */
      study.plan = cli_load_plan (plan_path);
      cli_accept_plan (plan_path, study.plan, NULL);
      if (by_length && study.plan->lengths == NULL)
        cli_fail_with ("%s has nothing for steps of other lengths: leave --by-length out",
                       plan_path);
    }
  options->plan = study.plan;
  options->by_length = by_length;
  options->device_bytes = cli_given.device_bytes;
  options->limit_bytes = cli_given.limit_bytes;
  options->progress = cli_progress ("simulating");
  study.layout = cli_study_simulate (&study, options, plan_path);
  cli_progress_end ();
  tell_layout (study.layout);
  return CLI_DONE;
}

static int
run_simulate (int n_files, char **files)
{
  TesseraSimulateOptions options = { 0 };
  const char *plan_path = NULL;

  if (verify && policy != NULL)
    cli_usage ("--verify and --policy exclude each other");
  if (verify)
    return verify_files (files);
  if (policy == NULL || !cli_parse_policy (policy, &options.kind, &plan_path))
    cli_usage ("say --verify, or --policy native|expandable|recorded|plan:P.tsp");
  if (by_length && plan_path == NULL)
    cli_usage ("--by-length says how to follow a plan: add --policy plan:P.tsp");
  if (n_files != 1)
    cli_usage ("--policy takes one FILE, got %d", n_files);
  return simulate_file (files[0], &options, plan_path);
}

static const GOptionEntry simulate_options[] = {
  { CLI_OPTION ("verify", NONE, &verify), "Compare every recorded decision with ours" },
  { CLI_OPTION ("policy", STRING, &policy), "recorded, native, expandable or plan:P.tsp",
    "POLICY" },
  { CLI_OPTION ("by-length", NONE, &by_length),
    "Follow what the plan has for steps of every length" },
  { NULL }
};

const CliCommand cli_simulate = {
  .name = "simulate",
  .synopsis = "FILE...",
  .summary = "run a trace again under a policy, or verify our allocator against it",
  .help = "--verify replays recorded snapshots through our own allocator and compares "
          "every\naddress, segment, out-of-memory and final block; status 1 unless all "
          "are equal.",
  .takes = CLI_READS_TRACE,
  .n_least = 1,
  .n_most = -1,
  .options = simulate_options,
  .run = run_simulate,
};
