/*
 * tessera dry-run: a training program over a CUDA that computes nothing; then the answer
 * whether it fits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cli/output.h"
#include "cli/program.h"
#include "cli/rehearsal.h"
#include "db/store.h"
#include "nullcuda/settings.h"

#define MIB ((guint64) 1 << 20)

/* Rules of thumb for what a GPU holds beside PyTorch's memory, not measured here: a
 * context whose kernels load lazily takes about half a GiB, libraries add to it; NCCL
 * holds buffers for each communicator. */
#define CONTEXT_BYTES (768 * MIB)
#define NCCL_BYTES (1024 * MIB)
#define CONTEXT_WHY "assumed: 768 MiB for the CUDA context and its kernels"
#define NCCL_WHY CONTEXT_WHY ", 1 GiB for NCCL's buffers"

/* No GPU has as much, and the null CUDA's addresses end somewhere. */
#define MOST_GPU_BYTES ((guint64) 16 << 40)
#define MOST_WORLD (1 << 20)

/* A minute or two of most scripts, and 70 MB of trace. */
#define MOST_EVENTS 2000000

/* T.tsr -> T.tsp */
static char *
plan_beside (const char *trace_path)
{
  size_t n = strlen (trace_path);
  if (g_str_has_suffix (trace_path, ".tsr"))
    n -= strlen (".tsr");
  return g_strdup_printf ("%.*s.tsp", (int) n, trace_path);
}

/* In the working directory, after the script; not over the trace of the plan it follows.
 */
static char *
trace_of (char **program, const CliJob *job, gboolean follows)
{
  g_autofree char *name = cli_program_name (program);
  g_autofree char *rank = job->world > 1
                              ? g_strdup_printf ("-rank%" G_GINT64_FORMAT, job->rank)
                              : g_strdup ("");
  return g_strdup_printf ("%s%s%s.tsr", name, rank, follows ? "-planned" : "");
}

static gboolean
parse_gpu (const char *gpu, CliJob *job, guint64 *out_bytes)
{
  const NullProfile *profile = null_profile_find (gpu);
  if (profile != NULL)
    *out_bytes = profile->total_bytes;
  else if (tessera_parse_bytes (gpu, &job->gpu_bytes))
    *out_bytes = job->gpu_bytes;
  else
    return FALSE;
  return *out_bytes >= NULL_GRANULE && *out_bytes < MOST_GPU_BYTES;
}

typedef struct
{
  char *gpu, *policy, *plan, *follow, *output, *headroom, *steps;
  gint world, rank, lag;
  gint64 events; /* -1: not told */
  gdouble seconds;
  gboolean stacks, force, json;
} Options;

/* What the device has to keep free beside the job: as asked for and parsed already, or
 * what CUDA takes, and NCCL where there are others. */
static void
take_headroom (const Options *options, CliQuestion *question)
{
  gboolean has_group = options->world > 1;

  question->headroom_why = "as asked for";
  if (options->headroom != NULL)
    return;
  question->headroom_bytes = has_group ? CONTEXT_BYTES + NCCL_BYTES : CONTEXT_BYTES;
  question->headroom_why = has_group ? NCCL_WHY : CONTEXT_WHY;
}

/* How far it goes on once the steps of the plan are known: who names the steps alone wants
 * no more. */
static void
take_limits (const Options *options, CliJob *job)
{
  gboolean is_told = options->events >= 0 || options->seconds > 0;

  job->most_events = MAX (options->events, 0);
  job->most_seconds = options->seconds;
  if (!is_told && options->steps == NULL)
    job->most_events = MOST_EVENTS;
}

/* The numbers and names of the command line; CLI_USAGE with a sentence where one is
 * wrong.
 */
