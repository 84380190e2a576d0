/*
 * Each allocation of each call fails once: the call says so, leaves nothing behind and
 * leaks nothing. Drawing goes on without memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/curves.h"
#include "picture/figure.h"
#include "picture/made-layout.h"
#include "picture/made-trace.h"
#include "simulator/simulate.h"
#include "tests/fail_alloc.h"

#include <glib.h>
#include <stdlib.h>

#define SEED 99

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraLayout *layout;
  TesseraAxis *axis;
  TesseraColourKey key;
} Stage;

static void
stage_init (Stage *stage)
{
  const TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_NATIVE,
                                           .device_bytes = UINT64_C (10) << 30,
                                           .first_step = -1,
                                           .last_step = -1 };
  stage->trace = made_trace_new ();
  g_assert_cmpint (tessera_blocks_new (stage->trace, &stage->blocks), ==, TESSERA_OK);
  g_assert_cmpint (tessera_structure_new (stage->trace, stage->blocks, &stage->structure),
                   ==, TESSERA_OK);
  g_assert_cmpint (tessera_simulate (stage->trace, stage->blocks, stage->structure,
                                     &options, NULL, &stage->layout),
                   ==, TESSERA_OK);
  g_assert_cmpint (tessera_axis_new (stage->trace, stage->blocks,
                                     TESSERA_AXIS_BYTES_MOVED, &stage->axis),
                   ==, TESSERA_OK);
}

static void
stage_clear (Stage *stage)
{
  tessera_axis_free (stage->axis);
  tessera_layout_free (stage->layout);
  tessera_structure_free (stage->structure);
  tessera_blocks_free (stage->blocks);
  tessera_trace_free (stage->trace);
}

typedef TesseraStatus (*Call) (const Stage *stage);

static TesseraStatus
call_axis (const Stage *stage)
{
  TesseraAxis *axis;
  TesseraStatus status =
      tessera_axis_new (stage->trace, stage->blocks, TESSERA_AXIS_TIME, &axis);
  g_assert_true ((status == TESSERA_OK) == (axis != NULL));
  tessera_axis_free (axis);
  return status;
}

static TesseraStatus
call_fold (const Stage *stage)
{
  TesseraFold *fold;
  TesseraStatus status =
      tessera_fold_new (stage->layout->curves.live_bytes, stage->layout->n_events, &fold);
  g_assert_true ((status == TESSERA_OK) == (fold != NULL));
  tessera_fold_free (fold);
  return status;
}

static TesseraStatus
call_colouring (const Stage *stage)
{
  TesseraColouring *colouring;
  TesseraStatus status =
      tessera_colouring_new (stage->trace, stage->blocks, stage->structure, NULL, 0,
                             stage->key, true, &colouring);
  g_assert_true ((status == TESSERA_OK) == (colouring != NULL));
  tessera_colouring_free (colouring);
  return status;
}

static TesseraStatus
call_scene (const Stage *stage)
{
  TesseraScene *scene;
  TesseraStatus status =
      tessera_scene_new (stage->blocks, stage->layout, stage->axis, &scene);
  g_assert_true ((status == TESSERA_OK) == (scene != NULL));
  tessera_scene_free (scene);
  return status;
}

static TesseraStatus
call_query (const Stage *stage)
{
  TesseraScene *scene;
  TesseraStatus status =
      tessera_scene_new (stage->blocks, stage->layout, stage->axis, &scene);
  TesseraView all = { 0.0, 1.0, 0.0, 1e15 };
  uint32_t *found = NULL;
  size_t n_found = 0;
  if (status == TESSERA_OK)
    status = tessera_scene_blocks_in (scene, &all, &found, &n_found);
  g_assert_true (status == TESSERA_OK || n_found == 0);
  free (found);
  tessera_scene_free (scene);
  return status;
}

static TesseraStatus
call_figure (const Stage *stage)
{
  TesseraFigure figure = { .trace = stage->trace,
                           .blocks = stage->blocks,
                           .structure = stage->structure,
                           .left = stage->layout,
                           .right = stage->layout,
                           .colour = stage->key };
  TesseraError error = { 0 };
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, 640, 420);
  cairo_t *cr = cairo_create (surface);
  TesseraStatus status = tessera_figure_draw (&figure, cr, 640, 420, 1.0, &error);
  g_assert_true ((status == TESSERA_OK) == (error.text[0] == '\0'));
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
  return status;
}

static void
fail_each (const Stage *stage, Call call)
{
  long held = tessera_fail_alloc_held ();
  for (unsigned long nth = 1;; nth++)
    {
      tessera_fail_alloc_at (nth);
      TesseraStatus status = call (stage);
      bool has_failed = tessera_fail_alloc_stop ();
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
      if (!has_failed)
        {
          g_assert_cmpint (status, ==, TESSERA_OK);
          g_assert_cmpuint (nth, >, 1);
          return;
        }
      /* A tile without memory is drawn in smaller ones. */
      g_assert_true (status == TESSERA_NO_MEMORY ||
                     (status == TESSERA_OK && call == call_figure));
    }
}

