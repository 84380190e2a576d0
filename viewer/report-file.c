/*
 * The report of `tessera report` from what is open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/report-file.h"

#include "cli/report.h"

TesseraStatus
tessera_report_save (TesseraDocument *document, const char *path, TesseraError *error)
{
  const TesseraData *data = document->data;
  const TesseraLayout *own = NULL;
  GString *html = NULL;
  g_autoptr (GError) write_error = NULL;
  TesseraStatus status;
  CliStudy study;

  if (data == NULL || document->planned == NULL)
    return tessera_fail (error, TESSERA_INVALID,
                         "A report compares layouts: open a trace and plan it first.");
  status = tessera_data_get_layout (document->data, data->own_kind, NULL, error, &own);
  if (status != TESSERA_OK)
    return status;
  /* Everything is borrowed: the study is read, never cleared. */
  study = (CliStudy){
    .path = document->path,
    .trace = data->trace,
    .blocks = data->blocks,
    .structure = data->structure,
    .layout = (TesseraLayout *) own,
    .plan = document->planned->plan,
    .planned = document->planned->layout,
    .needs = document->needs,
    .need = {
      [TESSERA_LAYOUT_NATIVE].smallest_bytes = document->needs.native_bytes,
      [TESSERA_LAYOUT_EXPANDABLE].smallest_bytes = document->needs.expandable_bytes,
      [TESSERA_LAYOUT_PLAN].smallest_bytes = document->needs.plan_bytes,
    },
    .plan_seconds = document->planned->seconds,
  };
  status = tessera_explain (cli_report_html (&study, &html, error), error, "reporting");
  if (status != TESSERA_OK)
    return status;
  if (!g_file_set_contents (path, html->str, (gssize) html->len, &write_error))
    status = tessera_fail (error, TESSERA_IO, "%s: choose another place.",
                           write_error->message);
  g_string_free (html, TRUE);
  return status;
}
