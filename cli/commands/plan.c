/* tessera plan FILE -o P.tsp. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/accept.h"
#include "cli/edit-add.h"
#include "cli/tell/kept.h"
#include "cli/tell/kinds.h"
#include "cli/tell/laws.h"
#include "cli/tell/misses.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/tell/proof.h"
#include "cli/tell/regions.h"
#include "cli/study.h"
#include "cli/tell/verdict.h"
#include "db/store.h"
#include "edits/edits.h"

#define MOST_SECONDS 1000000

static const char *const strategies[] = {
  [TESSERA_STRATEGY_FREE] = "free",
  [TESSERA_STRATEGY_STALLOC] = "stalloc",
};

static gboolean
parse_strategy (const char *name, TesseraStrategy *out_strategy)
{
  for (guint i = 0; i < G_N_ELEMENTS (strategies); i++)
    if (g_str_equal (strategies[i], name))
      {
        *out_strategy = (TesseraStrategy) i;
        return TRUE;
      }
  return FALSE;
}

static void
print_json (const CliStudy *study, const CliRegions *regions, const char *output)
{
  const TesseraPlan *plan = study->plan;
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autofree char *digest =
      g_strdup_printf ("%016" G_GINT64_MODIFIER "x", plan->slot_digest);
  g_autofree char *fingerprint =
      g_strdup_printf ("%016" G_GINT64_MODIFIER "x", plan->trace_fingerprint);
  char worse[160];

  json_builder_begin_object (builder);
  cli_json_text (builder, "file", study->path);
  cli_json_text (builder, "plan", output);
  cli_json_warnings (builder, study);
  cli_json_bytes (builder, "bound_bytes", plan->bound_bytes);
  cli_json_bytes (builder, "height_bytes", plan->height_bytes);
  cli_json_proof (builder, plan);
  cli_json_bytes (builder, "slots", plan->n_slots);
  cli_json_bytes (builder, "placeless", plan->n_placeless);
  cli_json_bytes (builder, "sections", plan->n_sections);
  cli_json_bytes (builder, "groups", plan->n_groups);
  cli_json_bytes (builder, "rooms", plan->n_rooms);
  cli_json_bytes (builder, "region_bytes",
                  tessera_plan_pool_bytes (plan) - plan->height_bytes);
  cli_json_regions (builder, regions);
  cli_json_number (builder, "seconds", study->plan_seconds);
  cli_json_text (builder, "strategy", plan->strategy);
  cli_study_json_edits (builder, study);
  cli_json_bytes (builder, "edits_cost_bytes", cli_study_edits_cost (study));
  cli_json_bool (builder, "checked", plan->checked);
  cli_json_text (builder, "followable", cli_followable_name (plan));
  cli_json_text (builder, "follow_reason", plan->follow_reason);
  cli_json_bytes (builder, "recorded_reserved_bytes", study->layout->peak_reserved_bytes);
  cli_json_bool (
      builder, "worse_than_recorded",
      tessera_describe_worse (plan->height_bytes, study->layout, worse, sizeof worse));
  cli_json_bytes (builder, "hits", study->planned->n_hits);
  cli_json_bytes (builder, "misses", study->planned->n_misses);
  cli_json_bytes (builder, "planned_misses", study->planned->n_planned_misses);
  cli_json_kept (builder, study);
  cli_json_kinds (builder, plan);
  cli_json_laws (builder, study);
  cli_json_text (builder, "slot_digest", digest);
  cli_json_text (builder, "fingerprint", fingerprint);
  json_builder_end_object (builder);
  cli_print_json (builder);
}

/* Never be worse than PyTorch alone: a plan that is must say so. */
static void
print_warning (const CliStudy *study)
{
  char text[160];

  if (tessera_describe_worse (study->plan->height_bytes, study->layout, text,
                              sizeof text))
    printf ("warning: %s\n", text);
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
  char bound[32], load[32];

  tessera_format_bytes (bound_bytes, bound, sizeof bound);
  tessera_format_bytes (plan->bound_bytes, load, sizeof load);
  return bound_bytes > plan->bound_bytes
             ? g_strdup_printf ("proven bound %s (%.3f %% above), alive at most %s",
                                bound, over, load)
             : g_strdup_printf ("bound %s (%.3f %% above)", bound, over);
}

