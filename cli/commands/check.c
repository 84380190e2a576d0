/* tessera check P.tsp [--trace FILE]. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/tell/laws.h"
#include "cli/tell/proof.h"
#include "cli/study.h"
#include "db/store.h"
#include "planner/check.h"
#include "planner/lengths.h"
#include "recorder/import/import.h"

/* Which of the two files does not fit: NULL where both do. */
static const char *
file_at_fault (const char *path, const char *trace_path, TesseraLaw law)
{
  if (law == TESSERA_LAW_NONE)
    return NULL;
  return law == TESSERA_LAW_FINGERPRINT ? trace_path : path;
}

/* On stderr. The fingerprint is looked at last: the plan breaks no law by itself. */
static void
print_broken (const char *path, const char *trace_path, TesseraLaw law, const char *text)
{
  if (law == TESSERA_LAW_FINGERPRINT)
    fprintf (stderr, "tessera: %s: is not the trace that %s was made from: %s\n",
             cli_shown (trace_path), cli_shown (path), text);
  else
    fprintf (stderr, "tessera: %s: breaks the law of %s: %s\n", cli_shown (path),
             tessera_law_name (law), text);
}

static void
print_result (const char *path,
              const char *trace_path,
              const TesseraPlan *plan,
              TesseraLaw law,
              const char *text,
              gboolean json)
{
  if (json)
    {
      g_autoptr (JsonBuilder) builder = json_builder_new ();
      json_builder_begin_object (builder);
      cli_json_text (builder, "file", path);
      cli_json_bool (builder, "accepted", law == TESSERA_LAW_NONE);
      cli_json_text (builder, "law",
                     law == TESSERA_LAW_NONE ? NULL : tessera_law_name (law));
      cli_json_text (builder, "at_fault", file_at_fault (path, trace_path, law));
      cli_json_text (builder, "finding", law == TESSERA_LAW_NONE ? NULL : text);
      cli_json_bytes (builder, "slots", plan->n_slots);
      cli_json_bytes (builder, "placeless", plan->n_placeless);
      cli_json_bytes (builder, "height_bytes", plan->height_bytes);
      cli_json_bytes (builder, "bound_bytes", plan->bound_bytes);
      cli_json_proof (builder, plan);
      cli_json_text (builder, "followable", cli_followable_name (plan));
      cli_json_text (builder, "follow_reason", plan->follow_reason);
      json_builder_end_object (builder);
      cli_print_json (builder);
    }
  else if (law == TESSERA_LAW_NONE)
    {
      g_autofree char *followable = cli_followable_text (plan);
      char height[32], proof[128];
      tessera_plan_describe_proof (plan, proof, sizeof proof);
      printf ("%s: accepted: %zu slots in %s, no overlap in time and address\n",
              cli_shown (path), plan->n_slots,
              tessera_format_bytes (plan->height_bytes, height, sizeof height));
      printf ("the plan says: %s\nfollowable: %s\n", proof, followable);
      if (plan->lengths != NULL)
        {
          printf ("so is its plan for every length, at the %u %s that it was made from "
                  "and others up to length ",
                  plan->lengths->n_observed,
                  plan->lengths->cut_phase ? "parts of steps" : "steps");
          cli_print_most (plan->lengths);
          putchar ('\n');
        }
    }
}

/* Of the plan's device: which that is, no option says here. */
static TesseraStatus
open_trace (const char *path,
            const char *plan_path,
            const TesseraPlan *plan,
            const TesseraOpenOptions *options,
            TesseraError *error,
            TesseraTrace **out_trace)
{
  TesseraError found = { 0 };
  TesseraStatus status = tessera_open (path, options, &found, out_trace);

  if (status == TESSERA_OK)
    return status;
  if (found.status == TESSERA_INVALID && plan->device != 0)
    return tessera_fail (error, status, "%s is of device %u, which %s does not hold",
                         plan_path, plan->device, path);
  return tessera_fail (error, status, "%s", found.text);
}

int
cli_check (int argc, char **argv)
{
  g_autofree char *trace_path = NULL;
  CliCommon common = { 0 };
  GOptionEntry entries[] = { { "trace", 0, 0, G_OPTION_ARG_FILENAME, &trace_path,
                               "The trace it claims to be made from", "FILE" },
                             { NULL } };
  TesseraError error = { 0 };
  TesseraLaw law = TESSERA_LAW_NONE;
  TesseraPlan *plan = NULL;
  TesseraTrace *trace = NULL;

  if (!cli_parse ("check", &argc, &argv, entries, &common, 1, 1))
    return CLI_USAGE;
  TesseraStatus status = tessera_plan_load (argv[1], &error, &plan);
  if (status == TESSERA_OK && trace_path != NULL)
    {
      const TesseraOpenOptions options = {
        .device = plan->device,
        .progress = cli_progress ("opening"),
      };
      status = open_trace (trace_path, argv[1], plan, &options, &error, &trace);
      cli_progress_end ();
    }
  if (status == TESSERA_OK)
    {
      status = tessera_check_plan (plan, trace, &law, &error);
      if (status == TESSERA_OK && plan->lengths != NULL)
        status = tessera_check_lengths (plan->lengths, &law, &error);
      print_result (argv[1], trace_path, plan, law, error.text, common.json);
    }
  if (status != TESSERA_OK && law != TESSERA_LAW_NONE)
    print_broken (argv[1], trace_path, law, error.text);
  else if (status != TESSERA_OK)
    cli_fail (&error);
  tessera_trace_free (trace);
  tessera_plan_free (plan);
  return status == TESSERA_OK ? CLI_DONE : CLI_FAILED;
}
