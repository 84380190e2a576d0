/* See regions.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell/regions.h"

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

static TesseraStatus
follow (CliStudy *study, TesseraError *error)
{
  const TesseraSimulateOptions options = {
    .kind = TESSERA_LAYOUT_PLAN,
    .plan = study->plan,
    .first_step = -1,
    .last_step = -1,
  };

  g_clear_pointer (&study->planned, tessera_layout_free);
  return cli_study_simulate (study, &options, NULL, error, &study->planned);
}

TesseraStatus
cli_study_regions (CliStudy *study, CliRegions *regions, TesseraError *error)
{
  TesseraRegionNeeds needs;
  TesseraStatus status = TESSERA_OK;
  guint64 size_bytes = regions->size_bytes;

  if (regions->kind == CLI_REGIONS_SMALL || study->plan->n_rooms == 0)
    return TESSERA_OK;
  needs = tessera_region_needs (study->plan);
  if (regions->kind != CLI_REGIONS_BYTES)
    {
      size_bytes = needs.small_bytes;
      status = tessera_region_curve (study->trace, study->blocks, study->structure,
                                     study->plan, &needs, cli_progress ("simulating"),
                                     error, &regions->curve);
    }
  if (status == TESSERA_OK && regions->kind == CLI_REGIONS_AUTO)
    {
      size_t best = tessera_region_curve_best (&regions->curve);

      size_bytes = regions->curve.rows[best].region_bytes;
    }
  if (status == TESSERA_OK)
    status = tessera_regions_set (study->plan, study->trace, &needs, size_bytes, error);
  if (status == TESSERA_OK)
    status = follow (study, error);
  cli_progress_end ();
  return status;
}

static void
print_row (const TesseraRegionCurve *curve,
           const TesseraRegionRow *row,
           gboolean is_taken)
{
  char region[32], pool[32], reserved[32], missed[32];

  printf ("%11s %11s %11s %11.2f %% %9" G_GUINT64_FORMAT " %11s%s%s\n",
          tessera_format_bytes (row->region_bytes, region, sizeof region),
          tessera_format_bytes (row->pool_bytes, pool, sizeof pool),
          tessera_format_bytes (row->reserved_bytes, reserved, sizeof reserved),
          100.0 * (double) row->reserved_bytes /
              (double) MAX (curve->expandable_bytes, 1),
          row->n_misses, tessera_format_bytes (row->miss_bytes, missed, sizeof missed),
          is_taken ? "  taken" : "", row->is_declined ? "  declined in mid-run" : "");
}

void
cli_print_regions (const CliStudy *study, const CliRegions *regions)
{
  const TesseraRegionCurve *curve = &regions->curve;
  guint64 taken_bytes = tessera_plan_pool_bytes (study->plan) - study->plan->height_bytes;
  char expandable[32];

  if (regions->kind != CLI_REGIONS_SMALL && study->plan->n_rooms == 0)
    puts ("no dynamic requests: there is nothing for regions");
  if (curve->n_rows == 0)
    return;
  printf ("%11s %11s %11s %13s %9s %11s\n", "regions", "pool", "reserved",
          "of expandable", "misses", "missed");
  for (size_t i = 0; i < curve->n_rows; i++)
    print_row (curve, &curve->rows[i], curve->rows[i].region_bytes == taken_bytes);
  printf ("expandable segments reserve %s\n",
          tessera_format_bytes (curve->expandable_bytes, expandable, sizeof expandable));
}

void
cli_json_regions (JsonBuilder *builder, const CliRegions *regions)
{
  const TesseraRegionCurve *curve = &regions->curve;

  if (regions->kind != CLI_REGIONS_AUTO && regions->kind != CLI_REGIONS_CURVE)
    return;
  if (curve->n_rows > 0)
    cli_json_bytes (builder, "expandable_bytes", curve->expandable_bytes);
  json_builder_set_member_name (builder, "region_curve");
  json_builder_begin_array (builder);
  for (size_t i = 0; i < curve->n_rows; i++)
    {
      const TesseraRegionRow *row = &curve->rows[i];

      json_builder_begin_object (builder);
      cli_json_bytes (builder, "region_bytes", row->region_bytes);
      cli_json_bytes (builder, "pool_bytes", row->pool_bytes);
      cli_json_bytes (builder, "reserved_bytes", row->reserved_bytes);
      cli_json_bytes (builder, "misses", row->n_misses);
      cli_json_bytes (builder, "miss_bytes", row->miss_bytes);
      cli_json_bool (builder, "declined", row->is_declined);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
}
