/*
 * What workers draw in bands, and what is moved without them, is the picture that one exact
 * drawing gives: no seam, no shift, at any place and zoom. Needs no display.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/made-layout.h"
#include "viewer/test-help.h"
#include "viewer/canvas/private.h"

#include <math.h>
#include <stdlib.h>

#define WIDTH 700
#define HEIGHT 460

typedef struct
{
  MadeLayout *made;
  TesseraData *data;
  TesseraSheet *sheet;
  TesseraPaint *paint;
  TesseraPicture *picture;
  int n_ready;
} Fixture;

static void
on_ready (gpointer user)
{
  ((Fixture *) user)->n_ready++;
}

static void
set_up (Fixture *f, gconstpointer unused)
{
  MadeLayout *made = f->made = made_layout_random (20000, 7);

  f->data = g_atomic_rc_box_new0 (TesseraData);
  g_mutex_init (&f->data->lock);
  f->data->trace = &made->trace;
  f->data->blocks = &made->blocks;
  f->data->structure = g_new0 (TesseraStructure, 1);
  f->sheet = g_atomic_rc_box_new0 (TesseraSheet);
  f->sheet->data = f->data;
  f->sheet->layout = &made->layout;
  f->sheet->axis = tessera_data_get_axis (f->data, TESSERA_AXIS_EVENTS);
  f->sheet->scene = tessera_scene_new (f->data->blocks, f->sheet->layout, f->sheet->axis);
  f->paint = tessera_paint_new (f->data, TESSERA_COLOUR_SIZE, FALSE);
  f->picture = tessera_picture_new (on_ready, f);
  tessera_picture_set (f->picture, f->sheet, f->paint);
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  gboolean passed = FALSE;

  tessera_picture_free (f->picture);
  /* What is on its way lets go of sheet and colours. */
  g_timeout_add (100, test_set_true, &passed);
  WAIT (passed, 5000);
  /* Trace and blocks were only lent by the made-up layout. */
  f->data->trace = NULL;
  f->data->blocks = NULL;
  tessera_paint_unref (f->paint);
  tessera_sheet_unref (f->sheet);
  made_layout_free (f->made);
}

static cairo_surface_t *
draw (Fixture *f, const TesseraView *view, int scale)
{
  cairo_surface_t *surface =
      cairo_image_surface_create (CAIRO_FORMAT_RGB24, WIDTH * scale, HEIGHT * scale);
  GtkSnapshot *snapshot = gtk_snapshot_new ();
  g_autoptr (GskRenderNode) node = NULL;
  cairo_t *cr = cairo_create (surface);

  tessera_picture_snapshot (f->picture, snapshot, view, WIDTH, HEIGHT, scale);
  node = gtk_snapshot_free_to_node (snapshot);
  cairo_scale (cr, scale, scale);
  if (node != NULL)
    gsk_render_node_draw (node, cr);
  g_assert_cmpint (cairo_status (cr), ==, CAIRO_STATUS_SUCCESS);
  cairo_destroy (cr);
  return surface;
}

static gboolean
is_near (uint32_t a, uint32_t b)
{
  for (int shift = 0; shift < 24; shift += 8)
    if (abs ((int) (a >> shift & 255) - (int) (b >> shift & 255)) > 3)
      return FALSE;
  return TRUE;
}

static void
assert_exact (Fixture *f, const TesseraView *view, int scale)
{
  int width = WIDTH * scale, height = HEIGHT * scale;
  g_autofree uint32_t *expected = g_new (uint32_t, (size_t) width * (size_t) height);
  double sx = width / (view->t1 - view->t0), sy = height / (view->y1 - view->y0);
  /* The picture lies on whole pixels. */
  double left = round (view->t0 * sx), low = round (view->y0 * sy);
  TesseraView whole = { left / sx, (left + width) / sx, low / sy, (low + height) / sy };
  size_t n_different = 0;

  cairo_surface_destroy (draw (f, view, scale));
  WAIT ((cairo_surface_destroy (draw (f, view, scale)),
         tessera_picture_is_complete (f->picture)),
        SLOW_MS);
  cairo_surface_t *surface = draw (f, view, scale);
  const uint32_t *pixels =
      (const uint32_t *) (const void *) cairo_image_surface_get_data (surface);
  tessera_scene_render (f->sheet->scene, &whole, &f->paint->ink, expected, (size_t) width,
                        width, height, (int64_t) left, -(int64_t) low - height);
  int stride = cairo_image_surface_get_stride (surface);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      n_different += !is_near (pixels[y * (stride / 4) + x], expected[y * width + x]);
  cairo_surface_destroy (surface);
  /* Sums of floats may round to the other side of an edge here and there. */
  g_assert_cmpuint (n_different, <, (size_t) width * (size_t) height / 2000);
}

