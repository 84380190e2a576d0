/*
 * Whole sheets: every size, theme and arrangement draws, says what it should with ink,
 * and refuses what it can't do. TESSERA_PICTURES=folder keeps the pictures for looking
 * at.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/figure.h"
#include "picture/made-trace.h"
#include "simulator/simulate.h"

#include <cairo-svg.h>
#include <glib.h>

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraLayout *left, *right;
  TesseraWhose whose;
  TesseraVerdict verdict;
  TesseraNeeds needs;
} Stage;

static TesseraLayout *
simulate (const Stage *stage, TesseraLayoutKind kind, uint64_t device_bytes)
{
  TesseraSimulateOptions options = {
    .kind = kind, .device_bytes = device_bytes, .first_step = -1, .last_step = -1
  };
  TesseraError error = { 0 };
  TesseraLayout *layout = NULL;
  TesseraStatus status = tessera_simulate (stage->trace, stage->blocks, stage->structure,
                                           &options, &error, &layout);
  g_assert_cmpstr (error.text, ==, "");
  g_assert_cmpint (status, ==, TESSERA_OK);
  return layout;
}

static Stage *
stage_new (void)
{
  Stage *stage = g_new0 (Stage, 1);
  stage->trace = made_trace_new ();
  stage->blocks = tessera_blocks_new (stage->trace);
  stage->structure = tessera_structure_new (stage->trace, stage->blocks);
  stage->left = simulate (stage, TESSERA_LAYOUT_NATIVE, stage->trace->device_bytes);
  stage->right = simulate (stage, TESSERA_LAYOUT_EXPANDABLE, 0);
  stage->whose = (TesseraWhose){ .trace = stage->trace,
                                 .blocks = stage->blocks,
                                 .structure = stage->structure,
                                 .layout = stage->left };
  g_assert_cmpint (tessera_whose_find (&stage->whose, NULL, "", NULL), ==, TESSERA_OK);
  uint32_t at;
  stage->needs =
      (TesseraNeeds){ UINT64_C (18) << 30, stage->right->peak_reserved_bytes, 0,
                      tessera_blocks_bound (stage->blocks, 0, stage->blocks->n_events,
                                            &at) };
  uint32_t moment = stage->left->n_ooms > 0
                        ? stage->left->ooms[stage->left->n_ooms - 1].event_index
                        : stage->left->peak_reserved_index;
  const TesseraParts parts =
      tessera_parts_at (stage->trace, stage->blocks, stage->left, moment);
  tessera_verdict (stage->trace, stage->left, &parts, &stage->needs, &stage->verdict);
  return stage;
}

static void
stage_free (Stage *stage)
{
  tessera_whose_clear (&stage->whose);
  tessera_layout_free (stage->left);
  tessera_layout_free (stage->right);
  tessera_structure_free (stage->structure);
  tessera_blocks_free (stage->blocks);
  tessera_trace_free (stage->trace);
  g_free (stage);
}

static TesseraFigure
figure_of (const Stage *stage)
{
  return (TesseraFigure){ .trace = stage->trace,
                          .blocks = stage->blocks,
                          .structure = stage->structure,
                          .whose = &stage->whose,
                          .left = stage->left,
                          .right = stage->right,
                          .left_title = "Native",
                          .right_title = "Expandable segments",
                          .left_subtitle = "on 10 GiB",
                          .right_subtitle = "on a device without end",
                          .verdict = &stage->verdict,
                          .needs = &stage->needs,
                          .axis = TESSERA_AXIS_BYTES_MOVED,
                          .colour = TESSERA_COLOUR_PHASE };
}

static cairo_surface_t *
draw (const TesseraFigure *figure, int width, int height, double scale, const char *name)
{
  cairo_surface_t *surface = cairo_image_surface_create (
      CAIRO_FORMAT_RGB24, (int) (width * scale), (int) (height * scale));
  cairo_t *cr = cairo_create (surface);
  TesseraError error = { 0 };
  cairo_scale (cr, scale, scale);
  TesseraStatus status = tessera_figure_draw (figure, cr, width, height, scale, &error);
  g_assert_cmpstr (error.text, ==, "");
  g_assert_cmpint (status, ==, TESSERA_OK);
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  const char *folder = g_getenv ("TESSERA_PICTURES");
  if (folder != NULL)
    {
      char *path = g_strdup_printf ("%s/%s-%dx%d.png", folder, name, width, height);
      cairo_surface_write_to_png (surface, path);
      g_free (path);
    }
  return surface;
}

/* Pixels of exactly this colour within a part of the sheet. */
static int
count_rgb (cairo_surface_t *surface, cairo_rectangle_int_t part, uint32_t rgb)
{
  int stride = cairo_image_surface_get_stride (surface) / 4, n = 0;
  const uint32_t *pixels =
      (const uint32_t *) (void *) cairo_image_surface_get_data (surface);
  for (int y = part.y; y < part.y + part.height; y++)
    for (int x = part.x; x < part.x + part.width; x++)
      n += (pixels[y * stride + x] & 0xffffff) == rgb;
  return n;
}

