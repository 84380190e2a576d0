/*
 * Pictures of real traces: imported, laid out, planned where a planner is at hand, drawn.
 * TESSERA_PICTURES=folder keeps the pictures for looking at.
 *
 * Checks what must hold on any trace: the legend sums to the peak of live, each placed
 * block has its rectangle and is hit at its middle, rows are no higher than what is
 * reserved needs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/stage.h"

#include "picture/figure.h"

#include <glib.h>
#include <stdio.h>

static void
check_scene (const Stage *stage, const TesseraLayout *layout)
{
  TesseraAxis *axis;
  TesseraScene *scene;
  gint64 from = g_get_monotonic_time ();
  axis = tessera_axis_new (stage->trace, stage->blocks, TESSERA_AXIS_BYTES_MOVED);
  scene = tessera_scene_new (stage->blocks, layout, axis);
  double height = (double) tessera_scene_height_bytes (scene);
  g_test_message ("scene %.0f ms, %zu spans, height %.3f x reserved",
                  (double) (g_get_monotonic_time () - from) / 1000.0, layout->n_spans,
                  height / (double) layout->peak_reserved_bytes);
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/figures/finetune-oom", "samples/finetune-oom.pickle.gz",
                        test_real);
  g_test_add_data_func ("/figures/pretrain-gpt", "sample/pretrain-gpt.pickle", test_real);
  g_test_add_data_func ("/figures/fsdp1", "samples/fsdp1-7b-rank3of16.pickle.gz",
                        test_real);
  return g_test_run ();
}
