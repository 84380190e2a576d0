/*
 * tessera dry-run: a training program over a CUDA that computes nothing; then the answer
 * whether it fits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cli/run/run.h"
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

static char *gpu, *policy, *plan, *follow, *headroom, *steps, *topology, *changes;
static char *picture;
static char **sweeps, **gpus;
static gint world, rank, jobs, gpu_count;
static gint64 events = -1; /* -1: not told */
static gdouble seconds;
static gboolean has_stacks = TRUE, checks_contract, runs_all;

/* In the working directory, after the script; not over the trace of the plan it follows.
 */
static char *
trace_of (char **program, const CliJob *job, gboolean follows)
{
  g_autofree char *name = cli_program_name (program);
  g_autofree char *suffix = job->world > 1
                                ? g_strdup_printf ("-rank%" G_GINT64_FORMAT, job->rank)
                                : g_strdup ("");
  return g_strdup_printf ("%s%s%s.tsr", name, suffix, follows ? "-planned" : "");
}

static void
take_gpu (CliRehearsal *run, const char *name)
{
  const NullProfile *profile = null_profile_find (name);
  guint64 *gpu_bytes = &run->question.gpu_bytes;

  run->job.gpu = run->question.gpu = name;
  *gpu_bytes = 0;
  if (profile != NULL)
    *gpu_bytes = profile->total_bytes;
  else if (tessera_parse_bytes (name, &run->job.gpu_bytes))
    *gpu_bytes = run->job.gpu_bytes;
  if (*gpu_bytes < NULL_GRANULE || *gpu_bytes >= MOST_GPU_BYTES)
    cli_usage ("--gpu takes a100-40, a100-80, h100-80, h200-141, l40s-48, rtx4090-24 or "
               "a size like 24GiB, not \"%s\"",
               name);
}

/* What the device has to keep free beside the job: as asked for and parsed already, or
 * what CUDA takes, and NCCL where there are others. */
static void
take_headroom (CliQuestion *question)
{
  gboolean has_group = world > 1;

  question->headroom_why = "as asked for";
  if (headroom != NULL)
    return;
  question->headroom_bytes = has_group ? CONTEXT_BYTES + NCCL_BYTES : CONTEXT_BYTES;
  question->headroom_why = has_group ? NCCL_WHY : CONTEXT_WHY;
}

/* How far it goes on once some whole steps are known: who names the steps alone wants
 * no more. */
static void
take_limits (CliJob *job)
{
  gboolean is_reported = events >= 0 || seconds > 0;

  job->most_events = MAX (events, 0);
  job->most_seconds = seconds;
  if (!is_reported && steps == NULL && sweeps == NULL && !runs_all)
    job->most_events = MOST_EVENTS;
}

/* The numbers and names of the command line. */
static void
take_options (CliRehearsal *run)
{
  CliJob *job = &run->job;
  CliQuestion *question = &run->question;

  job->policy = policy != NULL ? policy : plan != NULL ? "plan" : "native";
  take_gpu (run, gpus[0] != NULL ? gpus[0] : "");
  if (gpu_count < 0 || gpu_count > NULL_MAX_DEVICES)
    cli_usage ("--gpu-count takes the number of GPUs that the process sees, %d at most",
               NULL_MAX_DEVICES);
  if (world < 0 || world > MOST_WORLD)
    cli_usage ("--world takes the number of ranks, 1 or more");
  if (rank < 0 || rank >= MAX (world, 1))
    cli_usage ("--rank takes 0 to %d in a world of %d (see --world)", MAX (world, 1) - 1,
               MAX (world, 1));
  if (!cli_read_steps (steps != NULL ? steps : "3-6", &job->least_steps,
                       &job->most_steps) ||
      job->least_steps < 1)
    cli_usage ("--steps takes a number of whole steps, 1 or more, or a range like 3-6, "
               "not \"%s\"",
               steps);
  if (events < -1 || seconds < 0)
    cli_usage ("--events and --for take a number, 0 or more");
  if (jobs < 0 || (jobs > 0 && sweeps == NULL && changes == NULL && !runs_all))
    cli_usage ("--jobs takes how many runs of --sweep, --try or --all-ranks go on at a "
               "time, 1 or more");
  if (topology != NULL && !runs_all)
    cli_usage ("--topology goes with --all-ranks");
  if (changes != NULL && plan != NULL)
    cli_usage ("--try is about the program, not about a plan of it: leave --plan out");
  if (changes != NULL && runs_all)
    cli_usage ("--try is of one rank: leave --all-ranks out");
  if (!cli_job_policy_is_known (job->policy))
    cli_usage ("--policy takes native, expandable, direct or plan, not \"%s\"",
               job->policy);
  if (g_str_equal (job->policy, "plan") != (plan != NULL))
    cli_usage ("--policy plan and --plan P.tsp go together");
  if (!cli_job_follow_is_known (follow) || (follow != NULL && plan == NULL))
    cli_usage ("--follow takes length or trace, beside --plan P.tsp");
  cli_read_size ("--headroom", headroom, &question->headroom_bytes);

  job->is_dry = TRUE;
  job->follow = follow;
  job->stacks = has_stacks ? "1" : "0";
  job->contract = checks_contract ? "1" : "0";
  job->n_gpus = gpu_count;
  job->rank = rank;
  job->world = world;
  take_limits (job);
  take_headroom (question);
  job->headroom_bytes = question->headroom_bytes;
}

