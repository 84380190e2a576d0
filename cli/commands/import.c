/* tessera import FILE -o T.tsr. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/output.h"
#include "cli/study.h"
#include "db/store.h"

/* What no other command takes is no trace that anybody should keep: a replay can fail where
 * something was held at the start. */
static TesseraStatus
check (const CliStudy *study, TesseraError *error)
{
  TesseraSimulateOptions options = { .kind = study->trace->has_addresses &&
                                                     study->trace->has_segments
                                                 ? TESSERA_LAYOUT_RECORDED
                                                 : TESSERA_LAYOUT_NATIVE,
                                     .first_step = -1,
                                     .last_step = -1,
                                     .without_curves = true,
                                     .progress = cli_progress ("checking") };
  TesseraLayout *layout;
  TesseraStatus status;

  if (options.kind == TESSERA_LAYOUT_NATIVE && study->trace->start.n_segments == 0 &&
      study->trace->start.n_blocks == 0)
    return TESSERA_OK;
  status = cli_study_simulate (study, &options, NULL, error, &layout);

  tessera_layout_free (layout);
  return status;
}

int
cli_import (int argc, char **argv)
{
  g_autofree char *output = NULL;
  gboolean force = FALSE;
  CliCommon common = { 0 };
  GOptionEntry entries[] = { { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
                               "The trace to write", "T.tsr" },
                             CLI_FORCE (&force),
                             { NULL } };
  CliStudy study;
  TesseraError error = { 0 };

  if (!cli_parse ("import", &argc, &argv, entries, &common, 1, 1))
    return CLI_USAGE;
  if (output == NULL)
    return cli_usage ("import", "say where to write with -o T.tsr");
  int result = cli_check_result ("import", argv[1], output, TESSERA_FILE_TRACE, force);
  if (result != CLI_DONE)
    return result;
  TesseraStatus status = cli_study_open (&study, argv[1], &common, &error);
  if (status == TESSERA_OK)
    status = check (&study, &error);
  if (status == TESSERA_OK)
    status = tessera_trace_save (study.trace, output, cli_progress ("writing"), &error);
  cli_progress_end ();
  if (status != TESSERA_OK)
    result = cli_fail (&error);
  else if (common.json)
    {
      g_autoptr (JsonBuilder) builder = json_builder_new ();
      json_builder_begin_object (builder);
      cli_json_text (builder, "file", output);
      cli_json_bytes (builder, "events", study.trace->n_events);
      cli_json_bytes (builder, "stacks", study.trace->n_stacks);
      cli_json_bytes (builder, "blocks", study.blocks->n_blocks);
      cli_study_json_notes (builder, &study);
      json_builder_end_object (builder);
      cli_print_json (builder);
    }
  else
    {
      printf ("%s: %zu events, %zu blocks, %zu stacks\n", cli_shown (output),
              study.trace->n_events, study.blocks->n_blocks, study.trace->n_stacks);
      cli_study_print_notes (&study);
    }
  cli_study_clear (&study);
  return result;
}
