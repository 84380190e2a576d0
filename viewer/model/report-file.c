/*
 * The report of `tessera report` from what is open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "cli/picture.h"

TesseraStatus
tessera_report_save (const TesseraSaveInput *input,
                     const TesseraProgress *progress,
                     TesseraError *error)
{
  TesseraData *data = input->data != NULL ? tessera_data_origin (input->data) : NULL;
  const TesseraLayout *own = NULL;
  GString *html = NULL;
  TesseraStatus status;
  CliStudy study;

  if (data == NULL || input->planned == NULL)
    return tessera_fail (error, TESSERA_INVALID,
                         "A report compares layouts: open a trace and plan it first.");
  status = tessera_data_get_layout (data, data->own_kind, NULL, error, &own);
  if (status != TESSERA_OK)
    return status;
  /* Everything is borrowed: the study is read, never cleared. */
  study = (CliStudy){
    .path = input->source,
    .trace = data->trace,
    .blocks = data->blocks,
    .structure = data->structure,
    .layout = (TesseraLayout *) own,
    .plan = input->planned->plan,
    .planned = input->planned->layout,
    .needs = input->needs,
    .need = {
      [TESSERA_LAYOUT_NATIVE].smallest_bytes = input->needs.native_bytes,
      [TESSERA_LAYOUT_EXPANDABLE].smallest_bytes = input->needs.expandable_bytes,
      [TESSERA_LAYOUT_PLAN].smallest_bytes = input->needs.plan_bytes,
    },
    .plan_seconds = input->planned->seconds,
  };
  status = cli_report_html (&study, &html, error);
  if (status == TESSERA_OK)
    {
      status = tessera_save_bytes (input->path, html->str, html->len, progress, error);
      g_string_free (html, TRUE);
    }
  return tessera_explain (status, error, "reporting");
}