static void
print_edits_cost (const CliStudy *study)
{
  uint64_t cost_bytes = cli_study_edits_cost (study);
  char cost[32], unedited[32];

  if (cost_bytes > 0)
    printf ("the edits cost %s: a plan without them takes %s\n",
            tessera_format_bytes (cost_bytes, cost, sizeof cost),
            tessera_format_bytes (study->unedited_bytes, unedited, sizeof unedited));
}

static void
print_text (const CliStudy *study, const char *output)
{
  const TesseraPlan *plan = study->plan;
  g_autofree char *planned =
      cli_planned_misses (study->planned->n_misses, study->planned->n_planned_misses);
  char height[32], proof[128];
  g_autofree char *bound = format_bound (plan);
  g_autofree char *followable = cli_followable_text (plan);

  cli_print_warnings (study);
  printf ("height %s, %s, %zu slots, %zu groups, %.2f s\n",
          tessera_format_bytes (plan->height_bytes, height, sizeof height), bound,
          plan->n_slots, plan->n_groups, study->plan_seconds);
  print_edits_cost (study);
  tessera_plan_describe_proof (plan, proof, sizeof proof);
  printf ("%s; %s\n", proof, plan->checked ? "checked" : "not checked");
  printf ("strategy %s\n", cli_shown (plan->strategy));
  if (plan->n_rooms > 0)
    printf ("rooms for dynamic requests: %zu, and %s above the height\n", plan->n_rooms,
            tessera_format_bytes (tessera_plan_pool_bytes (plan) - plan->height_bytes,
                                  height, sizeof height));
  if (plan->n_placeless > 0)
    printf ("left to the dynamic allocator: %zu requests of the plan\n",
            plan->n_placeless);
  printf ("followed on its own trace: %" G_GUINT64_FORMAT " hits, %" G_GUINT64_FORMAT
          " misses%s\n",
          study->planned->n_hits, study->planned->n_misses, planned);
  printf ("followable: %s\n", cli_shown (followable));
  cli_print_kept (study);
  cli_print_kinds (plan);
  cli_print_laws (study);
  print_warning (study);
  if (output != NULL)
    printf ("written to %s\n", cli_shown (output));
}

/* The plan to go on from; the planner judges the rest of it. */
static TesseraStatus
find_resumed (const char *path,
              const TesseraHistory *history,
              TesseraPlan **out_plan,
              TesseraError *error)
{
  TesseraStatus status = tessera_plan_load (path, error, out_plan);

  if (status == TESSERA_OK && !tessera_history_made_plan (history, *out_plan))
    return tessera_fail (
        error, TESSERA_REFUSED,
        "planning can't go on from %s: it was made with other edits than "
        "those that stand now",
        path);
  if (status == TESSERA_OK)
    status = cli_accept_plan (path, *out_plan, NULL, error);
  return status;
}

static void
print_resumed (const CliStudy *study, const TesseraPlan *resumed)
{
  char bytes[32];

  if (resumed != NULL)
    printf ("goes on from a plan of %s; planning without it may give another than this\n",
            tessera_format_bytes (resumed->height_bytes, bytes, sizeof bytes));
}

typedef struct
{
  char *output;
  char *steps;
  char *edits_path;
  char *strategy;
  char *regions_text;
  CliRegions regions;
  gboolean no_edits, force;
  gboolean keeps_best;
  char *resume;
  double time_limit_s;
  char *most_length_text, *most_batch_text;
  TesseraParameters most; /* 0: the largest seen */
  gint64 budget;
} Arguments;

