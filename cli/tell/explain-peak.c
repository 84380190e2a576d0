/* What makes the peak. See explain.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell/explain.h"

#include <stdio.h>

#define MOST_ROWS 100

static void
json_row (JsonBuilder *builder,
          const CliPeakRow *row,
          const CliWhatIf *answer,
          gboolean without)
{
  json_builder_begin_object (builder);
  cli_json_text (builder, "name", row->name);
  cli_json_bytes (builder, "bytes", row->bytes);
  cli_json_bytes (builder, "blocks", row->n_blocks);
  cli_json_text (builder, "class", cli_class_name (row->lifetime_class));
  cli_json_bool (builder, "recomputable", row->is_recomputable);
  if (answer != NULL)
    cli_answer_to_json (builder, answer, without);
  json_builder_end_object (builder);
}

static void
print_row (const CliExplain *explain,
           const CliPeakRow *row,
           uint64_t peak_bytes,
           const CliWhatIf *answer,
           gboolean without)
{
  char bytes[32];

  printf ("%11s %5.1f %% %7" G_GUINT64_FORMAT "  %-10s %s%s\n",
          tessera_format_bytes (row->bytes, bytes, sizeof bytes),
          100.0 * (double) row->bytes / (double) MAX (peak_bytes, 1), row->n_blocks,
          cli_class_name (row->lifetime_class), cli_shown (row->name),
          row->is_recomputable ? " (could be recomputed)" : "");
  if (answer == NULL || answer->n_changed == 0)
    return;
  g_autofree char *text = cli_answer_text (explain, answer);
  printf ("%41s%s: the plan takes %s\n", "", without ? "kept elsewhere" : "freed before",
          text);
}

/* A row, and what if, where that is asked. */
static TesseraStatus
tell_row (const CliExplain *explain,
          const CliStudy *shown,
          JsonBuilder *builder,
          const CliPeakRow *row,
          uint64_t peak_bytes,
          gboolean is_asked,
          TesseraError *error)
{
  const gboolean without = cli_asks_without (explain, row->lifetime_class);
  TesseraStatus status = TESSERA_OK;
  CliWhatIf answer = { 0 };

  if (is_asked)
    {
      g_autofree guint8 *chosen = cli_peak_row_blocks (shown, explain->by, row->name);

      status = cli_explain_what_if (explain, chosen, without, &answer, error);
    }
  if (status == TESSERA_OK && explain->json)
    json_row (builder, row, is_asked ? &answer : NULL, without);
  else if (status == TESSERA_OK)
    print_row (explain, row, peak_bytes, is_asked ? &answer : NULL, without);
  return status;
}

static void
print_head (const CliExplain *explain, uint64_t bytes, uint32_t at)
{
  g_autofree char *moment = cli_moment_name (explain);
  char bound[32], height[32];

  printf ("the peak of live: %s at event %u; the plan takes %s. What if a row were freed "
          "before"
          " %s:\n",
          tessera_format_bytes (bytes, bound, sizeof bound), at,
          tessera_format_bytes (explain->study.plan->height_bytes, height, sizeof height),
          moment);
  printf ("%11s %7s %7s  %-10s %s\n", "bytes", "of it", "blocks", "class", "row");
}

TesseraStatus
cli_explain_peak (const CliExplain *explain, TesseraError *error)
{
  CliStudy shown = explain->study;
  TesseraBlocks blocks = explain->regrouped.blocks;
  TesseraStatus status = TESSERA_OK;
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autofree char *moment = cli_moment_name (explain);
  uint32_t at = 0;
  uint64_t bytes = tessera_blocks_bound (&blocks, 0, blocks.n_events, &at);

  shown.blocks = &blocks;
  g_autoptr (GArray) rows = cli_peak_rows (&shown, explain->by, at);

  json_builder_begin_object (builder);
  cli_json_text (builder, "file", shown.path);
  cli_json_bytes (builder, "at_event", at);
  cli_json_bytes (builder, "bound_bytes", bytes);
  cli_json_bytes (builder, "height_bytes", shown.plan->height_bytes);
  cli_json_bytes (builder, "edits", shown.plan->n_edits);
  cli_json_text (builder, "freed_before", moment);
  json_builder_set_member_name (builder, "rows");
  json_builder_begin_array (builder);
  if (!explain->json)
    print_head (explain, bytes, at);
  for (guint i = 0; i < MIN (rows->len, MOST_ROWS) && status == TESSERA_OK; i++)
    status = tell_row (explain, &shown, builder, &g_array_index (rows, CliPeakRow, i),
                       bytes, i < (guint) explain->n_rows, error);
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  if (status == TESSERA_OK && explain->json)
    cli_print_json (builder);
  return status;
}
