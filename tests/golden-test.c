/*
 * The samples' pictures against ones that were looked at: tests/golden/. Only what is
 * drawn from data, no text, so that fonts and cairo's version do not matter.
 *
 * A change that is meant: TESSERA_GOLDEN=write, look at the pictures, commit them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/stage.h"

#include <cairo.h>
#include <glib.h>

#include "picture/scene.h"

enum
{
  WIDTH = 480,
  HEIGHT = 300,
  /* Of 255: rounding of floating point may differ by a level or two between machines. */
  LEVEL_TOLERANCE = 3
};

typedef struct
{
  const char *sample;
  const char *name;
  bool planned;
  bool dark;
  TesseraView part; /* of the axis and of the height, 0..1 */
} Golden;

static const Golden goldens[] = {
  { "finetune-oom.pickle.gz", "finetune-recorded", false, false, { 0, 1, 0, 1 } },
  { "finetune-oom.pickle.gz", "finetune-plan", true, true, { 0, 1, 0, 1 } },
  { "fsdp1-7b-rank3of16.pickle.gz", "fsdp1-recorded", false, true, { 0, 1, 0, 1 } },
  { "fsdp1-7b-rank3of16.pickle.gz",
    "fsdp1-zoomed",
    false,
    false,
    { 0.4, 0.45, 0.5, 0.8 } },
};

static cairo_surface_t *
draw (const Stage *stage, const Golden *golden)
{
  const TesseraLayout *layout = golden->planned ? stage->right : stage->left;
  cairo_surface_t *surface =
      cairo_image_surface_create (CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
  TesseraColouring *colouring;
  TesseraScene *scene;
  TesseraAxis *axis;

  axis = tessera_axis_new (stage->trace, stage->blocks, TESSERA_AXIS_BYTES_MOVED);
  scene = tessera_scene_new (stage->blocks, layout, axis);
  colouring = tessera_colouring_new (stage->trace, stage->blocks, stage->structure, NULL,
                                     0, NULL, TESSERA_COLOUR_CLASS, golden->dark);
  double height = (double) tessera_scene_height_bytes (scene);
  const TesseraView view = { golden->part.t0, golden->part.t1, golden->part.y0 * height,
                             golden->part.y1 * height };
  const TesseraInk ink = { .block_rgb = colouring->block_rgb,
                           .background_rgb = golden->dark ? 0x1e2024 : 0xffffff,
                           .reserved_rgb = golden->dark ? 0x2a2d33 : 0xf0f1f4,
                           .hatch_rgb = golden->dark ? 0x4a4e57 : 0xc9ccd3,
                           .edge_rgb = golden->dark ? 0x5a5f69 : 0xb4b8c0 };
  cairo_surface_flush (surface);
  tessera_scene_render (
      scene, &view, &ink, (uint32_t *) (void *) cairo_image_surface_get_data (surface),
      (size_t) cairo_image_surface_get_stride (surface) / 4, WIDTH, HEIGHT, 0, 0);
  cairo_surface_mark_dirty (surface);
  tessera_colouring_free (colouring);
  tessera_scene_free (scene);
  tessera_axis_free (axis);
  return surface;
}

static const unsigned char *
row_of (cairo_surface_t *surface, int y)
{
  return cairo_image_surface_get_data (surface) +
         (size_t) y * (size_t) cairo_image_surface_get_stride (surface);
}

static void
compare (cairo_surface_t *found, cairo_surface_t *expected, const char *name)
{
  size_t n_different = 0;

  g_assert_cmpint (cairo_surface_status (expected), ==, CAIRO_STATUS_SUCCESS);
  g_assert_cmpint (cairo_image_surface_get_width (expected), ==, WIDTH);
  g_assert_cmpint (cairo_image_surface_get_height (expected), ==, HEIGHT);
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH * 4; x++)
      if (x % 4 != 3 &&
          ABS (row_of (found, y)[x] - row_of (expected, y)[x]) > LEVEL_TOLERANCE)
        {
          n_different++;
          break;
        }
  if (n_different > 0)
    g_test_message ("%s differs from tests/golden in %zu of %d rows", name, n_different,
                    HEIGHT);
  g_assert_cmpuint (n_different, ==, 0);
}

static void
test_golden (const void *data)
{
  const Golden *golden = data;
  const char *root = g_getenv ("TESSERA_SOURCE_ROOT");
  g_autofree char *sample = g_build_filename (root, "samples", golden->sample, NULL);
  g_autofree char *file = g_strdup_printf ("%s.png", golden->name);
  g_autofree char *picture = g_build_filename (root, "tests", "golden", file, NULL);
  Stage *stage = stage_new (sample);
  cairo_surface_t *found = draw (stage, golden);

  if (g_strcmp0 (g_getenv ("TESSERA_GOLDEN"), "write") == 0)
    g_assert_cmpint (cairo_surface_write_to_png (found, picture), ==,
                     CAIRO_STATUS_SUCCESS);
  cairo_surface_t *expected = cairo_image_surface_create_from_png (picture);
  compare (found, expected, golden->name);
  cairo_surface_destroy (expected);
  cairo_surface_destroy (found);
  stage_free (stage);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (size_t i = 0; i < G_N_ELEMENTS (goldens); i++)
    {
      g_autofree char *path = g_strdup_printf ("/golden/%s", goldens[i].name);
      g_test_add_data_func (path, &goldens[i], test_golden);
    }
  return g_test_run ();
}
