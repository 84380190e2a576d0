/*
 * Pictures of real traces: opened, laid out as recorded, planned, drawn. TESSERA_PICTURES=folder
 * keeps the pictures for looking at.
 *
 * figures: what must hold on any trace: each placed block has its rectangle and is hit at its
 * middle, rows are no higher than what is reserved needs, every key draws.
 *
 * golden: the samples' pictures against ones that were looked at, tests/golden/. Only what is
 * drawn from data, no text, so that fonts and cairo's version do not matter. A change that is
 * meant: TESSERA_GOLDEN=write, look at the pictures, commit them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <cairo.h>
#include <glib.h>

#include "picture/figure.h"
#include "planner/planner.h"
#include "recorder/import/import.h"
#include "simulator/simulate.h"

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraLayout *left, *right;
  TesseraPlan *plan;
  TesseraWhose whose; /* of what is left */
} Stage;

static TesseraLayout *
simulate (const Stage *stage, TesseraLayoutKind kind)
{
  TesseraSimulateOptions options = {
    .kind = kind, .plan = stage->plan, .first_step = -1, .last_step = -1
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
stage_new (const char *path)
{
  Stage *stage = g_new0 (Stage, 1);
  TesseraError error = { 0 };
  TesseraOpenOptions open = { .device = TESSERA_NONE };
  TesseraPlanOptions plan = { .first_step = -1, .last_step = -1 };
  TesseraStatus status = tessera_open (path, &open, &error, &stage->trace);
  g_assert_cmpstr (error.text, ==, "");
  g_assert_cmpint (status, ==, TESSERA_OK);
  stage->blocks = tessera_blocks_new (stage->trace);
  stage->structure = tessera_structure_new (stage->trace, stage->blocks);
  stage->left = simulate (stage, TESSERA_LAYOUT_RECORDED);
  status = tessera_plan_trace (stage->trace, stage->blocks, stage->structure, &plan,
                               &error, &stage->plan);
  g_assert_cmpstr (error.text, ==, "");
  g_assert_cmpint (status, ==, TESSERA_OK);
  stage->right = simulate (stage, TESSERA_LAYOUT_PLAN);
  stage->whose = (TesseraWhose){ .trace = stage->trace,
                                 .blocks = stage->blocks,
                                 .structure = stage->structure,
                                 .layout = stage->left };
  g_assert_cmpint (tessera_whose_find (&stage->whose, NULL, path, &error), ==,
                   TESSERA_OK);
  return stage;
}

static void
stage_free (Stage *stage)
{
  tessera_whose_clear (&stage->whose);
  tessera_layout_free (stage->left);
  tessera_layout_free (stage->right);
  tessera_plan_free (stage->plan);
  tessera_structure_free (stage->structure);
  tessera_blocks_free (stage->blocks);
  tessera_trace_free (stage->trace);
  g_free (stage);
}

static void
check_scene (const Stage *stage, const TesseraLayout *layout)
{
  TesseraAxis *axis;
  TesseraScene *scene;
  axis = tessera_axis_new (stage->trace, stage->blocks, TESSERA_AXIS_BYTES_MOVED);
  scene = tessera_scene_new (stage->blocks, layout, axis);
  double height = (double) tessera_scene_height_bytes (scene);
  g_assert_cmpfloat (height, <, 1.5 * (double) layout->peak_reserved_bytes);
  size_t n_missed = 0;
  for (uint32_t i = 0; i < stage->blocks->n_blocks; i++)
    {
      TesseraView r;
      if (layout->addr[i] == TESSERA_NOWHERE)
        continue;
      g_assert_true (tessera_scene_block_rect (scene, i, &r));
      n_missed +=
          tessera_scene_block_at (scene, (r.t0 + r.t1) / 2, (r.y0 + r.y1) / 2) != i;
    }
  g_assert_cmpuint (n_missed, ==, 0);
  tessera_scene_free (scene);
  tessera_axis_free (axis);
}

static void
draw (const TesseraFigure *figure, int width, int height, const char *name)
{
  cairo_surface_t *surface =
      cairo_image_surface_create (CAIRO_FORMAT_RGB24, width, height);
  cairo_t *cr = cairo_create (surface);
  TesseraError error = { 0 };
  TesseraStatus status = tessera_figure_draw (figure, cr, width, height, 1.0, &error);
  g_assert_cmpstr (error.text, ==, "");
  g_assert_cmpint (status, ==, TESSERA_OK);
  cairo_destroy (cr);
  const char *folder = g_getenv ("TESSERA_PICTURES");
  if (folder != NULL)
    {
      char *path = g_strdup_printf ("%s/%s.png", folder, name);
      cairo_surface_write_to_png (surface, path);
      g_free (path);
    }
  cairo_surface_destroy (surface);
}

static void
draw_all (const Stage *stage, const char *name)
{
  TesseraNeeds needs = { .plan_bytes = stage->plan->height_bytes,
                         .bound_bytes = stage->plan->bound_bytes };
  TesseraVerdict verdict;
  uint32_t at = stage->left->n_ooms > 0
                    ? stage->left->ooms[stage->left->n_ooms - 1].event_index
                    : stage->left->peak_reserved_index;
  const TesseraParts parts =
      tessera_parts_at (stage->trace, stage->blocks, stage->left, at);
  tessera_verdict (stage->trace, stage->left, &parts, &needs, &verdict);
  TesseraFigure figure = { .trace = stage->trace,
                           .blocks = stage->blocks,
                           .structure = stage->structure,
                           .whose = &stage->whose,
                           .left = stage->left,
                           .right = stage->right,
                           .left_title = "PyTorch, as recorded",
                           .right_title = "Plan",
                           .right_subtitle = stage->plan->strategy,
                           .plan = stage->plan,
                           .verdict = &verdict,
                           .needs = &needs,
                           .colour = TESSERA_COLOUR_CLASS };
  draw (&figure, 1600, 1000, name);
  for (int key = 0; key < TESSERA_N_COLOUR_KEYS; key++)
    {
      char *named = g_strdup_printf ("%s-%d", name, key);
      figure.colour = (TesseraColourKey) key;
      figure.dark = key % 2 == 0;
      draw (&figure, 1280, 720, named);
      g_free (named);
    }
}

static void
test_real (const void *data)
{
  const char *name = data;
  bool is_ours = g_str_has_prefix (name, "samples/");
  const char *folder = g_getenv (is_ours ? "TESSERA_SOURCE_ROOT" : "TESSERA_SHARED_DATA");
  char *path = g_build_filename (folder != NULL ? folder : "", name, NULL);
  if (!is_ours && (folder == NULL || !g_file_test (path, G_FILE_TEST_EXISTS)))
    {
      char *text = g_strdup_printf ("%s is not there", path);
      g_test_skip (text);
      g_free (text);
    }
  else
    {
      Stage *stage = stage_new (path);
      char *base = g_path_get_basename (name);
      base[strcspn (base, ".")] = '\0';
      check_scene (stage, stage->left);
      check_scene (stage, stage->right);
      draw_all (stage, base);
      g_free (base);
      stage_free (stage);
    }
  g_free (path);
}

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
draw_golden (const Stage *stage, const Golden *golden)
{
  const TesseraLayout *layout = golden->planned ? stage->right : stage->left;
  cairo_surface_t *surface =
      cairo_image_surface_create (CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
  TesseraColouring *colouring;
  TesseraScene *scene;
  TesseraAxis *axis;

  axis = tessera_axis_new (stage->trace, stage->blocks, TESSERA_AXIS_BYTES_MOVED);
  scene = tessera_scene_new (stage->blocks, layout, axis);
  colouring = tessera_colouring_new (&stage->whose, stage->blocks, NULL, 0,
                                     TESSERA_COLOUR_CLASS, golden->dark);
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
  cairo_surface_t *found = draw_golden (stage, golden);

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
  static const char *const traces[][2] = {
    { "/figures/finetune-oom", "samples/finetune-oom.pickle.gz" },
    { "/figures/pretrain-gpt", "sample/pretrain-gpt.pickle" },
    { "/figures/fsdp1", "samples/fsdp1-7b-rank3of16.pickle.gz" },
  };

  g_test_init (&argc, &argv, NULL);
  for (size_t i = 0; i < G_N_ELEMENTS (traces); i++)
    g_test_add_data_func (traces[i][0], traces[i][1], test_real);
  for (size_t i = 0; i < G_N_ELEMENTS (goldens); i++)
    {
      g_autofree char *path = g_strdup_printf ("/golden/%s", goldens[i].name);
      g_test_add_data_func (path, &goldens[i], test_golden);
    }
  return g_test_run ();
}