static void
clear_arguments (Arguments *arguments)
{
  g_free (arguments->output);
  g_free (arguments->steps);
  g_free (arguments->edits_path);
  g_free (arguments->strategy);
  g_free (arguments->resume);
  g_free (arguments->most_length_text);
  g_free (arguments->most_batch_text);
  g_free (arguments->regions_text);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Arguments, clear_arguments)

static gboolean
parse_arguments (int *argc, char ***argv, Arguments *arguments, CliCommon *common)
{
  GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arguments->output, "The plan to write",
      "P.tsp" },
    CLI_FORCE (&arguments->force),
    { "regions", 0, 0, G_OPTION_ARG_STRING, &arguments->regions_text,
      "Of dynamic requests: space above the slots: none, SIZE, auto (what reserves least "
      "in simulation), or curve (what several sizes are worth); what small blocks need "
      "is "
      "the default",
      "SIZE" },
    { "steps", 0, 0, G_OPTION_ARG_STRING, &arguments->steps, "Plan from these steps only",
      "A-B" },
    { "edits", 0, 0, G_OPTION_ARG_FILENAME, &arguments->edits_path,
      "Apply these edits (JSON, or a .tsp's or .tsr's), not those kept with FILE",
      "EDITS" },
    { "no-edits", 0, 0, G_OPTION_ARG_NONE, &arguments->no_edits, "Apply no edits", NULL },
    { "strategy", 0, 0, G_OPTION_ARG_STRING, &arguments->strategy,
      "free (best height; the default) or stalloc (groups laid out as units, as "
      "published)",
      "NAME" },
    { "budget", 0, 0, G_OPTION_ARG_INT64, &arguments->budget,
      "Work units (placements tried)", "N" },
    { "time-limit", 0, 0, G_OPTION_ARG_DOUBLE, &arguments->time_limit_s,
      "Stop then, with the best plan so far, which says that it was cut short",
      "SECONDS" },
    { "keep-best", 0, 0, G_OPTION_ARG_NONE, &arguments->keeps_best,
      "Stopped by ctrl-C, keep the best plan so far", NULL },
    { "resume", 0, 0, G_OPTION_ARG_FILENAME, &arguments->resume,
      "Go on from this plan of FILE: never higher, and it says so", "P.tsp" },
    { "max-length", 0, 0, G_OPTION_ARG_STRING, &arguments->most_length_text,
      "Where steps vary: plan for lengths up to this one (the longest seen)", "N" },
    { "max-batch", 0, 0, G_OPTION_ARG_STRING, &arguments->most_batch_text,
      "... and for batches up to this one (the largest seen)", "N" },
    { NULL }
  };

  return cli_parse ("plan", argc, argv, entries, common, 1, 1);
}

/* A number, 1 or more; NULL leaves *@most as it is. */
static gboolean
parse_most (const char *text, uint64_t *most)
{
  return text == NULL || g_ascii_string_to_unsigned (text, 10, 1, G_MAXINT32, most, NULL);
}

