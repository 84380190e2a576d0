/*
 * Pictures of real traces: opened, laid out as recorded, planned, drawn. TESSERA_PICTURES=folder
 * keeps the pictures for looking at.
 *
 * figures: what must hold on any trace: each placed block has its rectangle and is hit at its
 * middle, rows are no higher than what is reserved needs; every size, theme, key and arrangement
 * draws, says what it should with ink, and what cannot be drawn is refused.
 *
 * golden: the samples' pictures against ones that were looked at, tests/golden/. Only what is
 * drawn from data, no text, so that fonts and cairo's version do not matter. A change that is
 * meant: TESSERA_GOLDEN=write, look at the pictures, commit them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <cairo-svg.h>
#include <glib.h>

#include "picture/figure.h"
#include "planner/planner.h"
#include "recorder/import/import.h"
#include "simulator/simulate.h"
#include "tests/ok.h"
#include "tests/simulator/made-case.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraAxis, tessera_axis_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraColouring, tessera_colouring_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraScene, tessera_scene_free)

typedef struct
{
  Case of;
  TesseraLayout *left, *right;
  TesseraPlan *plan;
  TesseraWhose whose; /* of what is left */
} Stage;

static Stage *
stage_new (const char *path)
{
  const TesseraSimulateOptions recorded = { .kind = TESSERA_LAYOUT_RECORDED };
  const TesseraOpenOptions open = { .device = TESSERA_NONE };
  Stage *stage = g_new0 (Stage, 1);
  TesseraTrace *trace;

  WORKS (error, tessera_open (path, &open, &error, &trace));
  stage->of = case_new (trace);
  stage->left = case_simulate (&stage->of, &recorded);
  stage->plan = case_plan (&stage->of, NULL);
  stage->right = case_follow (&stage->of, stage->plan);
  stage->whose = (TesseraWhose){ .trace = trace,
                                 .blocks = stage->of.blocks,
                                 .structure = stage->of.structure,
                                 .layout = stage->left };
  WORKS (error, tessera_whose_find (&stage->whose, NULL, path, &error));
  return stage;
}

static void
stage_free (Stage *stage)
{
  tessera_whose_clear (&stage->whose);
  tessera_layout_free (stage->left);
  tessera_layout_free (stage->right);
  tessera_plan_free (stage->plan);
  case_clear (&stage->of);
  g_free (stage);
}

static void
check_scene (const Stage *stage, const TesseraLayout *layout)
{
  g_autoptr (TesseraAxis) axis =
      tessera_axis_new (stage->of.trace, stage->of.blocks, TESSERA_AXIS_BYTES_MOVED);
  g_autoptr (TesseraScene) scene = tessera_scene_new (stage->of.blocks, layout, axis);
  double height = (double) tessera_scene_height_bytes (scene);
  g_assert_cmpfloat (height, <, 1.5 * (double) layout->peak_reserved_bytes);
  size_t n_missed = 0;
  for (uint32_t i = 0; i < stage->of.blocks->n_blocks; i++)
    {
      TesseraView r;
      if (layout->addr[i] == TESSERA_NOWHERE)
        continue;
      g_assert_true (tessera_scene_block_rect (scene, i, &r));
      n_missed +=
          tessera_scene_block_at (scene, (r.t0 + r.t1) / 2, (r.y0 + r.y1) / 2) != i;
    }
  g_assert_cmpuint (n_missed, ==, 0);
}

typedef struct
{
  TesseraFigure figure;
  TesseraNeeds needs;
  TesseraVerdict verdict;
} Sheet;

/* Of @stage: what is on a sheet where nobody chose. */
static void
sheet_init (Sheet *sheet, const Stage *stage)
{
  const uint32_t at = stage->left->n_ooms > 0
                          ? stage->left->ooms[stage->left->n_ooms - 1].event_index
                          : stage->left->peak_reserved_index;
  const TesseraParts parts =
      tessera_parts_at (stage->of.trace, stage->of.blocks, stage->left, at);

  sheet->needs = (TesseraNeeds){ .native_bytes = UINT64_C (90) << 30,
                                 .plan_bytes = stage->plan->height_bytes,
                                 .bound_bytes = stage->plan->bound_bytes };
  tessera_verdict (stage->of.trace, stage->left, &parts, &sheet->needs, &sheet->verdict);
  sheet->figure = (TesseraFigure){ .blocks = stage->of.blocks,
                                   .whose = &stage->whose,
                                   .left = stage->left,
                                   .right = stage->right,
                                   .left_title = "PyTorch, as recorded",
                                   .right_title = "Plan",
                                   .right_subtitle = stage->plan->strategy,
                                   .plan = stage->plan,
                                   .verdict = &sheet->verdict,
                                   .needs = &sheet->needs,
                                   .colour = TESSERA_COLOUR_PHASE };
}