/* The outermost pixels all around are plain: nothing was drawn over the edge. */
static void
check_margins (cairo_surface_t *surface)
{
  int width = cairo_image_surface_get_width (surface);
  int height = cairo_image_surface_get_height (surface);
  const uint32_t *pixels =
      (const uint32_t *) (void *) cairo_image_surface_get_data (surface);
  uint32_t sheet = pixels[0] & 0xffffff;
  cairo_rectangle_int_t left = { 0, 0, 12, height },
                        right = { width - 12, 0, 12, height };
  cairo_rectangle_int_t top = { 0, 0, width, 8 }, bottom = { 0, height - 4, width, 4 };
  g_assert_cmpint (count_rgb (surface, left, sheet), >=, 12 * height - 12);
  g_assert_cmpint (count_rgb (surface, right, sheet), >=, 12 * height - 12);
  g_assert_cmpint (count_rgb (surface, top, sheet), ==, 8 * width);
  g_assert_cmpint (count_rgb (surface, bottom, sheet), ==, 4 * width);
}

static void
test_sizes_and_themes (void)
{
  static const int sizes[][2] = { { 1600, 1000 }, { 1280, 720 }, { 900, 600 } };
  Stage *stage = stage_new ();
  TesseraFigure figure = figure_of (stage);
  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (int dark = 0; dark <= 1; dark++)
      {
        figure.dark = dark;
        cairo_surface_t *surface =
            draw (&figure, sizes[i][0], sizes[i][1], 1.0, dark ? "dark" : "light");
        check_margins (surface);
        cairo_surface_destroy (surface);
      }
  stage_free (stage);
}

/* The failed request is red at its size; forward's colour is on both canvases. */
static void
test_ink (void)
{
  Stage *stage = stage_new ();
  TesseraFigure figure = figure_of (stage);
  g_assert_cmpuint (stage->left->n_ooms, >, 0);
  cairo_surface_t *surface = draw (&figure, 1600, 1000, 1.0, "ink");
  cairo_rectangle_int_t left = { 280, 160, 600, 600 }, right = { 940, 160, 620, 600 };
  uint32_t forward = tessera_colour_of_name ("forward", false);
  g_assert_cmpint (count_rgb (surface, left, forward), >, 500);
  g_assert_cmpint (count_rgb (surface, right, forward), >, 500);
  g_assert_cmpint (count_rgb (surface, left, 0xc01c28), >, 500);
  cairo_surface_destroy (surface);
  stage_free (stage);
}

static void
test_arrangements (void)
{
  Stage *stage = stage_new ();
  TesseraFigure figure = figure_of (stage);
  for (int key = 0; key < TESSERA_N_COLOUR_KEYS; key++)
    {
      char name[32];
      figure.colour = (TesseraColourKey) key;
      figure.axis = (TesseraAxisKind) (key % 3);
      g_snprintf (name, sizeof name, "key-%s", tessera_colour_key_name (figure.colour));
      cairo_surface_destroy (draw (&figure, 1280, 720, 1.0, name));
    }
  figure.stacked = true;
  cairo_surface_t *stacked = draw (&figure, 1280, 900, 1.0, "stacked");
  check_margins (stacked);
  cairo_surface_destroy (stacked);
  figure.right = NULL;
  figure.verdict = NULL;
  figure.needs = NULL;
  figure.structure = NULL;
  figure.left_title = NULL;
  figure.right_title = NULL;
  cairo_surface_destroy (draw (&figure, 700, 420, 2.0, "least"));
  stage_free (stage);
}

static cairo_status_t
count_bytes (void *closure, const unsigned char *data, unsigned int length)
{
  *(size_t *) closure += length;
  return CAIRO_STATUS_SUCCESS;
}

static void
test_svg (void)
{
  Stage *stage = stage_new ();
  TesseraFigure figure = figure_of (stage);
  size_t n_bytes = 0;
  TesseraError error = { 0 };
  cairo_surface_t *surface =
      cairo_svg_surface_create_for_stream (count_bytes, &n_bytes, 1280, 720);
  cairo_t *cr = cairo_create (surface);
  g_assert_cmpint (tessera_figure_draw (&figure, cr, 1280, 720, 2.0, &error), ==,
                   TESSERA_OK);
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
  g_assert_cmpuint (n_bytes, >, 20000);
  stage_free (stage);
}

static void
test_refusals (void)
{
  Stage *stage = stage_new ();
  TesseraFigure figure = figure_of (stage);
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, 10, 10);
  cairo_t *cr = cairo_create (surface);
  const double sizes[][3] = {
    { 100, 100, 1 }, { 1280, 720, 0 }, { 1280, 720, 1000 }, { 0.0 / 0.0, 720, 1 }
  };
  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      TesseraError error = { 0 };
      TesseraStatus status = tessera_figure_draw (&figure, cr, sizes[i][0], sizes[i][1],
                                                  sizes[i][2], &error);
      g_assert_cmpint (status, ==, TESSERA_INVALID);
      g_assert_cmpstr (error.text, !=, "");
    }
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
  stage_free (stage);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/figure/sizes-and-themes", test_sizes_and_themes);
  g_test_add_func ("/figure/ink", test_ink);
  g_test_add_func ("/figure/arrangements", test_arrangements);
  g_test_add_func ("/figure/svg", test_svg);
  g_test_add_func ("/figure/refusals", test_refusals);
  return g_test_run ();
}
