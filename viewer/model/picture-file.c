/*
 * What is on screen as a file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "picture/figure.h"

#include <cairo-svg.h>

#define WIDTH 1600
#define HEIGHT 1000
#define PNG_SCALE 2 /* pixels a unit: sharp in print and on dense screens */

/* "edited: Pin ... ; Keep ...", or "". */
static char *
name_edits (const TesseraFollowed *planned)
{
  GString *text = g_string_new (NULL);

  for (size_t i = 0; planned != NULL && i < planned->plan->n_edits; i++)
    g_string_append_printf (text, "%s%s", i == 0 ? "edited: " : "; ",
                            planned->plan->edits[i].name);
  return g_string_free (text, FALSE);
}

static TesseraFigure
figure_of (const TesseraSaveInput *input, const char *edits)
{
  const TesseraSheet *left = input->sheets[TESSERA_SIDE_LEFT];
  const TesseraSheet *right = input->sheets[TESSERA_SIDE_RIGHT];

  return (TesseraFigure){
    .trace = input->data->trace,
    .blocks = input->data->blocks,
    .structure = input->data->structure,
    .groups = input->data->groups,
    .n_groups = input->data->n_groups,
    .left = left->layout,
    .right = right != NULL ? right->layout : NULL,
    .left_title = left->planned != NULL ? "Plan" : tessera_layout_owner (left->layout),
    .left_subtitle = tessera_layout_kind_name (left->layout->kind),
    .right_title = "Plan",
    .right_subtitle = edits,
    .plan = input->planned != NULL ? input->planned->plan : NULL,
    .verdict = &input->verdict,
    .needs = &input->needs,
    .axis = left->axis->kind,
    .colour = input->colour_key,
    .dark = input->dark,
    .stacked = input->stacked,
  };
}

static cairo_status_t
append (void *closure, const unsigned char *data, unsigned int length)
{
  g_byte_array_append (closure, data, length);
  return CAIRO_STATUS_SUCCESS;
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
tessera_picture_save (const TesseraSaveInput *input,
                      const TesseraProgress *progress,
                      TesseraError *error)
{
  gboolean svg = g_str_has_suffix (input->path, ".svg");
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_autofree char *edits = NULL;
  cairo_surface_t *surface;
  cairo_status_t drawn;
  TesseraFigure figure;
  TesseraStatus status;

  if (input->sheets[TESSERA_SIDE_LEFT] == NULL)
    return tessera_fail (error, TESSERA_INVALID,
                         "There is nothing to save: open a trace first.");
  edits = name_edits (input->planned);
  figure = figure_of (input, edits);
  if (svg)
    surface = cairo_svg_surface_create_for_stream (append, bytes, WIDTH, HEIGHT);
  else
    surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, WIDTH * PNG_SCALE,
                                          HEIGHT * PNG_SCALE);
  if (!svg)
    cairo_surface_set_device_scale (surface, PNG_SCALE, PNG_SCALE);
  status = draw (&figure, surface, svg ? 1 : PNG_SCALE, error);
  if (status == TESSERA_OK && !progress->report (progress->user, 0.6))
    status = TESSERA_CANCELLED;
  /* An SVG is written as it is finished; of a finished image nothing can be read. */
  if (svg)
    cairo_surface_finish (surface);
  drawn = cairo_surface_status (surface);
  if (status == TESSERA_OK && !svg && drawn == CAIRO_STATUS_SUCCESS)
    drawn = cairo_surface_write_to_png_stream (surface, append, bytes);
  cairo_surface_destroy (surface);
  if (status == TESSERA_OK && drawn != CAIRO_STATUS_SUCCESS)
    status = tessera_fail (error, TESSERA_NO_MEMORY,
                           "The picture could not be drawn (%s): close other programs.",
                           cairo_status_to_string (drawn));
  if (status == TESSERA_OK)
    status = tessera_save_bytes (input->path, bytes->data, bytes->len, progress, error);
  return tessera_explain (status, error, "drawing the picture");
}