/* Where it writes, and the plan that it follows, looked at before minutes go by. */
static void
take_paths (CliRehearsal *run)
{
  if (plan != NULL)
    cli_job_find_plan (&plan, rank);
  g_autofree char *named = cli_given.output != NULL
                               ? g_strdup (cli_given.output)
                               : trace_of (run->program, &run->job, plan != NULL);

  if (*named == '\0' || strchr (named, '%') != NULL)
    cli_usage ("-o takes the name of one file, without %%: a dry run is one process");
  run->job.record = g_canonicalize_filename (named, NULL);
  run->plan_path = cli_path_beside (run->job.record, ".tsp");
  run->job.overwrites = cli_given.force;
  cli_check_recording (plan, run->job.record);
  cli_check_output (plan, run->plan_path, CLI_WRITES_PLAN);
  if (plan == NULL)
    return;
  run->job.plan = g_canonicalize_filename (plan, NULL);
  run->followed = cli_load_plan (run->job.plan);
}

/* What a sweep has no use for ends the command. */
static int
sweep (const CliRehearsal *model)
{
  const guint n_gpus = g_strv_length (gpus);
  g_autofree CliGpu *each = g_new0 (CliGpu, n_gpus);

  if (policy != NULL || plan != NULL)
    cli_usage ("--sweep compares the policies itself: leave --policy and --plan out");
  if (model->changes != NULL &&
      g_strv_contains ((const char *const *) model->changes, CLI_SUGGESTED))
    cli_usage ("--sweep has no advice: say which changes to --try");
  if (picture != NULL && !g_str_has_suffix (picture, ".png") &&
      !g_str_has_suffix (picture, ".svg"))
    cli_usage ("--picture takes a name that ends in .png or .svg, not \"%s\"", picture);
  if (picture != NULL)
    cli_check_output (NULL, picture, CLI_WRITES_OTHER);
  if (seconds > 0)
    cli_usage ("--sweep stops each run by --steps or --events, not --for");
  if (cli_given.output != NULL)
    cli_usage ("--sweep keeps no trace: dry-run the value you choose with -o");
  for (guint i = 0; i < n_gpus; i++)
    {
      CliRehearsal other = { .question = model->question };

      take_gpu (&other, gpus[i]);
      each[i].name = gpus[i];
      each[i].available_bytes = cli_answer_available (&other.question);
    }
  if (changes != NULL)
    {
      g_autoptr (GStrvBuilder) axes = g_strv_builder_new ();
      g_autofree char *axis = g_strconcat ("try=" CLI_SWEEP_NOTHING ",", changes, NULL);

      g_strv_builder_addv (axes, (const char **) sweeps);
      g_strv_builder_add (axes, axis);
      g_strfreev (sweeps);
      sweeps = g_strv_builder_end (axes);
    }
  return cli_sweep (model, sweeps, each, n_gpus, picture);
}

/* What is about one rank ends the command. */
static int
run_all (const CliRehearsal *model)
{
  g_autofree char *name = cli_program_name (model->program);
  g_autofree char *beside = g_strconcat (name, "-ranks", NULL);
  g_autofree char *folder = g_canonicalize_filename (
      cli_given.output != NULL ? cli_given.output : beside, NULL);

  if (world < 2 || rank != 0 || plan != NULL || sweeps != NULL)
    cli_usage ("--all-ranks takes --world, 2 or more, and no --rank, --plan or --sweep");
  return cli_all_ranks (model, topology, folder);
}

static int
run_dry (int n_words, char **program)
{
  const char *launcher = cli_program_launcher (program);
  CliRehearsal run = { .program = program };

  if (launcher != NULL)
    cli_usage ("a dry run is one rank of the job, without %s: tessera dry-run %s",
               launcher, cli_program_unlaunched (program));
  gpus = g_strsplit (gpu != NULL ? gpu : "h100-80", ",", -1);
  take_options (&run);
  run.changes = changes != NULL ? cli_changes_read (changes) : NULL;
  run.n_jobs = (guint) jobs;
  if (sweeps != NULL && !runs_all)
    {
      int status = sweep (&run);
      g_strfreev (run.changes);
      return status;
    }
  if (picture != NULL)
    cli_usage ("--picture is of a --sweep; tessera render draws a trace");
  if (g_strv_length (gpus) > 1)
    cli_usage ("--gpu takes one GPU; several are for --sweep");
  if (runs_all)
    return run_all (&run);
  take_paths (&run);
  int result = cli_rehearse (&run);
  g_strfreev (run.changes);
  g_free ((gpointer) run.job.record);
  g_free (run.plan_path);
  g_free ((gpointer) run.job.plan);
  tessera_plan_free (run.followed);
  return result;
}

