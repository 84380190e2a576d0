/* See regions.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/regions.h"

#include <stdio.h>

gboolean
cli_parse_regions (const char *text, CliRegions *out_regions)
{
  *out_regions = (CliRegions){ .kind = CLI_REGIONS_SMALL };
  if (text == NULL)
    return TRUE;
  out_regions->kind = g_str_equal (text, "curve")  ? CLI_REGIONS_CURVE
                      : g_str_equal (text, "auto") ? CLI_REGIONS_AUTO
                                                   : CLI_REGIONS_BYTES;
  return out_regions->kind != CLI_REGIONS_BYTES || g_str_equal (text, "none") ||
         tessera_parse_bytes (text, &out_regions->size_bytes);
}

void
cli_study_regions (CliStudy *study, CliRegions *regions)
{
  guint64 size_bytes = regions->size_bytes;

  if (regions->kind == CLI_REGIONS_SMALL || study->plan->n_rooms == 0)
    return;
  TesseraRegionNeeds needs = tessera_region_needs (study->plan);
  if (regions->kind != CLI_REGIONS_BYTES)
    {
      size_bytes = needs.small_bytes;
      cli_must (tessera_region_curve (study->trace, study->blocks, study->structure,
                                      study->plan, &needs, cli_progress ("simulating"),
                                      cli_error (), &regions->curve));
    }
  if (regions->kind == CLI_REGIONS_AUTO)
    size_bytes =
        regions->curve.rows[tessera_region_curve_best (&regions->curve)].region_bytes;
  cli_must (
      tessera_regions_set (study->plan, study->trace, &needs, size_bytes, cli_error ()));
  const TesseraSimulateOptions follow =
      cli_simulate_options (TESSERA_LAYOUT_PLAN, study->plan);
  g_clear_pointer (&study->planned, tessera_layout_free);
  study->planned = cli_study_simulate (study, &follow, NULL);
  cli_progress_end ();
}

void
cli_print_regions (const CliStudy *study, const CliRegions *regions)
{
  static const char *const columns[] = {
    "region_bytes", "pool_bytes", "reserved_bytes", "misses", "missed_bytes", "", NULL
  };
  const TesseraRegionCurve *curve = &regions->curve;
  guint64 taken_bytes = tessera_plan_pool_bytes (study->plan) - study->plan->height_bytes;
  CliTable *table = cli_table_new (CLI_TABLE_TEXT, columns);

  if (regions->kind != CLI_REGIONS_SMALL && study->plan->n_rooms == 0)
    puts ("no dynamic requests: there is nothing for regions");
  for (size_t i = 0; i < curve->n_rows; i++)
    {
      const TesseraRegionRow *row = &curve->rows[i];

      cli_table_integer (table, row->region_bytes);
      cli_table_integer (table, row->pool_bytes);
      cli_table_integer (table, row->reserved_bytes);
      cli_table_integer (table, row->n_misses);
      cli_table_integer (table, row->miss_bytes);
      cli_table_text (table, row->region_bytes == taken_bytes ? "taken"
                             : row->is_declined               ? "declined in mid-run"
                                                              : "");
      cli_table_end_row (table);
    }
  cli_table_print (table);
  if (curve->n_rows > 0)
    printf ("expandable segments reserve %s\n", TESSERA_SIZE (curve->expandable_bytes));
}

void
cli_json_regions (JsonBuilder *json, const CliRegions *regions)
{
  const TesseraRegionCurve *curve = &regions->curve;

  if (regions->kind != CLI_REGIONS_AUTO && regions->kind != CLI_REGIONS_CURVE)
    return;
  if (curve->n_rows > 0)
    cli_json_integer (json, "expandable_bytes", curve->expandable_bytes);
  cli_json_array (json, "region_curve");
  for (size_t i = 0; i < curve->n_rows; i++)
    {
      const TesseraRegionRow *row = &curve->rows[i];

      json_builder_begin_object (json);
      cli_json_integer (json, "region_bytes", row->region_bytes);
      cli_json_integer (json, "pool_bytes", row->pool_bytes);
      cli_json_integer (json, "reserved_bytes", row->reserved_bytes);
      cli_json_integer (json, "misses", row->n_misses);
      cli_json_integer (json, "miss_bytes", row->miss_bytes);
      cli_json_bool (json, "declined", row->is_declined);
      json_builder_end_object (json);
    }
  json_builder_end_array (json);
}