static cairo_surface_t *
draw (const TesseraFigure *figure, int width, int height, double scale, const char *name)
{
  cairo_surface_t *surface = cairo_image_surface_create (
      CAIRO_FORMAT_RGB24, (int) (width * scale), (int) (height * scale));
  cairo_t *cr = cairo_create (surface);
  cairo_scale (cr, scale, scale);
  WORKS (error, tessera_figure_draw (figure, cr, width, height, scale, &error));
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  const char *folder = g_getenv ("TESSERA_PICTURES");
  if (folder != NULL)
    {
      g_autofree char *path =
          g_strdup_printf ("%s/%s-%dx%d.png", folder, name, width, height);
      cairo_surface_write_to_png (surface, path);
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

/* All sizes, themes, keys, axes and arrangements: nothing is drawn over the edge. */
static void
draw_all (const Stage *stage, const char *name)
{
  static const int sizes[][2] = { { 1600, 1000 }, { 1280, 720 }, { 900, 600 } };
  Sheet sheet;
  TesseraFigure *figure = &sheet.figure;
  TesseraWhose whose = stage->whose;

  sheet_init (&sheet, stage);
  for (int i = 0; i < TESSERA_N_COLOUR_KEYS + 2; i++)
    {
      const int *size = sizes[i % 3];
      g_autofree char *named = g_strdup_printf ("%s-%d", name, i);

      figure->colour = (TesseraColourKey) (i % TESSERA_N_COLOUR_KEYS);
      figure->axis = (TesseraAxisKind) (i % 2);
      figure->dark = i / 3 % 2 == 0;
      figure->stacked = i > TESSERA_N_COLOUR_KEYS;
      cairo_surface_t *surface = draw (figure, size[0], size[1], 1.0, named);
      check_margins (surface);
      cairo_surface_destroy (surface);
    }
  figure->right = NULL;
  figure->verdict = NULL;
  figure->needs = NULL;
  whose.structure = NULL;
  figure->whose = &whose;
  figure->left_title = NULL;
  cairo_surface_destroy (draw (figure, 700, 420, 2.0, "least"));
}

/* The failed request is red at its size; forward's colour is on both canvases. */
static void
check_ink (const Stage *stage)
{
  const cairo_rectangle_int_t left = { 280, 160, 600, 600 },
                              right = { 940, 160, 620, 600 };
  const uint32_t forward = tessera_colour_of_name ("forward", false);
  Sheet sheet;

  sheet_init (&sheet, stage);
  cairo_surface_t *surface = draw (&sheet.figure, 1600, 1000, 1.0, "ink");
  g_assert_cmpint (count_rgb (surface, left, forward), >, 500);
  g_assert_cmpint (count_rgb (surface, right, forward), >, 500);
  if (stage->left->n_ooms > 0)
    g_assert_cmpint (count_rgb (surface, left, 0xc01c28), >, 500);
  cairo_surface_destroy (surface);
}

static cairo_status_t
count_bytes (void *closure, const unsigned char *data, unsigned int length)
{
  *(size_t *) closure += length;
  return CAIRO_STATUS_SUCCESS;
}

static void
check_svg (const Stage *stage)
{
  Sheet sheet;
  size_t n_bytes = 0;
  sheet_init (&sheet, stage);
  cairo_surface_t *surface =
      cairo_svg_surface_create_for_stream (count_bytes, &n_bytes, 1280, 720);
  cairo_t *cr = cairo_create (surface);
  WORKS (error, tessera_figure_draw (&sheet.figure, cr, 1280, 720, 2.0, &error));
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
  g_assert_cmpuint (n_bytes, >, 20000);
}

static void
check_refusals (const Stage *stage)
{
  Sheet sheet;
  sheet_init (&sheet, stage);
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, 10, 10);
  cairo_t *cr = cairo_create (surface);
  const double sizes[][3] = {
    { 100, 100, 1 }, { 1280, 720, 0 }, { 1280, 720, 1000 }, { 0.0 / 0.0, 720, 1 }
  };
  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      TesseraError error = { 0 };
      TesseraStatus status = tessera_figure_draw (&sheet.figure, cr, sizes[i][0],
                                                  sizes[i][1], sizes[i][2], &error);
      g_assert_cmpint (status, ==, TESSERA_INVALID);
      g_assert_cmpstr (error.text, !=, "");
    }
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
}

static void
test_real (const void *data)
{
  const char *name = data;
  bool is_ours = g_str_has_prefix (name, "samples/");
  const char *folder = g_getenv (is_ours ? "TESSERA_SOURCE_ROOT" : "TESSERA_SHARED_DATA");
  g_autofree char *path = g_build_filename (folder != NULL ? folder : "", name, NULL);
  if (!is_ours && (folder == NULL || !g_file_test (path, G_FILE_TEST_EXISTS)))
    {
      g_autofree char *text = g_strdup_printf ("%s is not there", path);
      g_test_skip (text);
    }
  else
    {
      Stage *stage = stage_new (path);
      g_autofree char *base = g_path_get_basename (name);
      base[strcspn (base, ".")] = '\0';
      check_scene (stage, stage->left);
      check_scene (stage, stage->right);
      draw_all (stage, base);
      check_ink (stage);
      check_svg (stage);
      check_refusals (stage);
      stage_free (stage);
    }
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

  g_autoptr (TesseraAxis) axis =
      tessera_axis_new (stage->of.trace, stage->of.blocks, TESSERA_AXIS_BYTES_MOVED);
  g_autoptr (TesseraScene) scene = tessera_scene_new (stage->of.blocks, layout, axis);
  g_autoptr (TesseraColouring) colouring = tessera_colouring_new (
      &stage->whose, stage->of.blocks, NULL, 0, TESSERA_COLOUR_CLASS, golden->dark);
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
