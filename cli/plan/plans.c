/*
 * Files of plans: tessera check and compare.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/tell.h"
#include "planner/check.h"
#include "planner/compare.h"

static char *trace_path;
#define MOST_MOVES 10 /* that are listed, the largest */

static void
tell_lengths_accepted (const TesseraLengths *lengths)
{
  g_autofree char *most = cli_most_text (lengths);

  cli_say ("so is its plan for every length, at the %u %s that it was made from and "
           "others up to length %s\n",
           lengths->n_observed, lengths->cut_phase ? "parts of steps" : "steps", most);
}

/* What breaks a law is a complaint, and not text. */
static void
tell_check (const char *path,
            const TesseraPlan *plan,
            TesseraLaw law,
            const char *finding)
{
  const gboolean is_accepted = law == TESSERA_LAW_NONE;
  g_autofree char *followable = cli_followable_text (plan);
  g_autofree char *proof = cli_proof_text (plan);

  if (!is_accepted && !cli_given.json)
    return;
  cli_say ("%s: accepted: %zu slots in %s, no overlap in time and address\n",
           cli_shown (path), plan->n_slots, TESSERA_SIZE (plan->height_bytes));
  cli_say ("the plan says: %s\ncan a run follow it? %s\n", proof, cli_shown (followable));
  if (plan->lengths != NULL)
    tell_lengths_accepted (plan->lengths);
  cli_member ("file", path);
  cli_member_bool ("accepted", is_accepted);
  cli_member ("law", is_accepted ? NULL : tessera_law_name (law));
  cli_member ("at_fault", is_accepted                      ? NULL
                          : law == TESSERA_LAW_FINGERPRINT ? trace_path
                                                           : path);
  cli_member ("finding", is_accepted ? NULL : finding);
  cli_member ("slots", plan->n_slots);
  cli_member ("unplanned", plan->n_unplanned);
  cli_member ("height_bytes", plan->height_bytes);
  cli_member ("bound_bytes", plan->bound_bytes);
  cli_member_proof (plan);
  cli_member_followable (plan);
  cli_answer_end ();
}

/* The trace of the plan's device: which that is, no option says here. */
static TesseraTrace *
open_trace_of (const TesseraPlan *plan, const char *plan_path)
{
  TesseraTrace *trace = NULL;

  cli_given.device = (gint) plan->device;
  TesseraStatus status = cli_open_trace (trace_path, "opening", cli_error (), &trace);
  if (status == TESSERA_INVALID && plan->device != TESSERA_NONE)
    cli_fail_with ("%s is of device %u, which %s does not hold", plan_path, plan->device,
                   trace_path);
  cli_must (status);
  cli_progress_end ();
  return trace;
}

static int
run_check (int n_files, char **files)
{
  g_autoptr (TesseraPlan) plan = cli_load_plan (files[0]);
  g_autoptr (TesseraTrace) trace =
      trace_path != NULL ? open_trace_of (plan, files[0]) : NULL;
  TesseraLaw law = TESSERA_LAW_NONE;
  TesseraError error = { 0 };
  TesseraStatus status = cli_check_plan (plan, trace, &law, &error);

  if (status == TESSERA_OK || law != TESSERA_LAW_NONE)
    tell_check (files[0], plan, law, error.text);
  /* The fingerprint is looked at last: the plan breaks no law by itself. */
  if (law == TESSERA_LAW_FINGERPRINT)
    cli_fail_with ("%s: is not the trace that %s was made from: %s", trace_path, files[0],
                   error.text);
  if (law != TESSERA_LAW_NONE)
    cli_fail_with ("%s: breaks the law of %s: %s", files[0], tessera_law_name (law),
                   error.text);
  if (status != TESSERA_OK)
    cli_fail (&error);
  return CLI_DONE;
}

static const GOptionEntry check_options[] = {
  { CLI_OPTION ("trace", FILENAME, &trace_path), "The trace it claims to be made from",
    "FILE" },
  { NULL }
};

const CliCommand cli_check = {
  .name = "check",
  .synopsis = "P.tsp",
  .summary = "accept a plan or name the law it breaks",
  .help = "The checker shares no code with the planner.",
  .takes = CLI_READS_TRACE,
  .n_least = 1,
  .options = check_options,
  .run = run_check,
};

typedef struct
{
  char **paths; /* [2] */
  TesseraPlan *plans[2];
  TesseraComparison *compared;
  CliStudy study;             /* of the trace, where one was named */
  TesseraLayout *followed[2]; /* then */
} Comparison;

/* What became of the blocks. */
static void
tell_counts (const TesseraComparison *compared)
{
  const struct
  {
    const char *key, *name;
    size_t n_blocks;
    uint64_t n_bytes;
  } counts[] = {
    { "same", "at the same offset", compared->n_same, compared->same_bytes },
    { "moved", "moved", compared->n_moved, compared->moved_bytes },
    { "only_first", "only in the first", compared->n_only[0], compared->only_bytes[0] },
    { "only_second", "only in the second", compared->n_only[1], compared->only_bytes[1] },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (counts); i++)
    {
      cli_say ("%-22s %8zu blocks %14s\n", counts[i].name, counts[i].n_blocks,
               TESSERA_SIZE (counts[i].n_bytes));
      cli_object (counts[i].key);
      cli_member ("blocks", counts[i].n_blocks);
      cli_member ("bytes", counts[i].n_bytes);
      cli_close ();
    }
}

