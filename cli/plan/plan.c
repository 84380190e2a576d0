/*
 * tessera plan FILE -o P.tsp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "cli/process.h"
#include "cli/tell.h"

#define MOST_SECONDS 1000000

static char *steps, *strategy, *most_length, *most_batch;
static double time_limit_s;
static gboolean keeps_best, no_regions;
static gint64 budget;

/* One percent more, in whole blocks. */
static uint64_t
part_more (uint64_t height_bytes)
{
  return height_bytes + height_bytes / 100 / 512 * 512;
}

/* A plan across streams as high as @parted_bytes, 0: as it has to be; or with streams
 * apart. Returns: its pool; TESSERA_NOWHERE: there is none */
static uint64_t
measure_point (const CliStudy *study,
               TesseraStreams streams,
               uint64_t parted_bytes,
               uint64_t *out_n_barriers)
{
  TesseraPlanOptions options = { .first_step = -1,
                                 .last_step = -1,
                                 .edits = tessera_history_get (study->history, NULL),
                                 .n_edits =
                                     tessera_history_get_n_standing (study->history),
                                 .streams = streams,
                                 .parted_bytes = parted_bytes };
  TesseraPlan *plan = NULL;
  uint64_t bytes = TESSERA_NOWHERE;

  if (tessera_plan_trace (study->trace, study->blocks, study->structure, &options, NULL,
                          &plan) == TESSERA_OK)
    {
      const TesseraSimulateOptions follow =
          cli_simulate_options (TESSERA_LAYOUT_PLAN, plan);
      TesseraLayout *layout = cli_study_simulate (study, &follow, NULL);

      bytes = tessera_plan_pool_bytes (plan);
      *out_n_barriers = layout->n_barriers;
      tessera_layout_free (layout);
    }
  tessera_plan_free (plan);
  return bytes;
}

/* Height against waiting: streams apart, 1 % above what is needed, what is needed. */
static void
json_points (JsonBuilder *json, const CliStudy *study)
{
  const struct
  {
    const char *key;
    TesseraStreams streams;
    uint64_t parted_bytes;
  } points[] = {
    { "streams_apart", TESSERA_STREAMS_APART, 0 },
    { "one_percent_more", TESSERA_STREAMS_ACROSS, part_more (study->plan->height_bytes) },
    { "least_memory", TESSERA_STREAMS_ACROSS, 0 },
  };

  cli_json_object (json, "points");
  for (size_t i = 0; i < G_N_ELEMENTS (points); i++)
    {
      uint64_t n_barriers = 0;
      uint64_t bytes =
          measure_point (study, points[i].streams, points[i].parted_bytes, &n_barriers);

      cli_json_object (json, points[i].key);
      cli_json_integer (json, "height_bytes", bytes);
      cli_json_integer (json, "barriers", n_barriers);
      json_builder_end_object (json);
    }
  json_builder_end_object (json);
}

static void
print_json (const CliStudy *study)
{
  const TesseraPlan *plan = study->plan;
  JsonBuilder *json = cli_json_new ();
  char worse[160];

  cli_json_text (json, "file", study->path);
  cli_json_text (json, "plan", cli_given.output);
  cli_json_warnings (json, study);
  cli_json_integer (json, "bound_bytes", plan->bound_bytes);
  cli_json_integer (json, "height_bytes", plan->height_bytes);
  cli_json_proof (json, plan);
  cli_json_integer (json, "slots", plan->n_slots);
  cli_json_integer (json, "unplanned", plan->n_unplanned);
  cli_json_integer (json, "sections", plan->n_sections);
  cli_json_integer (json, "groups", plan->n_groups);
  cli_json_integer (json, "rooms", plan->n_rooms);
  cli_json_integer (json, "region_bytes",
                    tessera_plan_pool_bytes (plan) - plan->height_bytes);
  cli_json_number (json, "seconds", study->plan_seconds);
  cli_json_text (json, "strategy", plan->strategy);
  cli_json_edits (json, study);
  cli_json_integer (json, "edits_cost_bytes", cli_study_edits_cost (study));
  cli_json_bool (json, "checked", plan->checked);
  cli_json_followable (json, plan);
  cli_json_integer (json, "recorded_reserved_bytes", study->layout->peak_reserved_bytes);
  cli_json_bool (
      json, "worse_than_recorded",
      tessera_describe_worse (plan->height_bytes, study->layout, worse, sizeof worse));
  cli_json_integer (json, "hits", study->planned->n_hits);
  cli_json_integer (json, "misses", study->planned->n_misses);
  cli_json_integer (json, "planned_misses", study->planned->n_planned_misses);
  cli_json_integer (json, "barriers", study->planned->n_barriers);
  if (plan->crosses_streams)
    json_points (json, study);
  cli_tell_kept (json, study);
  cli_tell_kinds (json, plan);
  cli_json_laws (json, study);
  cli_json_digest (json, "slot_digest", plan->slot_digest);
  cli_json_digest (json, "fingerprint", plan->trace_fingerprint);
  cli_json_print (json);
}

