/* tessera compare A.tsp B.tsp [--trace FILE]. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/accept.h"
#include "cli/study.h"
#include "cli/tell/misses.h"
#include "db/plan.h"
#include "db/store.h"
#include "planner/compare.h"

typedef struct
{
  char **paths; /* [2] */
  TesseraPlan *plans[2];
  TesseraComparison *comparison;
  CliStudy study; /* of the trace, where one was named */
  gboolean is_followed;
  uint64_t hits[2], misses[2], planned_misses[2]; /* then */
} Comparison;

static double
percent_above (const TesseraPlan *plan)
{
  return 100 * tessera_plan_gap (plan);
}

static void
json_count (JsonBuilder *builder, const char *key, size_t n_blocks, uint64_t n_bytes)
{
  json_builder_set_member_name (builder, key);
  json_builder_begin_object (builder);
  cli_json_bytes (builder, "blocks", n_blocks);
  cli_json_bytes (builder, "bytes", n_bytes);
  json_builder_end_object (builder);
}

static void
json_plan (JsonBuilder *builder, const Comparison *c, int i)
{
  json_builder_begin_object (builder);
  cli_json_text (builder, "file", c->paths[i]);
  cli_json_text (builder, "strategy", c->plans[i]->strategy);
  cli_json_bytes (builder, "height_bytes", c->comparison->height_bytes[i]);
  cli_json_bytes (builder, "bound_bytes", c->comparison->bound_bytes[i]);
  cli_json_bytes (builder, "proven_bound_bytes", tessera_plan_proven_bound (c->plans[i]));
  cli_json_number (builder, "above_bound_percent", percent_above (c->plans[i]));
  cli_json_bytes (builder, "blocks", c->comparison->n_slots[i]);
  if (c->is_followed)
    {
      cli_json_bytes (builder, "hits", c->hits[i]);
      cli_json_bytes (builder, "misses", c->misses[i]);
      cli_json_bytes (builder, "planned_misses", c->planned_misses[i]);
    }
  json_builder_end_object (builder);
}

static void
print_json (const Comparison *c, size_t n_rows)
{
  const TesseraComparison *compared = c->comparison;
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "plans");
  json_builder_begin_array (builder);
  for (int i = 0; i < 2; i++)
    json_plan (builder, c, i);
  json_builder_end_array (builder);
  json_count (builder, "same", compared->n_same, compared->same_bytes);
  json_count (builder, "moved", compared->n_moved, compared->moved_bytes);
  json_count (builder, "only_first", compared->n_only[0], compared->only_bytes[0]);
  json_count (builder, "only_second", compared->n_only[1], compared->only_bytes[1]);
  json_builder_set_member_name (builder, "largest_moved");
  json_builder_begin_array (builder);
  for (size_t i = 0; i < n_rows; i++)
    {
      json_builder_begin_object (builder);
      cli_json_bytes (builder, "block", compared->moves[i].block);
      cli_json_bytes (builder, "block_bytes", compared->moves[i].block_bytes);
      cli_json_bytes (builder, "first_offset_bytes", compared->moves[i].offset_bytes[0]);
      cli_json_bytes (builder, "second_offset_bytes", compared->moves[i].offset_bytes[1]);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  cli_print_json (builder);
}

static void
print_count (const char *what, size_t n_blocks, uint64_t n_bytes)
{
  char bytes[32];

  printf ("%-22s %8zu blocks %14s\n", what, n_blocks,
          tessera_format_bytes (n_bytes, bytes, sizeof bytes));
}

static void
print_text (const Comparison *c, size_t n_rows)
{
  const TesseraComparison *compared = c->comparison;
  char size[32], from[32], to[32];

  for (int i = 0; i < 2; i++)
    {
      printf ("%s: %s, %.3f %% above its proven bound, %s", cli_shown (c->paths[i]),
              tessera_format_bytes (compared->height_bytes[i], size, sizeof size),
              percent_above (c->plans[i]), cli_shown (c->plans[i]->strategy));
      if (c->is_followed)
        {
          g_autofree char *planned =
              cli_planned_misses (c->misses[i], c->planned_misses[i]);

          printf (", %" G_GUINT64_FORMAT " hits, %" G_GUINT64_FORMAT " misses%s",
                  c->hits[i], c->misses[i], planned);
        }
      putchar ('\n');
    }
  print_count ("at the same offset", compared->n_same, compared->same_bytes);
  print_count ("moved", compared->n_moved, compared->moved_bytes);
  print_count ("only in the first", compared->n_only[0], compared->only_bytes[0]);
  print_count ("only in the second", compared->n_only[1], compared->only_bytes[1]);
  if (n_rows > 0)
    printf ("\n%8s %14s %14s %14s\n", "moved", "size", "from", "to");
  for (size_t i = 0; i < n_rows; i++)
    printf ("%8" G_GUINT32_FORMAT " %14s %14s %14s\n", compared->moves[i].block,
            tessera_format_bytes (compared->moves[i].block_bytes, size, sizeof size),
            tessera_format_bytes (compared->moves[i].offset_bytes[0], from, sizeof from),
            tessera_format_bytes (compared->moves[i].offset_bytes[1], to, sizeof to));
}