/* Fills @options with what they say. Returns: CLI_DONE, CLI_FAILED or CLI_USAGE */
static int
check_arguments (Arguments *arguments, const char *path, TesseraPlanOptions *options)
{
  if (arguments->steps != NULL &&
      !cli_parse_steps (arguments->steps, &options->first_step, &options->last_step))
    return cli_usage ("plan", "--steps takes A or A-B, not \"%s\"", arguments->steps);
  if (arguments->strategy != NULL &&
      !parse_strategy (arguments->strategy, &options->strategy))
    return cli_usage ("plan", "--strategy takes free or stalloc, not %s",
                      arguments->strategy);
  if (!cli_parse_regions (arguments->regions_text, &arguments->regions))
    return cli_usage ("plan", "--regions takes none, auto, curve or a size, not %s",
                      arguments->regions_text);
  if (arguments->edits_path != NULL && arguments->no_edits)
    return cli_usage ("plan", "--edits and --no-edits can't be had together");
  if (arguments->budget < 0)
    return cli_usage ("plan", "--budget takes a number of work units, 0 or more");
  if (!(arguments->time_limit_s >= 0 && arguments->time_limit_s <= MOST_SECONDS))
    return cli_usage ("plan", "--time-limit takes seconds, 0 (none) to %d", MOST_SECONDS);
  if (!parse_most (arguments->most_batch_text, &arguments->most.batch))
    return cli_usage ("plan", "--max-batch takes a number, 1 or more");
  if (!parse_most (arguments->most_length_text, &arguments->most.length))
    return cli_usage ("plan", "--max-length takes a number, 1 or more");
  options->regions_for_large = arguments->regions.kind != CLI_REGIONS_SMALL;
  options->work_budget = (uint64_t) arguments->budget;
  options->time_limit_s = arguments->time_limit_s;
  options->keeps_best = arguments->keeps_best;
  return cli_check_result ("plan", path, arguments->output, TESSERA_FILE_PLAN,
                           arguments->force);
}

/* Opens, plans, and writes what is to be written. */
static TesseraStatus
make (Arguments *arguments,
      const char *path,
      const CliCommon *common,
      TesseraPlanOptions *options,
      CliStudy *study,
      TesseraPlan **resumed,
      TesseraError *error)
{
  TesseraLengthsOptions by_length = { .most = arguments->most };
  TesseraStatus status = cli_study_open (study, path, common, error);

  if (status != TESSERA_OK)
    return status;
  options->progress = cli_progress ("planning");
  options->listener = cli_listener ();
  status =
      cli_study_edits (study, arguments->edits_path, arguments->no_edits, options, error);
  if (status != TESSERA_OK)
    return status;
  by_length.edits = options->edits;
  by_length.n_edits = options->n_edits;
  if (arguments->resume != NULL)
    status = find_resumed (arguments->resume, study->history, resumed, error);
  if (status != TESSERA_OK)
    return status;
  options->resumed = *resumed;
  options->resumed_name = arguments->resume;
  cli_process_ask_on_interrupt (options->keeps_best);
  status = cli_study_plan (study, options, error);
  if (status == TESSERA_OK)
    status = cli_study_unedited (study, options, error);
  if (status == TESSERA_OK)
    status = cli_study_regions (study, &arguments->regions, error);
  cli_process_ask_on_interrupt (false);
  if (status == TESSERA_OK)
    status = cli_study_laws (study, &by_length, error);
  if (status == TESSERA_OK)
    status = cli_study_layout (study, TESSERA_LAYOUT_RECORDED, common, error);
  if (status == TESSERA_OK && arguments->output != NULL)
    status = tessera_plan_save (study->plan, arguments->output, error);
  return status;
}

int
cli_plan (int argc, char **argv)
{
  g_auto (Arguments) arguments = { 0 };
  CliCommon common = { 0 };
  TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  CliStudy study;
  TesseraPlan *resumed = NULL;
  TesseraError error = { 0 };

  if (!parse_arguments (&argc, &argv, &arguments, &common))
    return CLI_USAGE;
  int result = check_arguments (&arguments, argv[1], &options);
  if (result != CLI_DONE)
    return result;
  TesseraStatus status =
      make (&arguments, argv[1], &common, &options, &study, &resumed, &error);
  cli_progress_end ();
  result = status == TESSERA_OK ? CLI_DONE : cli_fail (&error);
  if (status == TESSERA_OK && common.json)
    print_json (&study, &arguments.regions, arguments.output);
  else if (status == TESSERA_OK)
    {
      cli_study_print_edits (&study, arguments.edits_path);
      print_resumed (&study, resumed);
      print_text (&study, arguments.output);
      cli_print_regions (&study, &arguments.regions);
    }
  cli_study_clear (&study);
  tessera_plan_free (resumed);
  return result;
}