static int
take_options (const Options *options, CliRehearsal *run)
{
  CliJob *job = &run->job;
  CliQuestion *question = &run->question;

  job->gpu = options->gpu != NULL ? options->gpu : "h100-80";
  job->policy = options->policy != NULL ? options->policy
                : options->plan != NULL ? "plan"
                                        : "native";
  if (!parse_gpu (job->gpu, job, &question->gpu_bytes))
    return cli_usage (
        "dry-run",
        "--gpu takes a100-40, a100-80, h100-80, h200-141, l40s-48, rtx4090-24 or a "
        "size like 24GiB, not \"%s\"",
        job->gpu);
  if (options->world < 0 || options->world > MOST_WORLD)
    return cli_usage ("dry-run", "--world takes the number of ranks, 1 or more");
  if (options->rank < 0 || options->rank >= MAX (options->world, 1))
    return cli_usage ("dry-run", "--rank takes 0 to %d in a world of %d (see --world)",
                      MAX (options->world, 1) - 1, MAX (options->world, 1));
  if (!cli_parse_steps (options->steps != NULL ? options->steps : "3-6",
                        &job->least_steps, &job->most_steps) ||
      job->least_steps < 1)
    return cli_usage ("dry-run",
                      "--steps takes a number of whole steps, 1 or more, or a range like "
                      "3-6, not \"%s\"",
                      options->steps);
  if (options->events < -1 || options->seconds < 0)
    return cli_usage ("dry-run", "--events and --for take a number, 0 or more");
  if (options->lag != 0 && options->lag != 1)
    return cli_usage ("dry-run", "--lag takes 0 or 1");
  if (!cli_job_policy_is_known (job->policy))
    return cli_usage ("dry-run",
                      "--policy takes native, expandable, direct or plan, not \"%s\"",
                      job->policy);
  if (g_str_equal (job->policy, "plan") != (options->plan != NULL))
    return cli_usage ("dry-run", "--policy plan and --plan P.tsp go together");
  if (!cli_job_follow_is_known (options->follow) ||
      (options->follow != NULL && options->plan == NULL))
    return cli_usage ("dry-run", "--follow takes length or trace, beside --plan P.tsp");
  if (options->headroom != NULL &&
      !tessera_parse_bytes (options->headroom, &question->headroom_bytes))
    return cli_usage ("dry-run", "--headroom takes bytes or a size like 2GiB, not \"%s\"",
                      options->headroom);

  job->is_dry = TRUE;
  job->follow = options->follow;
  job->stacks = options->stacks ? "1" : "0";
  job->lag = options->lag == 1 ? "1" : "0";
  job->rank = options->rank;
  job->world = options->world;
  question->gpu = job->gpu;
  question->follows = options->plan != NULL;
  question->is_lagging = options->lag == 1;
  take_limits (options, job);
  take_headroom (options, question);
  run->json = options->json;
  return CLI_DONE;
}

/* Where it writes, and the plan that it follows, looked at before minutes go by. */
static int
take_paths (const Options *options, CliRehearsal *run)
{
  TesseraError error = { 0 };
  TesseraPlan *plan = NULL;
  g_autofree char *named =
      options->output != NULL ? g_strdup (options->output)
                              : trace_of (run->program, &run->job, options->plan != NULL);

  if (*named == '\0' || strchr (named, '%') != NULL)
    return cli_usage ("dry-run",
                      "-o takes the name of one file, without %%: a dry run is "
                      "one process");
  run->trace_path = g_canonicalize_filename (named, NULL);
  run->plan_path = plan_beside (run->trace_path);
  run->job.overwrites = options->force;
  run->job.record = run->trace_pattern = cli_job_pattern (run->trace_path);
  int result =
      cli_check_recording ("dry-run", options->plan, run->trace_path, options->force);
  if (result == CLI_DONE)
    result = cli_check_result ("dry-run", options->plan, run->plan_path,
                               TESSERA_FILE_PLAN, options->force);
  if (result != CLI_DONE || options->plan == NULL)
    return result;
  run->followed_path = g_canonicalize_filename (options->plan, NULL);
  run->job.plan = run->followed_pattern = cli_job_pattern (run->followed_path);
  if (tessera_plan_load (run->followed_path, &error, &plan) != TESSERA_OK)
    return cli_fail (&error);
  tessera_plan_free (plan);
  return CLI_DONE;
}