static void
test_is_exact (Fixture *f, gconstpointer unused)
{
  double top = (double) tessera_scene_height_bytes (f->sheet->scene);
  const TesseraView views[] = {
    { 0, 1, 0, top },
    { 0.25, 0.5, top / 4, top / 2 },
    { 0.123, 0.127, 0.3 * top, 0.31 * top },
    { 0.9, 1, 0, top / 10 },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (views); i++)
    for (int scale = 1; scale <= 2; scale++)
      assert_exact (f, &views[i], scale);
}

/* A little way, both ways, is gone without any worker; then one more picture is drawn. */
static void
test_pans_cheaply (Fixture *f, gconstpointer unused)
{
  double top = (double) tessera_scene_height_bytes (f->sheet->scene);
  const TesseraView view = { 0.5, 0.6, 0.4 * top, 0.8 * top };
  const struct
  {
    double by;
    int n_drawn;
  } pans[] = { { 0.001, 0 }, { 0.015, 0 }, { -0.015, 0 }, { 0.03, 1 } };

  assert_exact (f, &view, 1);
  for (size_t i = 0; i < G_N_ELEMENTS (pans); i++)
    {
      double by = pans[i].by;
      int n_before = f->n_ready;

      assert_exact (f,
                    &(TesseraView){ view.t0 + by, view.t1 + by, view.y0 + by * top,
                                    view.y1 + by * top },
                    1);
      g_assert_cmpint (f->n_ready - n_before, ==, pans[i].n_drawn);
    }
}

/* After a jump the old picture is stretched: something is there at once. */
static void
test_never_blank (Fixture *f, gconstpointer unused)
{
  double top = (double) tessera_scene_height_bytes (f->sheet->scene);
  const TesseraView all = { 0, 1, 0, top }, part = { 0.4, 0.6, 0, top };
  size_t n_drawn = 0;

  assert_exact (f, &all, 1);
  cairo_surface_t *surface = draw (f, &part, 1);
  const uint32_t *pixels =
      (const uint32_t *) (const void *) cairo_image_surface_get_data (surface);
  g_assert_false (tessera_picture_is_complete (f->picture));
  for (size_t i = 0; i < WIDTH * HEIGHT; i++)
    n_drawn += (pixels[i] & 0xffffff) != 0;
  cairo_surface_destroy (surface);
  g_assert_cmpuint (n_drawn, >, WIDTH * HEIGHT * 9 / 10);
}

/* Freed while it is on its way: nothing is called, nothing is lost. */
static void
test_free_early (Fixture *f, gconstpointer unused)
{
  double top = (double) tessera_scene_height_bytes (f->sheet->scene);
  const TesseraView all = { 0, 1, 0, top };
  gboolean passed = FALSE;
  int n_ready;

  cairo_surface_destroy (draw (f, &all, 1));
  tessera_picture_free (f->picture);
  n_ready = f->n_ready;
  g_timeout_add (200, test_set_true, &passed);
  WAIT (passed, 5000);
  g_assert_cmpint (f->n_ready, ==, n_ready);
  f->picture = tessera_picture_new (on_ready, f);
}

int
main (int argc, char **argv)
{
  /* Makes the render node types known; whether there is a display does not matter. */
  (void) gtk_init_check ();
  g_test_init (&argc, &argv, NULL);
#define ADD(name, function)                                                              \
  g_test_add ("/picture/" name, Fixture, NULL, set_up, function, tear_down)
  ADD ("is exact", test_is_exact);
  ADD ("pans cheaply", test_pans_cheaply);
  ADD ("never blank", test_never_blank);
  ADD ("free early", test_free_early);
  return g_test_run ();
}
