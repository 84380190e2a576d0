/* tessera bench planner [FILE...]. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/tell/proof.h"
#include "cli/study.h"

/* What is planned where no file is named: in the source tree. */
#define SAMPLES "samples"

static double
processor_seconds (void)
{
  struct timespec now;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

static int
compare_texts (const void *a, const void *b)
{
  return strcmp (*(char *const *) a, *(char *const *) b);
}

/* The samples, or NULL with a sentence in @error. */
static GStrv
list_samples (TesseraError *error)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_autoptr (GDir) folder = g_dir_open (SAMPLES, 0, NULL);
  const char *name;
  while (folder != NULL && (name = g_dir_read_name (folder)) != NULL)
    if (g_str_has_suffix (name, ".pickle.gz"))
      {
        g_autofree char *path = g_build_filename (SAMPLES, name, NULL);
        g_strv_builder_add (builder, path);
      }
  GStrv paths = g_strv_builder_end (builder);
  qsort (paths, g_strv_length (paths), sizeof *paths, compare_texts);
  if (paths[0] != NULL)
    return paths;
  g_strfreev (paths);
  (void) tessera_fail (error, TESSERA_BAD_INPUT,
                       "there is no folder \"%s\" with the bundled samples here: name "
                       "the files to plan",
                       SAMPLES);
  return NULL;
}

/* @capacity_bytes: 0: nobody asked. */
static void
print_row (const CliStudy *study, double seconds, guint64 capacity_bytes)
{
  const TesseraPlan *plan = study->plan;
  g_autofree char *name = g_path_get_basename (study->path);
  char proof[128];
  tessera_plan_describe_proof (plan, proof, sizeof proof);
  printf ("| %s | %zu | %zu | %" G_GUINT64_FORMAT " | %" G_GUINT64_FORMAT
          " | %.4f | %s | %.3f | %s |",
          cli_shown (name), study->blocks->n_blocks, plan->n_slots, plan->height_bytes,
          plan->bound_bytes,
          plan->bound_bytes > 0 ? (double) plan->height_bytes / (double) plan->bound_bytes
                                : 1,
          proof, seconds, plan->strategy);
  if (capacity_bytes > 0)
    printf (" %s |", plan->height_bytes <= capacity_bytes ? "yes" : "no");
  puts ("");
  fflush (stdout);
}

static void
print_head (guint64 capacity_bytes)
{
  printf ("| file | blocks | slots | height, bytes | load bound, bytes | height / bound "
          "| proof | plan, processor s | strategy |");
  if (capacity_bytes > 0)
    printf (" fits %" G_GUINT64_FORMAT " |", capacity_bytes);
  printf ("\n|---|---|---|---|---|---|---|---|---|%s\n",
          capacity_bytes > 0 ? "---|" : "");
}

static void
add_row (JsonBuilder *builder,
         const CliStudy *study,
         double seconds,
         guint64 capacity_bytes)
{
  const TesseraPlan *plan = study->plan;
  json_builder_begin_object (builder);
  cli_json_text (builder, "file", study->path);
  cli_json_bytes (builder, "blocks", study->blocks->n_blocks);
  cli_json_bytes (builder, "slots", plan->n_slots);
  cli_json_bytes (builder, "height_bytes", plan->height_bytes);
  cli_json_bytes (builder, "bound_bytes", plan->bound_bytes);
  cli_json_proof (builder, plan);
  if (capacity_bytes > 0)
    cli_json_bool (builder, "fits", plan->height_bytes <= capacity_bytes);
  cli_json_number (builder, "processor_seconds", seconds);
  cli_json_text (builder, "strategy", plan->strategy);
  json_builder_end_object (builder);
}

static TesseraStatus
plan_file (const char *path,
           const CliCommon *common,
           TesseraPlanOptions options,
           guint64 capacity_bytes,
           JsonBuilder *builder,
           TesseraError *error)
{
  CliStudy study;
  TesseraStatus status = cli_study_open (&study, path, common, error);
  options.progress = cli_progress ("planning");
  options.listener = cli_listener ();
  double begin = processor_seconds ();
  if (status == TESSERA_OK)
    status = tessera_plan_trace (study.trace, study.blocks, study.structure, &options,
                                 error, &study.plan);
  double seconds = processor_seconds () - begin;
  cli_progress_end ();
  if (status == TESSERA_OK && common->json)
    add_row (builder, &study, seconds, capacity_bytes);
  else if (status == TESSERA_OK)
    print_row (&study, seconds, capacity_bytes);
  cli_study_clear (&study);
  return status;
}

int
cli_bench (int argc, char **argv)
{
  g_autofree char *capacity = NULL;
  guint64 capacity_bytes = 0;
  gint64 budget = 0;
  CliCommon common = { 0 };
  GOptionEntry entries[] = { { "budget", 0, 0, G_OPTION_ARG_INT64, &budget,
                               "Work units (placements tried)", "N" },
                             { "capacity", 0, 0, G_OPTION_ARG_STRING, &capacity,
                               "Say of each plan whether it fits", "BYTES" },
                             { NULL } };
  TesseraError error = { 0 };
  g_auto (GStrv) samples = NULL;

  if (!cli_parse ("bench", &argc, &argv, entries, &common, 1, -1))
    return CLI_USAGE;
  if (strcmp (argv[1], "planner") != 0)
    return cli_usage ("bench", "\"%s\" can't be measured; \"planner\" can", argv[1]);
  if (budget < 0)
    return cli_usage ("bench", "--budget takes a number of work units, 0 or more");
  if (capacity != NULL &&
      (!tessera_parse_bytes (capacity, &capacity_bytes) || capacity_bytes == 0))
    return cli_usage ("bench", "--capacity takes a size as 32GiB, not \"%s\"", capacity);
  if (argc == 2 && (samples = list_samples (&error)) == NULL)
    return cli_fail (&error);
  const TesseraPlanOptions options = { .first_step = -1,
                                       .last_step = -1,
                                       .work_budget = (uint64_t) budget };
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  json_builder_begin_array (builder);
  if (!common.json)
    print_head (capacity_bytes);
  TesseraStatus status = TESSERA_OK;
  for (char **path = samples != NULL ? samples : argv + 2;
       status == TESSERA_OK && *path != NULL; path++)
    status = plan_file (*path, &common, options, capacity_bytes, builder, &error);
  json_builder_end_array (builder);
  if (status != TESSERA_OK)
    return cli_fail (&error);
  if (common.json)
    cli_print_json (builder);
  return CLI_DONE;
}
