/* tessera fit FILE: the smallest devices. SPDX-License-Identifier: Apache-2.0 */
#include "cli/study.h"
#include "cli/tell/verdict.h"

int
cli_fit (int argc, char **argv)
{
  gboolean no_edits = FALSE;
  CliCommon common = { 0 };
  GOptionEntry entries[] = { { "no-edits", 0, 0, G_OPTION_ARG_NONE, &no_edits,
                               "The plan without the edits that are kept with FILE",
                               NULL },
                             { NULL } };
  TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  CliStudy study;
  TesseraError error = { 0 };

  if (!cli_parse ("fit", &argc, &argv, entries, &common, 1, 1))
    return CLI_USAGE;
  TesseraStatus status = cli_study_open (&study, argv[1], &common, &error);
  if (status == TESSERA_OK)
    status = cli_study_edits (&study, NULL, no_edits, &options, &error);
  if (status == TESSERA_OK)
    status = cli_study_plan (&study, &options, &error);
  if (status == TESSERA_OK)
    status = cli_study_needs (&study, &error);
  int result = status == TESSERA_OK ? CLI_DONE : cli_fail (&error);
  if (status == TESSERA_OK && common.json)
    {
      g_autoptr (JsonBuilder) builder = json_builder_new ();
      json_builder_begin_object (builder);
      cli_json_text (builder, "file", study.path);
      cli_json_warnings (builder, &study);
      cli_json_needs (builder, &study);
      cli_study_json_edits (builder, &study);
      json_builder_end_object (builder);
      cli_print_json (builder);
    }
  else if (status == TESSERA_OK)
    {
      cli_print_warnings (&study);
      cli_print_needs (&study);
      cli_study_print_edits (&study, NULL);
    }
  cli_study_clear (&study);
  return result;
}