static int
dry_run (const Options *options, char **program)
{
  const char *launcher = cli_program_launcher (program);
  CliRehearsal run = { .program = program };
  if (launcher != NULL)
    return cli_usage ("dry-run",
                      "a dry run is one rank of the job: leave %s out and say --world 64 "
                      "--rank 3 -- python train.py",
                      launcher);
  int result = take_options (options, &run);
  if (result == CLI_DONE)
    result = take_paths (options, &run);
  if (result == CLI_DONE)
    result = cli_rehearse (&run);
  g_free (run.trace_path);
  g_free (run.plan_path);
  g_free (run.followed_path);
  g_free (run.trace_pattern);
  g_free (run.followed_pattern);
  return result;
}

int
cli_dry_run (int argc, char **argv)
{
  Options options = { .lag = 1, .stacks = TRUE, .events = -1 };
  GOptionEntry entries[] = {
    { "gpu", 0, 0, G_OPTION_ARG_STRING, &options.gpu,
      "a100-40, a100-80, h100-80 (default), h200-141, l40s-48, rtx4090-24, or a size "
      "like "
      "24GiB",
      "GPU" },
    { "world", 0, 0, G_OPTION_ARG_INT, &options.world,
      "Ranks of the job, whose process group is made up", "N" },
    { "rank", 0, 0, G_OPTION_ARG_INT, &options.rank, "Which of them to run (0)", "N" },
    { "steps", 0, 0, G_OPTION_ARG_STRING, &options.steps,
      "Plan from this many whole steps, and stop there unless --events or --for say "
      "more; "
      "3-6 (default): three, or once a later one repeats the one before, six at most",
      "N[-M]" },
    { "events", 0, 0, G_OPTION_ARG_INT64, &options.events,
      "Go on after the steps of the plan until so many events are recorded (default "
      "2000000); 0: stop there",
      "N" },
    { "for", 0, 0, G_OPTION_ARG_DOUBLE, &options.seconds,
      "... or until so many seconds are over", "SECONDS" },
    { "policy", 0, 0, G_OPTION_ARG_STRING, &options.policy,
      "native (default), expandable, direct or plan", "POLICY" },
    { "plan", 0, 0, G_OPTION_ARG_FILENAME, &options.plan, "Follow this plan", "P.tsp" },
    { "follow", 0, 0, G_OPTION_ARG_STRING, &options.follow,
      "length: also steps of other lengths than those it was made from; trace: the same "
      "batches only (default: length where the plan has steps that vary)",
      "length|trace" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
      "The trace to write (default: the script's name, and -planned with --plan); its "
      "plan goes beside it, as .tsp",
      "T.tsr" },
    CLI_FORCE (&options.force),
    { "stacks", 0, 0, G_OPTION_ARG_NONE, &options.stacks,
      "Record the lines that allocate (default)", NULL },
    { "no-stacks", 0, G_OPTION_FLAG_REVERSE, G_OPTION_ARG_NONE, &options.stacks,
      "Do not, which is faster", NULL },
    { "lag", 0, 0, G_OPTION_ARG_INT, &options.lag,
      "1: work takes a modelled time (default); 0: it ends at once", "0|1" },
    { "headroom", 0, 0, G_OPTION_ARG_STRING, &options.headroom,
      "Memory of the GPU that is not PyTorch's", "BYTES" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json,
      "Print JSON; the program's own output goes to stderr", NULL },
    { NULL }
  };
  int result = cli_parse ("dry-run", &argc, &argv, entries, NULL, 1, -1)
                   ? dry_run (&options, argv + 1)
                   : CLI_USAGE;
  g_free (options.gpu);
  g_free (options.policy);
  g_free (options.plan);
  g_free (options.output);
  g_free (options.headroom);
  g_free (options.steps);
  return result;
}