static void
test_calls (void)
{
  Stage stage = { 0 };
  stage_init (&stage);
  static const Call calls[] = { call_axis, call_fold, call_scene, call_query };
  for (size_t i = 0; i < G_N_ELEMENTS (calls); i++)
    fail_each (&stage, calls[i]);
  for (int key = 0; key < TESSERA_N_COLOUR_KEYS; key++)
    {
      stage.key = (TesseraColourKey) key;
      fail_each (&stage, call_colouring);
    }
  stage_clear (&stage);
}

static void
test_figure (void)
{
  Stage stage = { 0 };
  stage_init (&stage);
  fail_each (&stage, call_figure);
  stage.key = TESSERA_COLOUR_GROUP;
  fail_each (&stage, call_figure);
  stage_clear (&stage);
}

/* The picture is the same where there is no memory for a tile. */
static void
test_render (void)
{
  MadeLayout *made = made_layout_random (2000, SEED);
  TesseraAxis *axis;
  TesseraScene *scene;
  g_assert_cmpint (
      tessera_axis_new (&made->trace, &made->blocks, TESSERA_AXIS_EVENTS, &axis), ==, 0);
  g_assert_cmpint (tessera_scene_new (&made->blocks, &made->layout, axis, &scene), ==, 0);
  uint32_t *rgb = g_new (uint32_t, 2000);
  uint64_t state = SEED;
  for (int i = 0; i < 2000; i++)
    rgb[i] = (uint32_t) made_random (&state) & 0xffffff;
  TesseraInk ink = { rgb, NULL, 0xffffff, 0xeeeeee, 0xcccccc, 0x999999 };
  TesseraView view = { 0.1, 0.9, 0, (double) tessera_scene_height_bytes (scene) };
  uint32_t *with = g_new (uint32_t, 300 * 200), *without = g_new (uint32_t, 300 * 200);
  tessera_scene_render (scene, &view, &ink, with, 300, 300, 200, 5, 7);
  tessera_fail_alloc_at (1);
  tessera_scene_render (scene, &view, &ink, without, 300, 300, 200, 5, 7);
  g_assert_true (tessera_fail_alloc_stop ());
  int worst = 0;
  for (int i = 0; i < 300 * 200; i++)
    for (int shift = 0; shift <= 16; shift += 8)
      {
        int a = with[i] >> shift & 255, b = without[i] >> shift & 255;
        worst = MAX (worst, ABS (a - b));
      }
  g_assert_cmpint (worst, <=, 1); /* sums of floats in another order */
  g_free (with);
  g_free (without);
  g_free (rgb);
  tessera_scene_free (scene);
  tessera_axis_free (axis);
  made_layout_free (made);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/memory/calls", test_calls);
  g_test_add_func ("/memory/figure", test_figure);
  g_test_add_func ("/memory/render", test_render);
  return g_test_run ();
}
