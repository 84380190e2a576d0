/* tessera report FILE -o REPORT.html. SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands/report.h"

#include <stdio.h>

#include "cli/output.h"
#include "db/output.h"

int
cli_report (int argc, char **argv)
{
  g_autofree char *output = NULL;
  gboolean no_edits = FALSE, force = FALSE;
  CliCommon common = { 0 };
  GOptionEntry entries[] = { { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
                               "The page to write", "REPORT.html" },
                             { "no-edits", 0, 0, G_OPTION_ARG_NONE, &no_edits,
                               "Leave out the edits that are kept with FILE", NULL },
                             CLI_FORCE (&force),
                             { NULL } };
  TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  TesseraError error = { 0 };
  GString *html = NULL;
  CliStudy study;

  if (!cli_parse ("report", &argc, &argv, entries, &common, 1, 1))
    return CLI_USAGE;
  if (output == NULL)
    return cli_usage ("report", "say where to write with -o REPORT.html");
  int result = cli_check_result ("report", argv[1], output, TESSERA_FILE_OTHER, force);
  if (result != CLI_DONE)
    return result;
  TesseraStatus status = cli_study_open (&study, argv[1], &common, &error);
  if (status == TESSERA_OK)
    status = cli_study_layout (&study, TESSERA_LAYOUT_RECORDED, &common, &error);
  if (status == TESSERA_OK)
    status = cli_study_edits (&study, NULL, no_edits, &options, &error);
  if (status == TESSERA_OK)
    status = cli_study_plan (&study, &options, &error);
  if (status == TESSERA_OK)
    status = cli_study_advise (&study, TRUE, &error);
  if (status == TESSERA_OK)
    status = cli_study_needs (&study, &error);
  if (status == TESSERA_OK)
    status = cli_report_html (&study, &html, &error);
  if (status == TESSERA_OK)
    status = tessera_write_file (output, html->str, html->len, &error);
  if (html != NULL)
    g_string_free (html, TRUE);
  cli_study_clear (&study);
  return status == TESSERA_OK ? CLI_DONE : cli_fail (&error);
}
