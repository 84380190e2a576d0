/* See kept.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell/kept.h"

#include <stdio.h>

#include "cli/tell/culprits.h"
#include "db/size-text.h"

typedef struct
{
  char *line;
  guint64 bytes; /* of a step, of one kind */
  guint n_requests;
  uint32_t section;
} Kept;

static void
clear_kept (gpointer data)
{
  g_free (((Kept *) data)->line);
}

static Kept *
find_row (GArray *rows, const char *line, uint32_t section)
{
  for (guint i = 0; i < rows->len; i++)
    {
      Kept *row = &g_array_index (rows, Kept, i);

      if (row->section == section && g_str_equal (row->line, line))
        return row;
    }
  return NULL;
}

/* Of a pair of steps: the first keeps as much. */
static gboolean
is_of_second (const CliStudy *study, const TesseraPlaceless *placeless)
{
  const TesseraSection *section = &study->plan->sections[placeless->section];
  const TesseraBlock *all = study->blocks->blocks;

  return section->is_paired && section->n_slots > 0 &&
         all[placeless->block].step !=
             all[study->plan->slots[section->first_slot].block].step;
}

/* By section and line, in the order of requests. */
static GArray *
list_kept (const CliStudy *study)
{
  const TesseraPlan *plan = study->plan;
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (Kept));

  g_array_set_clear_func (rows, clear_kept);
  if (study->history != NULL && tessera_history_get_n_standing (study->history) > 0)
    return rows;
  for (size_t i = 0; i < plan->n_placeless; i++)
    {
      const TesseraPlaceless *placeless = &plan->placeless[i];
      const TesseraSection *section = &plan->sections[placeless->section];
      Kept new = { .section = placeless->section };
      Kept *row;

      if (section->kind != TESSERA_SECTION_REPEATS ||
          placeless->block >= study->blocks->n_blocks || is_of_second (study, placeless))
        continue;
      new.line =
          cli_own_line (study->trace, study->blocks->blocks[placeless->block].stack);
      row = find_row (rows, new.line, new.section);
      if (row == NULL)
        {
          g_array_append_val (rows, new);
          row = &g_array_index (rows, Kept, rows->len - 1);
        }
      else
        g_free (new.line);
      row->bytes += placeless->block_bytes;
      row->n_requests++;
    }
  return rows;
}

void
cli_print_kept (const CliStudy *study)
{
  g_autoptr (GArray) rows = list_kept (study);

  for (guint i = 0; i < rows->len; i++)
    {
      const Kept *row = &g_array_index (rows, Kept, i);
      char bytes[32];

      printf ("each step keeps %s for good: %s (%u request%s)\n",
              tessera_format_bytes (row->bytes, bytes, sizeof bytes),
              cli_shown (row->line), row->n_requests, row->n_requests == 1 ? "" : "s");
    }
}

void
cli_json_kept (JsonBuilder *builder, const CliStudy *study)
{
  g_autoptr (GArray) rows = list_kept (study);

  json_builder_set_member_name (builder, "kept");
  json_builder_begin_array (builder);
  for (guint i = 0; i < rows->len; i++)
    {
      const Kept *row = &g_array_index (rows, Kept, i);

      json_builder_begin_object (builder);
      cli_json_text (builder, "line", row->line);
      cli_json_bytes (builder, "bytes", row->bytes);
      cli_json_bytes (builder, "requests", row->n_requests);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
}