static const GOptionEntry dry_options[] = {
  { CLI_OPTION ("gpu", STRING, &gpu),
    "a100-40, a100-80, h100-80 (default), h200-141, l40s-48, rtx4090-24, or a size like "
    "24GiB; several for --sweep, with commas",
    "GPU" },
  { CLI_OPTION ("sweep", STRING_ARRAY, &sweeps),
    "Find the largest value that fits where PROGRAM has {NAME}: batch=1..64; for each of "
    "other values: length=512,1024",
    "NAME=VALUES" },
  { CLI_OPTION ("picture", FILENAME, &picture), "Draw what a sweep found",
    "PICTURE.png|svg" },
  { CLI_OPTION ("jobs", INT, &jobs),
    "Runs of --sweep, --try or --all-ranks at a time (default: as cores and memory "
    "allow)",
    "N" },
  { CLI_OPTION ("try", STRING, &changes),
    "Then a dry run with each change of the program, made from outside: fused, "
    "foreach-off, zero-grad, checkpointing, bf16-optimizer, 8-bit, offload; two at once: "
    "fused+zero-grad; or suggested: what is advised",
    "CHANGES" },
  { CLI_OPTION ("world", INT, &world), "Ranks of the job, whose process group is made up",
    "N" },
  { CLI_OPTION ("rank", INT, &rank), "Which of them to run (0)", "N" },
  { CLI_OPTION ("gpu-count", INT, &gpu_count),
    "GPUs that the process sees (1; of a rank those of a node)", "N" },
  { CLI_OPTION ("all-ranks", NONE, &runs_all), "Those that tell how all are" },
  { CLI_OPTION ("topology", STRING, &topology), "Of --all-ranks", "pp=4,dp=16" },
  { CLI_OPTION ("steps", STRING, &steps),
    "Stop after this many whole steps, or record lines and modules of no more where "
    "--events or --for go on; 3-6 (default): three, or once a later one repeats the one "
    "before, six at most",
    "N[-M]" },
  { CLI_OPTION ("events", INT64, &events),
    "Go on after these steps until so many events are recorded (default 2000000, in a "
    "sweep 0); 0: stop there",
    "N" },
  { CLI_OPTION ("for", DOUBLE, &seconds), "... or until so many seconds are over",
    "SECONDS" },
  { CLI_OPTION ("policy", STRING, &policy),
    "native (default), expandable, direct or plan", "POLICY" },
  { CLI_OPTION ("plan", FILENAME, &plan), "Follow this plan, or the rank's of a folder",
    "P.tsp" },
  CLI_OPTION_FOLLOW (&follow),
  CLI_OPTION_OUTPUT ("The trace to write (default: the script's name, and -planned with "
                     "--plan); its plan goes beside it, as .tsp",
                     "T.tsr"),
  CLI_OPTION_FORCE,
  { "no-stacks", 0, G_OPTION_FLAG_REVERSE, G_OPTION_ARG_NONE, &has_stacks,
    "Do not record the lines that allocate, which is faster", NULL },
  { CLI_OPTION ("contract", NONE, &checks_contract),
    "Check whether a program's streams may share one pool, and plan so if they may; "
    "slower, and some programs ask for a little more meanwhile" },
  { CLI_OPTION ("headroom", STRING, &headroom), "Memory of the GPU that is not PyTorch's",
    "BYTES" },
  { CLI_OPTION ("json", NONE, &cli_given.json),
    "Print JSON; the program's own output goes to stderr" },
  { NULL }
};

const CliCommand cli_dry_run = {
  .name = "dry-run",
  .synopsis = "-- PROGRAM...",
  .summary = "train with no GPU: will it fit, and what is its plan?",
  .help =
      "PROGRAM is what you would type, e.g. python train.py --lr 3e-4. It runs unchanged "
      "over a\nCUDA that computes nothing, one rank, and goes on to its end, to 2000000 "
      "events (--events, --for)\nor to Ctrl-C. Then its trace is planned and "
      "simulated.\nThe first line says what was seen. Status: 0 it fits natively or with "
      "expandable segments\n(with --plan: it fits as it followed that), 3 it does not, "
      "or PROGRAM died of memory, 4 PROGRAM\nfailed otherwise, 1 and 2 as with every "
      "command. With --sweep: 0 something fits, 3 nothing does, 4\nPROGRAM failed with "
      "some value. With --all-ranks those ranks run that tell how the others are, into "
      "the\nfolder -o; the answer is tessera job's.",
  .takes = CLI_RUNS_PROGRAM | CLI_PLANS,
  .n_least = 1,
  .n_most = -1,
  .options = dry_options,
  .run = run_dry,
};