/* "bound 1.20 GiB (0.100 % above)": what no layout is below. Where more is proven than
 * what is alive at once, as of blocks that edits keep apart, that is told beside it. */
static char *
format_bound (const TesseraPlan *plan)
{
  uint64_t bound_bytes = tessera_plan_proven_bound (plan);
  double over = bound_bytes > 0
                    ? ((double) plan->height_bytes / (double) bound_bytes - 1) * 100
                    : 0;

  return bound_bytes > plan->bound_bytes
             ? g_strdup_printf ("proven bound %s (%.3f %% above), alive at most %s",
                                TESSERA_SIZE (bound_bytes), over,
                                TESSERA_SIZE (plan->bound_bytes))
             : g_strdup_printf ("bound %s (%.3f %% above)", TESSERA_SIZE (bound_bytes),
                                over);
}

/* How often streams wait for what they are handed, and what the program owes for it. */
static void
print_waits (const CliStudy *study)
{
  size_t n_steps = MAX (study->structure->n_steps, 1);
  const char *contract = tessera_trace_get_meta (study->trace, "contract");
  gboolean is_kept = contract != NULL && g_str_has_prefix (contract, "kept");

  printf ("across streams: about %" G_GUINT64_FORMAT
          " waits a step for what another stream freed\n",
          (study->planned->n_barriers + n_steps / 2) / n_steps);
  if (is_kept)
    printf ("contract %s\n", cli_shown (contract));
  else
    puts ("that is safe where each use of a block on another stream is ordered behind "
          "its allocation:\ntessera dry-run --contract looks (docs/USER-GUIDE.md, 8)");
}

static void
print_text (const CliStudy *study)
{
  const TesseraPlan *plan = study->plan;
  const TesseraLayout *planned = study->planned;
  uint64_t cost_bytes = cli_study_edits_cost (study);
  g_autofree char *misses =
      cli_planned_misses (planned->n_misses, planned->n_planned_misses);
  g_autofree char *proof = cli_proof_text (plan), *bound = format_bound (plan);
  g_autofree char *followable = cli_followable_text (plan);
  char worse[160];

  cli_print_edits (study);
  cli_print_warnings (study);
  printf ("height %s, %s, %zu slots, %zu groups, %.2f s\n",
          TESSERA_SIZE (plan->height_bytes), bound, plan->n_slots, plan->n_groups,
          study->plan_seconds);
  if (cost_bytes > 0)
    printf ("the edits cost %s: a plan without them takes %s\n",
            TESSERA_SIZE (cost_bytes), TESSERA_SIZE (study->unedited_bytes));
  printf ("%s; %s\n", proof, plan->checked ? "checked" : "not checked");
  printf ("strategy %s\n", cli_shown (plan->strategy));
  if (plan->n_rooms > 0)
    printf ("rooms for dynamic requests: %zu, and %s above the height\n", plan->n_rooms,
            TESSERA_SIZE (tessera_plan_pool_bytes (plan) - plan->height_bytes));
  if (plan->n_unplanned > 0)
    printf ("left to the dynamic allocator: %zu requests of the plan\n",
            plan->n_unplanned);
  printf ("followed on its own trace: %" G_GUINT64_FORMAT " hits, %" G_GUINT64_FORMAT
          " misses%s\n",
          planned->n_hits, planned->n_misses, misses);
  if (plan->crosses_streams)
    print_waits (study);
  printf ("can a run follow it? %s\n", cli_shown (followable));
  cli_tell_kept (NULL, study);
  cli_tell_kinds (NULL, plan);
  cli_print_laws (study);
  if (cli_study_may_cross (study) && !plan->crosses_streams && !cli_given.across_streams)
    puts ("hint: --across-streams plans one pool over all streams");
  if (cli_given.across_streams && study->trace->n_streams <= 1)
    puts ("--across-streams changes nothing here: all memory is asked for on one stream");
  /* Never be worse than PyTorch alone: a plan that is must say so. */
  if (tessera_describe_worse (plan->height_bytes, study->layout, worse, sizeof worse))
    printf ("warning: %s\n", worse);
  if (cli_given.device_bytes > 0 &&
      tessera_plan_pool_bytes (plan) > cli_given.device_bytes)
    printf ("warning: the plan does not fit %s\n", TESSERA_SIZE (cli_given.device_bytes));
  if (cli_given.output != NULL)
    printf ("written to %s\n", cli_shown (cli_given.output));
}

/* A number, 1 or more; NULL leaves *@most as it is. */
static gboolean
parse_most (const char *text, uint64_t *most)
{
  return text == NULL || g_ascii_string_to_unsigned (text, 10, 1, G_MAXINT32, most, NULL);
}

