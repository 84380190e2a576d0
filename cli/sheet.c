/* See sheet.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/sheet.h"

#include "cli/tell/proof.h"

#include <cairo-svg.h>
#include <stdio.h>

static void
plan_subtitle (const CliStudy *study, char *buffer, size_t n_buffer)
{
  char height[32], proof[128];
  tessera_format_bytes (study->plan->height_bytes, height, sizeof height);
  tessera_plan_describe_proof (study->plan, proof, sizeof proof);
  g_snprintf (buffer, n_buffer, "height %s, %s, checked, %.2f s", height, proof,
              study->plan_seconds);
}

void
cli_sheet_figure (const CliStudy *study,
                  const TesseraVerdict *verdict,
                  const CliSheet *sheet,
                  CliTitles *titles,
                  TesseraFigure *out_figure)
{
  char reserved[32], live[32];
  g_snprintf (titles->left, sizeof titles->left, "%s, %s",
              tessera_layout_owner (study->layout),
              cli_layout_name (study->layout->kind));
  g_snprintf (titles->left_sub, sizeof titles->left_sub,
              "peak reserved %s, peak live %s%s",
              tessera_format_bytes (study->layout->peak_reserved_bytes, reserved,
                                    sizeof reserved),
              tessera_format_bytes (study->layout->peak_live_bytes, live, sizeof live),
              study->layout->n_ooms > 0 ? ", died" : "");
  g_snprintf (titles->right, sizeof titles->right, "Plan");
  titles->right_sub[0] = '\0';
  if (study->plan != NULL)
    plan_subtitle (study, titles->right_sub, sizeof titles->right_sub);
  *out_figure = (TesseraFigure){
    .trace = study->trace,
    .blocks = sheet->regrouped != NULL ? &sheet->regrouped->blocks : study->blocks,
    .groups = sheet->regrouped != NULL ? sheet->regrouped->groups : NULL,
    .n_groups = sheet->regrouped != NULL ? sheet->regrouped->n_groups : 0,
    .structure = study->structure,
    .left = study->layout,
    .right = study->planned,
    .left_title = titles->left,
    .left_subtitle = titles->left_sub,
    .right_title = titles->right,
    .right_subtitle = titles->right_sub,
    .plan = study->plan,
    .verdict = verdict,
    .needs = &study->needs,
    .axis = sheet->axis,
    .colour = sheet->colour,
    .dark = sheet->dark,
    .stacked = sheet->stacked,
  };
}

static cairo_status_t
append_bytes (void *closure, const unsigned char *data, unsigned int n_data)
{
  g_byte_array_append (closure, data, n_data);
  return CAIRO_STATUS_SUCCESS;
}

static TesseraStatus
draw (const TesseraFigure *figure,
      const CliSheet *sheet,
      cairo_surface_t *surface,
      TesseraError *error)
{
  cairo_t *cr = cairo_create (surface);
  TesseraStatus status =
      tessera_figure_draw (figure, cr, sheet->width, sheet->height, sheet->scale, error);
  cairo_destroy (cr);
  if (status == TESSERA_OK && cairo_surface_status (surface) != CAIRO_STATUS_SUCCESS)
    status = tessera_fail (error, TESSERA_NO_MEMORY, "the picture could not be drawn: %s",
                           cairo_status_to_string (cairo_surface_status (surface)));
  return status;
}

TesseraStatus
cli_sheet_png (const TesseraFigure *figure,
               const CliSheet *sheet,
               GBytes **out_png,
               TesseraError *error)
{
  cairo_surface_t *surface =
      cairo_image_surface_create (CAIRO_FORMAT_RGB24, (int) (sheet->width * sheet->scale),
                                  (int) (sheet->height * sheet->scale));
  cairo_surface_set_device_scale (surface, sheet->scale, sheet->scale);
  TesseraStatus status = draw (figure, sheet, surface, error);
  if (status == TESSERA_OK)
    {
      GByteArray *bytes = g_byte_array_new ();
      cairo_surface_write_to_png_stream (surface, append_bytes, bytes);
      *out_png = g_byte_array_free_to_bytes (bytes);
    }
  cairo_surface_destroy (surface);
  return status;
}

TesseraStatus
cli_sheet_svg (const TesseraFigure *figure,
               const CliSheet *sheet,
               GBytes **out_svg,
               TesseraError *error)
{
  GByteArray *bytes = g_byte_array_new ();
  cairo_surface_t *surface = cairo_svg_surface_create_for_stream (
      append_bytes, bytes, sheet->width, sheet->height);
  TesseraStatus status = draw (figure, sheet, surface, error);
  cairo_surface_finish (surface);
  cairo_surface_destroy (surface);
  *out_svg = g_byte_array_free_to_bytes (bytes);
  if (status != TESSERA_OK)
    g_clear_pointer (out_svg, g_bytes_unref);
  return status;
}