static TesseraStatus
follow (Comparison *c, int i, const CliCommon *common, TesseraError *error)
{
  TesseraSimulateOptions options = {
    .kind = TESSERA_LAYOUT_PLAN,
    .plan = c->plans[i],
    .device_bytes =
        common->device_bytes != 0 ? common->device_bytes : c->study.trace->device_bytes,
    .first_step = -1,
    .last_step = -1,
    .without_curves = true,
    .progress = cli_progress ("following"),
  };
  TesseraLayout *layout = NULL;
  TesseraStatus status =
      cli_study_simulate (&c->study, &options, c->paths[i], error, &layout);

  if (status == TESSERA_OK)
    {
      c->hits[i] = layout->n_hits;
      c->misses[i] = layout->n_misses;
      c->planned_misses[i] = layout->n_planned_misses;
    }
  tessera_layout_free (layout);
  return status;
}

static TesseraStatus
compare_plans (Comparison *c, TesseraError *error)
{
  guint64 first = c->plans[0]->trace_fingerprint, second = c->plans[1]->trace_fingerprint;

  if (first != second)
    return tessera_fail (error, TESSERA_REFUSED,
                         "%s and %s are not of the same trace (fingerprints "
                         "%016" G_GINT64_MODIFIER "x and %016" G_GINT64_MODIFIER
                         "x): their blocks are not the same",
                         c->paths[0], c->paths[1], first, second);
  return tessera_compare_plans (c->plans[0], c->plans[1], error, &c->comparison);
}

int
cli_compare (int argc, char **argv)
{
  g_autofree char *trace_path = NULL;
  gint n_most = 10;
  CliCommon common = { 0 };
  GOptionEntry entries[] = {
    { "trace", 0, 0, G_OPTION_ARG_FILENAME, &trace_path,
      "The trace that both were made from: also tells the hits of each", "FILE" },
    { "rows", 0, 0, G_OPTION_ARG_INT, &n_most,
      "List so many of the largest that moved (10)", "N" },
    { NULL }
  };
  Comparison c = { 0 };
  TesseraError error = { 0 };
  TesseraStatus status = TESSERA_OK;
  size_t n_rows;

  if (!cli_parse ("compare", &argc, &argv, entries, &common, 2, 2))
    return CLI_USAGE;
  if (n_most < 0)
    return cli_usage ("compare", "--rows takes a number of rows, 0 or more");
  c.paths = argv + 1;
  for (int i = 0; status == TESSERA_OK && i < 2; i++)
    status = tessera_plan_load (c.paths[i], &error, &c.plans[i]);
  if (status == TESSERA_OK)
    status = compare_plans (&c, &error);
  if (status == TESSERA_OK && trace_path != NULL)
    {
      common.device = (gint) c.plans[0]->device;
      status = cli_study_open (&c.study, trace_path, &common, &error);
      c.is_followed = TRUE;
    }
  for (int i = 0; status == TESSERA_OK && i < 2; i++)
    status = cli_accept_plan (c.paths[i], c.plans[i], c.study.trace, &error);
  for (int i = 0; status == TESSERA_OK && c.is_followed && i < 2; i++)
    status = follow (&c, i, &common, &error);
  cli_progress_end ();
  if (status == TESSERA_OK)
    {
      n_rows = MIN (c.comparison->n_moved, (size_t) n_most);
      if (common.json)
        print_json (&c, n_rows);
      else
        print_text (&c, n_rows);
    }
  else
    cli_fail (&error);
  if (c.is_followed)
    cli_study_clear (&c.study);
  tessera_comparison_free (c.comparison);
  for (int i = 0; i < 2; i++)
    tessera_plan_free (c.plans[i]);
  return status == TESSERA_OK ? CLI_DONE : CLI_FAILED;
}
