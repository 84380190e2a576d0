/* tessera bench planner [FILE...]. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/proof.h"
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

static void
print_row (const CliStudy *study, double seconds)
{
  const TesseraPlan *plan = study->plan;
  g_autofree char *name = g_path_get_basename (study->path);
  printf ("| %s | %zu | %zu | %" G_GUINT64_FORMAT " | %" G_GUINT64_FORMAT
          " | %.4f | %.3f | %s |\n",
          name, study->blocks->n_blocks, plan->n_slots, plan->height_bytes,
          plan->bound_bytes,
          plan->bound_bytes > 0 ? (double) plan->height_bytes / (double) plan->bound_bytes
                                : 1,
          seconds, plan->strategy);
  fflush (stdout);
}

static void
add_row (JsonBuilder *builder, const CliStudy *study, double seconds)
{
  const TesseraPlan *plan = study->plan;
  json_builder_begin_object (builder);
  cli_json_text (builder, "file", study->path);
  cli_json_bytes (builder, "blocks", study->blocks->n_blocks);
  cli_json_bytes (builder, "slots", plan->n_slots);
  cli_json_bytes (builder, "height_bytes", plan->height_bytes);
  cli_json_bytes (builder, "bound_bytes", plan->bound_bytes);
  cli_json_proof (builder, plan);
  cli_json_number (builder, "processor_seconds", seconds);
  cli_json_text (builder, "strategy", plan->strategy);
  json_builder_end_object (builder);
}

static TesseraStatus
plan_file (const char *path,
           const CliCommon *common,
           TesseraPlanOptions options,
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
    add_row (builder, &study, seconds);
  else if (status == TESSERA_OK)
    print_row (&study, seconds);
  cli_study_clear (&study);
  return status;
}

int
cli_bench (int argc, char **argv)
{
  gboolean across = FALSE;
  gint64 budget = 0;
  CliCommon common = { 0 };
  GOptionEntry entries[] = { { "across-streams", 0, 0, G_OPTION_ARG_NONE, &across,
                               "Let ranges pass from stream to stream", NULL },
                             { "budget", 0, 0, G_OPTION_ARG_INT64, &budget,
                               "Work units (placements tried)", "N" },
                             { NULL } };
  TesseraError error = { 0 };
  g_auto (GStrv) samples = NULL;

  if (!cli_parse ("bench", &argc, &argv, entries, &common, 1, -1))
    return CLI_USAGE;
  if (strcmp (argv[1], "planner") != 0)
    return cli_usage ("bench", "\"%s\" can't be measured; \"planner\" can", argv[1]);
  if (budget < 0)
    return cli_usage ("bench", "--budget takes a number of work units, 0 or more");
  if (argc == 2 && (samples = list_samples (&error)) == NULL)
    return cli_fail (&error);
  const TesseraPlanOptions options = { .first_step = -1,
                                       .last_step = -1,
                                       .across_streams = across,
                                       .work_budget = (uint64_t) budget };
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  json_builder_begin_array (builder);
  if (!common.json)
    printf (
        "| file | blocks | slots | height, bytes | load bound, bytes | height / bound "
        "| plan, processor s | strategy |\n|---|---|---|---|---|---|---|---|\n");
  TesseraStatus status = TESSERA_OK;
  for (char **path = samples != NULL ? samples : argv + 2;
       status == TESSERA_OK && *path != NULL; path++)
    status = plan_file (*path, &common, options, builder, &error);
  json_builder_end_array (builder);
  if (status != TESSERA_OK)
    return cli_fail (&error);
  if (common.json)
    cli_print_json (builder);
  return CLI_DONE;
}
