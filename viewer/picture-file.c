/*
 * What is on screen as a file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/picture-file.h"

#include "picture/figure.h"
#include "viewer/describe.h"

#include <cairo-svg.h>

#define WIDTH 1600
#define HEIGHT 1000
#define PNG_SCALE 2 /* pixels a unit: sharp in print and on dense screens */

static TesseraFigure
figure_of (TesseraDocument *document, gboolean stacked)
{
  const TesseraSheet *left = document->sheets[TESSERA_SIDE_LEFT];
  const TesseraSheet *right = document->sheets[TESSERA_SIDE_RIGHT];

  return (TesseraFigure){
    .trace = document->data->trace,
    .blocks = document->data->blocks,
    .structure = document->data->structure,
    .left = left->layout,
    .right = right != NULL ? right->layout : NULL,
    .left_title = "PyTorch",
    .left_subtitle = tessera_layout_kind_name (document->left_kind),
    .right_title = "Plan",
    .right_subtitle = "",
    .plan = document->planned != NULL ? document->planned->plan : NULL,
    .verdict = &document->verdict,
    .needs = &document->needs,
    .axis = document->axis_kind,
    .colour = document->colour_key,
    .dark = document->dark,
    .stacked = stacked,
  };
}

static TesseraStatus
draw (const TesseraFigure *figure,
      cairo_surface_t *surface,
      double scale,
      TesseraError *error)
{
  cairo_t *cr = cairo_create (surface);
  TesseraStatus status = tessera_figure_draw (figure, cr, WIDTH, HEIGHT, scale, error);

  cairo_destroy (cr);
  return status;
}

TesseraStatus
tessera_picture_save (TesseraDocument *document,
                      gboolean stacked,
                      const char *path,
                      TesseraError *error)
{
  gboolean svg = g_str_has_suffix (path, ".svg");
  cairo_surface_t *surface;
  cairo_status_t written;
  TesseraFigure figure;
  TesseraStatus status;

  if (document->sheets[TESSERA_SIDE_LEFT] == NULL)
    return tessera_fail (error, TESSERA_INVALID,
                         "There is nothing to save: open a trace first.");
  figure = figure_of (document, stacked);
  if (svg)
    surface = cairo_svg_surface_create (path, WIDTH, HEIGHT);
  else
    surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, WIDTH * PNG_SCALE,
                                          HEIGHT * PNG_SCALE);
  if (!svg)
    cairo_surface_set_device_scale (surface, PNG_SCALE, PNG_SCALE);
  status = draw (&figure, surface, svg ? 1 : PNG_SCALE, error);
  /* An SVG is written as it is finished; of a finished image nothing can be read. */
  if (svg)
    cairo_surface_finish (surface);
  written = cairo_surface_status (surface);
  if (status == TESSERA_OK && !svg && written == CAIRO_STATUS_SUCCESS)
    written = cairo_surface_write_to_png (surface, path);
  cairo_surface_destroy (surface);
  if (status == TESSERA_OK && written != CAIRO_STATUS_SUCCESS)
    status = tessera_fail (error, TESSERA_IO,
                           "%s could not be written (%s): choose another place.", path,
                           cairo_status_to_string (written));
  return tessera_explain (status, error, "drawing the picture");
}
