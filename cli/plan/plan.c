/*
 * tessera plan FILE -o P.tsp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/tell.h"

static char *steps, *strategy, *most_length, *most_batch;
static gint64 budget;
static uint64_t apart_bytes; /* where streams share a pool: of those kept apart */

/* One percent more, in whole blocks. */
static uint64_t
part_more (uint64_t height_bytes)
{
  return height_bytes + height_bytes / 100 / 512 * 512;
}

/* The pool of a plan with streams apart, or across; TESSERA_NOWHERE: there is none */
static uint64_t
measure_pool (const CliStudy *study, const TesseraPlanOptions *as, TesseraStreams streams)
{
  TesseraPlanOptions options = *as;
  g_autoptr (TesseraPlan) plan = NULL;

  options.streams = streams;
  return tessera_plan_trace (study->trace, study->blocks, study->structure, &options,
                             NULL, &plan) == TESSERA_OK
             ? tessera_plan_pool_bytes (plan)
             : TESSERA_NOWHERE;
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

/* What a plan across streams asks of the program. */
static void
say_contract (const TesseraTrace *trace)
{
  const char *contract = tessera_trace_get_meta (trace, "contract");

  if (contract != NULL && g_str_has_prefix (contract, "kept"))
    cli_say ("contract %s\n", cli_shown (contract));
  else
    cli_say (
        "that is safe where each use of a block on another stream is ordered behind its "
        "allocation:\ntessera dry-run --contract looks (docs/USER-GUIDE.md, 8)\n");
}

/* What waits for what. */
static void
tell_handovers (const CliStudy *study)
{
  static const char *const columns[] = { "from_stream", "to_stream", "handovers", "waits",
                                         NULL };
  const TesseraHandovers *handovers = &study->planned->handovers;
  const gboolean is_of_step = handovers->step != TESSERA_NONE;
  CliTable *table;

  if (study->plan->crosses_streams)
    cli_say ("across streams: %" G_GUINT64_FORMAT
             " waits %s for memory that another stream used\n",
             handovers->n_waits, is_of_step ? "a step" : "in all");
  table = cli_table_new ("handovers", columns);
  for (size_t i = 0; i < handovers->n_counts; i++)
    CLI_INTEGERS (table, handovers->counts[i].from, handovers->counts[i].to,
                  handovers->counts[i].n_handovers, handovers->counts[i].n_waits);
  cli_table_print (table);
  if (!study->plan->crosses_streams)
    return;
  say_contract (study->trace);
  if (apart_bytes != TESSERA_NOWHERE)
    cli_say ("with streams apart: %s, and nothing waits (--streams-apart)\n",
             TESSERA_SIZE (apart_bytes));
  cli_member ("streams_apart_bytes", apart_bytes);
}

/* What is good to know beside the figures. */
static void
tell_hints (const CliStudy *study)
{
  const TesseraPlan *plan = study->plan;
  const guint64 device_bytes = cli_given.device_bytes;
  /* Never be worse than PyTorch alone: a plan that is must say so. */
  g_autofree char *worse = tessera_describe_worse (plan->height_bytes, study->layout);

  if (cli_study_may_cross (study) && !plan->crosses_streams && !cli_given.across_streams)
    cli_say ("hint: --across-streams plans one pool over all streams\n");
  if (cli_given.across_streams && study->trace->n_streams <= 1)
    cli_say ("--across-streams changes nothing here: all memory is asked for on one "
             "stream\n");
  if (worse != NULL)
    cli_say ("warning: %s\n", worse);
  cli_member ("recorded_reserved_bytes", study->layout->peak_reserved_bytes);
  cli_member_bool ("worse_than_recorded", worse != NULL);
  if (device_bytes > 0 && tessera_plan_pool_bytes (plan) > device_bytes)
    cli_say ("warning: the plan does not fit %s\n", TESSERA_SIZE (device_bytes));
  if (cli_given.output != NULL)
    cli_say ("written to %s\n", cli_shown (cli_given.output));
}

static void
tell_figures (const CliStudy *study)
{
  const TesseraPlan *plan = study->plan;
  const uint64_t cost_bytes = cli_study_edits_cost (study);
  const uint64_t region_bytes = tessera_plan_pool_bytes (plan) - plan->height_bytes;
  g_autofree char *proof = cli_proof_text (plan), *bound = format_bound (plan);

  if (study->lengths != NULL)
    {
      g_autofree char *lengths = cli_lengths_text (study->lengths);

      cli_say ("%s\nthe recorded lengths alone: ", lengths);
    }
  cli_say ("height %s, %s, %zu slots, %zu groups, %.2f s\n",
           TESSERA_SIZE (plan->height_bytes), bound, plan->n_slots, plan->n_groups,
           study->plan_seconds);
  if (cost_bytes > 0)
    cli_say ("the edits cost %s: a plan without them takes %s\n",
             TESSERA_SIZE (cost_bytes), TESSERA_SIZE (study->unedited_bytes));
  cli_say ("%s; %s\n", proof, plan->checked ? "checked" : "not checked");
  cli_say ("strategy %s\n", cli_shown (plan->strategy));
  if (plan->n_rooms > 0)
    cli_say ("rooms for dynamic requests: %zu, and %s above the height\n", plan->n_rooms,
             TESSERA_SIZE (region_bytes));
  if (plan->n_unplanned > 0)
    cli_say ("left to the dynamic allocator: %zu requests of the plan\n",
             plan->n_unplanned);
  cli_member ("bound_bytes", plan->bound_bytes);
  cli_member ("height_bytes", plan->height_bytes);
  cli_member_proof (plan);
  cli_member ("blocks", study->blocks->n_blocks);
  cli_member ("slots", plan->n_slots);
  cli_member ("unplanned", plan->n_unplanned);
  cli_member ("groups", plan->n_groups);
  cli_member ("rooms", plan->n_rooms);
  cli_member ("region_bytes", region_bytes);
  cli_member ("seconds", study->plan_seconds);
  cli_member ("strategy", plan->strategy);
  cli_member ("edits_cost_bytes", cost_bytes);
  cli_member_bool ("checked", plan->checked);
}

static void
tell (const CliStudy *study)
{
  const TesseraPlan *plan = study->plan;
  g_autofree char *followable = cli_followable_text (plan);
  g_autofree char *hits = cli_hits_text (study->planned);

  cli_member ("file", study->path);
  cli_member ("plan", cli_given.output);
  cli_tell_edits (study);
  cli_tell_warnings (study);
  tell_figures (study);
  cli_say ("followed on its own trace: %s\n", hits);
  cli_member_hits (study->planned);
  cli_member ("barriers", study->planned->n_barriers);
  tell_handovers (study);
  cli_say ("can a run follow it? %s\n", cli_shown (followable));
  cli_member_followable (plan);
  cli_tell_kept (study);
  cli_tell_laws (study);
  tell_hints (study);
  cli_member_digest ("slot_digest", plan->slot_digest);
  cli_member_digest ("fingerprint", plan->trace_fingerprint);
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
  if (!parse_most (most_batch, &most->batch))
    cli_usage ("--max-batch takes a number, 1 or more");
  if (!parse_most (most_length, &most->length))
    cli_usage ("--max-length takes a number, 1 or more");
  options->strategy = (TesseraStrategy) chosen;
  options->work_budget = (uint64_t) budget;
}

/* On a device of known size: the least waiting that fits. */
static void
choose_streams (const CliStudy *study, TesseraPlanOptions *options)
{
  const uint64_t most_bytes = cli_given.device_bytes;

  if (!cli_given.across_streams || most_bytes == 0)
    return;
  if (measure_pool (study, options, TESSERA_STREAMS_APART) <= most_bytes)
    {
      options->streams = TESSERA_STREAMS_APART;
      return;
    }
  const uint64_t least_bytes = measure_pool (study, options, TESSERA_STREAMS_ACROSS);
  if (least_bytes != TESSERA_NOWHERE && part_more (least_bytes) <= most_bytes)
    options->parted_bytes = part_more (least_bytes);
}

static int
run_plan (int n_files, char **files)
{
  g_auto (CliStudy) study = { 0 };
  TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  TesseraParameters most = { 0 };

  read_options (&options, &most);
  cli_study_open (&study, files[0]);
  options.progress = cli_progress ("planning");
  options.listener = cli_listener ();
  cli_study_edits (&study, &options);
  choose_streams (&study, &options);
  cli_study_plan (&study, &options);
  if (study.plan->crosses_streams)
    apart_bytes = measure_pool (&study, &options, TESSERA_STREAMS_APART);
  cli_study_unedited (&study, &options);
  cli_study_as_run (&study, most);
  cli_study_under_offsets (&study);
  cli_study_layout (&study, TESSERA_LAYOUT_RECORDED);
  if (cli_given.output != NULL)
    cli_must (tessera_plan_save (study.plan, cli_given.output, cli_error ()));
  cli_progress_end ();
  tell (&study);
  return CLI_DONE;
}

static const GOptionEntry plan_options[] = {
  CLI_OPTION_OUTPUT ("The plan to write", "P.tsp"),
  CLI_OPTION_FORCE,
  { CLI_OPTION ("steps", STRING, &steps), "Plan from these steps only", "A-B" },
  CLI_OPTION_EDITS,
  CLI_OPTION_NO_EDITS,
  { CLI_OPTION ("strategy", STRING, &strategy),
    "free (best height; the default) or stalloc (groups laid out as units, as published)",
    "NAME" },
  { CLI_OPTION ("budget", INT64, &budget), "Work units (placements tried)", "N" },
  { CLI_OPTION ("max-length", STRING, &most_length),
    "Where steps vary: plan for lengths up to this one (the longest seen)", "N" },
  { CLI_OPTION ("max-batch", STRING, &most_batch),
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