static void
read_options (TesseraPlanOptions *options, TesseraParameters *most)
{
  static const char *const strategies[] = {
    [TESSERA_STRATEGY_FREE] = "free", [TESSERA_STRATEGY_STALLOC] = "stalloc", NULL
  };
  int chosen = cli_choose (strategy, strategies);

  if (steps != NULL && !cli_read_steps (steps, &options->first_step, &options->last_step))
    cli_usage ("--steps takes A or A-B, not \"%s\"", steps);
  if (chosen < 0)
    cli_usage ("--strategy takes free or stalloc, not %s", strategy);
  cli_read_least ("--budget", budget, 0, "a number of work units");
  if (!(time_limit_s >= 0 && time_limit_s <= MOST_SECONDS))
    cli_usage ("--time-limit takes seconds, 0 (none) to %d", MOST_SECONDS);
  if (!parse_most (most_batch, &most->batch))
    cli_usage ("--max-batch takes a number, 1 or more");
  if (!parse_most (most_length, &most->length))
    cli_usage ("--max-length takes a number, 1 or more");
  options->strategy = (TesseraStrategy) chosen;
  options->without_regions = no_regions;
  options->work_budget = (uint64_t) budget;
  options->time_limit_s = time_limit_s;
  options->keeps_best = keeps_best;
}

/* On a device of known size: the least waiting that fits. */
static void
choose_point (const CliStudy *study, TesseraPlanOptions *options)
{
  uint64_t n_barriers, least_bytes, most_bytes = cli_given.device_bytes;

  if (!cli_given.across_streams || most_bytes == 0)
    return;
  if (measure_point (study, TESSERA_STREAMS_APART, 0, &n_barriers) <= most_bytes)
    {
      options->streams = TESSERA_STREAMS_APART;
      return;
    }
  least_bytes = measure_point (study, TESSERA_STREAMS_ACROSS, 0, &n_barriers);
  if (least_bytes != TESSERA_NOWHERE && part_more (least_bytes) <= most_bytes)
    options->parted_bytes = part_more (least_bytes);
}

static int
run_plan (int n_files, char **files)
{
  g_auto (CliStudy) study = { 0 };
  TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  TesseraLengthsOptions by_length = { 0 };

  read_options (&options, &by_length.most);
  cli_study_open (&study, files[0]);
  options.progress = cli_progress ("planning");
  options.listener = cli_listener ();
  cli_study_edits (&study, &options);
  by_length.edits = options.edits;
  by_length.n_edits = options.n_edits;
  choose_point (&study, &options);
  cli_process_ask (keeps_best ? CLI_ASK_ON_INTERRUPT : CLI_ASK_NEVER);
  cli_study_plan (&study, &options);
  cli_study_unedited (&study, &options);
  cli_process_ask (CLI_ASK_NEVER);
  cli_study_laws (&study, &by_length);
  cli_study_layout (&study, TESSERA_LAYOUT_RECORDED);
  if (cli_given.output != NULL)
    cli_must (tessera_plan_save (study.plan, cli_given.output, cli_error ()));
  cli_progress_end ();
  if (cli_given.json)
    print_json (&study);
  else
    print_text (&study);
  return CLI_DONE;
}

static const GOptionEntry plan_options[] = {
  CLI_OPTION_OUTPUT ("The plan to write", "P.tsp"),
  CLI_OPTION_FORCE,
  { "no-regions", 0, 0, G_OPTION_ARG_NONE, &no_regions,
    "Dynamic requests: no space above the slots for small blocks without room", NULL },
  { "steps", 0, 0, G_OPTION_ARG_STRING, &steps, "Plan from these steps only", "A-B" },
  CLI_OPTION_EDITS,
  CLI_OPTION_NO_EDITS,
  { "strategy", 0, 0, G_OPTION_ARG_STRING, &strategy,
    "free (best height; the default) or stalloc (groups laid out as units, as published)",
    "NAME" },
  { "budget", 0, 0, G_OPTION_ARG_INT64, &budget, "Work units (placements tried)", "N" },
  { "time-limit", 0, 0, G_OPTION_ARG_DOUBLE, &time_limit_s,
    "Stop then, with the best plan so far, which says that it was cut short", "SECONDS" },
  { "keep-best", 0, 0, G_OPTION_ARG_NONE, &keeps_best,
    "Stopped by ctrl-C, keep the best plan so far", NULL },
  { "max-length", 0, 0, G_OPTION_ARG_STRING, &most_length,
    "Where steps vary: plan for lengths up to this one (the longest seen)", "N" },
  { "max-batch", 0, 0, G_OPTION_ARG_STRING, &most_batch,
    "... and for batches up to this one (the largest seen)", "N" },
  { NULL }
};

const CliCommand cli_plan = {
  .name = "plan",
  .synopsis = "FILE -o P.tsp",
  .summary = "plan where every block goes; checked before it is written",
  .help = "The same trace, edits, options and budget give the same plan on every "
          "machine. Edits that\nare kept with FILE (tessera edits) are applied unless "
          "--edits or --no-edits is given.",
  .takes = CLI_READS_TRACE | CLI_WRITES_PLAN | CLI_PLANS,
  .n_least = 1,
  .options = plan_options,
  .run = run_plan,
};