static void
tell_plan (const Comparison *c, int i)
{
  const TesseraLayout *followed = c->followed[i];
  const TesseraPlan *plan = c->plans[i];
  const double above_percent = 100 * tessera_plan_gap (plan);

  cli_say ("%s: %s, %.3f %% above its proven bound, %s", cli_shown (c->paths[i]),
           TESSERA_SIZE (c->compared->height_bytes[i]), above_percent,
           cli_shown (plan->strategy));
  cli_object (NULL);
  cli_member ("file", c->paths[i]);
  cli_member ("strategy", plan->strategy);
  cli_member ("height_bytes", c->compared->height_bytes[i]);
  cli_member ("bound_bytes", c->compared->bound_bytes[i]);
  cli_member ("proven_bound_bytes", tessera_plan_proven_bound (plan));
  cli_member ("above_bound_percent", above_percent);
  cli_member ("blocks", c->compared->n_slots[i]);
  if (followed != NULL)
    {
      g_autofree char *hits = cli_hits_text (followed);

      cli_say (", %s", hits);
      cli_member_hits (followed);
    }
  cli_say ("\n");
  cli_close ();
}

/* What moved, the largest first: for people the most of it. */
static void
tell_moves (const TesseraComparison *compared)
{
  static const char *const columns[] = { "block", "block_bytes", "first_offset_bytes",
                                         "second_offset_bytes", NULL };
  const size_t n =
      cli_given.json ? compared->n_moved : MIN (compared->n_moved, MOST_MOVES);

  if (n > 0)
    cli_say ("\nmoved:\n");
  CliTable *table = cli_table_new ("largest_moved", columns);
  for (size_t i = 0; i < n; i++)
    {
      CLI_INTEGERS (table, compared->moves[i].block, compared->moves[i].block_bytes,
                    compared->moves[i].offset_bytes[0],
                    compared->moves[i].offset_bytes[1]);
    }
  cli_table_print (table);
}

static void
tell_comparison (const Comparison *c)
{
  cli_array ("plans");
  for (int i = 0; i < 2; i++)
    tell_plan (c, i);
  cli_close ();
  tell_counts (c->compared);
  tell_moves (c->compared);
}

/* The hits that each plan is expected to have, by simulation. */
static void
follow_plans (Comparison *c)
{
  cli_given.device = (gint) c->plans[0]->device;
  cli_study_open (&c->study, trace_path);
  for (int i = 0; i < 2; i++)
    cli_accept_plan (c->paths[i], c->plans[i], c->study.trace);
  for (int i = 0; i < 2; i++)
    {
      const TesseraSimulateOptions options = {
        .kind = TESSERA_LAYOUT_PLAN,
        .plan = c->plans[i],
        .device_bytes = cli_given.device_bytes != 0 ? cli_given.device_bytes
                                                    : c->study.trace->device_bytes,
        .without_curves = true,
        .progress = cli_progress ("following"),
      };

      c->followed[i] = cli_study_simulate (&c->study, &options, c->paths[i]);
    }
  cli_progress_end ();
}

static int
run_compare (int n_files, char **files)
{
  Comparison c = { .paths = files };

  for (int i = 0; i < 2; i++)
    c.plans[i] = cli_load_plan (files[i]);
  if (c.plans[0]->trace_fingerprint != c.plans[1]->trace_fingerprint)
    cli_fail_with (
        "%s and %s are not of the same trace (fingerprints %016" G_GINT64_MODIFIER
        "x and %016" G_GINT64_MODIFIER "x): their blocks are not the same",
        files[0], files[1], c.plans[0]->trace_fingerprint, c.plans[1]->trace_fingerprint);
  cli_must (tessera_compare_plans (c.plans[0], c.plans[1], cli_error (), &c.compared));
  if (trace_path != NULL)
    follow_plans (&c);
  else
    for (int i = 0; i < 2; i++)
      cli_accept_plan (files[i], c.plans[i], NULL);
  tell_comparison (&c);
  cli_study_clear (&c.study);
  tessera_comparison_free (c.compared);
  for (int i = 0; i < 2; i++)
    {
      tessera_layout_free (c.followed[i]);
      tessera_plan_free (c.plans[i]);
    }
  return CLI_DONE;
}

static const GOptionEntry compare_options[] = {
  { CLI_OPTION ("trace", FILENAME, &trace_path),
    "The trace that both were made from: also tells the hits of each", "FILE" },
  { NULL }
};

const CliCommand cli_compare = {
  .name = "compare",
  .synopsis = "A.tsp B.tsp",
  .summary = "what lies elsewhere in another plan of the same trace",
  .help = "With --trace the hits that each is expected to have, by simulation.",
  .takes = CLI_READS_TRACE,
  .n_least = 2,
  .n_most = 2,
  .options = compare_options,
  .run = run_compare,
};
